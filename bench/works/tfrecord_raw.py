# SPDX-License-Identifier: Apache-2.0
"""TFRecords of uint8 images of 224×224, in 4 files → float32/255 → shuffled batches of 32."""

from bars import faster_than
from records import make_pictures

PLACE = 72
UNIT = "images"
DATA = "own"
COUNT = 2000
EPOCHS = 4
BATCH = 32
FIELD = "image"
SHAPE, DTYPE, RANGE = (32, 224, 224, 3), "float32", (0.0, 1.0001)
CHAIN = (
    "tfrecord('$own/raw-*.tfrecord').shuffle().parse_example({image: bytes, label: int64})"
    ".decode_raw(uint8, shape=[224, 224, 3], field=image).scale(1/255).batch(32)"
)
PARAMETERS = {"size": 224, "held": 500}
NOTE = (
    "Checksums are verified by all. stoker shuffles all records; tf.data a buffer of 500, which is "
    "what it can do with records."
)
BARS = [faster_than("tf.data", 4)]


def make_own(setup):
    return make_pictures(setup, COUNT)
