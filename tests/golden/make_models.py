#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models.json, models of Keras and torchvision beside the chains that mean the same, and
train_initializer.bin, what Keras' initialisers draw.

    python tests/golden/make_models.py      (with the packages of tools/requirements-peers.txt)

Of each model: the output shape of every layer and the shape of every weight, by stoker's names. Of windows
also how many cells of the image lie in those at the corners, which tells how the padding is divided. Of
initialisers the shape of a weight, and mean, deviation, least and largest of its values.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import train_cases
from keras import layers as L

# Keras' counted names, and the calls of stoker.
NAMES = {
    "input_layer": "input",
    "batch_normalization": "batchnorm",
    "max_pooling2d": "maxpool",
    "average_pooling2d": "avgpool",
    "global_average_pooling2d": "global_avgpool",
    "concatenate": "concat",
    "add": "residual",
}
LAYERS = {
    "conv2d": L.Conv2D,
    "depthwise_conv2d": L.DepthwiseConv2D,
    "separable_conv2d": L.SeparableConv2D,
    "batchnorm": L.BatchNormalization,
    "activation": L.Activation,
    "maxpool": L.MaxPooling2D,
    "avgpool": L.AveragePooling2D,
    "global_avgpool": L.GlobalAveragePooling2D,
    "flatten": L.Flatten,
    "dense": L.Dense,
    "dropout": L.Dropout,
}

# ---- chains of layers, each written once ----


def call(layer, *args, **named):
    return layer, args, named


def value_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)


def chain_text(calls):
    parts = []
    for layer, args, named in calls:
        given = [*map(value_text, args), *(f"{k}={value_text(v)}" for k, v in named.items())]
        parts.append(f"{layer}({', '.join(given)})")
    return ".".join(parts)


def keras_layer(layer, args, named):
    args = [tuple(a) if isinstance(a, list) else a for a in args]
    named = {k: tuple(v) if isinstance(v, list) else v for k, v in named.items()}
    return LAYERS[layer](*args, **named)


CONVS = [
    call("conv2d", 8, 3),
    call("conv2d", 8, 3, padding="same"),
    call("conv2d", 8, 3, 2, padding="same"),
    call("conv2d", 8, [2, 5], [3, 2], "same"),
    call("conv2d", 8, 4, 2, "same"),
    call("conv2d", 8, 5, [1, 4], "valid"),
    call("conv2d", 8, 3, dilation_rate=2, padding="same"),
    call("conv2d", 8, [3, 2], dilation_rate=[2, 3]),
    call("conv2d", 8, 3, groups=2, use_bias=False),
    call("conv2d", 12, 1, groups=4, padding="same", activation="relu"),
    call("conv2d", 8, 1, 2, activation="softmax"),
    call("depthwise_conv2d", 3),
    call("depthwise_conv2d", 3, 2, "same"),
    call("depthwise_conv2d", [5, 3], padding="same", depth_multiplier=3, use_bias=False),
    call("depthwise_conv2d", 3, dilation_rate=2, activation="relu6"),
    call("separable_conv2d", 6, 3),
    call("separable_conv2d", 6, 3, 2, "same", depth_multiplier=2, activation="swish"),
    call("separable_conv2d", 6, 3, padding="same", use_bias=False),
    call("maxpool"),
    call("maxpool", 3, 2),
    call("maxpool", 3, 2, "same"),
    call("maxpool", [1, 2], padding="same"),
    call("maxpool", 4, 1, "same"),
    call("avgpool", 2),
    call("avgpool", 3, 2, "same"),
    call("avgpool", [3, 1], [1, 2]),
]
SIDES = (13, 10, 4)

MODELS = [
    [call("input", 28, 28, 1), call("flatten"), call("dense", 10)],
    [call("input", 784), call("dense", 128, activation="relu"), call("dropout", 0.5), call("dense", 10, use_bias=False)],
    [call("input", 16), call("dense", 8), call("batchnorm"), call("activation", "tanh"), call("dense", 3)],
    [call("input", 8, 8, 4), call("batchnorm"), call("batchnorm", scale=False), call("batchnorm", center=False)],
    [call("input", 8, 8, 4), call("global_avgpool", keepdims=True), call("conv2d", 3, 1), call("flatten")],
    [call("input", 32, 32, 3), call("conv2d", 32, 3, activation="relu"), call("maxpool", 2),
     call("conv2d", 64, 3, activation="gelu"), call("avgpool", 2), call("flatten"),
     call("dense", 64, activation="leaky_relu"), call("dense", 10, activation="sigmoid")],
    [call("input", 32, 32, 3), call("conv2d", 8, 3, name="first"), call("conv2d", 8, 3), call("conv2d", 8, 3, name="third"),
     call("conv2d", 8, 3)],
]


