# SPDX-License-Identifier: Apache-2.0
"""Training steps with activations in half precision."""

from bars import faster_than, less_than
from works.train import BATCH, ENVIRONMENT, UNIT, variant

PLACE = 302
DOES = "train_half"
LIMITS = {"m1": 1.05, "m2": 0.95, "m3": 1.05, "m4": 1.05}


def bars(limit):
    """Against what stoker does in float32."""
    return [
        faster_than("stoker, float32", limit),
        less_than("stoker, float32", "activation_mb", "activations", 0.55),
    ]


VARIANTS = {
    model: {
        "TEXT": f"*train-{model}* with activations in float16 and a dynamic loss scale.",
        **variant(model, bars(limit), precision="mixed_float16"),
        "COUNT_FOR": {"keras_step": 1280 if model == "m2" else 64},  # it does 12 to 32 images a second
    }
    for model, limit in LIMITS.items()
}
