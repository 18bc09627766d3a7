# SPDX-License-Identifier: Apache-2.0
"""The images of the benchmark: generated ones that are like photographs, or any directory; and
their statistics.

    data.py DIRECTORY [COUNT]     makes the images
    data.py --stats DIRECTORY     prints what the JPEG files below a directory are like

A generated image is a heap of leaves, which is the usual model of what occlusion does to natural
images: shapes of power-law size, each with its own colour and its own share of 1/f texture, then
the blur of a lens, the noise of a sensor, and the camera's JPEG settings. Sizes, qualities and
chroma sampling are drawn with the frequencies found in ImageNet. Image i depends on SEED and i
alone."""

import multiprocessing
import shutil
import statistics
import struct
import sys
from pathlib import Path
from typing import NamedTuple

COUNT, SEED, VERSION = 1000, 20260101, 1
PHOTO_COUNT, PHOTO_PIXELS = 60, 4_000_000
SUFFIXES = (".jpg", ".jpeg")

# What ImageNet's files are like: means and sampling over 1000 originals, the rest over 300 of them.
IMAGENET = {
    "megapixels": 0.20,
    "kilobytes": 110,
    "bits per pixel": 4.5,
    "quality, median": 96,
    "quality, lowest tenth": 75,
    "4:4:4": 76,
    "4:2:0": 20,
    "other sampling or grey": 4,
}


def image_files(directory):
    """The JPEG files below a directory, sorted."""
    return sorted(
        str(path) for path in Path(directory).rglob("*") if path.suffix.lower() in SUFFIXES
    )


# ---- drawing ----

FIELD = 2048  # side of the textures that images are cut from
N_LEAVES = (40, 220)
SIDE_500 = (
    (500, 375),
    (500, 375),
    (500, 375),
    (500, 333),
    (500, 333),
    (500, 333),
    (500, 332),
    (500, 334),
    (500, 340),
    (500, 500),
)
LUMA_TO_CHROMA = 0.25  # natural colours vary less than brightness


def pink_field(np, rng, exponent):
    """A square of noise, mean 0, deviation 1, whose amplitude falls as 1/f**exponent."""
    spectrum = np.fft.rfft2(rng.standard_normal((FIELD, FIELD), dtype=np.float32))
    fy = np.fft.fftfreq(FIELD)[:, None]
    fx = np.fft.rfftfreq(FIELD)[None, :]
    radius = np.sqrt(fx * fx + fy * fy)
    radius[0, 0] = 1
    spectrum *= np.maximum(radius, 1 / 256) ** -exponent
    field = np.fft.irfft2(spectrum).astype(np.float32)
    return (field - field.mean()) / field.std()