def sequence(calls):
    layers = [keras_layer(*one) for one in calls[1:]]
    return keras.Sequential([keras.Input(calls[0][1]), *layers])


# ---- models with branches, and the known ones ----


def residual_model():
    x = keras.Input((16, 16, 8))
    y = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    y = L.Add()([L.Conv2D(8, 3, padding="same")(y), x])
    z = L.BatchNormalization()(L.Conv2D(16, 3, 2, padding="same")(y))
    z = L.Add()([z, L.Conv2D(16, 1, 2)(y)])
    return keras.Model(x, L.Dense(4)(L.GlobalAveragePooling2D()(z)))


def concat_model():
    x = keras.Input((12, 12, 6))
    y = L.Concatenate()([L.Conv2D(4, 1)(x), L.SeparableConv2D(5, 3, padding="same")(x), x])
    y = L.Concatenate()([L.Conv2D(7, 3, 2)(y), L.MaxPooling2D(3, 2)(y)])
    return keras.Model(x, L.Flatten()(y))


def m3():
    layers = [keras.Input((224, 224, 3)), L.Conv2D(32, 3, 2, padding="same", activation="relu")]
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        layers += [L.DepthwiseConv2D(3, stride, padding="same", activation="relu"), L.Conv2D(filters, 1, activation="relu")]
    return keras.Sequential([*layers, L.GlobalAveragePooling2D(), L.Dense(10)])


BY_HAND = [
    ("input(16, 16, 8).residual(conv2d(8, 3, padding=same, activation=relu).conv2d(8, 3, padding=same))"
     ".residual(conv2d(16, 3, 2, same).batchnorm(), shortcut=conv2d(16, 1, 2)).global_avgpool().dense(4)", residual_model),
    ("input(12, 12, 6).concat([conv2d(4, 1), separable_conv2d(5, 3, padding=same), identity()])"
     ".concat([conv2d(7, 3, 2), maxpool(3, 2)]).flatten()", concat_model),
    ("m1", lambda: keras.Sequential([
        keras.Input((224, 224, 3)), L.Conv2D(32, 3, activation="relu"), L.MaxPooling2D(), L.Conv2D(64, 3, activation="relu"),
        L.MaxPooling2D(), L.Flatten(), L.Dense(128, activation="relu"), L.Dense(10)])),
    ("m2", lambda: keras.Sequential([
        keras.Input((32, 32, 3)), L.Conv2D(32, 3, activation="relu"), L.MaxPooling2D(), L.Conv2D(64, 3, activation="relu"),
        L.MaxPooling2D(), L.Conv2D(64, 3, activation="relu"), L.Flatten(), L.Dense(64, activation="relu"), L.Dense(10)])),
    ("m3", m3),
    ("m4", lambda: keras.Sequential([
        keras.Input((224, 224, 3)), L.Conv2D(32, 3, padding="same", activation="relu"), L.MaxPooling2D(2),
        L.DepthwiseConv2D(3, padding="same", activation="relu"), L.Conv2D(64, 1, padding="same", activation="relu"),
        L.MaxPooling2D(2), L.Flatten(), L.Dense(10)])),
]


# ---- what is written down ----


def our_name(name):
    base, _, number = name.rpartition("_")
    if number.isdigit() and base in NAMES:
        return f"{NAMES[base]}_{number}"
    return NAMES.get(name, name)


def describe(text, model):
    weights = {}
    for layer in model.layers:
        for weight in layer.weights:
            weights[f"{our_name(layer.name)}/{weight.name}"] = [list(weight.shape), bool(weight.trainable)]
    return {
        "text": text,
        "layers": {our_name(layer.name): list(layer.output.shape[1:]) for layer in model.layers},
        "weights": weights,
        "trainable": int(sum(np.prod(w.shape) for w in model.trainable_weights)),
        "statistics": int(sum(np.prod(w.shape) for w in model.non_trainable_weights)),
    }


