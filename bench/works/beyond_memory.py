# SPDX-License-Identifier: Apache-2.0
"""A TFRecord file of 1 GB, shuffled as a whole with a budget of 256 MB, in batches of 64."""

from bars import at_most
from records import make_large

PLACE = 78
UNIT = "records"
DATA = "own"
COUNT = 65_536
BATCH = 64
FIELD = "record"
RECORD_BYTES = 16_384
BUDGET_MB = 256
CHAIN = "tfrecord('$own').shuffle().batch(64)"
OPTIONS = {"memory": f"{BUDGET_MB}M"}
PARAMETERS = {"held": 10_000}
NOTE = (
    "What matters here is memory of the process's own (anonymous), sampled while it runs: the file "
    "is larger than the budget, and every record can come anywhere. tf.data shuffles a buffer of "
    "10 000 records. The column *memory* has the pages of the file in it that are mapped at the "
    "moment; they are the system's cache."
)
BARS = [
    at_most("anon_mb", "anonymous memory, peak", BUDGET_MB, "MB"),
    at_most("anon_mb", "the command's", BUDGET_MB, "MB", who="stoker command"),
]


def make_own(setup):
    return make_large(setup, COUNT, RECORD_BYTES)
