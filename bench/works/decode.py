# SPDX-License-Identifier: Apache-2.0
"""stoker's JPEG decoder against libjpeg-turbo (accurate transform, smooth chroma), one core, in one
process."""

import re
import subprocess

from bars import at_least

PLACE = 70
UNIT = "images"
NOTE = (
    "From `build/bench/jpeg_loop`, which decodes every image by both in turn and checks that all "
    "pixels are equal; medians of the rounds. *part*: random windows as in rrc, against "
    "libjpeg-turbo's own cropping and skipping of rows. *portable*: the loop over Huffman codes in "
    "plain C."
)
LINES = {
    "whole": "whole pictures",
    "chroma_420": "whole pictures, 4:2:0",
    "part": "random resized crop",
    "portable": "portable loop over bits",
}
BARS = [
    at_least("whole", "times as fast as libjpeg-turbo", 2.3, "×"),
    at_least("chroma_420", "on files with 4:2:0 chroma", 2.0, "×"),
    at_least("part", "on random parts", 2.4, "×"),
    at_least("portable", "with the portable loop", 1.8, "×"),
]


def measure(setup):
    words = [setup.build / "bench" / "jpeg_loop", setup.images, "1" if setup.quick else "7"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=setup.limit_s, check=True)
    reading = {}
    for key, name in LINES.items():
        line = re.search(rf"^{re.escape(name)} +\d+ +[\d.]+ +([\d.]+) +([\d.]+)$", done.stdout, re.M)
        if line:
            reading[key] = float(line[2])
            if key == "whole":
                reading["per_s"] = 1e3 / float(line[1])
    return reading or {"failed": "there are no files that our decoder takes"}
