# SPDX-License-Identifier: Apache-2.0
"""Writes resize_ratio.json: the sizes that tf.image.resize gives images whose proportions it keeps.

    python tests/golden/make_resize_ratio.py      (with the packages of tools/requirements-peers.txt)

Every case is an image's [height, width], what it is to fit into, and what TensorFlow made of it; null: it
refused."""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

CASES = """
    10x20 7x7    20x10 7x7    5x7 3x9      333x500 224x224  2x3 5x5      4x8 5x5      8x4 3x3      3x1000 10x10
    61x1 24x32   6x4 9x7      48x6 7x10    11x48 34x23      3x6 13x17    37x29 11x7   41x44 2x5    27x24 35x21
    25x26 26x23  11x44 30x38  47x17 13x26  39x42 34x12      56x1 3x38    56x18 6x13   3x53 26x23   15x28 8x31
    28x2 10x28   31x23 10x4   36x39 21x37  55x13 24x25      15x18 20x29  18x43 26x9   23x49 33x26  1x41 9x32
""".split()


def size_of(text):
    return [int(side) for side in text.split("x")]


def made_of(image, room):
    """The size of the result, or None where TensorFlow refuses because a side would be nothing."""
    try:
        return list(tf.image.resize(tf.zeros([*image, 1]), room, preserve_aspect_ratio=True).shape[:2])
    except tf.errors.InvalidArgumentError:
        return None


sizes = [size_of(text) for text in CASES]
rows = [[image, room, made_of(image, room)] for image, room in zip(sizes[::2], sizes[1::2])]
lines = ",\n".join(json.dumps(row) for row in rows)
pathlib.Path(__file__).with_name("resize_ratio.json").write_text(f"[\n{lines}\n]\n")
