# SPDX-License-Identifier: Apache-2.0
"""JPEG files → decode → 224×224 → colour jitter → RandAugment → float32/255 → batches of 32."""

from bars import faster_than

PLACE = 25
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').repeat($passes).shuffle()"
    ".decode(channels=3).resize(224, 224, dtype=uint8)"
    ".color_jitter(0.4, 0.4, 0.4, 0.1).rand_augment().scale(1/255).batch(32).prefetch()"
)
PARAMETERS = {"size": 224, "jitter": 0.4, "hue": 0.1, "changes": 2, "magnitude": 9}
NOTE = (
    "Brightness, contrast and saturation by up to 0.4 and hue by up to 0.1 in random order, then "
    "two of RandAugment's changes of magnitude 9, on uint8. stoker's pixels are torchvision's."
)
BARS = [faster_than("torch, torchvision.io", 3), faster_than("DALI, CPU", 2)]
