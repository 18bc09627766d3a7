# SPDX-License-Identifier: Apache-2.0
"""A million pairs of numbers, in batches of 256."""

from bars import faster_than

PLACE = 52
UNIT = "pairs"
COUNT = 1_000_000
COUNT_FOR = {"tf_data": 100_000}
EPOCHS = 40
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "zip(range($count), counter(step=2).rename({x: y})).batch(256)"
NOTE = "tf.data's per-element form does a tenth of the pairs."
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
