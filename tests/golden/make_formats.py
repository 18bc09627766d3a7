# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures in formats/ and formats.txt: what TensorFlow and Pillow decode GIF, WebP and BMP to,
and PNG where the result is 16-bit or numbers of colours.

    python3 tests/golden/make_formats.py        (needs tensorflow, pillow, numpy; after make_decode.py)

A line of formats.txt is: file, channels, bits, frames (0: the first as a picture, -1: all), index (0 or 1), then
frames, height, width, channels and the 64-bit FNV-1a hash of the samples, low byte first. Where TensorFlow and
Pillow have no answer, or another than we follow, the function says so.
"""
import io
import struct

import numpy as np
import PIL
import tensorflow as tf
from PIL import Image

from make_decode import HERE, OUT as PNGS, exif, fnv, picture

OUT = HERE / 'formats'
rng = np.random.default_rng(7)
lines = []


def expect(name, pixels, channels, bits=8, frames=0, index=0):
    pixels = np.asarray(pixels)
    shape = (1,) * (4 - pixels.ndim) + pixels.shape
    data = pixels.astype('<u2' if bits == 16 else np.uint8).tobytes()
    lines.append(f'{name} {channels} {bits} {frames} {index} {" ".join(map(str, shape))} {fnv(data):016x}')


def gray_of(rgb):
    """Pillow's weights."""
    r, g, b = (rgb[..., c].astype(np.int64) for c in range(3))
    return ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16)[..., None]


def expect_all_channels(name, rgba, own, frames=0):
    """From pixels with alpha: without, as gray, and as they are; `own` channels are those of the file."""
    rgba = np.asarray(rgba)
    by_channels = {1: gray_of(rgba), 3: rgba[..., :3], 4: rgba}
    for channels, pixels in by_channels.items():
        expect(name, pixels, channels, frames=frames)
    expect(name, by_channels[own], 0, frames=frames)


def opaque(rgb):
    return np.concatenate([rgb, np.full_like(rgb[..., :1], 255)], -1)


# ---- PNG ----

def make_pngs():
    for path in sorted(PNGS.glob('*.png')):
        data, name = path.read_bytes(), f'decode/{path.name}'
        for channels in (0, 1, 3, 4):
            pixels = tf.io.decode_png(data, channels=channels, dtype=tf.uint16)
            if channels == 4 and data[24] < 8 and b'tRNS' not in data:  # TensorFlow's alpha is not opaque
                rgb = tf.io.decode_png(data, channels=3, dtype=tf.uint16).numpy()
                pixels = np.concatenate([rgb, np.full_like(rgb[..., :1], 65535)], -1)
            expect(name, pixels, channels, bits=16)
        if path.name.startswith('palette'):
            expect(name, np.asarray(Image.open(path))[..., None], 3, index=1)
        elif path.name.startswith('gray_8'):
            expect(name, tf.io.decode_png(data, channels=1), 1, index=1)


# ---- GIF: a writer, because Pillow's rewrites frames to its taste ----

