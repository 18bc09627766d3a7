# SPDX-License-Identifier: Apache-2.0
"""Writes train_loss.bin: losses and gradients of PyTorch and Keras 3.

    python tests/golden/make_loss.py          (with the packages of tools/requirements-peers.txt)

Every case is a call in stoker's language; then rows, outputs and 1 if targets are labels; the logits,
the targets, the mean loss and its gradient. A case "top", with rows, outputs and k, has logits, labels,
and the share of rows that Keras finds right."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

import train_cases

SIZES = [(7, 2), (5, 3), (8, 10), (3, 37), (2, 1000)]


def inputs(kind):
    """Rows, outputs, logits and targets of every size."""
    rng = np.random.default_rng(5)
    for rows, outputs in SIZES:
        logits = (rng.normal(0, 3, (rows, outputs))).astype(np.float32)
        labels = rng.integers(0, outputs, rows)
        if kind == "labels":
            targets = labels
        elif kind == "one_hot":
            targets = np.eye(outputs, dtype=np.float32)[labels]
        elif kind == "soft":
            targets = rng.dirichlet(np.ones(outputs), rows).astype(np.float32)
        elif kind == "bits":
            targets = rng.integers(0, 2, (rows, outputs)).astype(np.float32)
        else:
            targets = rng.normal(0, 2, (rows, outputs)).astype(np.float32)
        weights = np.round(rng.random(outputs) * 3, 2)
        yield rows, outputs, logits, targets, weights


def listed(weights):
    return "[" + ", ".join(str(w) for w in weights) + "]"


def torch_cases():
    import torch
    import torch.nn.functional as F

    def case(text, shape, logits, targets, loss):
        z = torch.tensor(logits, requires_grad=True)
        value = loss(z, torch.tensor(targets))
        value.backward()
        return text, [[*shape, targets.ndim == 1], logits, targets, [value.item()], z.grad.numpy()]

    found = []
    for smoothing in (0.0, 0.1):
        for kind in ("labels", "one_hot", "soft"):
            for rows, outputs, logits, targets, weights in inputs(kind):
                if outputs > 100 and kind == "one_hot":
                    continue
                text = f"label_smoothing={smoothing}"
                found.append(
                    case(
                        f"cross_entropy({text})",
                        (rows, outputs),
                        logits,
                        targets,
                        lambda z, y, s=smoothing: F.cross_entropy(z, y, label_smoothing=s),
                    )
                )
                if outputs > 100:
                    continue
                given = torch.tensor(weights, dtype=torch.float32)
                found.append(
                    case(
                        f"cross_entropy({text}, class_weights={listed(weights)}, form=pytorch)",
                        (rows, outputs),
                        logits,
                        targets,
                        lambda z, y, s=smoothing, w=given: F.cross_entropy(
                            z, y, weight=w, label_smoothing=s
                        ),
                    )
                )
    for rows, outputs, logits, targets, _ in inputs("bits"):
        loss = F.binary_cross_entropy_with_logits
        found.append(case("binary_cross_entropy()", (rows, outputs), 9 * logits, targets, loss))
    for rows, outputs, logits, targets, _ in inputs("reals"):
        found.append(case("mse()", (rows, outputs), logits, targets, F.mse_loss))
    return found


def keras_cases():
    import keras
    import tensorflow as tf

    def case(text, shape, logits, targets, loss):
        z = tf.Variable(logits)
        with tf.GradientTape() as tape:
            value = loss(z)
        gradient = tape.gradient(value, z).numpy()
        return text, [[*shape, targets.ndim == 1], logits, targets, [float(value)], gradient]

    found = []
    for rows, outputs, logits, targets, weights in inputs("labels"):
        if outputs > 100:
            continue
        sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        found.append(
            case(
                f"cross_entropy(class_weights={listed(weights)})",
                (rows, outputs),
                logits,
                targets,
                lambda z, y=targets, w=weights.astype(np.float32): sparse(
                    y, z, sample_weight=w[y]
                ),
            )
        )
    for rows, outputs, logits, targets, _ in inputs("one_hot"):
        dense = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)
        found.append(
            case(
                "cross_entropy(0.2)",
                (rows, outputs),
                logits,
                targets,
                lambda z, y=targets: dense(y, z),
            )
        )
    for rows, outputs, logits, targets, _ in inputs("bits"):
        binary = keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)
        found.append(
            case(
                "binary_cross_entropy(0.1)",
                (rows, outputs),
                logits,
                targets,
                lambda z, y=targets: binary(y, z),
            )
        )
    rng = np.random.default_rng(6)
    for k in (1, 5):
        outputs = np.round(rng.normal(0, 2, (200, 12))).astype(np.float32)  # many are equal
        labels = rng.integers(0, 12, 200)
        metric = (
            keras.metrics.SparseCategoricalAccuracy()
            if k == 1
            else keras.metrics.SparseTopKCategoricalAccuracy(k)
        )
        metric.update_state(labels, outputs)
        found.append(("top", [[200, 12, k], outputs, labels, [float(metric.result())]]))
    return found


if __name__ == "__main__":
    cases = train_cases.apart(torch_cases) + train_cases.apart(keras_cases)
    train_cases.write("train_loss.bin", cases)
