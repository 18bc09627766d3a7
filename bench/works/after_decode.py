# SPDX-License-Identifier: Apache-2.0
"""What follows the decoder in the works seed and rrc, in float32 and in uint8: the time of a core
per image, with AVX2."""

import json
import subprocess

from bars import at_most
from jobs import quoted

PLACE = 71
UNIT = "images"
NOTE = (
    "From the counters of `stoker run --cpu avx2` with both cores at work: the time that threads "
    "spend in the ops behind `decode`, with the memory they wait for, without what other programs "
    "take; the best of the rounds. The rest of a run is the decoder, and files."
)
CHAINS = {
    "seed_f32": "resize(224, 224).scale(1/255)",
    "seed_u8": "resize(224, 224, dtype=uint8)",
    "rrc_f32": "random_resized_crop(224, 224).flip(probability=0.5).normalize('imagenet')",
    "rrc_u8": "random_resized_crop(224, 224, dtype=uint8).flip(probability=0.5)",
}
BARS = [
    at_most("seed_f32", "seed, float32", 0.08, "ms"),
    at_most("seed_u8", "seed, uint8", 0.05, "ms"),
    at_most("rrc_f32", "rrc, float32", 0.08, "ms"),
    at_most("rrc_u8", "rrc, uint8", 0.05, "ms"),
]


def behind(ops, name):
    """Seconds of processor per row in the ops behind one of them."""
    at = [op["op"] for op in ops].index(name)
    return sum(op["cpu"] for op in ops[at + 1 :]) / ops[at]["rows_out"]


def run_once(setup, rest, epochs):
    metrics = setup.place / "metrics.json"
    chain = (
        f"files('{quoted(setup.images)}/**/*.{{jpg,jpeg,JPG,JPEG}}').shuffle()"
        f".decode().{rest}.batch(32).prefetch()"
    )
    words = [setup.command, "run", chain, "--cpu", "avx2", "--epochs", str(epochs)]
    words += ["--metrics", metrics, "--quiet"]
    subprocess.run(words, capture_output=True, text=True, timeout=setup.limit_s, check=True)
    return json.loads(metrics.read_text(encoding="utf-8"))


def measure(setup):
    reading, epochs = {}, 1 if setup.quick else max(1, 6000 // len(setup.files))
    for key, rest in CHAINS.items():
        found = run_once(setup, rest, epochs)
        reading[key] = 1e3 * behind(found["ops"], "decode")
        if key == "seed_f32":
            reading["per_s"] = found["elements"] / found["elapsed"]
    return reading
