# SPDX-License-Identifier: Apache-2.0
"""Compares windows of images with those of the installed torchvision.

Random numbers are the command's, taken from the model and handed to torchvision."""

import json
import math
import os

import numpy as np
import PIL.Image
import pytest

torch = pytest.importorskip("torch")
import torchvision.transforms.v2 as tv  # noqa: E402
import torchvision.transforms.v2._geometry as geometry  # noqa: E402

from model.bits import key_make, mix, row_words, unit_float  # noqa: E402

SEED = 11
ORDINAL = 2  # of the third call of a chain
SIZES = [(37, 53), (24, 100), (96, 64), (30, 31), (33, 150), (90, 24)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images of noise as PNG files."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    for i, size in enumerate(SIZES * 8):
        image = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
        PIL.Image.fromarray(image).save(folder / f"{i:02}.png")
    return folder


def sources(folder):
    return [PIL.Image.open(path) for path in sorted(folder.glob("*.png"))]


def delivered(stoker, folder, call):
    chain = f"files('{folder}/*.png').decode().{call}"
    done = stoker("run", chain, "--dump", "--quiet", "--seed", str(SEED))
    assert done.returncode == 0, done.stderr
    return [np.array(json.loads(line)["fields"]["image"]) for line in done.stdout.splitlines()]


def words_of(index, try_index, user_seed=0):
    """The random words of an element of the first epoch."""
    return row_words(key_make(0, mix(0, 0), index), mix(SEED, ORDINAL), user_seed, try_index)


def integer(word, n):
    return word * n >> 32


class Number:
    """Stands for a tensor of one."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value

    def __int__(self):
        return self.value


class Draws:
    """Stands for torch where torchvision draws: area, shape, top and left of one try after the
    other."""

    def __init__(self, index):
        self.index = index
        self.n_uniform = 0

    def empty(self, _):
        return self

    def uniform_(self, low, high):
        try_index, which = divmod(self.n_uniform, 2)
        self.n_uniform += 1
        words = words_of(self.index, try_index)
        self.places = iter(words[2:])
        return Number(float(low) + (float(high) - float(low)) * unit_float(words[which]))

    def exp(self, number):
        return Number(math.exp(number.value))

    def randint(self, low, high, size):
        assert low == 0 and size == (1,)
        return Number(integer(next(self.places), high))


@pytest.mark.parametrize(
    "words, arguments",
    [
        ("", {}),
        ("scale=[0.4, 1]", {"scale": (0.4, 1)}),
        ("scale=[0.9, 1.5], ratio=[0.2, 5]", {"scale": (0.9, 1.5), "ratio": (0.2, 5)}),
        ("scale=[2, 3]", {"scale": (2, 3)}),  # never fits: the middle
        ("scale=[2, 3], ratio=[2, 2.5]", {"scale": (2, 3), "ratio": (2, 2.5)}),
    ],
)
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_random_resized_crop(stoker, folder, monkeypatch, words, arguments, method):
    mode = tv.InterpolationMode(method)
    crop = tv.RandomResizedCrop((24, 32), interpolation=mode, **arguments)
    crop._log_ratio = [math.log(ratio) for ratio in crop.ratio]  # in double, as the command
    call = f"random_resized_crop(24, 32, method={method}, semantics=pillow, {words})"
    call = call.replace(", )", ")")
    for i, (image, got) in enumerate(
        zip(sources(folder), delivered(stoker, folder, call), strict=True)
    ):
        with monkeypatch.context() as patch:
            patch.setattr(geometry, "torch", Draws(i))
            window = crop.make_params([image])
        expected = tv.functional.resized_crop(image, **window, size=[24, 32], interpolation=mode)
        np.testing.assert_array_equal(got, np.asarray(expected))


PADDINGS = [
    ("", {}),
    ("padding=4", {"padding": 4}),
    ("padding=[3, 5]", {"padding": [3, 5]}),
    ("padding=[1, 2, 3, 4], fill=9", {"padding": [1, 2, 3, 4], "fill": 9}),
    ("padding=2, fill=[9, 8, 7]", {"padding": 2, "fill": (9, 8, 7)}),
    ("padding=7, padding_mode=edge", {"padding": 7, "padding_mode": "edge"}),
    ("padding=7, padding_mode=reflect", {"padding": 7, "padding_mode": "reflect"}),
    ("padding=7, padding_mode=symmetric", {"padding": 7, "padding_mode": "symmetric"}),
]


@pytest.mark.parametrize("height, width", [(24, 24), (23, 17)])
@pytest.mark.parametrize("words, arguments", PADDINGS, ids=[words for words, _ in PADDINGS])
def test_random_crop(stoker, folder, words, arguments, height, width):
    call = f"random_crop({height}, {width}, {words})".replace(", )", ")")
    for i, (image, got) in enumerate(
        zip(sources(folder), delivered(stoker, folder, call), strict=True)
    ):
        padded = tv.Pad(**arguments)(image) if arguments else image
        first, second, *_ = words_of(i, 0)
        top = integer(first, padded.height - height + 1)
        left = integer(second, padded.width - width + 1)
        expected = tv.functional.crop(padded, top, left, height, width)
        np.testing.assert_array_equal(got, np.asarray(expected))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_pad_if_needed(stoker, folder, monkeypatch, mode):
    crop = tv.RandomCrop((60, 40), pad_if_needed=True, padding_mode=mode, padding=[2, 1])
    words = f"pad_if_needed=true, padding_mode={mode}, padding=[2, 1], seed=4"
    results = delivered(stoker, folder, f"random_crop(60, 40, {words})")
    if mode == "reflect":  # torchvision does not go beyond the mirror image
        results = [got if min(SIZES[i % 6]) > 40 else None for i, got in enumerate(results)]
    for i, (image, got) in enumerate(zip(sources(folder), results, strict=True)):
        draws = iter(words_of(i, 0, 4))

        def randint(low, high, size, draws=draws):
            return Number(low + integer(next(draws), high - low))

        with monkeypatch.context() as patch:
            patch.setattr(torch, "randint", randint)
            window = crop.make_params([image])
        if got is not None:
            np.testing.assert_array_equal(got, np.asarray(crop.transform(image, window)))


def test_crop(stoker, folder):
    for image, got in zip(
        sources(folder), delivered(stoker, folder, "crop(3, 5, 20, 18)"), strict=True
    ):
        np.testing.assert_array_equal(got, np.asarray(image)[3:23, 5:23])
