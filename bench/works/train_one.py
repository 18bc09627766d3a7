# SPDX-License-Identifier: Apache-2.0
"""Training steps with one thread."""

from works.train import BATCH, DOES, ENVIRONMENT, UNIT, faster_than_both, variant

PLACE = 301
LIMITS = {"m1": 1.5, "m2": 1.3, "m3": 1.25, "m4": 1.25}
VARIANTS = {
    model: {
        "TEXT": f"*train-{model}* with one thread.",
        **variant(model, faster_than_both(limit), threads=1),
    }
    for model, limit in LIMITS.items()
}
