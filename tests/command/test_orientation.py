# SPDX-License-Identifier: Apache-2.0
"""The orientation of a picture, wherever a file says it: what Pillow turns, decode turns too."""

import json
import struct
import zlib

import pytest
from PIL import Image, ImageOps

XMP = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description {}</x:xmpmeta>'


def tiff(orientation, form="<", kind=3):
    """EXIF data with two entries, or with one where there is no orientation."""
    entries = [struct.pack(form + "HHIHH", 0x0100, 3, 1, 5, 0)]
    if orientation is not None:
        value = {1: "B3x", 3: "H2x", 4: "I"}[kind]
        entries.append(struct.pack(form + "HHI" + value, 0x0112, kind, 1, orientation))
    head = (b"II" if form == "<" else b"MM") + struct.pack(form + "HI", 42, 8)
    return head + struct.pack(form + "H", len(entries)) + b"".join(entries) + bytes(4)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def text(keyword, words):
    return chunk(b"tEXt", keyword + b"\0" + words)


def packed_text(keyword, words):
    return chunk(b"zTXt", keyword + b"\0\0" + zlib.compress(words))


def unicode_text(keyword, words, is_packed=False):
    words = zlib.compress(words) if is_packed else words
    return chunk(b"iTXt", keyword + b"\0" + bytes([is_packed, 0]) + b"\0\0" + words)


def profile(kind, data):
    """As ImageMagick writes them: lines of 36 bytes in hex."""
    lines = [data[i : i + 36].hex() for i in range(0, len(data), 36)]
    return f"\n{kind}\n{len(data):8}\n".encode() + "\n".join(lines).encode() + b"\n"


def attribute(n):
    return XMP.format(f'tiff:Orientation="{n}"/>').encode()


def element(n):
    return XMP.format(f"><tiff:Orientation>{n}</tiff:Orientation></rdf:Description>").encode()


RAW = b"Raw profile type exif"
ADOBE = b"XML:com.adobe.xmp"
PNG = {
    "exif": lambda n: chunk(b"eXIf", tiff(n)),
    "exif, other order": lambda n: chunk(b"eXIf", tiff(n, ">")),
    "exif of 4 bytes": lambda n: chunk(b"eXIf", tiff(n, ">", 4)),
    "exif of a byte": lambda n: chunk(b"eXIf", tiff(n, "<", 1)),
    "profile": lambda n: text(RAW, profile("exif", b"Exif\0\0" + tiff(n))),
    "packed profile": lambda n: packed_text(RAW, profile("exif", b"Exif\0\0" + tiff(n))),
    "packed unicode profile": lambda n: unicode_text(RAW, profile("exif", tiff(n)), True),
    "xmp": lambda n: unicode_text(ADOBE, attribute(n)),
    "xmp element": lambda n: unicode_text(ADOBE, element(n)),
    "packed xmp": lambda n: unicode_text(ADOBE, bytes(9000) + attribute(n), True),
    "exif before profile": lambda n: chunk(b"eXIf", tiff(n))
    + packed_text(RAW, profile("exif", tiff(n % 8 + 1))),
    "exif before xmp": lambda n: unicode_text(ADOBE, attribute(n % 8 + 1))
    + chunk(b"eXIf", tiff(n)),
    "exif without it": lambda n: chunk(b"eXIf", tiff(None)) + unicode_text(ADOBE, attribute(n)),
    "damaged profile": lambda n: chunk(b"zTXt", RAW + b"\0\0" + bytes(40) + attribute(n)),
    "other text": lambda n: text(b"Comment", attribute(n)),
}
NOT_IN_PILLOW = {
    "xmp profile": lambda n: packed_text(b"Raw profile type xmp", profile("xmp", attribute(n))),
    "segment": lambda n: packed_text(b"Raw profile type APP1", profile("APP1", tiff(n))),
}


def picture():
    image = Image.new("RGB", (16, 8))
    image.putdata([(x * 15, x * x % 251, 255 - x) for x in range(128)])
    return image


def with_chunks(path, chunks):
    """A PNG file with chunks behind its header."""
    picture().save(path, "PNG")
    data = path.read_bytes()
    path.write_bytes(data[:33] + chunks + data[33:])


def digest(stoker, pattern):
    done = stoker("run", f"files('{pattern}').decode(orientation=true)", "--json", "--digest")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["digest"]


def compare(stoker, folder):
    """Every file of a folder with its neighbour of the same name in `turned`."""
    if digest(stoker, folder / "odd" / "*") == digest(stoker, folder / "turned" / "*"):
        return
    for path in sorted((folder / "odd").iterdir()):
        turned = next((folder / "turned").glob(path.stem + ".*"))
        assert digest(stoker, path) == digest(stoker, turned), path.name
    raise AssertionError("the two folders differ, and none of their files")


@pytest.fixture
def folder(tmp_path):
    for name in "odd", "turned":
        (tmp_path / name).mkdir()
    return tmp_path


def turn_by_pillow(path):
    with Image.open(path) as image:
        turned = ImageOps.exif_transpose(image).convert("RGB")
    turned.info.clear()
    turned.save(path.parent.parent / "turned" / (path.stem + ".png"))


def test_png_is_turned_as_in_pillow(stoker, folder):
    for kind, make in PNG.items():
        for n in 1, 3, 5, 6, 8, 0, 9:
            path = folder / "odd" / f"{kind} {n}.png"
            with_chunks(path, make(n))
            turn_by_pillow(path)
    compare(stoker, folder)


def test_other_profiles_of_imagemagick(stoker, folder):
    for kind, make in NOT_IN_PILLOW.items():
        for n in 1, 4, 6, 7:
            with_chunks(folder / "odd" / f"{kind} {n}.png", make(n))
            with_chunks(folder / "turned" / f"{kind} {n}.png", PNG["exif"](n))
    compare(stoker, folder)


def test_xmp_of_jpeg_and_webp(stoker, folder):
    for n in 1, 2, 6, 7, 9:
        for ending, options in ("jpg", {"quality": 90}), ("webp", {"lossless": True}):
            for kind, make in ("attribute", attribute), ("element", element):
                path = folder / "odd" / f"{kind} {n} {ending}.{ending}"
                picture().save(path, xmp=make(n), **options)
                turn_by_pillow(path)
                path = folder / "odd" / f"{kind} {n} {ending}, exif.{ending}"
                picture().save(path, xmp=make(n), exif=b"Exif\0\0" + tiff(n % 8 + 1), **options)
                turn_by_pillow(path)
    compare(stoker, folder)
