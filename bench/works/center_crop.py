# SPDX-License-Identifier: Apache-2.0
"""JPEG files in order → decode → resize to 256×256 → middle 224×224 → normalise → batches of 32."""

PLACE = 20
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE = (32, 224, 224, 3), "float32"
IN_ORDER = True
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').repeat($passes)"
    ".decode().resize(256, 256).center_crop(224, 224).normalize('imagenet').batch(32).prefetch()"
)
PARAMETERS = {
    "resized": 256,
    "size": 224,
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
}
NOTE = (
    "What an evaluation does. Everybody gets the files in the same order, so the first batches "
    "can be compared: the last column is the mean difference of a pixel from stoker's, in steps "
    "of 1/255."
)
BARS = []
