# SPDX-License-Identifier: Apache-2.0
"""Compares geometric ops, on images, masks, boxes and keypoints, with the installed torchvision v2
on tensors, on random images and parameters.

Flips and crops must be equal bit for bit. What is interpolated may differ as torchvision's own results
differ between processors and between values of ATEN_CPU_CAPABILITY: it fuses products and sums here and
not there, which moves a place by some 1e-6 of the image's size. So bytes may be 1 apart in 1 % of values,
floats 1e-4, and the nearest pixel may be the next one in 1 % of places; tests/golden has results of one
processor, which are met to the bit. Boxes and keypoints, which stoker maps in float64 and torchvision in
float32, may differ by 1e-5 of the image's size."""

import itertools
import math
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
stoker = pytest.importorskip("stoker")

import torchvision.transforms.v2 as tv
import torchvision.transforms.v2.functional as F
from torchvision import tv_tensors

SIZES = [(37, 53), (24, 24), (64, 100), (5, 31), (130, 300)]
FORMATS = ["xyxy", "xywh", "cxcywh"]
INTERPOLATED = ("rotate", "affine", "perspective")
N_BOXES, N_POINTS = 6, 9


@pytest.fixture(params=range(len(SIZES)), ids=[f"{h}x{w}" for h, w in SIZES])
def sample(request):
    """An image with all that can follow it. Boxes are inside it: torchvision clips them in some
    ops only."""
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    rng = np.random.default_rng(seed)
    height, width = SIZES[request.param]
    corners = np.sort(rng.random((N_BOXES, 2, 2)), axis=1) * [width, height]
    return {
        "rng": rng,
        "image": rng.integers(0, 256, (height, width, 3), dtype=np.uint8),
        "seg": rng.integers(0, 20, (height, width, 1), dtype=np.uint8),
        "boxes": corners.reshape(N_BOXES, 4).astype(np.float32),
        "points": (rng.random((N_POINTS, 2)) * [width, height]).astype(np.float32),
    }


def as_format(boxes, name):
    left, top, right, bottom = boxes.T
    if name == "xywh":
        boxes = np.stack([left, top, right - left, bottom - top], axis=1)
    elif name == "cxcywh":
        boxes = np.stack([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], 1)
    return np.ascontiguousarray(boxes, np.float32)


def ours(sample, box_format, op, *args, **words):
    """What the op makes of the sample's fields."""
    data = stoker.from_arrays(
        image=np.ascontiguousarray(sample["image"][None]),
        seg=np.ascontiguousarray(sample["seg"][None]),
        boxes=as_format(sample["boxes"], box_format)[None],
        points=sample["points"][None],
    )
    fields = {"seg": "mask", "boxes": box_format, "points": "keypoints"}
    row = next(iter(getattr(data, op)(*args, field="image", fields=fields, **words)))
    return {name: np.array(row[name]) for name in ("image", "seg", "boxes", "points")}


def theirs(sample, box_format, function):
    """What torchvision makes of them."""
    size = sample["image"].shape[:2]
    image = torch.from_numpy(sample["image"]).permute(2, 0, 1)
    seg = tv_tensors.Mask(torch.from_numpy(sample["seg"]).permute(2, 0, 1))
    boxes = tv_tensors.BoundingBoxes(
        torch.from_numpy(as_format(sample["boxes"], box_format)),
        format=box_format.upper(),
        canvas_size=size,
    )
    points = tv_tensors.KeyPoints(torch.from_numpy(sample["points"]), canvas_size=size)
    return {
        "image": function(image).permute(1, 2, 0).numpy(),
        "seg": function(seg).permute(1, 2, 0).numpy(),
        "boxes": function(boxes).numpy(),
        "points": function(points).numpy(),
    }


