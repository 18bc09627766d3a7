# SPDX-License-Identifier: Apache-2.0
"""resize with preserve_aspect_ratio: the sizes that tf.image.resize gave (tests/parity compares pixels)."""

import json

import pytest
from PIL import Image

# an image's size, what it is to fit into, and what TensorFlow 2 made of it; None: it refused
SIZES = [
    ((10, 20), (7, 7), (4, 7)),
    ((20, 10), (7, 7), (7, 4)),
    ((5, 7), (3, 9), (3, 4)),
    ((333, 500), (224, 224), (149, 224)),
    ((2, 3), (5, 5), (3, 5)),
    ((4, 8), (5, 5), (2, 5)),
    ((8, 4), (3, 3), (3, 2)),
    ((3, 1000), (10, 10), None),
    ((61, 1), (24, 32), None),
    ((6, 4), (9, 7), (9, 6)),
    ((48, 6), (7, 10), (7, 1)),
    ((11, 48), (34, 23), (5, 23)),
    ((3, 6), (13, 17), (8, 17)),
    ((37, 29), (11, 7), (9, 7)),
    ((41, 44), (2, 5), (2, 2)),
    ((27, 24), (35, 21), (24, 21)),
    ((25, 26), (26, 23), (22, 23)),
    ((11, 44), (30, 38), (10, 38)),
    ((47, 17), (13, 26), (13, 5)),
    ((39, 42), (34, 12), (11, 12)),
    ((56, 1), (3, 38), None),
    ((56, 18), (6, 13), (6, 2)),
    ((3, 53), (26, 23), (1, 23)),
    ((15, 28), (8, 31), (8, 15)),
    ((28, 2), (10, 28), (10, 1)),
    ((31, 23), (10, 4), (5, 4)),
    ((36, 39), (21, 37), (21, 23)),
    ((55, 13), (24, 25), (24, 6)),
    ((15, 18), (20, 29), (20, 24)),
    ((18, 43), (26, 9), (4, 9)),
    ((23, 49), (33, 26), (12, 26)),
    ((1, 41), (9, 32), (1, 32)),
]


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
