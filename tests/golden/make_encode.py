# SPDX-License-Identifier: Apache-2.0
"""Makes encode.txt: the JPEG files that Pillow writes of pictures that tests/test_encode.c draws too.

    python3 tests/golden/make_encode.py        (needs pillow with libjpeg-turbo, numpy)

A line is: height, width, channels, quality, subsampling, progressive, optimize, then the length of the file and its
64-bit FNV-1a hash.
"""
import io
import itertools
import pathlib

import numpy as np
import PIL
from PIL import Image, features

HERE = pathlib.Path(__file__).parent


def draw(height, width, channels):
    y, x, c = np.meshgrid(range(height), range(width), range(channels), indexing='ij')
    return ((x * (3 + c) + y * (5 - c) + x * y % 11 * 7) % 256).astype(np.uint8)


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def main():
    lines = [f"# pillow {PIL.__version__} with libjpeg-turbo {features.version('libjpeg_turbo')}"]
    sizes = ((1, 1, 3), (17, 33, 3), (40, 31, 1), (64, 64, 3))
    for (height, width, channels), quality, progressive, optimize in itertools.product(
            sizes, (1, 75, 95, 100), (False, True), (False, True)):
        for subsampling in (444, 422, 420) if channels == 3 else (420,):
            pixels = draw(height, width, channels)
            image = Image.fromarray(pixels if channels == 3 else pixels[..., 0])
            data = io.BytesIO()
            number = {444: 0, 422: 1, 420: 2}[subsampling]
            if channels == 1:
                number = -1  # none: Pillow would write it into gray files
            image.save(data, 'jpeg', quality=quality, subsampling=number, progressive=progressive, optimize=optimize)
            data = data.getvalue()
            lines.append(f'{height} {width} {channels} {quality} {subsampling} {progressive:d} {optimize:d} '
                         f'{len(data)} {fnv(data):016x}')
    (HERE / 'encode.txt').write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
