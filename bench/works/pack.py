# SPDX-License-Identifier: Apache-2.0
"""JPEG files, as they are, and their labels → one file of records."""

from bars import faster_than
from pictures import make_jpegs

PLACE = 79
UNIT = "images"
DATA = "own"
COUNT = 2000
BATCH = 32
NOTE = (
    "Nothing is decoded. The file is complete and has its name when a pass ends. stoker also syncs "
    "it to the disk before that, and writes a manifest with its checksum."
)
BARS = [faster_than("tf.data", 1)]


def make_own(setup):
    return make_jpegs(setup.cache / f"jpegs-{COUNT}", COUNT)