def check_near(got, expected, most, share=0.01):
    """Values differ by no more than `most`, but for a share of them where `most` is exceeded or, of
    bytes, anything differs."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    apart = np.abs(got.astype(np.float64) - expected)
    others = apart > (0 if got.dtype == np.uint8 else most)
    assert others.mean() <= share, f"{100 * others.mean():.2f} % of values differ, by {apart.max()}"
    if got.dtype == np.uint8:
        assert apart.max() <= most


def compare(sample, function, op, *args, **words):
    for box_format in FORMATS:
        got = ours(sample, box_format, op, *args, **words)
        expected = theirs(sample, box_format, function)
        for name in "image", "seg":
            if op not in INTERPOLATED:
                np.testing.assert_array_equal(got[name], expected[name])
            else:
                check_near(got[name], expected[name], 255 if "nearest" in args or name == "seg" else 1)
        tolerance = 1e-5 * max(sample["image"].shape)
        for name in "boxes", "points":
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-5, atol=tolerance)


def compare_float(sample, function, op, *args, **words):
    """The image alone, as float32."""
    image = (sample["image"] / 255).astype(np.float32)
    row = next(iter(getattr(stoker.from_arrays(image=image[None]), op)(*args, **words)))
    expected = function(torch.from_numpy(image).permute(2, 0, 1)).permute(1, 2, 0).numpy()
    check_near(np.array(row["image"]), expected, 1e-4)


def mode(word):
    return F.InterpolationMode.NEAREST if word == "nearest" else F.InterpolationMode.BILINEAR


@pytest.mark.parametrize("axis", ["horizontal", "vertical"])
def test_flip(sample, axis):
    function = F.horizontal_flip if axis == "horizontal" else F.vertical_flip
    compare(sample, function, "flip", axis)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("expand", [False, True])
def test_rotate(sample, interpolation, expand):
    for angle in [sample["rng"].uniform(-180, 180), 90, -90, 180, 45, 0, 360]:

        def function(value):
            return F.rotate(value, angle, interpolation=mode(interpolation), expand=expand)

        compare(sample, function, "rotate", angle, interpolation, expand=expand)
        compare_float(sample, function, "rotate", angle, interpolation, expand=expand)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_rotate_around_a_point(sample, interpolation):
    height, width = sample["image"].shape[:2]
    center = [float(sample["rng"].integers(0, width)), float(sample["rng"].uniform(0, height))]
    for angle in [sample["rng"].uniform(-180, 180), 90]:

        def function(value):
            return F.rotate(value, angle, interpolation=mode(interpolation), center=center)

        compare(sample, function, "rotate", angle, interpolation, center=center)


@pytest.mark.parametrize("fill", [0, 128, [10, 20, 255]])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_fill(sample, interpolation, fill):
    angle = sample["rng"].uniform(-180, 180)

    def function(value):
        own = None if isinstance(value, tv_tensors.TVTensor) else fill
        return F.rotate(value, angle, interpolation=mode(interpolation), fill=own)

    compare(sample, function, "rotate", angle, interpolation, fill=fill)
    compare_float(sample, function, "rotate", angle, interpolation, fill=fill)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_affine(sample, interpolation):
    rng = sample["rng"]
    for _ in range(3):
        angle, scale = rng.uniform(-180, 180), rng.uniform(0.5, 2)
        shift = [float(rng.integers(-10, 10)), float(rng.integers(-10, 10))]
        shear = [rng.uniform(-30, 30), rng.uniform(-30, 30)]

        def function(value):
            return F.affine(value, angle, shift, scale, shear, interpolation=mode(interpolation))

        compare(sample, function, "affine", angle, shift, scale, shear, interpolation)
        compare_float(sample, function, "affine", angle, shift, scale, shear, interpolation)


def is_flat(corners):
    """Three of them are on one line: no projection goes there, and results mean nothing."""
    for a, b, c in itertools.combinations(np.array(corners), 3):
        if (b - a)[0] * (c - a)[1] == (b - a)[1] * (c - a)[0]:
            return True
    return False


@pytest.mark.parametrize("fill", [None, 100])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_perspective(sample, interpolation, fill):
    height, width = sample["image"].shape[:2]
    rng = sample["rng"]
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    for _ in range(3):
        share = rng.uniform(0, 0.4, (4, 2)) * [width, height]
        end = [[int(abs(x - dx)), int(abs(y - dy))] for (x, y), (dx, dy) in zip(start, share)]
        if is_flat(end):
            continue

        def function(value):
            own = None if isinstance(value, tv_tensors.TVTensor) else fill
            return F.perspective(value, start, end, interpolation=mode(interpolation), fill=own)

        points = [sum(start, []), sum(end, [])]
        compare(sample, function, "perspective", *points, interpolation, fill=fill)
        compare_float(sample, function, "perspective", *points, interpolation, fill=fill)


def test_center_crop(sample):
    """The larger part goes where torchvision has it for even differences."""
    height, width = sample["image"].shape[:2]
    height, width = height - 2 * (height // 5), width - 2 * (width // 3)
    compare(sample, lambda v: F.center_crop(v, [height, width]), "center_crop", height, width)


def test_crop(sample):
    height, width = sample["image"].shape[:2]
    part = [height // 4, width // 5, height // 2, width // 2]
    compare(sample, lambda v: F.crop(v, *part), "crop", *part)


@pytest.mark.parametrize("size", [(20, 30), (77, 41), (5, 200)])
def test_resize(sample, size):
    """Boxes and keypoints; masks are resized as nearest-exact does, by the middles of pixels."""
    got = ours(sample, "xyxy", "resize", *size)
    expected = theirs(sample, "xyxy", lambda v: F.resize(v, list(size)))
    exact = F.InterpolationMode.NEAREST_EXACT
    seg = F.resize(torch.from_numpy(sample["seg"]).permute(2, 0, 1), list(size), exact)
    np.testing.assert_array_equal(got["seg"], seg.permute(1, 2, 0).numpy())
    for name in "boxes", "points":
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-5, atol=1e-4)


def test_random_resized_crop(sample):
    """The whole image by chance of one value: as resize."""
    words = {"scale": [1, 1], "ratio": [1, 1]}
    side = min(sample["image"].shape[:2])
    square = {**sample, "image": sample["image"][:side, :side], "seg": sample["seg"][:side, :side]}
    got = ours(square, "xyxy", "random_resized_crop", 30, 40, **words)
    expected = ours(square, "xyxy", "resize", 30, 40)
    for name in "image", "seg", "boxes", "points":
        np.testing.assert_array_equal(got[name], expected[name])


def test_rot90(sample):
    tf = pytest.importorskip("tensorflow")
    for k in range(-1, 5):
        row = next(iter(stoker.from_arrays(image=sample["image"][None]).rot90(k)))
        expected = tf.image.rot90(sample["image"], k % 4).numpy()
        check_near(np.array(row["image"]), expected, 1e-4)


def test_random_forms_draw_what_the_fixed_ones_do(sample):
    """Ranges of one value leave nothing to chance."""
    data = stoker.from_arrays(image=sample["image"][None])
    for random, fixed in [
        (data.random_rotation([33, 33]), data.rotate(33)),
        (data.random_affine([7, 7], scale=[1.2, 1.2], shear=[5, 5]), data.affine(7, None, 1.2, 5)),
        (data.random_perspective(0, probability=0), data.rotate(0)),
    ]:
        got, expected = (np.array(next(iter(d))["image"]) for d in (random, fixed))
        np.testing.assert_array_equal(got, expected)


def test_angles_are_spread_evenly():
    """Where a point at the right goes says by which angle an image was turned."""
    n = 4000
    images = np.zeros((n, 3, 3, 1), np.uint8)
    points = np.tile(np.array([[2.5, 1.5]], np.float32), (n, 1, 1))
    data = stoker.from_arrays(image=images, points=points)
    data = data.random_rotation([10, 70], field="image", fields={"points": "keypoints"})
    x, y = np.stack([np.array(row["points"])[0] for row in data]).T
    degrees = np.array([math.degrees(math.atan2(-(b - 1.5), a - 1.5)) for a, b in zip(x, y)])
    assert degrees.min() >= 10 and degrees.max() <= 70
    counts = np.histogram(degrees, bins=6, range=(10, 70))[0]
    expected = n / 6
    assert ((counts - expected) ** 2 / expected).sum() < 40  # 5 degrees of freedom


class Always:
    """A distribution that gives one number."""

    def __init__(self, value):
        self.value = value

    def sample(self, _):
        return torch.tensor(self.value)


def mixed(op, **words):
    """A batch, what the op makes of it, and the share it drew."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    images, labels = rng.random((6, 9, 11, 3), np.float32), np.arange(6)
    data = stoker.from_arrays(image=images, label=labels).batch(6)
    row = next(iter(getattr(data, op)(num_classes=6, **words)))
    image, label = np.array(row["image"]), np.array(row["label"])
    return torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels), image, label


def test_mixup():
    images, labels, image, label = mixed("mixup", alpha=0.7)
    theirs = tv.MixUp(alpha=0.7, num_classes=6)
    theirs._dist = Always(label[0, 0])
    expected, expected_label = theirs(images, labels)
    np.testing.assert_array_equal(image, expected.permute(0, 2, 3, 1).numpy())
    np.testing.assert_array_equal(label, expected_label.numpy())


def test_cutmix():
    """The part is found by looking at what changed."""
    images, labels, image, label = mixed("cutmix")
    changed = (image != images.permute(0, 2, 3, 1).numpy()).any(axis=(0, 3))
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    box = (0, 0, 0, 0)
    if rows.size:
        box = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    area = float((box[2] - box[0]) * (box[3] - box[1]))
    theirs = tv.CutMix(num_classes=6)
    theirs.make_params = lambda _: {"box": box, "lam_adjusted": 1.0 - area / (9 * 11)}
    expected, expected_label = theirs(images, labels)
    np.testing.assert_array_equal(image, expected.permute(0, 2, 3, 1).numpy())
    np.testing.assert_array_equal(label, expected_label.numpy())
