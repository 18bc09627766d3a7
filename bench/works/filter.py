# SPDX-License-Identifier: Apache-2.0
"""Every second one of a million numbers, in batches of 256."""

from bars import faster_than

PLACE = 51
UNIT = "numbers"
COUNT = 1_000_000
COUNT_FOR = {"tf_data": 100_000}
KEPT = 0.5
EPOCHS = 40
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).filter('x % 2 == 0').batch(256)"
NOTE = "What comes out is counted. tf.data's per-element form does a tenth of the numbers."
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
