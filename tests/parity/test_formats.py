# SPDX-License-Identifier: Apache-2.0
"""Compares decoding of PNG, GIF, WebP and BMP with the installed TensorFlow and Pillow, on pictures drawn anew."""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

MODES = {
    "png": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "gif": ("L", "P", "RGB"),
    "bmp": ("1", "L", "P", "RGB", "RGBA"),
    "webp": ("RGB", "RGBA"),
}


def draw(rng, mode):
    """Smooth and rough, of a random size."""
    height, width = rng.integers(1, 90, 2)
    if mode == "I;16":
        return PIL.Image.fromarray(rng.integers(0, 65536, (height, width), dtype=np.uint16))
    y, x = np.mgrid[0:height, 0:width]
    planes = np.stack([x * 3 + y, 255 - y * 2, x * y // 8, 128 + x], axis=2) % 256
    pixels = np.clip(planes + rng.normal(0, 9, planes.shape), 0, 255).astype(np.uint8)
    if mode in ("RGBA", "LA"):
        return PIL.Image.fromarray(pixels, "RGBA").convert(mode)
    return PIL.Image.fromarray(pixels[..., :3]).convert(mode)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder for each format, ten files of each mode."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng()
    for kind, modes in MODES.items():
        (folder / kind).mkdir()
        for mode in modes:
            for i in range(10):
                options = {"quality": int(rng.integers(1, 100)), "lossless": bool(i % 2)} if kind == "webp" else {}
                name = f"{mode.replace(';', '')}_{i}.{kind}"
                draw(rng, mode).save(folder / kind / name, **options)
    return folder


def delivered(stoker, chain):
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [np.array(json.loads(line)["fields"]["image"]) for line in done.stdout.splitlines()]


def compare(stoker, files, options, expected):
    assert files
    names = ", ".join(f"'{path}'" for path in files)
    got = delivered(stoker, f"files([{names}]).decode({options})")
    for path, pixels in zip(files, got, strict=True):
        np.testing.assert_array_equal(pixels, expected(path), err_msg=f"{path.name} {options}")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_png_is_tensorflow(stoker, pictures, channels, dtype):
    compare(stoker, sorted((pictures / "png").iterdir()), f"channels={channels}, dtype={dtype}",
            lambda path: tf.io.decode_png(path.read_bytes(), channels=channels, dtype=dtype).numpy())


def test_palette_png_as_index_is_pillow(stoker, pictures):
    compare(stoker, sorted((pictures / "png").glob("P_*")), "palette=index",
            lambda path: np.asarray(PIL.Image.open(path))[..., None])


def test_gif_is_tensorflow(stoker, pictures):
    files = sorted((pictures / "gif").iterdir())
    compare(stoker, files, "frames=all", lambda path: tf.io.decode_gif(path.read_bytes()).numpy())
    compare(stoker, files, "", lambda path: tf.io.decode_gif(path.read_bytes()).numpy()[0])


@pytest.mark.parametrize("channels", [0, 3, 4])
def test_bmp_is_tensorflow(stoker, pictures, channels):
    """Where it is: it takes palettes for gray, and refuses 1 bit."""
    files = [path for path in sorted((pictures / "bmp").iterdir()) if path.name[0] not in "1P"]
    compare(stoker, files, f"channels={channels}",
            lambda path: tf.io.decode_bmp(path.read_bytes(), channels=channels).numpy())


@pytest.mark.parametrize("kind", ["bmp", "webp", "gif"])
def test_colours_and_gray_are_pillow(stoker, pictures, kind):
    files = sorted((pictures / kind).iterdir())
    rgb = lambda path: np.asarray(PIL.Image.open(path).convert("RGBA"))[..., :3]
    compare(stoker, files, "", rgb)
    compare(stoker, files, "channels=1",
            lambda path: np.asarray(PIL.Image.fromarray(rgb(path)).convert("L"))[..., None])


def test_webp_is_tensorflow(stoker, pictures):
    compare(stoker, sorted((pictures / "webp").iterdir()), "channels=0",
            lambda path: tf.io.decode_image(path.read_bytes(), expand_animations=False).numpy())