class Painter:
    """Draws images; holds the textures that all of them are cut from."""

    def __init__(self):
        import numpy

        self.np = numpy
        rng = numpy.random.default_rng(SEED)
        self.pink = [pink_field(numpy, rng, exponent) for exponent in (0.9, 1.1, 1.3)]
        self.white = rng.standard_normal((FIELD, FIELD), dtype=numpy.float32)

    def cut(self, rng, field, width, height):
        x, y = rng.integers(0, FIELD - width), rng.integers(0, FIELD - height)
        piece = field[y : y + height, x : x + width]
        return piece[::-1] if rng.random() < 0.5 else piece

    def leaves(self, rng, width, height):
        """Which leaf is seen at each pixel, and how many there are."""
        from PIL import Image, ImageDraw

        n = int(rng.integers(*N_LEAVES))
        seen = Image.new("L", (width, height), 0)
        draw = ImageDraw.Draw(seen)
        largest = 0.45 * max(width, height)
        radii = largest * (1 + 14 * rng.random(n)) ** -1.0
        for leaf, radius in enumerate(sorted(radii, reverse=True), 1):
            x, y = rng.random() * width, rng.random() * height
            self.leaf(rng, draw, (x, y, radius), leaf)
        return self.np.asarray(seen), n + 1

    def leaf(self, rng, draw, place, number):
        x, y, radius = place
        flat = radius * (0.3 + 0.7 * rng.random())
        if rng.random() < 0.5:
            draw.ellipse((x - radius, y - flat, x + radius, y + flat), fill=number)
            return
        angles = self.np.sort(rng.random(int(rng.integers(3, 7)))) * 2 * self.np.pi
        turn = rng.random() * self.np.pi
        points = [
            (x + radius * self.np.cos(a + turn), y + flat * self.np.sin(a + turn)) for a in angles
        ]
        draw.polygon(points, fill=number)

    def paint(self, rng, width, height, detail):
        """Pixels as float32 [height, width, 3]. `detail` scales the fine texture and the noise."""
        np = self.np
        seen, n = self.leaves(rng, width, height)
        luma = rng.normal(120, 55, n).astype(np.float32)
        chroma = rng.normal(0, 55 * LUMA_TO_CHROMA, (n, 3)).astype(np.float32)
        strength = detail * rng.gamma(1.5, 14, n).astype(np.float32)
        texture = self.cut(rng, self.pink[rng.integers(3)], width, height)
        light = self.cut(rng, self.pink[2], width, height) * 12
        bright = luma[seen] + strength[seen] * texture + light
        image = bright[:, :, None] + chroma[seen]
        tint = self.cut(rng, self.pink[1], width, height) * detail * 4
        image[:, :, 0] += tint
        image[:, :, 2] -= tint
        return image

    def finish(self, rng, image, detail):
        """Lens and sensor: a little blur, then noise that is mostly brightness."""
        from PIL import Image, ImageFilter

        np = self.np
        height, width = image.shape[:2]
        sharp = Image.fromarray(np.clip(image + 0.5, 0, 255).astype(np.uint8))
        soft = sharp.filter(ImageFilter.GaussianBlur(0.35 + 0.45 * rng.random()))
        level = detail * (0.6 + 1.8 * rng.random())
        noise = self.cut(rng, self.white, width, height)[:, :, None] * level
        colour = np.stack([self.cut(rng, self.white, width, height) for _ in range(3)], axis=2) * (
            0.5 * level
        )
        return np.clip(np.asarray(soft) + noise + colour + 0.5, 0, 255).astype(np.uint8)

    def save(self, path, number):
        from PIL import Image

        rng = self.np.random.default_rng([SEED, number])
        width, height = draw_size(rng)
        quality, sampling, is_grey = draw_settings(rng)
        detail = float(self.np.exp(rng.normal(-0.27, 0.7)))
        image = Image.fromarray(self.finish(rng, self.paint(rng, width, height, detail), detail))
        image = image.convert("L") if is_grey else image
        image.save(path, "JPEG", quality=quality, **({} if is_grey else {"subsampling": sampling}))


def draw_size(rng):
    """Most of ImageNet has a long side of 500, some less, a few more; a quarter are upright."""
    kind = rng.random()
    if kind < 0.70:
        width, height = SIDE_500[rng.integers(len(SIDE_500))]
    else:
        low, high = (160, 480) if kind < 0.86 else (500, 700) if kind < 0.97 else (800, 1300)
        width = int(low * (high / low) ** rng.random())
        height = int(width * (0.62 + 0.38 * rng.random()))
    return (height, width) if rng.random() < 0.25 else (width, height)


def draw_settings(rng):
    """Quality, Pillow's number of the chroma sampling, and whether the image is grey."""
    kind = rng.random()
    if kind < 0.76:
        return (96 if rng.random() < 0.85 else int(rng.integers(86, 96))), 0, False
    if kind < 0.96:
        return (
            (int(rng.integers(64, 86)) if rng.random() < 0.85 else int(rng.integers(88, 96))),
            2,
            False,
        )
    return 90, 1, kind >= 0.97


def save_some(task):
    directory, first, step, count = task
    painter = Painter()
    for number in range(first, count, step):
        painter.save(f"{directory}/{number:05}.jpg", number)


