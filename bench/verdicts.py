# SPDX-License-Identifier: Apache-2.0
"""Constructed cases of slow runs: is the verdict right, and does advice bring what it says?

Each case is a process of its own. It profiles a chain, then does what the best advice says, and
compares the rates: the gain that was predicted with the one that was found.

examples:
    verdicts.py                    all cases, as a table
    verdicts.py --only disk,gzip   some of them
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SECONDS = 3
RIGHT = 0.15  # a prediction is right when it is off by no more than this


# ---- data ----


def jpegs(folder, count, size, quality=90):
    """Pictures of noise over a gradient, as a photograph has both."""
    import numpy as np
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    height, width = size
    ramp = np.linspace(0, 200, width)[None, :, None] + np.zeros((height, 1, 3))
    for i in range(count):
        noise = rng.integers(0, 55, (height // 4 + 1, width // 4 + 1, 3))
        noise = noise.repeat(4, 0).repeat(4, 1)[:height, :width]
        image = Image.fromarray((ramp + noise).astype(np.uint8))
        image.save(folder / f"{i:05}.jpg", quality=quality)
    return folder


def records(path, count, shape, compression=None):
    import numpy as np
    import stoker

    rng = np.random.default_rng(5)
    data = rng.integers(0, 255, (count, *shape), dtype=np.uint8)
    stoker.from_arrays({"image": data, "label": np.arange(count)}).pack(
        str(path), compression=compression
    )
    return path


# ---- cases: each makes its data in a folder, and gives a chain (or a Dataset), options and a step ----


class Case:
    """What to run: chain, run options, milliseconds of the step, environment of the process."""

    def __init__(self, bounds, make, environment=None, step=0, **options):
        self.bounds, self.make, self.step, self.options = bounds.split(), make, step, options
        self.environment = environment or {}


IMAGE = "parse_example({image: bytes, label: int64}).decode_raw(uint8, shape=[64, 64, 3], field=image)"
COLD = {"STOKER_DELAY_READ_US": "2000", "STOKER_READ_MB_PER_S": "200"}
DISK = {"STOKER_SEEK_US": "8000", "STOKER_READ_MB_PER_S": "200"}


def slow_disk(folder):
    path = records(folder / "a.tfrecord", 3000, (64, 64, 3))
    return f"tfrecord('{path}').shuffle().{IMAGE}.batch(32)"


def slow_decode(folder):
    jpegs(folder / "p", 24, (1700, 2300))
    return f"files('{folder}/p/*').shuffle().decode().resize(224, 224).batch(8)"


def augmentation(folder):
    jpegs(folder / "p", 300, (224, 224))
    return (
        f"files('{folder}/p/*').shuffle().decode().gaussian_blur(31, [4, 8]).rand_augment(4)"
        ".resize(64, 64).batch(16)"
    )


def slow_step(folder):
    jpegs(folder / "p", 100, (224, 224))
    return f"files('{folder}/p/*').shuffle().decode().resize(64, 64).batch(8)"


def tiny_batches(_):
    return "range(1000000).shuffle().map('x * 2').batch(1)"


def python_map(_):
    import stoker

    def slow(element):
        return {"x": sum(range(20000)) + int(element["x"])}

    return stoker.range(100000).map(slow).batch(16)


def starved(folder):
    jpegs(folder / "p", 64, (1024, 1024))
    return f"files('{folder}/p/*').shuffle().decode().resize(512, 512).batch(8)"


def locked(folder):
    import h5py
    import numpy as np

    rng = np.random.default_rng(5)
    with h5py.File(folder / "a.h5", "w") as file:
        data = rng.integers(0, 64, (800, 128, 128, 3), dtype=np.uint8)
        file.create_dataset("image", data=data, chunks=(1, 128, 128, 3), scaleoffset=6)
    return f"hdf5('{folder}/a.h5', {{image: image}}).shuffle().batch(16)"


def gzip(folder):
    path = records(folder / "a.tfrecord.gz", 3000, (64, 64, 3), "gzip")
    return f"tfrecord('{path}').{IMAGE}.scale(1/255).batch(32)"


def small_files(folder):
    jpegs(folder / "p", 3000, (32, 32))
    return f"files('{folder}/p/*').shuffle().decode().resize(32, 32).batch(32)"


def skewed(folder):
    jpegs(folder / "p", 60, (64, 64))
    jpegs(folder / "q", 2, (3000, 3000))
    return f"files(['{folder}/p/*', '{folder}/q/*']).shuffle().decode().resize(64, 64).batch(2)"


def few_workers(folder):
    jpegs(folder / "p", 200, (300, 300))
    return f"files('{folder}/p/*').shuffle().decode().resize(224, 224).batch(16)"


CASES = {
    "disk": Case("storage", slow_disk, DISK),
    "decode": Case("compute", slow_decode),
    "augmentation": Case("compute", augmentation),
    "step": Case("step", slow_step, step=20),
    "tiny-batches": Case("batches", tiny_batches),
    "python-map": Case("lock", python_map),
    "memory": Case("memory", starved, memory="34M"),
    "hdf5-lock": Case("lock", locked),
    "gzip": Case("serial", gzip),
    "small-files": Case("storage", small_files, COLD),
    "skewed": Case("order compute", skewed, window=1),
    "few-workers": Case("workers", few_workers, workers=1),
}


# ---- one case, in its process ----


def rate_of(ds, options, step, seconds=SECONDS, warm_epoch=False):
    """Elements per second once it is warm."""
    with ds.iterate(epochs=None, **options) as batches:
        begin, counted, n = time.monotonic(), None, 0
        for batch in batches:
            now = time.monotonic()
            is_warm = now - begin > 0.5 and (not warm_epoch or batch.position.epoch > 0)
            if counted is None and is_warm:
                counted, n = now, 0
            n += batch.n_rows
            if counted is not None and now - counted > seconds:
                return n / (now - counted)
            if step:
                time.sleep(step / 1000)
    return 0


def apply(case, ds, advice, folder):
    """Does what it says; gives the Dataset and the options to run instead."""
    import stoker

    options = dict(case.options)
    if advice["option"]:
        options[advice["option"]] = advice["value"]
        if advice["value"] == "auto":
            del options[advice["option"]]
        elif advice["option"] == "memory":
            options["memory"] = int(advice["value"])
    if advice["rule"] == "processes":
        return python_processes(), options
    if advice["command"]:
        return packed(advice, folder), options
    return (stoker.parse(advice["chain"]) if advice["chain"] else ds), options


def python_processes():
    import stoker

    def slow(element):
        return {"x": sum(range(20000)) + int(element["x"])}

    return stoker.range(100000).map(slow, workers="process").batch(16)


def packed(advice, folder):
    """Runs the command's pack, and reads what it wrote with the rest of the chain."""
    import shlex

    import stoker

    words = shlex.split(advice["command"])
    chain, out = words[2], folder / "packed-{shard:05d}.tfrecord"
    variants = int(words[words.index("--variants") + 1]) if "--variants" in words else None
    stoker.parse(chain).pack(str(out), shards=4, variants=variants)
    found = stoker.inspect(str(folder / "packed-00000.tfrecord")).chain
    found = found.replace("packed-00000", "packed-*")
    return stoker.parse(f"{found}.{advice['rest']}" if advice["rest"] else found)


