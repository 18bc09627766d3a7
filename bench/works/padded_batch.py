# SPDX-License-Identifier: Apache-2.0
"""Lists of 1 to 32 numbers, padded to the longest of a batch of 256."""

from bars import faster_than

PLACE = 55
UNIT = "lists"
COUNT = 100_000
EPOCHS = 40
BATCH = 256
FIELD = "t"
PARAMETERS = {"longest": 32}
NOTE = "The lists are in memory, in one array, for everybody."
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
