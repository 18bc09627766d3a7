# SPDX-License-Identifier: Apache-2.0
"""A million numbers in batches of 10: what a batch costs, and what Python adds to it."""

from bars import costs_per_batch_over

PLACE = 60
UNIT = "numbers"
COUNT = 1_000_000
EPOCHS = 20
BATCH = 10
FIELD = "x"
SHAPE, DTYPE = (10,), "int64"
CHAIN = "range($count).batch(10)"
BARS = [costs_per_batch_over("stoker command", BATCH, 5)]
