# SPDX-License-Identifier: Apache-2.0
"""The kernel alone: 500×375 uint8 → 224×224 float32/255, one image on one core."""

import re
import subprocess

from bars import at_most

PLACE = 80
UNIT = "images"
NOTE = "From the harness that also checks the kernels (`checkkernel --bench`); AVX2 where there is."
BARS = [at_most("kernel_ms", "time per image", 0.10, "ms")]
KERNEL = "resize bilinear u8, affine in it"


def measure(setup):
    words = [setup.build / "tests" / "checkkernel", "--bench", KERNEL]
    done = subprocess.run(words, capture_output=True, text=True, timeout=setup.limit_s, check=True)
    times = re.findall(r"affine in it +[\d.]+ +([\d.]+) ns per image", done.stdout)
    if not times:
        return {"failed": "this machine has no AVX2"}
    return {"per_s": 1e9 / float(times[0]), "kernel_ms": float(times[0]) / 1e6}
