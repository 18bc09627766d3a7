# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures in decode/ and decode.txt: what TensorFlow and Pillow decode them to.

    python3 tests/golden/make_decode.py        (needs tensorflow, pillow, numpy)

A line of decode.txt is: file, channels, dct, orientation (0 or 1), then height, width, channels and the
64-bit FNV-1a hash of the pixels. dct=fast comes from tf.io.decode_jpeg, dct=accurate from Pillow, PNG from
tf.io.decode_png. Where one of them has no answer, or another than we follow, the function says so.
"""
import io
import os
import pathlib
import struct
import zlib

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
import PIL
import tensorflow as tf
from PIL import Image, ImageOps, features

HERE = pathlib.Path(__file__).parent
OUT = HERE / 'decode'
rng = np.random.default_rng(20240607)
lines = []


def picture(height, width, channels):
    """Slopes, an edge and some noise: something for every coefficient."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [(x * (3 + c) + y * (5 - c)) % 256 for c in range(channels)]
    image = np.stack(planes, -1) + rng.integers(-20, 21, (height, width, channels))
    image[height // 3:height // 2, width // 4:width // 2] = 255 - image[height // 3:height // 2,
                                                                       width // 4:width // 2]
    return np.clip(image, 0, 255).astype(np.uint8)


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def expect(name, channels, dct, orientation, pixels):
    pixels = np.ascontiguousarray(pixels, dtype=np.uint8)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    shape = ' '.join(str(n) for n in pixels.shape)
    lines.append(f'{name} {channels} {dct} {orientation} {shape} {fnv(pixels.tobytes()):016x}')


def with_alpha(rgb):
    return np.concatenate([rgb, np.full_like(rgb[..., :1], 255)], -1)


# ---- JPEG ----

def encode(image, **options):
    data = io.BytesIO()
    image.save(data, 'jpeg', **options)
    return data.getvalue()


def pillow_pixels(data, mode):
    image = Image.open(io.BytesIO(data))
    if mode == 'L':
        image.draft('L', None)  # the library's own conversion, not Pillow's
    return np.asarray(image if image.mode == mode else image.convert(mode))


def add_jpeg(name, data):
    (OUT / name).write_bytes(data)
    for channels in (0, 1, 3):
        expect(name, channels, 'fast', 0, tf.io.decode_jpeg(data, channels=channels))
    rgb = pillow_pixels(data, 'RGB')
    expect(name, 1, 'accurate', 0, pillow_pixels(data, 'L'))
    expect(name, 3, 'accurate', 0, rgb)
    expect(name, 4, 'accurate', 0, with_alpha(rgb))  # TensorFlow refuses 4 channels


def add_ink(name, data):
    """CMYK. Pillow rounds the product of ink and black differently; TensorFlow refuses one channel."""
    (OUT / name).write_bytes(data)
    for dct, method in (('fast', 'INTEGER_FAST'), ('accurate', 'INTEGER_ACCURATE')):
        rgb = tf.io.decode_jpeg(data, channels=3, dct_method=method).numpy()
        expect(name, 0, dct, 0, rgb)
        expect(name, 3, dct, 0, rgb)
        expect(name, 4, dct, 0, with_alpha(rgb))
        expect(name, 1, dct, 0, Image.fromarray(rgb).convert('L'))


def adobe_segment(data):
    at = data.index(b'\xff\xee')
    return at, at + 2 + struct.unpack('>H', data[at + 2:at + 4])[0]


def exif(orientation, order):
    """A TIFF block with two entries, the second the orientation."""
    pack = lambda form, *values: struct.pack(order + form, *values)
    entries = pack('HHII', 0x0100, 4, 1, 9) + pack('HHIHH', 0x0112, 3, 1, orientation, 0)
    return (b'MM' if order == '>' else b'II') + pack('HI', 42, 8) + pack('H', 2) + entries + pack('I', 0)


def make_jpegs():
    image = Image.fromarray(picture(45, 70, 3))
    for quality in (20, 75, 90, 100):
        for number, sampling in enumerate(('444', '422', '420')):
            options = dict(quality=quality, subsampling=number)
            add_jpeg(f'q{quality}_{sampling}.jpg', encode(image, **options))
    for number, sampling in enumerate(('444', '422', '420')):
        small = Image.fromarray(picture(33, 41, 3))
        add_jpeg(f'progressive_{sampling}.jpg', encode(small, subsampling=number, progressive=True))
    add_jpeg('restart_blocks.jpg', encode(image, subsampling=2, restart_marker_blocks=2))
    add_jpeg('restart_rows.jpg', encode(image, subsampling=0, restart_marker_rows=1))
    add_jpeg('optimized.jpg', encode(image, optimize=True))
    add_jpeg('kept_rgb.jpg', encode(image, keep_rgb=True))
    add_jpeg('gray.jpg', encode(Image.fromarray(picture(29, 23, 1)[..., 0])))
    add_jpeg('gray_progressive.jpg', encode(Image.fromarray(picture(29, 23, 1)[..., 0]), progressive=True))
    for height, width in ((1, 1), (8, 8), (1, 19), (17, 2), (3, 65)):
        add_jpeg(f'size_{height}x{width}.jpg', encode(Image.fromarray(picture(height, width, 3))))
    data = encode(Image.fromarray(picture(31, 27, 4), 'CMYK'), quality=90)
    first, end = adobe_segment(data)
    add_ink('cmyk.jpg', data)
    add_ink('cmyk_plain.jpg', data[:first] + data[end:])
    add_ink('ycck.jpg', data[:end - 1] + b'\x02' + data[end:])


def make_oriented():
    plain = encode(Image.fromarray(picture(21, 34, 3)), quality=90, subsampling=0)
    for orientation in range(1, 9):
        block = b'Exif\0\0' + exif(orientation, '<>'[orientation % 2])
        data = plain[:2] + b'\xff\xe1' + struct.pack('>H', len(block) + 2) + block + plain[2:]
        name = f'orientation_{orientation}.jpg'
        (OUT / name).write_bytes(data)
        image = Image.open(io.BytesIO(data))
        gray = Image.fromarray(pillow_pixels(data, 'L'))
        gray.getexif()[0x0112] = orientation
        expect(name, 3, 'accurate', 0, image)
        expect(name, 3, 'accurate', 1, ImageOps.exif_transpose(image))
        expect(name, 1, 'accurate', 1, ImageOps.exif_transpose(gray))
    pixels = picture(12, 19, 4)
    data = png(pixels, 6, 8, extra=[(b'eXIf', exif(6, '>'))])
    (OUT / 'orientation_6.png').write_bytes(data)
    expect('orientation_6.png', 4, 'accurate', 0, pixels)
    expect('orientation_6.png', 4, 'accurate', 1, np.rot90(pixels, -1))


# ---- PNG: a writer for every type, because Pillow's has neither interlacing nor all depths ----

def chunk(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))


