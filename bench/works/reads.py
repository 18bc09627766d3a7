# SPDX-License-Identifier: Apache-2.0
"""6400 small files from storage on which every read takes 2 ms, 64 reads in flight."""

from bars import at_least, faster_than

PLACE = 70
UNIT = "files"
DATA = "reads"
COUNT = 6400
EPOCHS = 8
BATCH = 64
FIELD = "bytes"
DELAY_US, DEPTH = 2000, 64
IDEAL_PER_S = DEPTH / (DELAY_US * 1e-6)
CHAIN = "files('$reads/*').read().batch(64)"
OPTIONS = {"io_depth": DEPTH}
PARAMETERS = {"depth": DEPTH, "delay_us": DELAY_US}
ENVIRONMENT = {
    "LD_PRELOAD": "$build/libinterpose.so",
    "STOKER_DELAY_READ_US": str(DELAY_US),
    "STOKER_FAIL_PREFIX": "$reads",
}
NOTE = (
    "Every `read` of such a file takes 2 ms (`tests/interpose/interpose_files.c`), opening excluded. "
    "The ideal is 64 reads per 2 ms; no sleep ends in time to the microsecond, so what "
    "64 threads reach that do nothing but sleep stands below."
)
BARS = [
    at_least("per_s", "share of the ideal 32,000/s", 95, "%", factor=100 / IDEAL_PER_S),
    faster_than("waiting alone", 0.95),
]
