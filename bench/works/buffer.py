# SPDX-License-Identifier: Apache-2.0
"""A million numbers, shuffled in a buffer of 10 000, in batches of 256."""

from bars import faster_than

PLACE = 40
UNIT = "numbers"
COUNT = 1_000_000
EPOCHS = 100
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).shuffle($held).batch(256)"
PARAMETERS = {"held": 10_000}
BARS = [faster_than("tf.data", 12)]
