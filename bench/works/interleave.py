# SPDX-License-Identifier: Apache-2.0
"""A thousand chains of a thousand elements, 16 open at a time, 4 of each in turn, in batches of 256."""

from bars import faster_than

PLACE = 53
UNIT = "elements"
ROWS = 1000  # of each chain
COUNT = 1_000_000
COUNT_FOR = {"tf_data": 100_000}
EPOCHS = 10
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range(0, $count, $rows).interleave(element().repeat($rows), 16, 4).batch(256)"
PARAMETERS = {"rows": ROWS, "open": 16, "block": 4}
NOTE = "tf.data's per-element form does a tenth of the elements."
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
