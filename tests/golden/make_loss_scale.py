# SPDX-License-Identifier: Apache-2.0
"""Writes train_loss_scale.bin: scales of Keras 3, Keras 2 and PyTorch under random patterns of steps
that are finite and steps that are not.

    python tests/golden/make_loss_scale.py    (with the packages of tools/requirements-peers.txt)

Every case is a call in stoker's language; then 1 for each step with finite gradients, the scale after
each, and the number of steps that the optimizer made (not of Keras 2)."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

import train_cases

STEPS = 5000
BAD = [np.inf, -np.inf, np.nan]


def keras3_scales(finite, growth_steps, initial):
    """Scales, and a weight to which the inner optimizer adds 1 in each step that it makes."""
    import keras

    variable = keras.Variable([0.0, 0.0])
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=initial, dynamic_growth_steps=growth_steps
    )
    optimizer.build([variable])
    scales = []
    for i, is_finite in enumerate(finite):
        scale = float(optimizer.dynamic_scale.numpy())
        gradient = [-scale, -scale if is_finite else BAD[i % 3]]
        optimizer.apply([keras.ops.convert_to_tensor(gradient, dtype="float32")], [variable])
        scales.append(float(optimizer.dynamic_scale.numpy()))
    return scales, [float(variable.numpy()[0])]


def keras2_scales(finite, growth_steps, initial):
    from tensorflow.python.keras.mixed_precision import loss_scale_optimizer as keras2

    state = keras2._DynamicLossScaleState(initial, growth_steps, 2)
    scales = []
    for i, is_finite in enumerate(finite):
        state.update([np.float32([1, 1 if is_finite else BAD[i % 3]])])
        scales.append(float(state().numpy()))
    return scales, []


def torch_scales(finite, growth_steps, initial, growth=2.0, backoff=0.5):
    import torch

    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([weight], 1.0)
    scaler = torch.amp.GradScaler(
        "cpu",
        init_scale=initial,
        growth_interval=growth_steps,
        growth_factor=growth,
        backoff_factor=backoff,
    )
    scaler.scale(torch.zeros(1))  # makes its tensors
    scales = []
    for i, is_finite in enumerate(finite):
        scale = scaler.get_scale()
        weight.grad = torch.tensor([-scale, -scale if is_finite else float(BAD[i % 3])])
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, [float(weight.detach()[0])]


def main():
    rng = np.random.default_rng(3)
    rare = rng.random(STEPS) > 0.05
    bursts = rng.random(1000) > np.repeat(rng.random(20) * 0.15, 50)
    many = rng.random(100) > 0.8
    always = np.ones(700, dtype=bool)
    cases = []

    def add(text, finite, function, *args):
        scales, made = train_cases.apart(function, finite, *args)
        # A scale that is infinite makes gradients so.
        finite = finite & np.isfinite([1, *scales[:-1]])
        cases.append((text, [finite, scales, made]))

    for finite in (rare, bursts):
        add("dynamic(growth_steps=13)", finite, keras3_scales, 13, 2.0**15)
        add("dynamic(growth_steps=13, form=keras2)", finite, keras2_scales, 13, 2.0**15)
        add("dynamic(growth_steps=13, form=pytorch)", finite, torch_scales, 13, 2.0**16)
    add(
        "dynamic(1000, growth_steps=7, growth=1.5, backoff=0.7, form=pytorch)",
        rare,
        torch_scales,
        *(7, 1000.0, 1.5, 0.7),
    )
    for finite in (many, always):
        add("dynamic(8, growth_steps=5)", finite, keras3_scales, 5, 8.0)
        add("dynamic(8, 5, form=keras2)", finite, keras2_scales, 5, 8.0)
        add("dynamic(8, 5, form=pytorch)", finite, torch_scales, 5, 8.0)
    train_cases.write("train_loss_scale.bin", cases)


if __name__ == "__main__":
    main()
