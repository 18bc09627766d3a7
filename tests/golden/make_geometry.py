# SPDX-License-Identifier: Apache-2.0
"""Writes geometry.bin: small images with masks, boxes and keypoints, and what torchvision's v2
transforms make of them.

    python tests/golden/make_geometry.py      (with the packages of tools/requirements-peers.txt)

All numbers little-endian. "STKG", uint32 number of cases, then for each case
    uint32 length of the call's text; the text, filled up with NUL to a multiple of 4
    uint32 number of fields, then for each field
        its name in 8 bytes, uint32 dtype (0 uint8, 1 float32, 2 int64),
        uint32 rank and dimensions before, the same after,
        greatest difference allowed (a float32; 0: none),
        the values before and after, row-major, each filled up to a multiple of 4 bytes.

Images and masks are exact. Boxes and keypoints of floats may differ by 1e-5 of the image's size:
torchvision computes them in float32, stoker in float64.
"""

import pathlib
import struct

import numpy as np
import torch
import torchvision.transforms.v2.functional as F
from torchvision import tv_tensors

DTYPES = {"uint8": 0, "float32": 1, "int64": 2}
MODES = {"nearest": F.InterpolationMode.NEAREST, "bilinear": F.InterpolationMode.BILINEAR}
SIZES = [(13, 17), (8, 8), (6, 31)]


def boxes_of(rng, size, dtype):
    height, width = size
    corners = np.sort(rng.random((3, 2, 2)), axis=1) * [width, height]
    return corners.reshape(3, 4).astype(dtype)


def as_format(boxes, name):
    left, top, right, bottom = boxes.T
    if name == "xywh":
        return np.stack([left, top, right - left, bottom - top], axis=1)
    if name == "cxcywh":
        center = (left + right) / 2, (top + bottom) / 2
        return np.stack([*center, right - left, bottom - top], axis=1).astype(boxes.dtype)
    return boxes


class Case:
    """A call, and its fields before and after."""

    def __init__(self, rng, size, box_format="xyxy", dtype="float32", channels=3):
        height, width = size
        self.format = box_format
        self.before = {
            "image": rng.integers(0, 256, (height, width, channels), dtype=np.uint8),
            "seg": rng.integers(0, 9, (height, width, 1), dtype=np.uint8),
            "boxes": as_format(boxes_of(rng, size, dtype), box_format),
            "points": (rng.random((4, 2)) * [width, height]).astype(dtype),
        }

    def made_by(self, call, function, image_function=None):
        """The call's text without what follows, and the functions it stands for."""
        size = self.before["image"].shape[:2]
        tensors = {name: torch.from_numpy(value) for name, value in self.before.items()}
        seg = tv_tensors.Mask(tensors["seg"].permute(2, 0, 1))
        boxes = tv_tensors.BoundingBoxes(
            tensors["boxes"], format=self.format.upper(), canvas_size=size
        )
        points = tv_tensors.KeyPoints(tensors["points"], canvas_size=size)
        image = (image_function or function)(tensors["image"].permute(2, 0, 1))
        self.after = {
            "image": image.permute(1, 2, 0).numpy(),
            "seg": function(seg).permute(1, 2, 0).numpy(),
            "boxes": function(boxes).numpy(),
            "points": function(points).numpy(),
        }
        fields = f"fields={{seg: mask, boxes: {self.format}, points: keypoints}}"
        self.text = f"{call}, field=image, {fields})"
        return self

    def bytes(self):
        text = self.text.encode()
        parts = [struct.pack("<I", len(text)), padded(text), struct.pack("<I", len(self.before))]
        for name, before in self.before.items():
            after = self.after[name]
            assert before.dtype == after.dtype
            is_exact = name in ("image", "seg") or before.dtype == np.int64
            tolerance = 0.0 if is_exact else 1e-5 * max(self.before["image"].shape)
            parts += [
                name.encode().ljust(8, b"\0"),
                struct.pack("<I", DTYPES[before.dtype.name]),
                shape_bytes(before),
                shape_bytes(after),
                struct.pack("<f", tolerance),
                padded(before.tobytes()),
                padded(np.ascontiguousarray(after).tobytes()),
            ]
        return b"".join(parts)


