# SPDX-License-Identifier: Apache-2.0
"""A stream of a million numbers, shuffled in a buffer of 10 000, in batches of 256."""

from bars import faster_than

PLACE = 41
UNIT = "numbers"
COUNT = 1_000_000
EPOCHS = 10
BATCH = 256
FIELD = "x"
SHAPE, DTYPE = (256,), "int64"
CHAIN = "range($count).filter('x >= 0').shuffle($held).batch(256)"
PARAMETERS = {"held": 10_000}
NOTE = (
    "The filter, which keeps everything, is there to make a stream of it for stoker: rows are "
    "buffered, not positions. tf.data has no filter to run; to it everything is a stream."
)
BARS = [faster_than("tf.data", 20), faster_than("tf.data, batched", 8)]
