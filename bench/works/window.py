# SPDX-License-Identifier: Apache-2.0
"""Windows of 5 numbers, one for each of a million, in batches of 256."""

from bars import faster_than

PLACE = 54
UNIT = "windows"
COUNT = 1_000_000
COUNT_FOR = {"tf_data": 20_000}
EPOCHS = 4
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256, 5), "int64"
CHAIN = "range($count).window($size, 1, drop_remainder=true).batch(256)"
PARAMETERS = {"size": 5, "block": 4096}
NOTE = "tf.data's per-element form does a fiftieth of the windows."
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
