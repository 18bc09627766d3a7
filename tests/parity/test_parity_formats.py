# SPDX-License-Identifier: Apache-2.0
"""Compares decoding of PNG, GIF, WebP and BMP with the installed TensorFlow and Pillow, on pictures drawn anew."""
import io
import json
import os
import re

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


def decoded_png(data, channels, dtype):
    """By TensorFlow; but pixels without alpha are opaque, which it forgets below 8 bits."""
    pixels = tf.io.decode_png(data, channels=channels, dtype=dtype).numpy()
    if channels == 4 and data[24] < 8 and b"tRNS" not in data:
        pixels[..., 3] = np.iinfo(dtype).max
    return pixels


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_png_is_tensorflow(stoker, pictures, channels, dtype):
    compare(stoker, sorted((pictures / "png").iterdir()), f"channels={channels}, dtype={dtype}",
            lambda path: decoded_png(path.read_bytes(), channels, dtype))


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


# ---- encoding ----


def unescape(match):
    plain = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f"}
    word = match[1]
    return bytes([int(word[1:], 16)]) if len(word) == 5 else plain.get(word, word)


def encoded(stoker, chain):
    """The bytes of every element: in the dump a byte that is no text is an escape."""
    done = stoker("run", chain, "--dump", "--quiet", encoding=None)
    assert done.returncode == 0, done.stderr
    texts = [re.search(rb'"bytes":"((?:[^"\\]|\\.)*)"', line)[1] for line in done.stdout.split(b"\n")[:-1]]
    return [re.sub(rb"\\(u[0-9a-f]{4}|.)", unescape, text, flags=re.S) for text in texts]


def opened(data):
    return np.asarray(PIL.Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("quality, subsampling", [(95, 420), (75, 444), (30, 422)])
def test_jpeg_is_as_pillow_and_tensorflow_write_it(stoker, pictures, quality, subsampling):
    files = sorted((pictures / "png").glob("RGB_*"))
    got = encoded(stoker, f"files('{pictures}/png/RGB_*').decode().encode_jpeg({quality}, {subsampling})")
    for path, data in zip(files, got, strict=True):
        image, expected = PIL.Image.open(path), io.BytesIO()
        image.save(expected, "jpeg", quality=quality, subsampling=":".join(str(subsampling)))
        assert data == expected.getvalue()
        if subsampling != 422:
            theirs = tf.io.encode_jpeg(np.asarray(image), quality=quality, chroma_downsampling=subsampling == 420)
            np.testing.assert_array_equal(opened(data), opened(theirs.numpy()))


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_written_png_is_read_by_pillow(stoker, pictures, mode):
    files = sorted((pictures / "png").glob(f"{mode}_*"))
    got = encoded(stoker, f"files('{pictures}/png/{mode}_*').decode(0).encode_png()")
    for path, data in zip(files, got, strict=True):
        np.testing.assert_array_equal(opened(data), np.asarray(PIL.Image.open(path)))


@pytest.mark.parametrize("mode, channels", [("RGB", 3), ("RGBA", 4)])
def test_written_webp_is_read_by_pillow(stoker, pictures, mode, channels):
    files = sorted((pictures / "png").glob(f"{mode}_*"))
    chain = f"files('{pictures}/png/{mode}_*').decode({channels})"
    for path, data in zip(files, encoded(stoker, chain + ".encode_webp(lossless=true)"), strict=True):
        np.testing.assert_array_equal(opened(data), np.asarray(PIL.Image.open(path)))
    for data, pixels in zip(encoded(stoker, chain + ".encode_webp()"),
                            delivered(stoker, chain + ".encode_webp().decode(channels=0)"), strict=True):
        np.testing.assert_array_equal(opened(data), pixels)
