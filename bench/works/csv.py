# SPDX-License-Identifier: Apache-2.0
"""A CSV file with 20 columns of numbers, as float32 in batches of 256."""

from bars import faster_than
from data import make_table

PLACE = 84
UNIT = "rows"
DATA = "own"
COUNT = 200_000
EPOCHS = 4
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256, 20), "float32"
RANGE = (-8, 8)
PARAMETERS = {"columns": 20}
CHAIN = "csv('$own', {x: columns(rest, float32)}).batch(256)"
NOTE = "Numbers are drawn from the normal distribution and written with six places."
BARS = [faster_than("tf.data", 5), faster_than("pyarrow", 0.8)]


def make_own(setup):
    return make_table(setup.cache / "table.csv", COUNT, PARAMETERS["columns"])
