# SPDX-License-Identifier: Apache-2.0
"""A function that holds Python's lock for 5 ms, for each of 400 numbers, in two helper processes."""

from bars import faster_than

PLACE = 58
UNIT = "numbers"
COUNT = 400
BATCH = 16
FIELD = "x"
SHAPE, DTYPE = (16,), "int64"
NOTE = (
    "How much two processes can do here compared with one, at best, is said at the top of this page "
    "(raw baseline)."
)
BARS = [faster_than("stoker, one helper", 1.9), faster_than("torch DataLoader", 1.0)]
