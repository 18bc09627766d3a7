# SPDX-License-Identifier: Apache-2.0
"""A million numbers plus one, in batches of 256."""

from bars import faster_than

PLACE = 50
UNIT = "numbers"
COUNT = 1_000_000
COUNT_FOR = {"tf_data": 100_000}  # a tenth, because it takes a while; the rate is per element
EPOCHS = 100
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).map('x + 1').batch(256)"
NOTE = "tf.data's per-element form does a tenth of the numbers."
BARS = [faster_than("tf.data", 1500)]
