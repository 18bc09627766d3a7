# SPDX-License-Identifier: Apache-2.0
"""JPEG files → random part, resized to 224×224 → flipped by chance → normalised → shuffled batches
of 32."""

from bars import faster_than

PLACE = 15
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (-2.2, 2.7)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').repeat($passes).shuffle()"
    ".decode().random_resized_crop(224, 224).flip(probability=0.5).normalize('imagenet')"
    ".batch(32).prefetch()"
)
PARAMETERS = {
    "size": 224,
    "area": [0.08, 1.0],
    "ratio": [3 / 4, 4 / 3],
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
}
NOTE = (
    "What training on ImageNet does. Parts have 8 to 100 % of the area and sides of 3:4 to 4:3; "
    "bilinear without antialiasing wherever that can be chosen. stoker, tf.data, DALI and FFCV "
    "decode no more than the part needs."
)
BARS = [faster_than("tf.data", 4), faster_than("DALI, CPU", 3.5)]
