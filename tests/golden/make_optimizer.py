# SPDX-License-Identifier: Apache-2.0
"""Writes train_optimizer.bin: 50 steps of optimizers of Keras 3 and PyTorch on given gradients.

    python tests/golden/make_optimizer.py     (with the packages of tools/requirements-peers.txt)

The first case, "inputs", has the weights before and the gradients of all steps; every other one is
a call in stoker's language and the weights after 1, 10 and 50 steps."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

import train_cases

N, STEPS, SEEN = 37, 50, (1, 10, 50)
COSINE = ("CosineDecay", (0.01, 40), {})
STEP = ("ExponentialDecay", (0.01, 20, 0.5), {"staircase": True})
KERAS = {
    "sgd(0.005)": ("SGD", 0.005, {}),
    "sgd(0.005, momentum=0.9)": ("SGD", 0.005, {"momentum": 0.9}),
    "sgd(0.005, momentum=0.9, nesterov=true)": ("SGD", 0.005, {"momentum": 0.9, "nesterov": True}),
    "sgd(0.005, momentum=0.8, weight_decay=0.01)": (
        "SGD",
        0.005,
        {"momentum": 0.8, "weight_decay": 0.01},
    ),
    "sgd(cosine(0.01, steps=40), momentum=0.9)": ("SGD", COSINE, {"momentum": 0.9}),
    "sgd()": ("SGD", None, {}),
    "sgd(0.005, clipvalue=0.3)": ("SGD", 0.005, {"clipvalue": 0.3}),
    "sgd(0.01, global_clipnorm=2)": ("SGD", 0.01, {"global_clipnorm": 2.0}),
    "adam()": ("Adam", None, {}),
    "adam(0.01, beta_1=0.8, beta_2=0.95, epsilon=0.001)": (
        "Adam",
        0.01,
        {"beta_1": 0.8, "beta_2": 0.95, "epsilon": 0.001},
    ),
    "adam(0.01, weight_decay=0.1)": ("Adam", 0.01, {"weight_decay": 0.1}),
    "adam(0.01, global_clipnorm=2)": ("Adam", 0.01, {"global_clipnorm": 2.0}),
    "adamw()": ("AdamW", None, {}),
    "adamw(0.01, weight_decay=0.05)": ("AdamW", 0.01, {"weight_decay": 0.05}),
    "adam(step(0.01, every=20, factor=0.5))": ("Adam", STEP, {}),
}
TORCH = {
    "sgd(0.005, form=pytorch)": ("SGD", {"lr": 0.005}),
    "sgd(0.005, momentum=0.9, form=pytorch)": ("SGD", {"lr": 0.005, "momentum": 0.9}),
    "sgd(0.005, momentum=0.9, nesterov=true, weight_decay=0.01, form=pytorch)": (
        "SGD",
        {"lr": 0.005, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    ),
    "sgd(0.01, global_clipnorm=2, form=pytorch)": ("SGD", {"lr": 0.01}),
    "adam(form=pytorch)": ("Adam", {}),
    "adam(0.01, weight_decay=0.1, form=pytorch)": ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    "adamw(form=pytorch)": ("AdamW", {}),
    "adamw(0.01, beta_1=0.8, beta_2=0.95, epsilon=0.001, form=pytorch)": (
        "AdamW",
        {"lr": 0.01, "betas": (0.8, 0.95), "eps": 0.001},
    ),
    "adam(0.01, global_clipnorm=2, form=pytorch)": ("Adam", {"lr": 0.01}),
}


def run_keras(weights, gradients):
    import keras

    def run(kind, rate, arguments):
        if isinstance(rate, tuple):
            rate = getattr(keras.optimizers.schedules, rate[0])(*rate[1], **rate[2])
        given = arguments if rate is None else {"learning_rate": rate, **arguments}
        optimizer, variable = getattr(keras.optimizers, kind)(**given), keras.Variable(weights)
        for step, gradient in enumerate(gradients, 1):
            optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
            if step in SEEN:
                yield variable.numpy().copy()

    return [(text, list(run(*call))) for text, call in KERAS.items()]


def run_torch(weights, gradients):
    import torch

    def run(text, kind, arguments):
        variable = torch.nn.Parameter(torch.tensor(weights))
        optimizer = getattr(torch.optim, kind)([variable], **arguments)
        for step, gradient in enumerate(gradients, 1):
            variable.grad = torch.tensor(gradient)
            if "clipnorm" in text:
                torch.nn.utils.clip_grad_norm_([variable], 2.0)
            optimizer.step()
            if step in SEEN:
                yield variable.detach().numpy().copy()

    return [(text, list(run(text, *call))) for text, call in TORCH.items()]


def main():
    rng = np.random.default_rng(1)
    weights = rng.normal(0, 1, N).astype(np.float32)
    gradients = rng.normal(0, 1, (STEPS, N)).astype(np.float32)
    gradients *= np.exp(rng.normal(0, 0.7, N)).astype(np.float32)
    gradients[:, 5] = 0
    gradients[: STEPS // 2, 6] = 0
    cases = [("inputs", [weights, gradients])]
    for run in (run_keras, run_torch):
        cases += train_cases.apart(run, weights, gradients)
    train_cases.write("train_optimizer.bin", cases)


if __name__ == "__main__":
    main()
