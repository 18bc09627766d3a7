# SPDX-License-Identifier: Apache-2.0
"""What seed does behind the decoder, alone: 500×375 uint8 → 224×224, one image on one core."""

import re
import subprocess

from bars import at_most

PLACE = 80
UNIT = "images"
NOTE = (
    "From the harness that also checks the kernels (`checkkernel --bench`); AVX2 where there is. "
    "The rate is that of float32/255."
)
KERNEL = "resize tf bilinear"
LINES = {"f32_ms": "(seed f32)", "u8_ms": "(seed u8)"}
BARS = [
    at_most("f32_ms", "to float32/255", 0.08, "ms"),
    at_most("u8_ms", "to uint8", 0.05, "ms"),
]


def measure(setup):
    words = [setup.build / "tests" / "checkkernel", "--bench", KERNEL]
    done = subprocess.run(words, capture_output=True, text=True, timeout=setup.limit_s, check=True)
    reading = {}
    for key, name in LINES.items():
        line = re.search(rf"{re.escape(name)} +[\d.]+ +([\d.]+) ns per image / 1000", done.stdout)
        if not line:
            return {"failed": "this machine has no AVX2"}
        reading[key] = float(line[1]) / 1e3
    return {**reading, "per_s": 1e3 / reading["f32_ms"]}
