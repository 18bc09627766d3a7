# SPDX-License-Identifier: Apache-2.0
"""Training steps: forward, loss, backward, Adam, in batches of 32 that are in memory, with two threads."""

from bars import faster_than, less_than

PLACE = 300
UNIT = "images"
DOES = "train"
BATCH = 32
ENVIRONMENT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184"}
TEXTS = {
    "m1": "two convolutions with pooling and two dense layers, on 224×224",
    "m2": "the net of TensorFlow's tutorial on CIFAR-10, on 32×32",
    "m3": "a convolution and five depthwise separable blocks, on 224×224",
    "m4": "a convolution and a depthwise separable one, both pooled, on 224×224",
    "resnet18": "ResNet-18 with batch normalisation and 1000 classes, on 224×224",
    "mobilenet_v2": "MobileNetV2 with batch normalisation and 1000 classes, on 224×224",
}


def variant(model, bars, threads=2, precision="float32"):
    """A work that trains a model."""
    is_small, is_large = model == "m2", not model.startswith("m") or model == "mobilenet_v2"
    return {
        "COUNT": 6400 if is_small else 64 if is_large else 320,
        "PARAMETERS": {
            "model": model,
            "size": 32 if is_small else 224,
            "classes": 1000 if is_large else 10,
            "threads": threads,
            "precision": precision,
        },
        "BARS": bars,
    }


def faster_than_both(limit):
    return [faster_than("Keras, tf.function", limit), faster_than("PyTorch, channels_last", limit)]


LIMITS = {"m1": 1.6, "m2": 1.6, "m3": 1.35, "m4": 1.35, "resnet18": 1.2, "mobilenet_v2": 1.2}
MEMORY = less_than("PyTorch, channels_last", "tensor_mb", "tensors beyond weights", 0.6)
VARIANTS = {
    model: {
        "TEXT": f"Training steps of {TEXTS[model]}: Adam, batches of 32, two threads.",
        **variant(model, faster_than_both(limit) + ([MEMORY] if model == "m1" else [])),
    }
    for model, limit in LIMITS.items()
}
