# SPDX-License-Identifier: Apache-2.0
"""Compares the colour ops of the command with the installed torchvision (v2, on tensors) and
TensorFlow, on random images.

uint8 must be equal. Floats may differ by 1e-5 of the greatest value, whether they go from 0 to 1
or, being made of uint8, from 0 to 255."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import PIL.Image
import pytest

torch = pytest.importorskip("torch", reason="torchvision is not installed")
import torchvision.transforms.v2 as tv  # noqa: E402

F = tv.functional
TOLERANCE = 1e-5
SIZES = [(37, 53), (24, 100), (96, 64), (5, 31), (61, 1), (2, 2), (150, 161)]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Random images as PNG files: noise, few colours, soft colours, grays of one channel."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    for i, size in enumerate(SIZES * 4):
        image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
        kind = i // len(SIZES)
        if kind == 1:
            image = (image > 127).astype(np.uint8) * 255
        elif kind == 2:
            image = (image // 8 + np.arange(size[1])[:, None] % 200).astype(np.uint8)
        elif kind == 3:
            image = image[:, :, 0]
        PIL.Image.fromarray(image).save(folder / f"{i:02}.png")
    return folder


def sources(folder):
    """As tensors [channels, height, width]."""
    found = [np.asarray(PIL.Image.open(path)) for path in sorted(folder.glob("*.png"))]
    found = [image if image.ndim == 3 else image[:, :, None] for image in found]
    return [torch.from_numpy(image.transpose(2, 0, 1).copy()) for image in found]


def delivered(stoker, folder, calls):
    """The image of every element."""
    chain = f"files('{folder}/*.png').decode(channels=0).{calls}"
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [np.array(json.loads(line)["fields"]["image"]) for line in done.stdout.splitlines()]


def assert_close(got, expected, tolerance):
    expected = expected.numpy().transpose(1, 2, 0)
    assert got.shape == expected.shape
    if tolerance == 0:
        np.testing.assert_array_equal(got, expected)
    else:
        greatest = max(1, np.abs(expected).max())
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * greatest)


CASES = [
    ("adjust_brightness(0.37)", lambda t: F.adjust_brightness(t, 0.37)),
    ("adjust_brightness(1.73)", lambda t: F.adjust_brightness(t, 1.73)),
    ("adjust_contrast(0.37)", lambda t: F.adjust_contrast(t, 0.37)),
    ("adjust_contrast(1.73)", lambda t: F.adjust_contrast(t, 1.73)),
    ("adjust_saturation(0.37)", lambda t: F.adjust_saturation(t, 0.37)),
    ("adjust_saturation(1.73)", lambda t: F.adjust_saturation(t, 1.73)),
    ("adjust_hue(0.5)", lambda t: F.adjust_hue(t, 0.5)),
    ("adjust_hue(-0.123)", lambda t: F.adjust_hue(t, -0.123)),
    ("adjust_hue(0.0301)", lambda t: F.adjust_hue(t, 0.0301)),
    ("adjust_sharpness(0)", lambda t: F.adjust_sharpness(t, 0)),
    ("adjust_sharpness(2.3)", lambda t: F.adjust_sharpness(t, 2.3)),
    ("adjust_gamma(0.45)", lambda t: F.adjust_gamma(t, 0.45)),
    ("adjust_gamma(2.2, 1.1)", lambda t: F.adjust_gamma(t, 2.2, 1.1)),
    ("grayscale()", lambda t: F.rgb_to_grayscale(t, t.shape[0])),
    ("grayscale(1)", lambda t: F.rgb_to_grayscale(t, 1)),
    ("grayscale(3)", lambda t: F.rgb_to_grayscale(t, 3)),
    ("invert()", F.invert),
    ("posterize(3)", lambda t: F.posterize(t, 3)),
    ("posterize(8)", lambda t: F.posterize(t, 8)),
    ("autocontrast()", F.autocontrast),
    ("equalize()", F.equalize),
]
FEW_LEVELS = ("posterize", "equalize")  # a float just beside a level may go to the next one


def assert_few_off(got, expected, step):
    """All but one in a hundred equal, the others a level apart."""
    off = np.abs(got - expected.numpy().transpose(1, 2, 0))
    assert (off > 1e-4).mean() < 0.01 and off.max() < step


@pytest.mark.parametrize("call, library", CASES, ids=[call for call, _ in CASES])
def test_uint8(stoker, images, call, library):
    for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
        assert_close(got, library(image), 0)


@pytest.mark.parametrize("call, library", CASES, ids=[call for call, _ in CASES])
def test_float32(stoker, images, call, library):
    results = delivered(stoker, images, f"cast(float32).scale(1/255).{call}")
    for image, got in zip(sources(images), results, strict=True):
        expected = library(image.to(torch.float32).mul(np.float32(1 / 255)))
        if call.startswith(FEW_LEVELS):
            assert_few_off(got, expected, 0.3)
        else:
            assert_close(got, expected, TOLERANCE)


@pytest.mark.parametrize("call, library", CASES, ids=[call for call, _ in CASES])
def test_float32_of_bytes(stoker, images, call, library):
    results = delivered(stoker, images, f"cast(float32).{call}")
    for image, got in zip(sources(images), results, strict=True):
        expected = library(image.to(torch.float32).mul(np.float32(1 / 255))) * 255
        if call.startswith(FEW_LEVELS):
            assert_few_off(got / 255, expected / 255, 0.3)
        else:
            assert_close(got, expected, TOLERANCE)


def test_solarize(stoker, images):
    results = delivered(stoker, images, "solarize(100)")
    for image, got in zip(sources(images), results, strict=True):
        assert_close(got, F.solarize(image, 100), 0)
    results = delivered(stoker, images, "cast(float32).scale(1/255).solarize(0.4)")
    for image, got in zip(sources(images), results, strict=True):
        floats = image.to(torch.float32).mul(np.float32(1 / 255))
        assert_close(got, F.solarize(floats, 0.4), TOLERANCE)
