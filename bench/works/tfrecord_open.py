# SPDX-License-Identifier: Apache-2.0
"""Opening a TFRecord file of a million records, and asking how many there are."""

from bars import at_most, faster_than
from records import make_small

PLACE = 77
UNIT = "openings"
DATA = "own"
COUNT = 1
BATCH = 1
N_RECORDS = 1_000_000
PARAMETERS = {"at_once": 1024}
SHAPE, DTYPE, RANGE = (1,), "int64", (N_RECORDS, N_RECORDS)
NOTE = (
    "`len(stoker.tfrecord(path))`, with the index that an earlier opening left beside the file. "
    "TFRecord has no count and no index of its own, so tf.data has to read the file to tell."
)
BARS = [
    at_most("after_import_s", "first opening, after import", 50, "ms", factor=1e3),
    faster_than("tf.data", 50),
]


def make_own(setup):
    return make_small(setup, N_RECORDS)
