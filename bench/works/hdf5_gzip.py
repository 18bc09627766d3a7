# SPDX-License-Identifier: Apache-2.0
"""HDF5, uint8 images of 224×224, one per chunk, compressed with gzip → shuffled batches of 32."""

from bars import faster_than
from pictures import make_hdf5

PLACE = 81
UNIT = "images"
DATA = "own"
COUNT = 1000
EPOCHS = 2
BATCH = 32
FIELD = "image"
SHAPE, DTYPE = (32, 224, 224, 3), "uint8"
CHAIN = "hdf5('$own', {image: image}).shuffle().batch(32)"
NOTE = "Chunks are read as they are stored, and unpacked by all threads."
BARS = [faster_than("stoker, one core", 1.7)]


def make_own(setup):
    return make_hdf5(setup, COUNT, "gzip")
