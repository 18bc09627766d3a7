# SPDX-License-Identifier: Apache-2.0
"""TFRecords of 200,000 small examples, parsed to a label and ten floats, in shuffled batches of 256."""

from bars import faster_than
from records import make_small

PLACE = 76
UNIT = "records"
DATA = "own"
COUNT = 200_000
EPOCHS = 20
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256, 10), "float32"
CHAIN = "tfrecord('$own').shuffle().parse_example({label: int64, x: fixed([10], float32)}).batch(256)"
PARAMETERS = {"held": 10_000}
NOTE = "stoker shuffles all records; tf.data a buffer of 10 000."
BARS = [faster_than("tf.data, batched", 12)]


def make_own(setup):
    return make_small(setup, COUNT)
