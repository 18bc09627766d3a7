# SPDX-License-Identifier: Apache-2.0
"""Writes train_schedule.bin: learning rates of Keras' schedules.

    python tests/golden/make_schedule.py      (with the packages of tools/requirements-peers.txt)

Every case is a call in stoker's language, and the rates of steps 0, 1, 2, …"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras

import train_cases

S = keras.optimizers.schedules
CASES = {
    "cosine(0.001, steps=100)": S.CosineDecay(0.001, 100),
    "cosine(0.1, 30, alpha=0.1)": S.CosineDecay(0.1, 30, alpha=0.1),
    "cosine(0.1, 40, warmup=20)": S.CosineDecay(0.0, 40, warmup_target=0.1, warmup_steps=20),
    "cosine(0.1, 40, 0.2, warmup=7, start=0.03)": S.CosineDecay(
        0.03, 40, alpha=0.2, warmup_target=0.1, warmup_steps=7
    ),
    "step(0.1, every=10)": S.ExponentialDecay(0.1, 10, 0.1, staircase=True),
    "step(0.1, 17, factor=0.5)": S.ExponentialDecay(0.1, 17, 0.5, staircase=True),
    "piecewise([10, 20, 50], [0.1, 0.05, 0.2, 0.001])": S.PiecewiseConstantDecay(
        [10, 20, 50], [0.1, 0.05, 0.2, 0.001]
    ),
}


def main():
    cases = [(text, [[float(s(i)) for i in range(120)]]) for text, s in CASES.items()]
    train_cases.write("train_schedule.bin", cases)


if __name__ == "__main__":
    main()
