# SPDX-License-Identifier: Apache-2.0
"""A function in Python, called for each batch of 256 of a million numbers."""

from bars import costs_per_call_over

PLACE = 57
UNIT = "numbers"
COUNT = 1_000_000
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
NOTE = "*plain Python* makes the arrays beforehand and only calls the function."
BARS = [costs_per_call_over("plain Python", BATCH, 50)]