def lzw(pixels, bits):
    """Codes of growing width, with a clear code at the start and when the table is full."""
    clear, out, n_out = 1 << bits, 0, 0

    def emit(code, width):
        nonlocal out, n_out
        out |= code << n_out
        n_out += width

    width = bits + 1
    emit(clear, width)
    table, string = {(v,): v for v in range(clear)}, ()
    for pixel in pixels:
        longer = string + (pixel,)
        if longer in table:
            string = longer
            continue
        emit(table[string], width)
        table[longer] = len(table) + 2
        if len(table) + 2 > 1 << width:
            width += 1
        if len(table) + 2 > 4095:
            emit(clear, min(width, 12))
            width = bits + 1
            table = {(v,): v for v in range(clear)}
        string = (pixel,)
    emit(table[string], width)
    emit(clear + 1, width)
    return out.to_bytes((n_out + 7) // 8, 'little')


def blocks(data):
    pieces = [data[i:i + 255] for i in range(0, len(data), 255)]
    return b''.join(bytes([len(p)]) + p for p in pieces) + b'\0'


def interlace(rows):
    order = [*range(0, len(rows), 8), *range(4, len(rows), 8), *range(2, len(rows), 4), *range(1, len(rows), 2)]
    return rows[order]


def colour_table(colours):
    bits = max(1, (len(colours) - 1).bit_length())
    return bits, bytes(colours.astype(np.uint8).reshape(-1)) + bytes(3 * ((1 << bits) - len(colours)))


def frame(pixels, at=(0, 0), transparent=None, disposal=0, interlaced=False, colours=None, bits=8):
    height, width = pixels.shape
    control = struct.pack('<BBBBHBB', 0x21, 0xf9, 4, disposal << 2 | (transparent is not None), 5,
                          transparent or 0, 0)
    flags, table = interlaced << 6, b''
    if colours is not None:
        n, table = colour_table(colours)
        flags |= 0x80 | n - 1
    rows = interlace(pixels) if interlaced else pixels
    code_bits = max(2, bits)
    return (control + struct.pack('<BHHHHB', 0x2c, at[1], at[0], width, height, flags) + table +
            bytes([code_bits]) + blocks(lzw(rows.reshape(-1).tolist(), code_bits)))


def gif(height, width, frames, colours=None, trailer=b';'):
    flags, table = 0, b''
    if colours is not None:
        n, table = colour_table(colours)
        flags = 0x80 | n - 1
    comment = b'\x21\xfe' + blocks(b'a comment')
    return (b'GIF89a' + struct.pack('<HHBBB', width, height, flags, 0, 0) + table + comment +
            b''.join(frames) + trailer)


def pillow_frames(data):
    """All frames with alpha; transparent pixels are zero, which Pillow gives the colour of their number."""
    image, frames = Image.open(io.BytesIO(data)), []
    for i in range(getattr(image, 'n_frames', 1)):
        image.seek(i)
        pixels = np.array(image.convert('RGBA'))
        pixels[pixels[..., 3] == 0] = 0
        frames.append(pixels)
    return np.stack(frames)


def add_gif(name, data, is_as_tensorflow=True):
    (OUT / name).write_bytes(data)
    rgba = pillow_frames(data)
    if is_as_tensorflow:
        assert np.array_equal(tf.io.decode_gif(data).numpy(), rgba[..., :3]), name
    expect_all_channels(name, rgba[0], 3)
    expect_all_channels(name, rgba, 3, frames=-1)
    expect(name, rgba[:2, ..., :3], 3, frames=2)


def make_cleared(colours):
    """Pillow clears a frame to the colour of the background; we and browsers to nothing."""
    whole, part, corner = (rng.integers(0, 16, shape) for shape in ((12, 15), (5, 6), (3, 3)))
    data = gif(12, 15, [frame(whole, bits=4), frame(part, at=(3, 4), bits=4, disposal=2),
                        frame(corner, bits=4, disposal=1), frame(whole, bits=4, transparent=2)], colours)
    (OUT / 'cleared.gif').write_bytes(data)
    paint = opaque(colours.astype(np.uint8))
    screen = paint[whole]
    frames = [screen.copy()]
    screen[3:8, 4:10] = paint[part]
    frames.append(screen.copy())
    screen[3:8, 4:10] = 0
    screen[:3, :3] = paint[corner]
    frames.append(screen.copy())
    screen[whole != 2] = paint[whole[whole != 2]]
    frames.append(screen)
    expect_all_channels('cleared.gif', np.stack(frames), 3, frames=-1)


def make_gifs():
    colours = rng.integers(0, 256, (256, 3))
    pixels = lambda h, w, n=256: rng.integers(0, n, (h, w))
    runs = lambda h, w, n: np.repeat(rng.integers(0, n, (h, (w + 4) // 5)), 5, 1)[:, :w]
    add_gif('one.gif', gif(13, 17, [frame(pixels(13, 17))], colours))
    index = pixels(9, 8, 6)
    add_gif('few_colours.gif', gif(9, 8, [frame(index, bits=3)], colours[:6]))
    expect('few_colours.gif', index[..., None], 3, index=1)
    add_gif('two_colours.gif', gif(11, 30, [frame(runs(11, 30, 2), bits=1)], colours[:2]))
    add_gif('one_pixel.gif', gif(1, 1, [frame(pixels(1, 1))], colours))
    add_gif('full_table.gif', gif(90, 100, [frame(pixels(90, 100))], colours))
    add_gif('runs.gif', gif(60, 200, [frame(runs(60, 200, 4), bits=2)], colours[:4]))
    for height in (1, 2, 4, 5, 21):
        add_gif(f'interlaced_{height}.gif', gif(height, 7, [frame(pixels(height, 7), interlaced=True)], colours))
    whole = lambda **options: frame(pixels(12, 15, 16), bits=4, **options)
    part = lambda **options: frame(pixels(5, 6, 16), at=(3, 4), bits=4, **options)
    few = colours[:16]
    add_gif('frames.gif', gif(12, 15, [whole(), part(), whole(colours=colours[40:56]), part(transparent=3)], few))
    add_gif('local_colours.gif', gif(12, 15, [whole(colours=few), part(colours=colours[20:36], transparent=1)]))
    add_gif('transparent.gif', gif(12, 15, [whole(transparent=5), whole(transparent=2, disposal=1)], few))
    # TensorFlow does not dispose of frames; Pillow takes no disposal for that of the frame before.
    add_gif('taken_back.gif', gif(12, 15, [whole(disposal=1), part(disposal=3),
                                           frame(pixels(3, 3, 16), bits=4, disposal=3),
                                           frame(pixels(2, 9, 16), at=(8, 2), bits=4)], few), False)
    make_cleared(few)
    # The first frame leaves out part of the screen: TensorFlow gives the size of the frame, and Pillow the colour
    # of the background, where we have nothing yet.
    data = gif(12, 15, [frame(index % 6, at=(2, 3), bits=3)], few)
    (OUT / 'smaller.gif').write_bytes(data)
    rgba = np.zeros((12, 15, 4), np.uint8)
    rgba[2:11, 3:11] = opaque(few.astype(np.uint8)[index])
    expect_all_channels('smaller.gif', rgba, 3)


# ---- BMP ----

def bmp_rows(rows, is_top_down):
    rows = [row + bytes(-len(row) % 4) for row in rows]
    return b''.join(rows if is_top_down else rows[::-1])


def bmp(height, width, bits, data, colours=b'', masks=b'', coding=0, size=40, is_top_down=False):
    """Of any header size: masks are inside of those that have room for them."""
    if size == 12:
        info = struct.pack('<IHHHH', 12, width, height, 1, bits)
    else:
        n_colours = len(colours) // 4 if bits <= 8 else 0
        info = struct.pack('<IiiHHIIiiII', size, width, -height if is_top_down else height, 1, bits, coding,
                           len(data), 2835, 2835, n_colours, 0)
        if size > 40:
            info += masks.ljust(size - 40, b'\0')
            masks = b''
    head = info + masks + colours
    return b'BM' + struct.pack('<IHHI', 14 + len(head) + len(data), 0, 0, 14 + len(head)) + head + data


def pack_bits(index, bits):
    digits = np.unpackbits(index.astype(np.uint8)[..., None], axis=-1)[..., 8 - bits:]
    return [np.packbits(row.reshape(-1)).tobytes() for row in digits]


def bgr(colours, n_bytes):
    return b''.join(bytes(int(v) for v in c[::-1]) + bytes(n_bytes - 3) for c in colours)


def add_bmp(name, data, own, tensorflow_channels=()):
    (OUT / name).write_bytes(data)
    image = Image.open(io.BytesIO(data))
    rgba = np.array(image.convert('RGBA'))
    expect_all_channels(name, rgba, own)
    for channels in tensorflow_channels:
        expect(name, tf.io.decode_bmp(data, channels=channels), channels)
    return rgba


def make_palette_bmps():
    for bits in (1, 4, 8):
        index, colours = rng.integers(0, 1 << bits, (7, 13)), rng.integers(0, 256, (1 << bits, 3))
        rows = pack_bits(index, bits)
        name = f'palette_{bits}.bmp'
        add_bmp(name, bmp(7, 13, bits, bmp_rows(rows, False), bgr(colours, 4)), 3)
        expect(name, index[..., None], 3, index=1)
        add_bmp(f'palette_{bits}_old.bmp', bmp(7, 13, bits, bmp_rows(rows, False), bgr(colours, 3), size=12), 3)
    gray = np.repeat(np.arange(256)[:, None], 3, 1)
    data = bmp(6, 9, 8, bmp_rows(pack_bits(rng.integers(0, 256, (6, 9)), 8), False), bgr(gray, 4))
    add_bmp('gray_8.bmp', data, 1, tensorflow_channels=(0, 3))


def make_colour_bmps():
    rgb = picture(8, 11, 3)
    rows = [row[:, ::-1].tobytes() for row in rgb]
    add_bmp('rgb.bmp', bmp(8, 11, 24, bmp_rows(rows, False)), 3, tensorflow_channels=(0, 3))
    add_bmp('rgb_top_down.bmp', bmp(8, 11, 24, bmp_rows(rows, True), is_top_down=True), 3,
            tensorflow_channels=(0, 3))
    add_bmp('rgb_long.bmp', bmp(8, 11, 24, bmp_rows(rows, False), size=124), 3)
    rgba = picture(8, 11, 4)
    data = bmp_rows([row[:, [2, 1, 0, 3]].tobytes() for row in rgba], False)
    masks = struct.pack('<IIII', 0xff0000, 0xff00, 0xff, 0xff000000)
    add_bmp('rgba_masks.bmp', bmp(8, 11, 32, data, masks=masks, coding=3, size=108), 4)
    add_bmp('rgb_masks.bmp', bmp(8, 11, 32, data, masks=masks[:12], coding=3), 3)
    # Pillow ignores the fourth byte; TensorFlow gives it as it is.
    plain = bmp(8, 11, 32, data)
    (OUT / 'rgba.bmp').write_bytes(plain)
    assert np.array_equal(tf.io.decode_bmp(plain, channels=4), rgba)
    expect_all_channels('rgba.bmp', rgba, 4)
    pixels = rng.integers(0, 1 << 16, (8, 11)).astype('<u2')
    data = bmp_rows([row.tobytes() for row in pixels], False)
    add_bmp('bits_555.bmp', bmp(8, 11, 16, data), 3)
    add_bmp('bits_565.bmp', bmp(8, 11, 16, data, masks=struct.pack('<III', 0xf800, 0x7e0, 0x1f), coding=3), 3)


def run_lengths(index, is_half):
    """Runs and plain pieces in turn, with the end of each row marked."""
    pair = lambda values: [values[i] << 4 | values[i + 1] for i in range(0, len(values), 2)]
    out = []
    for row in index[::-1].tolist():
        run, rest = row[:6], row[6:]
        out += [6, run[0] << 4 | run[1] if is_half else run[0]]
        if not is_half:
            assert len(set(run)) == 1
        plain = pair(rest) if is_half else rest
        out += [0, len(rest)] + plain + [0] * (len(plain) % 2) + [0, 0]
    return bytes(out[:-2] + [0, 1])


def make_packed_bmps():
    colours = rng.integers(0, 256, (256, 3))
    index = rng.integers(0, 256, (5, 15))
    index[:, :6] = index[:, :1]
    add_bmp('rle_8.bmp', bmp(5, 15, 8, run_lengths(index, False), bgr(colours, 4), coding=1), 3)
    index = rng.integers(0, 16, (5, 14))
    index[:, 2:4] = index[:, 4:6] = index[:, :2]
    add_bmp('rle_4.bmp', bmp(5, 14, 4, run_lengths(index, True), bgr(colours[:16], 4), coding=2), 3)


# ---- WebP ----

def webp(image, **options):
    data = io.BytesIO()
    image.save(data, 'webp', **options)
    return data.getvalue()


def add_webp(name, data, own):
    (OUT / name).write_bytes(data)
    pixels = tf.io.decode_image(data, channels=own).numpy()[0]
    assert np.array_equal(pixels, np.asarray(Image.open(io.BytesIO(data)))), name
    expect_all_channels(name, pixels if own == 4 else opaque(pixels), own)


def make_webps():
    rgb, rgba = Image.fromarray(picture(37, 50, 3)), Image.fromarray(picture(21, 34, 4), 'RGBA')
    for quality in (10, 80):
        add_webp(f'lossy_{quality}.webp', webp(rgb, quality=quality), 3)
    add_webp('lossless.webp', webp(rgb, lossless=True), 3)
    add_webp('lossy_alpha.webp', webp(rgba, quality=70), 4)
    add_webp('lossless_alpha.webp', webp(rgba, lossless=True, exact=True), 4)
    add_webp('one_pixel.webp', webp(Image.fromarray(picture(1, 1, 3))), 3)
    turned = webp(rgba, lossless=True, exact=True, exif=exif(6, '<'))
    (OUT / 'orientation_6.webp').write_bytes(turned)
    frames = [Image.fromarray(picture(12, 15, 3)) for _ in range(3)]
    data = webp(frames[0], save_all=True, append_images=frames[1:], lossless=True)
    (OUT / 'frames.webp').write_bytes(data)
    pixels = np.stack([np.asarray(f) for f in frames])
    assert np.array_equal(pillow_frames(data)[..., :3], pixels)  # TensorFlow 2.21 crashes on it
    expect_all_channels('frames.webp', opaque(pixels[0]), 3)
    expect_all_channels('frames.webp', opaque(pixels), 3, frames=-1)
    expect('frames.webp', pixels[:2], 3, frames=2)


def main():
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    make_pngs()
    make_gifs()
    make_palette_bmps()
    make_colour_bmps()
    make_packed_bmps()
    make_webps()
    title = f'# tensorflow {tf.__version__}, pillow {PIL.__version__}'
    (HERE / 'formats.txt').write_text('\n'.join([title] + lines) + '\n')


if __name__ == '__main__':
    main()
