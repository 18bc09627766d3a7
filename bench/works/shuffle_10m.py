# SPDX-License-Identifier: Apache-2.0
"""Ten million numbers in a random order, in batches of 256: how soon, and in how much memory."""

from bars import at_most

PLACE = 31
UNIT = "numbers"
COUNT = 10_000_000
EPOCHS = 4
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).shuffle().batch(256)"
NOTE = "*grown* is what the process has more of its own memory at the end than before the first batch."
BARS = [
    at_most("after_import_s", "first batch, after import", 10, "ms", factor=1e3),
    at_most("grown_mb", "memory grown", 1, "MB"),
]
