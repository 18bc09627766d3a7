# SPDX-License-Identifier: Apache-2.0
"""A model of stoker carried out by PyTorch: the layers of `stoker model --json`, one after the other, in
the terms of torch.nn.functional. Weights are torch tensors by stoker's names, as stoker shapes them, so
that gradients come in its shapes too."""

import re

import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "swish": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "linear": lambda x: x,
    "softmax": lambda x: torch.softmax(x, 1),
}


def activation(text):
    name, arguments = re.fullmatch(r"(\w+)(?:\((.*)\))?", text).groups()
    if name == "leaky_relu":
        slope = float(arguments.split("=")[-1]) if arguments else 0.2
        return lambda x: F.leaky_relu(x, slope)
    if name == "gelu":
        approximate = "tanh" if arguments and "true" in arguments else "none"
        return lambda x: F.gelu(x, approximate=approximate)
    return ACTIVATIONS[name]


def padded(x, layer, value=0.0):
    top, bottom, left, right = layer["padding"]
    return F.pad(x, (left, right, top, bottom), value=value)


def conv(x, layer, w, groups, kernel):
    options = {"stride": tuple(layer["strides"]), "dilation": tuple(layer["dilation"])}
    return F.conv2d(padded(x, layer), kernel, w.get("bias"), groups=groups, **options)


def average(x, layer):
    kernel, strides = tuple(layer["kernel"]), tuple(layer["strides"])
    cells = F.avg_pool2d(padded(torch.ones_like(x[:1, :1]), layer), kernel, strides)
    return F.avg_pool2d(padded(x, layer), kernel, strides) / cells


def batchnorm(x, layer, w, is_training):
    mean, variance = w["moving_mean"], w["moving_variance"]
    axes = [0, *range(2, x.dim())]
    if is_training:
        mean, variance = x.mean(axes), x.var(axes, unbiased=False)
    shape = (1, -1) + (1,) * (x.dim() - 2)
    y = (x - mean.view(shape)) / torch.sqrt(variance.view(shape) + layer["epsilon"])
    if "gamma" in w:
        y = y * w["gamma"].view(shape)
    return y + w["beta"].view(shape) if "beta" in w else y


def apply(layer, inputs, w, is_training):
    """Images are [N, C, H, W] here."""
    kind, x = layer["kind"], inputs[0]
    if kind == "conv":
        return conv(x, layer, w, layer["groups"], w["kernel"].permute(3, 2, 0, 1))
    if kind == "depthwise":
        kernel = w["kernel"]
        height, width, channels, multiplier = kernel.shape
        kernel = kernel.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
        return conv(x, layer, w, channels, kernel)
    if kind == "batchnorm":
        return batchnorm(x, layer, w, is_training)
    if kind == "activation":
        return activation(layer["activation"])(x)
    if kind == "maxpool":
        return F.max_pool2d(padded(x, layer, float("-inf")), tuple(layer["kernel"]), tuple(layer["strides"]))
    if kind == "avgpool":
        return average(x, layer)
    if kind == "global_avgpool":
        y = x.mean((2, 3), keepdim=True)
        return y.flatten(1) if len(layer["shape"]) == 1 else y
    if kind == "flatten":
        return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x
    if kind == "dense":
        y = x @ w["kernel"]
        return y + w["bias"] if "bias" in w else y
    if kind == "add":
        return sum(inputs[1:], x)
    if kind == "concat":
        return torch.cat(inputs, 1)
    assert kind == "dropout", kind
    assert not is_training or layer["rate"] == 0, "dropout cannot be compared while training"
    return x


def part_of(name):
    """The role of a weight, from its name."""
    last = name.rsplit("/", 1)[1]
    return "kernel" if last.endswith("kernel") else last


def run(model, weights, images, is_training=False):
    """model: the JSON of `stoker model`, as a dict; images [N, H, W, C] or [N, features]."""
    values = {}
    for layer in model["layers"]:
        if layer["kind"] == "input":
            values[layer["name"]] = images.permute(0, 3, 1, 2) if images.dim() == 4 else images
            continue
        w = {part_of(one["name"]): weights[one["name"]] for one in layer["weights"]}
        inputs = [values[name] for name in layer["inputs"]]
        values[layer["name"]] = apply(layer, inputs, w, is_training)
    out = values[model["layers"][-1]["name"]]
    return out.permute(0, 2, 3, 1) if out.dim() == 4 else out