def padded(data):
    return data + bytes(-len(data) % 4)


def shape_bytes(array):
    return struct.pack(f"<{array.ndim + 1}I", array.ndim, *array.shape)


def floats(case):
    case.before["image"] = (case.before["image"] / np.float32(255)).astype(np.float32)
    return case


def flips_and_crops(rng):
    for size in SIZES:
        height, width = size
        for dtype, box_format in [("float32", "xyxy"), ("int64", "xywh"), ("float32", "cxcywh")]:
            yield Case(rng, size, box_format, dtype).made_by("flip(horizontal", F.horizontal_flip)
            yield Case(rng, size, box_format, dtype).made_by("flip(vertical", F.vertical_flip)
        yield floats(Case(rng, size)).made_by("flip(horizontal", F.horizontal_flip)
        crop = height - 4, width - 6
        yield Case(rng, size, "xyxy", "int64").made_by(
            f"center_crop({crop[0]}, {crop[1]}", lambda v: F.center_crop(v, list(crop))
        )


def rotations(rng):
    for size in SIZES:
        for word, mode in MODES.items():
            for angle in (30, -77.5, 90, 180, 270):
                for expand in (False, True):
                    call = f"rotate({angle}, {word}, expand={str(expand).lower()}"
                    yield Case(rng, size, "xywh").made_by(
                        call, lambda v: F.rotate(v, angle, interpolation=mode, expand=expand)
                    )
            center = [2.0, 5.5]
            yield floats(Case(rng, size)).made_by(
                f"rotate(50, {word}, center=[2, 5.5]",
                lambda v: F.rotate(v, 50, interpolation=mode, center=center),
            )
            fill = [9, 200, 0]
            yield Case(rng, size).made_by(
                f"rotate(12, {word}, fill={fill}",
                lambda v: F.rotate(v, 12, interpolation=mode),
                lambda v: F.rotate(v, 12, interpolation=mode, fill=fill),
            )
            yield Case(rng, size, channels=1).made_by(
                f"rotate(65, {word}, fill=0",
                lambda v: F.rotate(v, 65, interpolation=mode),
                lambda v: F.rotate(v, 65, interpolation=mode, fill=0),
            )


def affine_maps(rng):
    for size in SIZES:
        for word, mode in MODES.items():
            for angle, shift, scale, shear in [
                (0, [3.0, -2.0], 1.0, [0.0, 0.0]),
                (20, [0.0, 0.0], 1.5, [10.0, 0.0]),
                (-140, [1.0, 1.0], 0.7, [-20.0, 15.0]),
            ]:
                call = f"affine({angle}, {shift}, {scale}, {shear}, {word}"
                case = Case(rng, size, "cxcywh", channels=4 if angle else 1)
                case = floats(case) if angle == 20 else case
                yield case.made_by(
                    call, lambda v: F.affine(v, angle, shift, scale, shear, interpolation=mode)
                )


def perspectives(rng):
    for size in SIZES:
        height, width = size
        start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        end = [[1, 0], [width - 2, 2], [width - 1, height - 3], [2, height - 1]]
        for word, mode in MODES.items():
            for make in (lambda c: c, floats):
                yield make(Case(rng, size)).made_by(
                    f"perspective({sum(start, [])}, {sum(end, [])}, {word}",
                    lambda v: F.perspective(v, start, end, interpolation=mode),
                )
            yield Case(rng, size).made_by(
                f"perspective({sum(start, [])}, {sum(end, [])}, {word}, fill=77",
                lambda v: F.perspective(v, start, end, interpolation=mode),
                lambda v: F.perspective(v, start, end, interpolation=mode, fill=77),
            )


def main():
    rng = np.random.default_rng(5)
    makers = [flips_and_crops, rotations, affine_maps, perspectives]
    cases = [case.bytes() for maker in makers for case in maker(rng)]
    path = pathlib.Path(__file__).with_name("geometry.bin")
    path.write_bytes(b"STKG" + struct.pack("<I", len(cases)) + b"".join(cases))
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")


main()
