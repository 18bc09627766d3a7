# SPDX-License-Identifier: Apache-2.0
"""A million numbers in a random order, in batches of 256."""

from bars import faster_than

PLACE = 30
UNIT = "numbers"
COUNT = 1_000_000
EPOCHS = 100
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).shuffle().batch(256)"
BARS = [faster_than("tf.data", 40)]
