# SPDX-License-Identifier: Apache-2.0
"""resize with preserve_aspect_ratio: the sizes that tf.image.resize gave (golden/make_resize_ratio.py);
tests/parity compares pixels."""

import json

import pytest
from PIL import Image
from places import GOLDEN

# an image's size, what it is to fit into, and what TensorFlow 2 made of it; None: it refused
SIZES = [[tuple(size) if size else None for size in case] for case in json.loads((GOLDEN / "resize_ratio.json").read_text())]


def shape(value):
    return len(value), len(value[0])


@pytest.mark.parametrize("semantics", ["tf", "pillow"])
def test_sizes_are_rounded_as_tensorflow_does(stoker, tmp_path, semantics):
    for i, (size, _, _) in enumerate(SIZES):
        Image.new("RGB", size[::-1]).save(tmp_path / f"{i}.png")
    for i, (_, (height, width), expected) in enumerate(SIZES):
        call = f"resize({height}, {width}, semantics={semantics}, preserve_aspect_ratio=true)"
        done = stoker("run", f"files('{tmp_path}/{i}.png').decode().{call}", "--dump", "--quiet")
        if expected is None:
            assert done.returncode == 1 and "a side would be nothing" in done.stderr, done.stderr
        else:
            assert shape(json.loads(done.stdout)["fields"]["image"]) == expected, SIZES[i]


def test_shapes(stoker, tmp_path):
    """Known where images are alike, and else differing in height and width."""
    Image.new("RGB", (20, 10)).save(tmp_path / "a.png")
    one = f"files('{tmp_path}/a.png').decode(channels=3)"
    call = "resize(7, 7, preserve_aspect_ratio=true)"
    assert "{image: float32[?, ?, 3]}" in stoker("plan", f"{one}.{call}").stdout.replace("-1", "?")
    assert "float32[4, 7, 3]" in stoker("plan", f"{one}.resize(10, 20).{call}").stdout