def make(directory, count=COUNT, n_processes=2):
    """Makes the images once; a directory that is there is complete."""
    directory = Path(directory)
    if directory.is_dir():
        return directory
    part = directory.with_name(directory.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    tasks = [(str(part), first, n_processes, count) for first in range(n_processes)]
    with multiprocessing.Pool(n_processes) as pool:
        pool.map(save_some, tasks, chunksize=1)
    part.rename(directory)
    return directory


# ---- statistics, from the headers alone ----

LUMA_TABLE_SUM = 3691  # of the table that JPEG suggests, which libjpeg scales by quality


class Header(NamedTuple):
    width: int
    height: int
    sampling: str
    quality: int
    size: int

    @property
    def pixels(self):
        return self.width * self.height


def make_photos(files, directory, count=PHOTO_COUNT):
    """Pictures of 4 megapixels, as cameras store them: the first files, enlarged, with the noise of
    a sensor. Returns the directory."""
    import numpy as np
    from PIL import Image

    directory.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files[:count]):
        path = directory / f"{number:03}.jpg"
        if path.exists():
            continue
        image = Image.open(file).convert("RGB")
        scale = (PHOTO_PIXELS / (image.width * image.height)) ** 0.5
        size = (round(image.width * scale), round(image.height * scale))
        pixels = np.asarray(image.resize(size, Image.Resampling.BICUBIC), np.float32)
        noise = np.random.default_rng([SEED, number]).normal(0, 3, pixels.shape[:2] + (1,))
        photo = Image.fromarray((pixels + noise).clip(0, 255).astype(np.uint8))
        photo.save(path.with_suffix(".part"), "JPEG", quality=90, subsampling="4:2:0")
        path.with_suffix(".part").rename(path)
    return directory


def make_table(path, n_rows, n_columns):
    """A CSV file of numbers, made once."""
    import numpy as np

    if path.exists():
        return path
    values = np.random.default_rng(SEED).normal(size=(n_rows, n_columns))
    part = path.with_suffix(".part")
    with part.open("w", encoding="ascii") as file:
        file.write(",".join(f"c{i}" for i in range(n_columns)) + "\n")
        for row in values.tolist():
            file.write(",".join([f"{value:.6f}" for value in row]) + "\n")
    part.rename(path)
    return path


def segments(data):
    """(marker, payload) of each segment before the compressed data."""
    at = 2
    while at + 4 <= len(data):
        marker, length = data[at + 1], struct.unpack_from(">H", data, at + 2)[0]
        yield marker, data[at + 4 : at + 2 + length]
        if marker == 0xDA:
            return
        at += 2 + length


def quality_of(table):
    """The libjpeg quality whose luma table is nearest to one with this sum."""

    def expected(quality):
        return LUMA_TABLE_SUM * (5000 / quality if quality < 50 else 200 - 2 * quality) / 100

    return min(range(1, 101), key=lambda quality: abs(max(64, expected(quality)) - sum(table)))


def sampling_of(frame):
    if frame[5] == 1:
        return "grey"
    factors = [frame[7 + 3 * i] for i in range(frame[5])]
    names = {(0x11, 0x11): "4:4:4", (0x22, 0x11): "4:2:0", (0x21, 0x11): "4:2:2"}
    return names.get((factors[0], factors[1]), "other")


def header(path):
    data = Path(path).read_bytes()
    table, frame = None, None
    for marker, payload in segments(data):
        if marker == 0xDB and table is None:
            is_wide = payload[0] >> 4
            table = struct.unpack_from(">64H" if is_wide else ">64B", payload, 1)
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            frame = payload
    if table is None or frame is None:
        raise ValueError(f"{path} is no JPEG file")
    height, width = struct.unpack_from(">HH", frame, 1)
    return Header(width, height, sampling_of(frame), quality_of(table), len(data))


def describe(files):
    """The numbers of IMAGENET for these files."""
    headers = [header(path) for path in files]
    qualities = sorted(one.quality for one in headers)
    share = {
        name: 100 * sum(one.sampling == name for one in headers) / len(headers)
        for name in ("4:4:4", "4:2:0")
    }
    return {
        "megapixels": statistics.fmean(one.pixels for one in headers) / 1e6,
        "kilobytes": statistics.fmean(one.size for one in headers) / 1e3,
        "bits per pixel": statistics.fmean(8 * one.size / one.pixels for one in headers),
        "quality, median": statistics.median(qualities),
        "quality, lowest tenth": qualities[len(qualities) // 10],
        **share,
        "other sampling or grey": 100 - sum(share.values()),
    }


def main(words):
    if len(words) == 2 and words[0] == "--stats":
        for name, value in describe(image_files(words[1])).items():
            print(f"{name:24} {value:8.2f}   ImageNet {IMAGENET[name]:g}")
    elif 1 <= len(words) <= 2 and not words[0].startswith("-"):
        print(make(words[0], int(words[1]) if len(words) == 2 else COUNT))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
