# SPDX-License-Identifier: Apache-2.0
"""Decoded images of 224×224 as float32, kept in memory by `cache()`: shuffled batches of 32."""

from bars import faster_than

PLACE = 80
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').decode().resize(224, 224).scale(1/255)"
    ".cache().repeat($passes).shuffle().batch(32)"
)
PARAMETERS = {"size": 224}
NOTE = (
    "The first epoch, which fills the cache, is not timed: what is timed is served from memory, 600 KB "
    "an image, in another order each time."
)
BARS = [faster_than("tf.data", 1.3)]
