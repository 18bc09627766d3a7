# SPDX-License-Identifier: Apache-2.0
"""Photographs of 4 megapixels → decode → resize to 224×224 → float32/255 → shuffled batches of 32."""

from bars import faster_than

PLACE = 17
UNIT = "images"
DATA = "photos"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$photos/*.jpg').repeat($passes).shuffle()"
    ".decode(scale=auto).resize(224, 224).scale(1/255).batch(32).prefetch()"
)
PARAMETERS = {"size": 224}
NOTE = (
    "Quality 90, 4:2:0, made by enlarging pictures and adding noise. stoker is told scale=auto: it "
    "decodes them 4 times smaller, which is enough for the resize. The others decode all of it; "
    "tf.data, DALI and OpenCV have a parameter for a fixed factor, which is not used."
)
BARS = [faster_than("tf.data", 3)]
