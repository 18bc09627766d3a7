# SPDX-License-Identifier: Apache-2.0
"""Compares resizing by the command with the installed TensorFlow, Pillow, torchvision and OpenCV,
on random images.

Integers must be equal. Floats may differ by 1e-5 of the greatest value."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

try:
    import torch  # before tensorflow: the other way round their copies of LLVM collide
    import torchvision.transforms.v2 as tv
except ImportError:
    torch = None
import cv2
import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

TOLERANCE = 1e-5
PILLOW = {
    "nearest": PIL.Image.Resampling.NEAREST,
    "bilinear": PIL.Image.Resampling.BILINEAR,
    "bicubic": PIL.Image.Resampling.BICUBIC,
    "area": PIL.Image.Resampling.BOX,
    "lanczos3": PIL.Image.Resampling.LANCZOS,
    "hamming": PIL.Image.Resampling.HAMMING,
}
OPENCV = {
    "nearest": cv2.INTER_NEAREST,
    "bilinear": cv2.INTER_LINEAR,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos4": cv2.INTER_LANCZOS4,
}
TF_METHODS = ["bilinear", "nearest", "area", "bicubic"]
TF_METHODS += ["lanczos3", "lanczos5", "mitchell", "gaussian"]
SIZES = [(37, 53), (24, 100), (96, 64), (5, 31), (61, 1), (200, 20)]
TARGETS = [(24, 32), (48, 32), (75, 90), (3, 50)]
needs_torch = pytest.mark.skipif(torch is None, reason="torchvision is not installed")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Random images as PNG files: noise, and black and white only."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    for i, size in enumerate(SIZES * 2):
        image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
        if i >= len(SIZES):
            image = (image > 127).astype(np.uint8) * 255
        PIL.Image.fromarray(image).save(folder / f"{i:02}.png")
    return folder


def sources(folder):
    return [np.asarray(PIL.Image.open(path)) for path in sorted(folder.glob("*.png"))]


def delivered(stoker, folder, calls):
    """The image of every element."""
    done = stoker("run", f"files('{folder}/*.png').decode().{calls}", "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [np.array(json.loads(line)["fields"]["image"]) for line in done.stdout.splitlines()]


def assert_close(got, expected, tolerance):
    assert got.shape == expected.shape
    if tolerance == 0:
        np.testing.assert_array_equal(got, expected)
    else:
        greatest = max(1, np.abs(expected).max())
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * greatest)


def compare(stoker, folder, words, library, tolerance):
    """Every image and target: as uint8, and as float32."""
    for target in TARGETS:
        call = f"resize({target[0]}, {target[1]}, {words})"
        for image, got in zip(sources(folder), delivered(stoker, folder, call), strict=True):
            assert_close(got, library(image, target), tolerance)
        floats = delivered(stoker, folder, f"cast(float32).scale(1.7, -99).{call}")
        for image, got in zip(sources(folder), floats, strict=True):
            source = image.astype(np.float32) * np.float32(1.7) + np.float32(-99)
            assert_close(got, library(source, target), TOLERANCE)


@pytest.mark.parametrize("antialias", ["false", "true"])
@pytest.mark.parametrize("method", TF_METHODS)
def test_tensorflow(stoker, images, method, antialias):
    name = "mitchellcubic" if method == "mitchell" else method

    def library(image, target):
        return tf.image.resize(image, target, method=name, antialias=antialias == "true").numpy()

    tolerance = 0 if method == "nearest" else TOLERANCE
    compare(stoker, images, f"{method}, {antialias}", library, tolerance)


@pytest.mark.parametrize("antialias", ["false", "true"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "lanczos3"])
def test_tensorflow_in_proportion(stoker, images, method, antialias):
    """Where TensorFlow refuses an image, because a side would be nothing, the element is bad."""
    for target in TARGETS:
        expected = []
        for image in sources(images):
            try:
                expected.append(tf.image.resize(image, target, method=method, preserve_aspect_ratio=True,
                                                antialias=antialias == "true").numpy())
            except tf.errors.InvalidArgumentError:
                pass
        call = f"resize({target[0]}, {target[1]}, {method}, {antialias}, preserve_aspect_ratio=true)"
        chain = f"files('{images}/*.png').decode().{call}"
        done = stoker("run", chain, "--dump", "--quiet", "--on-error", "skip")
        assert done.returncode == 0, done.stderr
        found = [np.array(json.loads(line)["fields"]["image"]) for line in done.stdout.splitlines()]
        for got, wanted in zip(found, expected, strict=True):
            assert_close(got, wanted, 0 if method == "nearest" else TOLERANCE)


def by_pillow(image, target, method):
    """Mode F has one channel."""
    if image.dtype == np.uint8:
        return np.asarray(PIL.Image.fromarray(image).resize(target[::-1], PILLOW[method]))
    planes = [PIL.Image.fromarray(np.ascontiguousarray(image[:, :, c])) for c in range(3)]
    resized = [plane.resize(target[::-1], PILLOW[method]) for plane in planes]
    return np.stack([np.asarray(plane) for plane in resized], axis=2)


@pytest.mark.parametrize("method", PILLOW)
def test_pillow(stoker, images, method):
    def library(image, target):
        return by_pillow(image, target, method)

    compare(stoker, images, f"{method}, semantics=pillow", library, 0)


@pytest.mark.parametrize("method", OPENCV)
def test_opencv(stoker, images, method):
    def library(image, target):
        return cv2.resize(image, target[::-1], interpolation=OPENCV[method])

    cv2.ipp.setUseIPP(False)  # OpenCV's own code
    compare(stoker, images, f"{method}, semantics=opencv", library, 0)


def test_opencv_with_ipp(stoker, images):
    cv2.ipp.setUseIPP(True)
    for method, limit in (("bilinear", 0), ("area", 0), ("lanczos4", 0), ("bicubic", 1)):
        for target in TARGETS:
            call = f"resize({target[0]}, {target[1]}, {method}, semantics=opencv)"
            for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
                expected = cv2.resize(image, target[::-1], interpolation=OPENCV[method])
                assert np.abs(got - expected.astype(int)).max() <= limit


@needs_torch
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_torchvision_on_float_tensors(stoker, images, method):
    mode = tv.InterpolationMode(method)
    for target in TARGETS:
        call = f"resize({target[0]}, {target[1]}, {method}, semantics=pillow)"
        results = delivered(stoker, images, f"cast(float32).{call}.layout(NCHW)")
        for image, got in zip(sources(images), results, strict=True):
            tensor = torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32))
            expected = tv.functional.resize(tensor, target, mode, antialias=True).numpy()
            assert_close(got, expected, TOLERANCE)


def is_tall(image, target):
    """Pillow 13 shrinks the height first where it loses more than twice as many pixels."""
    lost = [side - new for side, new in zip(image.shape[:2], target, strict=True)]
    return lost[0] > 0 and lost[0] > 2 * lost[1]


@needs_torch
@pytest.mark.parametrize("method, limit", [("bilinear", 1), ("bicubic", 2)])
def test_torchvision_on_uint8_tensors(stoker, images, method, limit):
    """Its weights have 15 bits or fewer, Pillow's 22, and it goes along rows first: close, not
    equal."""
    mode = tv.InterpolationMode(method)
    for target in TARGETS:
        call = f"resize({target[0]}, {target[1]}, {method}, semantics=pillow)"
        for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
            tensor = torch.from_numpy(image.transpose(2, 0, 1).copy())
            expected = tv.functional.resize(tensor, target, mode, antialias=True).numpy()
            off = np.abs(got - expected.transpose(1, 2, 0).astype(int)).max()
            assert off <= limit or (is_tall(image, target) and method == "bicubic")


RESIZES = [
    ("resize_side(40, semantics=pillow)", {"size": 40}),
    ("resize_side(40, max_size=45, semantics=pillow)", {"size": 40, "max_size": 45}),
    ("resize_side(33, long, semantics=pillow)", {"size": None, "max_size": 33}),
]


def thick(folder, results):
    """Images of more than one row and column, with their results: for the others torchvision and
    TensorFlow come to sides of 0 pixels, which they refuse."""
    pairs = zip(sources(folder), results, strict=True)
    return [(image, result) for image, result in pairs if 1 not in image.shape[:2]]


@needs_torch
@pytest.mark.parametrize("call, arguments", RESIZES, ids=[call for call, _ in RESIZES])
def test_sides_are_torchvision_on_pil_images(stoker, images, call, arguments):
    resize = tv.Resize(**arguments)
    for image, got in thick(images, delivered(stoker, images, call)):
        np.testing.assert_array_equal(got, np.asarray(resize(PIL.Image.fromarray(image))))


@needs_torch
def test_resize_and_crop_is_torchvision(stoker, images):
    results = delivered(stoker, images, "resize_and_crop(32, 32, semantics=pillow)")
    for image, got in zip(sources(images), results, strict=True):
        resized = tv.Resize(32)(PIL.Image.fromarray(image))
        if (resized.height - 32) % 4 == 3 or (resized.width - 32) % 4 == 3:
            continue  # the middle is rounded differently, as docs/ops.md says of center_crop
        np.testing.assert_array_equal(got, np.asarray(tv.CenterCrop(32)(resized)))


@pytest.mark.parametrize("antialias", ["false", "true"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "area", "bicubic"])
@pytest.mark.parametrize("target", [(32, 32), (50, 21), (20, 90)])
def test_resize_with_pad(stoker, images, method, antialias, target):
    call = f"resize_with_pad({target[0]}, {target[1]}, {method}, {antialias})"
    words = {"method": method, "antialias": antialias == "true"}
    for image, got in thick(images, delivered(stoker, images, call)):
        expected = tf.image.resize_with_pad(image, *target, **words).numpy()
        assert_close(got, expected, TOLERANCE)


@pytest.mark.parametrize("target", [(32, 32), (33, 20), (20, 91), (300, 300)])
def test_resize_with_crop_or_pad(stoker, images, target):
    results = delivered(stoker, images, f"resize_with_crop_or_pad({target[0]}, {target[1]})")
    for image, got in zip(sources(images), results, strict=True):
        expected = tf.image.resize_with_crop_or_pad(image, *target).numpy()
        np.testing.assert_array_equal(got, expected)
