# SPDX-License-Identifier: Apache-2.0
"""JPEG files → decode → resize to 224×224 → float32/255 → shuffled batches of 32."""

from bars import at_most, faster_than, less_memory_than

PLACE = 10
UNIT = "images"
DATA = "images"
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').repeat($passes).shuffle()"
    ".decode().resize(224, 224).scale(1/255).batch(32).prefetch()"
)
PARAMETERS = {"size": 224}
NOTE = (
    "Bilinear without antialiasing wherever that can be chosen. Every epoch is a new random "
    "order of all its images."
)
BARS = [
    faster_than("tf.data", 2.3),
    faster_than("OpenCV, threads", 2.3),
    faster_than("stoker command", 0.98),
    faster_than("stoker, one core", 1.9),
    less_memory_than("tf.data", 0.25),
    at_most("anon_mb", "anonymous memory", 100, "MB"),
    at_most("first_s", "first batch, with start and import", 100, "ms", factor=1e3),
    at_most("import_s", "import", 30, "ms", factor=1e3),
    at_most("first_s", "first batch of the command", 50, "ms", factor=1e3, who="stoker command"),
]