def pack_row(row, depth):
    """One row of samples as bytes."""
    flat = row.reshape(-1)
    if depth == 16:
        return flat.astype('>u2').tobytes()
    bits = np.unpackbits(flat.astype(np.uint8)[:, None], axis=1)[:, 8 - depth:]
    return np.packbits(bits.reshape(-1)).tobytes()


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filter_rows(rows, pixel_bytes):
    """All five filters in turn."""
    last, out = bytes(len(rows[0])), b''
    for number, row in enumerate(rows):
        kind = number % 5
        line = bytearray()
        for i, value in enumerate(row):
            a = row[i - pixel_bytes] if i >= pixel_bytes else 0
            c = last[i - pixel_bytes] if i >= pixel_bytes else 0
            b = last[i]
            guess = (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]
            line.append((value - guess) & 255)
        out += bytes([kind]) + bytes(line)
        last = row
    return out


ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def png(samples, colour, depth, interlaced=False, extra=()):
    height, width, channels = samples.shape
    pixel_bytes = max(1, channels * depth // 8)
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    raw = b''
    for y, x, down, right in passes:
        part = samples[y::down, x::right]
        if part.size:
            raw += filter_rows([pack_row(row, depth) for row in part], pixel_bytes)
    header = struct.pack('>IIBBBBB', width, height, depth, colour, 0, 0, interlaced)
    packed = zlib.compress(raw)
    middle = len(packed) // 2
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + b''.join(chunk(*c) for c in extra) +
            chunk(b'IDAT', packed[:middle]) + chunk(b'IDAT', packed[middle:]) + chunk(b'IEND', b''))


def is_shallow(data):
    """Less than 8 bits, and no alpha."""
    return data[24] < 8 and b'tRNS' not in data


def add_png(name, data):
    (OUT / name).write_bytes(data)
    for channels in (0, 1, 3, 4):
        pixels = tf.io.decode_png(data, channels=channels)
        if channels == 4 and is_shallow(data):  # TensorFlow's alpha is 1, 3 or 15
            pixels = with_alpha(tf.io.decode_png(data, channels=3))
        expect(name, channels, 'accurate', 0, pixels)


def samples(height, width, channels, depth):
    if depth == 16:
        return rng.integers(0, 65536, (height, width, channels))
    return picture(height, width, channels) >> 8 - depth


def make_pngs():
    kinds = {'gray': (0, 1, (1, 2, 4, 8, 16)), 'rgb': (2, 3, (8, 16)), 'palette': (3, 1, (1, 2, 4, 8)),
             'gray_alpha': (4, 2, (8, 16)), 'rgba': (6, 4, (8, 16))}
    for kind, (colour, channels, depths) in kinds.items():
        for depth in depths:
            for interlaced in (False, True):
                extra, marked = [], []
                if kind == 'palette':
                    extra = [(b'PLTE', rng.bytes(3 << depth))]
                    marked = [(b'tRNS', rng.bytes(1 << depth))]
                elif channels % 2:
                    marked = [(b'tRNS', struct.pack('>H', 1) * channels)]
                name = f'{kind}_{depth}' + '_interlaced' * interlaced
                data = samples(21, 18, channels, depth)
                add_png(name + '.png', png(data, colour, depth, interlaced, extra))
                if marked:
                    if kind != 'palette':
                        data[5:9, 3:9] = 1
                    add_png(name + '_marked.png', png(data, colour, depth, interlaced, extra + marked))
    data = samples(17, 22, 3, 8)
    add_png('gamma.png', png(data, 2, 8, extra=[(b'gAMA', struct.pack('>I', 45455))]))
    add_png('srgb.png', png(data, 2, 8, extra=[(b'sRGB', b'\0')]))
    add_png('text.png', png(data, 2, 8, extra=[(b'tEXt', b'Comment\0hello'), (b'abCd', b'unknown')]))
    for height, width in ((1, 1), (1, 9), (5, 3)):
        for interlaced in (False, True):
            name = f'size_{height}x{width}' + '_interlaced' * interlaced + '.png'
            add_png(name, png(samples(height, width, 3, 8), 2, 8, interlaced))


def main():
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    make_jpegs()
    make_oriented()
    make_pngs()
    turbo = features.version('libjpeg_turbo')
    title = f'# tensorflow {tf.__version__}, pillow {PIL.__version__} with libjpeg-turbo {turbo}'
    (HERE / 'decode.txt').write_text('\n'.join([title] + lines) + '\n')


if __name__ == '__main__':
    main()
