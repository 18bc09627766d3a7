# SPDX-License-Identifier: Apache-2.0
"""PNG and WebP through stoker's codec against libpng and libwebp as such, one core, in one process."""

import re
import subprocess

from bars import at_least

PLACE = 75
UNIT = "images"
N_FILES = 24
NOTE = (
    "From `build/bench/codec_loop`, on some of the images stored as PNG and as lossy WebP; pixels "
    "are compared first."
)
BARS = [
    at_least("png", "share of libpng's speed", 0.95, "×"),
    at_least("webp", "share of libwebp's speed", 0.95, "×"),
]


def make_files(setup):
    from PIL import Image

    place = setup.place / "formats"
    if not place.exists():
        place.mkdir()
        for number, file in enumerate(setup.files[: 4 if setup.quick else N_FILES]):
            image = Image.open(file).convert("RGB")
            image.save(place / f"{number:02}.png")
            image.save(place / f"{number:02}.webp", quality=80)
    return place


def measure(setup):
    words = [setup.build / "bench" / "codec_loop", make_files(setup), "1" if setup.quick else "7"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=setup.limit_s, check=True)
    reading = {}
    for key in ("png", "webp"):
        line = re.search(rf"codec +([\d.]+) ms +lib{key} .* ratio ([\d.]+)$", done.stdout, re.M)
        reading[key] = float(line[2])
        reading.setdefault("per_s", 1e3 / float(line[1]))
    return reading
