# SPDX-License-Identifier: Apache-2.0
"""Writes resize.bin: small images and what TensorFlow, Pillow, torchvision and OpenCV make of them.

    python tests/golden/make_resize.py        (with the packages of tools/requirements-peers.txt)

All numbers little-endian. "STKR", uint32 number of cases, then for each case eleven uint32:
    semantics (0 tf, 1 pillow, 2 opencv), method (an index into METHODS), antialias (0, 1),
    source dtype (0 uint8, 1 float32), channels, source height, source width,
    output height, output width, output dtype (as above),
    greatest difference allowed (a float32, relative to the greatest value; 0: none)
and the values of source and output, row-major, one after the other, each filled up to a multiple
of 4 bytes.
"""

import os
import pathlib
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import torch  # before tensorflow: the other way round their copies of LLVM collide
import torchvision.transforms.v2.functional as tv
import cv2
import numpy as np
import PIL.Image
import tensorflow as tf

METHODS = ["bilinear", "nearest", "area", "bicubic", "lanczos3", "lanczos4", "lanczos5"]
METHODS += ["mitchell", "gaussian", "hamming"]
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
TORCH = {"bilinear": tv.InterpolationMode.BILINEAR, "bicubic": tv.InterpolationMode.BICUBIC}
FLOAT_TOLERANCE = 1e-6

# Height and width before and after: down and up, odd factors, equal, single pixels, factors that
# cross the window sizes of the vector kernels, whole factors, much less height than width, and a
# usual factor.
SIZES = [
    ((13, 17), (9, 11)),
    ((9, 11), (13, 17)),
    ((8, 8), (4, 4)),
    ((7, 5), (7, 5)),
    ((1, 1), (3, 4)),
    ((6, 40), (5, 9)),
    ((2, 97), (2, 12)),
    ((5, 2), (2, 31)),
    ((2, 3), (1, 1)),
    ((18, 20), (6, 5)),
    ((31, 12), (6, 11)),
]
LARGE = ((30, 43), (18, 24))


def tensorflow(image, size, method, antialias):
    name = "mitchellcubic" if method == "mitchell" else method
    return tf.image.resize(image, size, method=name, antialias=antialias).numpy()


def pillow(image, size, method):
    """Channel by channel, as all modes but those with alpha do."""
    planes = [np.ascontiguousarray(image[:, :, c]) for c in range(image.shape[2])]
    resized = [PIL.Image.fromarray(plane).resize(size[::-1], PILLOW[method]) for plane in planes]
    return np.stack([np.asarray(plane) for plane in resized], axis=2)


def torchvision(image, size, method):
    tensor = torch.from_numpy(image.transpose(2, 0, 1))
    return tv.resize(tensor, size, TORCH[method], antialias=True).numpy().transpose(1, 2, 0)


def opencv(image, size, method):
    output = cv2.resize(image, size[::-1], interpolation=OPENCV[method])
    return output.reshape(*size, image.shape[2])


def make_image(rng, size, channels, dtype):
    shape = (*size, channels)
    if dtype == np.float32:
        return rng.normal(0, 100, shape).astype(np.float32)
    if rng.integers(0, 3) == 0:  # only black and white, so that sums pass the ends
        return (rng.integers(0, 2, shape) * 255).astype(np.uint8)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def padded(values):
    data = np.ascontiguousarray(values).tobytes()
    return data + bytes(-len(data) % 4)


def case(rng, way, dtype, channels, sizes):
    semantics, method, antialias = way
    source = make_image(rng, sizes[0], channels, dtype)
    tolerance = 0 if dtype == np.uint8 else FLOAT_TOLERANCE
    if semantics == "tf":
        output = tensorflow(source, sizes[1], method, antialias)
        tolerance = FLOAT_TOLERANCE if method == "area" else 0
    elif semantics == "torchvision":
        output = torchvision(source, sizes[1], method)
        semantics, tolerance = "pillow", 1e-5
    else:
        output = {"pillow": pillow, "opencv": opencv}[semantics](source, sizes[1], method)
    assert output.shape == (*sizes[1], channels)
    head = struct.pack(
        "<10If",
        ["tf", "pillow", "opencv"].index(semantics),
        METHODS.index(method),
        antialias,
        [np.uint8, np.float32].index(dtype),
        channels,
        *sizes[0],
        *sizes[1],
        [np.uint8, np.float32].index(output.dtype.type),
        tolerance,
    )
    return head + padded(source) + padded(output)


def ways():
    for method in METHODS:
        if method not in ("lanczos4", "hamming"):
            yield "tf", method, False
        if method in ("bilinear", "bicubic", "lanczos3", "lanczos5", "mitchell", "gaussian"):
            yield "tf", method, True
    for method in PILLOW:
        yield "pillow", method, True
    for method in OPENCV:
        yield "opencv", method, False


def cases(rng):
    for way in ways():
        is_usual = way[1] in ("bilinear", "bicubic", "area")
        for sizes in SIZES if is_usual else SIZES[:7:2] + SIZES[-1:]:
            yield case(rng, way, np.uint8, int(rng.choice([1, 3, 3, 4])), sizes)
        for sizes in SIZES[: 6 if is_usual else 2]:
            yield case(rng, way, np.float32, int(rng.choice([1, 3])), sizes)
        yield case(rng, way, np.uint8, 2, ((8, 12), (4, 6)))
        if is_usual and not (way[0] == "tf" and way[2]):
            yield case(rng, way, np.uint8, 3, LARGE)
    for method in TORCH:
        for sizes in SIZES[:6]:
            yield case(rng, ("torchvision", method, True), np.float32, 3, sizes)


def main():
    cv2.ipp.setUseIPP(False)  # its bicubic is another one
    made = list(cases(np.random.default_rng(2024)))
    path = pathlib.Path(__file__).with_name("resize.bin")
    path.write_bytes(b"STKR" + struct.pack("<I", len(made)) + b"".join(made))
    print(f"{path}: {len(made)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
