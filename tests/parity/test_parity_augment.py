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
import make_augment  # noqa: E402
import torchvision.transforms.v2 as tv  # noqa: E402

torch.set_num_threads(1)  # the images are small
F = tv.functional
TOLERANCE = 1e-5
SIZES = [(37, 53), (24, 100), (96, 64), (5, 31), (61, 1), (2, 2), (70, 61)]


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


# Blurs are compared below, with a tolerance of their own.
CASES = [case for case in make_augment.CALLS if not case[0].startswith("gaussian_blur")]
CASES += [("posterize(8)", lambda t: F.posterize(t, 8))]
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


# ---- automatic augmentation: what was drawn is found among all that could have been ----


def steps(space, bins, height, width):
    """Every change of a table of torchvision's, with all its magnitudes: id and magnitude."""
    for name, (magnitudes, is_signed) in space.items():
        found = magnitudes(bins, height, width)
        if found is None:
            yield name, 0.0
            continue
        for value in found:
            yield name, float(value)
            if is_signed:
                yield name, -float(value)


def apply(transform, image, name, magnitude):
    return transform._apply_image_or_video_transform(
        image, name, magnitude, interpolation=transform.interpolation, fill=transform._fill
    )


def is_equal(got, tensor):
    return np.array_equal(got, tensor.numpy().transpose(1, 2, 0))


MODES = ["nearest", "bilinear"]


@pytest.mark.parametrize("mode", MODES)
def test_trivial_augment(stoker, images, mode):
    interpolation = tv.InterpolationMode(mode)
    transform = tv.TrivialAugmentWide(interpolation=interpolation)
    seen = set()
    for seed in range(3):
        call = f"trivial_augment(interpolation={mode}, seed={seed})"
        for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
            space = steps(transform._AUGMENTATION_SPACE, 31, *image.shape[1:])
            same = (step for step in space if is_equal(got, apply(transform, image, *step)))
            seen.add(next(same, ("none of them", 0))[0])
    assert len(seen) >= 10 and "none of them" not in seen  # of 14


@pytest.mark.parametrize("mode", MODES)
def test_rand_augment(stoker, images, mode):
    transform = tv.RandAugment(1, 20, interpolation=tv.InterpolationMode(mode), fill=99)
    for seed in range(2):
        call = f"rand_augment(1, 20, interpolation={mode}, fill=99, seed={seed})"
        for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
            space = transform._AUGMENTATION_SPACE
            all_steps = {
                (name, float(magnitudes(31, *image.shape[1:])[20]) * sign)
                if magnitudes(31, 9, 9) is not None
                else (name, 0.0)
                for name, (magnitudes, is_signed) in space.items()
                for sign in ((1, -1) if is_signed else (1,))
            }
            assert any(is_equal(got, apply(transform, image, *step)) for step in all_steps)


def test_two_steps(stoker, images):
    """The second change is made to the result of the first."""
    transform = tv.RandAugment(2, 9)
    results = delivered(stoker, images, "rand_augment()")
    for image, got in zip(sources(images), results, strict=True):
        once = []
        for name, (magnitudes, is_signed) in transform._AUGMENTATION_SPACE.items():
            found = magnitudes(31, *image.shape[1:])
            size = 0.0 if found is None else float(found[9])
            once += [(name, size), (name, -size)] if is_signed else [(name, size)]
        first = [apply(transform, image, *step) for step in once]
        assert any(
            is_equal(got, apply(transform, tensor, *step)) for tensor in first for step in once
        )


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_auto_augment(stoker, images, policy):
    transform = tv.AutoAugment(tv.AutoAugmentPolicy(policy))
    results = delivered(stoker, images, f"auto_augment({policy})")
    for image, got in zip(sources(images), results, strict=True):
        assert any(is_equal(got, tensor) for tensor in auto_augmented(transform, image))


def auto_augmented(transform, image):
    """Everything that the policies can make of an image."""
    for pair in transform._policies:
        tensors = [image]
        for name, _, index in pair:
            magnitudes, is_signed = transform._AUGMENTATION_SPACE[name]
            found = magnitudes(10, *image.shape[1:])
            size = 0.0 if found is None else float(found[index])
            sizes = [size, -size] if is_signed else [size]
            tensors += [apply(transform, t, name, s) for t in tensors for s in sizes]
        yield from tensors


# ---- the rest ----


def test_gaussian_blur(stoker, images):
    """Where a sum is half way between two values, the order of the additions decides."""
    for size, sigma in ((3, 0.5), (5, 1.7)):
        call = f"resize(60, 70, dtype=uint8).gaussian_blur({size}, {sigma})"
        plain = delivered(stoker, images, "resize(60, 70, dtype=uint8)")
        for source, got in zip(plain, delivered(stoker, images, call), strict=True):
            tensor = torch.from_numpy(source.astype(np.uint8).transpose(2, 0, 1).copy())
            expected = F.gaussian_blur(tensor, [size, size], [sigma, sigma]).numpy()
            off = np.abs(got - expected.transpose(1, 2, 0).astype(int))
            assert off.max() <= 1 and (off > 0).mean() < 1e-3


@pytest.mark.parametrize("quality", [1, 50, 95])
def test_jpeg_quality(stoker, images, quality):
    results = delivered(stoker, images, f"jpeg_quality({quality})")
    for image, got in zip(sources(images), results, strict=True):
        assert_close(got, F.jpeg(image, quality), 0)


def test_per_image_standardization(stoker, images):
    tf = pytest.importorskip("tensorflow")
    results = delivered(stoker, images, "per_image_standardization()")
    for image, got in zip(sources(images), results, strict=True):
        expected = tf.image.per_image_standardization(image.numpy().transpose(1, 2, 0)).numpy()
        assert_close(got, torch.from_numpy(expected.transpose(2, 0, 1)), TOLERANCE)


def test_color_jitter_is_a_chain_of_adjustments(stoker, images):
    """Of one factor each, in any order of the four."""
    import itertools

    changes = [
        lambda t: F.adjust_brightness(t, 1.3),
        lambda t: F.adjust_contrast(t, 0.6),
        lambda t: F.adjust_saturation(t, 1.7),
        lambda t: F.adjust_hue(t, 0.2),
    ]
    call = "color_jitter([1.3, 1.3], [0.6, 0.6], [1.7, 1.7], [0.2, 0.2])"
    orders = set()
    for image, got in zip(sources(images), delivered(stoker, images, call), strict=True):
        found = []
        for order in itertools.permutations(range(4)):
            tensor = image
            for i in order:
                tensor = changes[i](tensor)
            found += [order] if is_equal(got, tensor) else []
        assert found
        orders.update(found if len(found) == 1 else [])
    assert len(orders) > 3
