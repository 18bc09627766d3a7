# SPDX-License-Identifier: Apache-2.0
"""A TFRecord file of 200,000 small records, read in order in batches of 256."""

from bars import faster_than
from records import make_small

PLACE = 74
UNIT = "records"
DATA = "own"
COUNT = 200_000
EPOCHS = 20
BATCH = 256
FIELD = "record"
CHAIN = "tfrecord('$own').batch(256)"
BARS = [faster_than("tf.data", 12)]


def make_own(setup):
    return make_small(setup, COUNT)
