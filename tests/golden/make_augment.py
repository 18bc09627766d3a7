# SPDX-License-Identifier: Apache-2.0
"""Writes augment.bin: small images and what torchvision's v2 transforms on tensors make of them.

    python tests/golden/make_augment.py        (with the packages of tools/requirements-peers.txt)

All numbers little-endian. "STKA", uint32 number of cases, then for each case
    64 bytes: the call, filled up with zeros
    six uint32: dtype (0 uint8, 1 float32 from 0 to 1, 2 float32 from 0 to 255), height, width,
        channels, channels of the output, greatest difference allowed (a float32, relative to the
        greatest value; 0: none)
and the values of source and output, row-major, one after the other, each filled up to a multiple
of 4 bytes. A call "step CHANGE MODE MAGNITUDE" is one change of RandAugment: an index into CHANGES,
0 nearest or 1 bilinear, and what the tables give.
"""

import os
import pathlib
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import torch  # before tensorflow: the other way round their copies of LLVM collide
import torchvision.transforms.v2 as tv
import torchvision.transforms.v2.functional as F
import numpy as np
import tensorflow as tf

FLOAT_TOLERANCE = 1e-5
SIZES = [(7, 9), (1, 5), (3, 23)]
LARGE = (16, 67)  # enough pixels for equalize; bytes only, which keeps the file small

CALLS = [
    ("adjust_brightness(0.37)", lambda t: F.adjust_brightness(t, 0.37)),
    ("adjust_brightness(1.73)", lambda t: F.adjust_brightness(t, 1.73)),
    ("adjust_contrast(0.37)", lambda t: F.adjust_contrast(t, 0.37)),
    ("adjust_contrast(1.73)", lambda t: F.adjust_contrast(t, 1.73)),
    ("adjust_saturation(0)", lambda t: F.adjust_saturation(t, 0)),
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
    ("autocontrast()", F.autocontrast),
    ("equalize()", F.equalize),
    ("gaussian_blur(1, 0.7)", lambda t: F.gaussian_blur(t, [1, 1], [0.7, 0.7])),
    ("gaussian_blur([5, 1], 0.7)", lambda t: F.gaussian_blur(t, [5, 1], [0.7, 0.7])),
    ("gaussian_blur([3, 7], 2)", lambda t: F.gaussian_blur(t, [3, 7], [2.0, 2.0])),
]
BYTE_CALLS = [
    ("solarize(100)", lambda t: F.solarize(t, 100)),
    ("erase(1, 2, 3, 2)", lambda t: F.erase(t, 1, 2, 3, 2, torch.zeros(1, 1, 1, dtype=t.dtype))),
]
FLOAT_CALLS = [("solarize(0.4)", lambda t: F.solarize(t, 0.4))]
CHANGES = ["Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness"]
CHANGES += ["Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize"]
CHANGES += ["Invert"]
MODES = ["nearest", "bilinear"]


def pictures(rng):
    """Noise, few colours, one colour, and one channel."""
    for i, size in enumerate(SIZES):
        noise = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
        yield noise
        yield noise // 90 * 90 if i % 2 else (noise // 4 + 60).astype(np.uint8)
        yield noise[:, :, :1].copy()
    yield np.full((6, 5, 3), 77, np.uint8)
    yield rng.integers(30, 200, (*LARGE, 3), dtype=np.uint8)
    yield rng.integers(0, 256, (*LARGE, 1), dtype=np.uint8)


def tensor(image):
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


def cases(rng):
    """Call, dtype, source, result, tolerance."""
    for image in pictures(rng):
        for call, make in CALLS + BYTE_CALLS:
            if fits(call, image):
                yield call, 0, image, make(tensor(image)), 0
        if image.shape[:2] == LARGE:
            continue
        floats = (image.astype(np.float32) * np.float32(1 / 255)).astype(np.float32)
        for call, make in CALLS + FLOAT_CALLS:
            # between two levels the last bit decides
            if fits(call, image) and not call.startswith(("posterize", "equalize")):
                yield call, 1, floats, make(tensor(floats)), FLOAT_TOLERANCE
        for call, make in CALLS:
            if fits(call, image) and not call.startswith(("posterize", "equalize")):
                yield call, 2, image.astype(np.float32), make(tensor(floats)) * 255, FLOAT_TOLERANCE
        if image.shape == (*SIZES[0], 3):
            yield from steps(image)
        for dtype, values in ((0, image), (2, image.astype(np.float32))):
            result = tf.image.per_image_standardization(values).numpy()
            yield "per_image_standardization()", dtype, values, tensor(result), FLOAT_TOLERANCE


def steps(image):
    """Changes of automatic augmentation, with a magnitude of each sign."""
    for change, name in enumerate(CHANGES):
        table = {**tv.AutoAugment._AUGMENTATION_SPACE, **tv.RandAugment._AUGMENTATION_SPACE}
        magnitudes, is_signed = table[name]
        found = magnitudes(31, *image.shape[:2])
        size = 0.0 if found is None else float(found[21])
        for mode, word in enumerate(MODES):
            transform = tv.RandAugment(interpolation=tv.InterpolationMode(word))
            for magnitude in (size, -size) if is_signed else (size,):
                result = transform._apply_image_or_video_transform(
                    tensor(image), name, magnitude, transform.interpolation, transform._fill
                )
                yield f"step {change} {mode} {magnitude!r}", 0, image, result, 0


def fits(call, image):
    """torchvision refuses a kernel that reaches beyond the other edge."""
    height = image.shape[0]
    return not (height <= 3 and call.startswith("gaussian_blur([3, 7]"))


def padded(array):
    data = np.ascontiguousarray(array).tobytes()
    return data + bytes(-len(data) % 4)


def main():
    torch.set_num_threads(1)
    out = []
    for call, dtype, source, result, tolerance in cases(np.random.default_rng(5)):
        result = result.numpy().transpose(1, 2, 0)
        assert result.dtype == (np.uint8 if dtype == 0 and "standard" not in call else np.float32)
        shape = (*source.shape, result.shape[2])
        head = struct.pack("<64s5If", call.encode(), dtype, *shape, tolerance)
        out.append(head + padded(source) + padded(result))
    path = pathlib.Path(__file__).parent / "augment.bin"
    path.write_bytes(b"STKA" + struct.pack("<I", len(out)) + b"".join(out))
    print(f"{path}: {len(out)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
