# SPDX-License-Identifier: Apache-2.0
"""HDF5, uint8 images of 224×224, one per chunk → shuffled batches of 32."""

from bars import faster_than
from pictures import make_hdf5

PLACE = 80
UNIT = "images"
DATA = "own"
COUNT = 1000
EPOCHS = 10
BATCH = 32
FIELD = "image"
SHAPE, DTYPE = (32, 224, 224, 3), "uint8"
CHAIN = "hdf5('$own', {image: image}).shuffle().batch(32)"
BARS = [faster_than("h5py, torch", 2)]


def make_own(setup):
    return make_hdf5(setup, COUNT, None)