def run_case(name, folder):
    import stoker

    case = CASES[name]
    made = case.make(folder)
    ds = stoker.parse(made) if isinstance(made, str) else made
    found = ds.profile(seconds=SECONDS, consumer_ms=case.step, **case.options)
    row = {
        "case": name,
        "bound": found.bound,
        "is_right": found.bound in case.bounds,
        "sentence": found.verdict,
        "advice": None,
    }
    if found.advice:
        best = found.advice[0]
        other, options = apply(case, ds, best, folder)
        warm = best["rule"] == "cache"
        before = rate_of(ds, case.options, case.step)
        after = rate_of(other, options, case.step, warm_epoch=warm)
        row |= {
            "advice": best["rule"],
            "is_measured": best["is_measured"],
            "predicted": best["gain"],
            "found": after / before if before else 0,
            "rates": [found["elements_per_second"], before, after],
        }
    print(json.dumps(row), flush=True)


# ---- all of them ----


def start(name, build):
    with tempfile.TemporaryDirectory(prefix="stoker-verdict-") as folder:
        return start_in(name, build, folder)


def start_in(name, build, folder):
    """Trials store what they store on the storage that the data is on: below the same folder."""
    case = CASES[name]
    environment = dict(os.environ, STOKER=str(build / "stoker"), TMPDIR=folder)
    if case.environment:
        environment |= case.environment
        environment["LD_PRELOAD"] = str(build / "libinterpose.so")
        environment["STOKER_FAIL_PREFIX"] = folder
    words = [sys.executable, __file__, "--case", name, "--folder", folder]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return {"case": name, "bound": "failed", "is_right": False, "sentence": done.stderr[-300:]}
    return json.loads(done.stdout.splitlines()[-1])


def line(row):
    word = "right" if row["is_right"] else "WRONG"
    text = f"{row['case']:13} {row['bound']:8} {word}"
    if row.get("advice"):
        off = row["predicted"] / row["found"] - 1 if row["found"] else 9
        word = "right" if abs(off) <= RIGHT else "OFF"
        how = "measured" if row["is_measured"] else "modelled"
        text += f"  {row['advice']:10} {how} {row['predicted']:.2f}x, found {row['found']:.2f}x {word} {row['rates']}"
    return text + f"\n              {row['sentence']}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of cases, with commas between them")
    parser.add_argument("--build", default=TOP / "build", type=Path)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each case")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        return run_case(args.case, args.folder)
    for name in args.only.split(",") if args.only else CASES:
        row = start(name, args.build.resolve())
        print(json.dumps(row) if args.json else line(row), flush=True)


if __name__ == "__main__":
    main()