def corners(layer, args, named):
    """Cells of the image in the windows at the four corners."""
    named = {k: v for k, v in named.items() if k in ("strides", "padding", "dilation_rate")}
    places = ["pool_size" if "pool" in layer else "kernel_size", "strides", "padding"]
    named |= dict(zip(places, args if "pool" in layer or "depthwise" in layer else args[1:]))
    size = named.pop("pool_size", None) or named.pop("kernel_size", None) or 2
    named.setdefault("strides", size if "pool" in layer else 1)
    named = {k: tuple(v) if isinstance(v, list) else v for k, v in named.items()}
    size = tuple(size) if isinstance(size, list) else size
    found = L.Conv2D(1, size, kernel_initializer="ones", **named)(np.ones((1, *SIDES[:2], 1), "float32"))
    found = np.asarray(found)[0, :, :, 0]
    return [int(found[y, x]) for y in (0, -1) for x in (0, -1)]


# In a process of its own: TensorFlow and PyTorch do not always bear each other.
TORCHVISION = """
import json, sys, torchvision

def ours(shape):
    if len(shape) != 4:
        return list(shape)[::-1]
    o, i, h, w = shape
    return [h, w, o, 1] if i == 1 and o > 1 else [h, w, i, o]

state = getattr(torchvision.models, sys.argv[1])(num_classes=int(sys.argv[2])).state_dict()
print(json.dumps([ours(t.shape) for key, t in state.items() if not key.endswith('num_batches_tracked')]))
"""


def torchvision_model(name, classes):
    done = subprocess.run([sys.executable, "-c", TORCHVISION, name, str(classes)], capture_output=True, check=True)
    return json.loads(done.stdout)


INITIALIZERS = {
    "glorot_uniform": "glorot_uniform", "glorot_normal": "glorot_normal", "he_uniform": "he_uniform",
    "he_normal": "he_normal", "lecun_uniform": "lecun_uniform", "lecun_normal": "lecun_normal",
    "zeros": "zeros", "ones": "ones", "constant(0.25)": keras.initializers.Constant(0.25),
    "random_normal": keras.initializers.RandomNormal(), "random_uniform": keras.initializers.RandomUniform(),
    "truncated_normal(1, 0.5)": keras.initializers.TruncatedNormal(1, 0.5),
    "variance_scaling(2, fan_out, untruncated_normal)":
        keras.initializers.VarianceScaling(2, "fan_out", "untruncated_normal"),
    "variance_scaling(0.5, fan_avg, uniform)": keras.initializers.VarianceScaling(0.5, "fan_avg", "uniform"),
}
SHAPES = [[5, 5, 64, 160], [3, 3, 2048, 16], [400, 700]]


def draws(text, initializer, shape):
    keras.utils.set_random_seed(7)
    values = np.asarray(keras.initializers.get(initializer)(shape), "float64")
    return text, [shape, [values.mean(), values.std(), values.min(), values.max()]]


def main():
    made = {"models": [], "corners": [], "torchvision": {}}
    for one in CONVS:
        keras.backend.clear_session()
        calls = [call("input", *SIDES), one]
        made["models"].append(describe(chain_text(calls), sequence(calls)))
        made["corners"].append([chain_text(calls), corners(*one)])
    for calls in MODELS:
        keras.backend.clear_session()
        made["models"].append(describe(chain_text(calls), sequence(calls)))
    for text, make in BY_HAND:
        keras.backend.clear_session()
        made["models"].append(describe(text, make()))
    for name in ("resnet18", "mobilenet_v2"):
        made["torchvision"][name] = torchvision_model(name, 1000)
        made["torchvision"][f"{name}(classes=7)"] = torchvision_model(name, 7)
    drawn = [draws(text, one, shape) for text, one in INITIALIZERS.items() for shape in SHAPES]
    train_cases.write("train_initializer.bin", drawn)
    lines = [f'"{key}": [\n ' + ",\n ".join(map(json.dumps, rows)) + "\n]" for key, rows in made.items()
             if isinstance(rows, list)]
    lines.append(f'"torchvision": {json.dumps(made["torchvision"])}')
    path = Path(__file__).with_name("models.json")
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    print(f"{path.name}: {len(made['models'])} models")


if __name__ == "__main__":
    main()
