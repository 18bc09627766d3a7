# SPDX-License-Identifier: Apache-2.0
"""Decoded images of 224×224 as float32, kept on disk by `cache('dir')`, read from the page cache."""

from bars import faster_than

PLACE = 81
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').decode().resize(224, 224).scale(1/255)"
    ".cache('$place/rows').repeat($passes).shuffle().batch(32)"
)
PARAMETERS = {"size": 224}
NOTE = (
    "Everything that is read is checked by its checksum, every time. *stoker, in memory* has the same "
    "chain with `cache()`."
)
BARS = [faster_than("tf.data", 1.3), faster_than("stoker, in memory", 0.9)]
