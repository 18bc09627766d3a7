# SPDX-License-Identifier: Apache-2.0
"""Six epochs over a compressed TFRecord file of JPEGs, shuffled in a buffer of half an epoch."""

from bars import at_most, less_than
from records import make_compressed

PLACE = 79
UNIT = "images"
DATA = "own"
N_PICTURES, N_EPOCHS = 320, 6
COUNT = N_PICTURES * N_EPOCHS
BATCH = 32
FIELD = "image"
SHAPE, DTYPE = (32, 224, 224, 3), "float32"
CHAIN = (
    "tfrecord('$own').parse_example({bytes: fixed([], bytes)}).decode()"
    ".resize(224, 224).scale(1/255).shuffle($held).batch(32).repeat($n_epochs)"
)
PARAMETERS = {"held": 160, "n_epochs": N_EPOCHS, "border_every": N_PICTURES // BATCH}
NOTE = (
    "A stream: rows can only be read in their order. *gap* is the time from the last batch of an "
    "epoch to the first one of the next, the longest of five, divided by the median time between "
    "batches."
)
BARS = [
    at_most("border_gap", "gap at the end of an epoch", 2, "×"),
    less_than("tf.data", "border_gap", "the same", 0.5),
]


def make_own(setup):
    return make_compressed(setup, N_PICTURES)
