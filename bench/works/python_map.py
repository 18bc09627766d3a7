# SPDX-License-Identifier: Apache-2.0
"""A function in Python, called for each of 200 000 numbers, in batches of 256."""

from bars import costs_per_call_over

PLACE = 56
UNIT = "numbers"
COUNT = 200_000
COUNT_FOR = {"tf_data": 20_000, "torch_loader": 50_000}
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
NOTE = "tf.data and torch do a tenth and a quarter of the numbers. *plain Python* only calls the function."
BARS = [costs_per_call_over("plain Python", 1, 5)]
