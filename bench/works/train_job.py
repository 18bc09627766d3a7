# SPDX-License-Identifier: Apache-2.0
"""A whole training job: JPEG files → decode → resize to 224×224 → float32/255 → batches of 32 → steps of *train-m3*."""

from bars import faster_than
from works.train import BATCH, ENVIRONMENT, UNIT

PLACE = 303
DATA = "images"
PASSES = 1
PARAMETERS = {"model": "m3", "size": 224, "classes": 10, "threads": 2, "precision": "float32"}
NOTE = "stoker: a loop over a pipeline that calls `Trainer.step`; Keras: `fit` on a tf.data pipeline."
BARS = [faster_than("Keras, tf.function", 1.35)]
