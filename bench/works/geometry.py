# SPDX-License-Identifier: Apache-2.0
"""JPEG files → decode → 224×224 → turned, moved, scaled and sheared by chance → float32/255 → batches
of 32."""

from bars import faster_than

PLACE = 26
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').repeat($passes).shuffle()"
    ".decode(channels=3).resize(224, 224, dtype=uint8)"
    ".random_affine(15, translate=[0.1, 0.1], scale=[0.8, 1.2], shear=10, interpolation=bilinear)"
    ".scale(1/255).batch(32).prefetch()"
)
PARAMETERS = {
    "size": 224,
    "degrees": 15,
    "moved": [0.1, 0.1],
    "scaled": [0.8, 1.2],
    "shear": 10,
}
NOTE = (
    "torchvision's RandomAffine on uint8, bilinear: up to 15 degrees, a tenth of the size, a fifth "
    "larger or smaller, 10 degrees of shear. stoker's pixels are torchvision's."
)
BARS = [faster_than("torch, torchvision.io", 2)]
