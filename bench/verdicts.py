# SPDX-License-Identifier: Apache-2.0
"""Constructed cases of slow runs: is the verdict right, and does advice bring what it says?

Each case is a process of its own. It profiles a chain, then does what the best advice says, and
compares the rates in turn: the gain that was predicted with the one that was found. Where nothing is
advised, because the step is the limit, a cache is put in: that should change nothing.

examples:
    verdicts.py                    all cases; writes the table in docs/profile.md
    verdicts.py --only disk,gzip   some of them; writes nothing
    verdicts.py --only disk --json >>rows; … verdicts.py --rows rows    the same in parts
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SECONDS, ROUNDS = 3, 2
MARKS = re.compile(r"(<!-- verdicts: measured -->\n).*?(<!-- /verdicts -->)", re.S)
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

    def __init__(self, title, bounds, make, environment=None, step=0, **options):
        self.title, self.bounds = title, bounds.split()
        self.make, self.step, self.options = make, step, options
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
    return f"files('{folder}/p/*').shuffle().decode().resize(32, 32).batch(64)"


def skewed(folder):
    jpegs(folder / "p", 60, (64, 64))
    jpegs(folder / "q", 2, (3000, 3000))
    return f"files(['{folder}/p/*', '{folder}/q/*']).shuffle().decode().resize(64, 64).batch(4)"


def few_workers(folder):
    jpegs(folder / "p", 200, (300, 300))
    return f"files('{folder}/p/*').shuffle().decode().resize(224, 224).batch(16)"


CASES = {
    "disk": Case(
        "records in random order on a disk, 8 ms a seek; a step of 20 ms",
        "storage",
        slow_disk,
        DISK,
        step=20,
    ),
    "decode": Case("JPEG files of 4 MP; a step of 4 ms", "compute", slow_decode, step=4),
    "augmentation": Case("heavy augmentation; a step of 1 ms", "compute", augmentation, step=1),
    "step": Case("a step of 20 ms", "step", slow_step, step=20),
    "tiny-batches": Case("numbers in batches of 1", "batches", tiny_batches),
    "python-map": Case("a function in Python, 0.3 ms", "lock", python_map),
    "memory": Case("pictures of 1 MP, 34 MB for all", "memory", starved, memory="34M"),
    "hdf5-lock": Case("HDF5 with a filter of its library", "lock", locked),
    "gzip": Case("a compressed TFRecord file", "serial", gzip),
    "small-files": Case(
        "files of 1 KB, 2 ms a read; a step of 1 ms", "storage", small_files, COLD, step=1
    ),
    "skewed": Case(
        "some pictures 2000 times as large, one batch in flight; a step of 1 ms",
        "order compute",
        skewed,
        step=1,
        window=1,
    ),
    "few-workers": Case("one worker on two cores", "workers", few_workers, workers=1),
}


# ---- one case, in its process ----


def rate_of(ds, options, step, warm_epoch=False):
    """Elements per second once it is warm."""
    with ds.iterate(epochs=None, **options) as batches:
        until = time.monotonic() + 0.5
        for batch in batches:
            pause(step)
            if time.monotonic() > until and not (warm_epoch and batch.position.epoch == 0):
                break
        del batch  # or it would be held all the time
        return rate_now(batches, step)


def rate_now(batches, step):
    """The clock is read seldom where nothing else is done: it costs as much as a small batch."""
    n, at_once = 0, 1 if step else 64
    begin = now = time.monotonic()
    while now < begin + SECONDS / ROUNDS:
        for batch in itertools.islice(batches, at_once):
            n += batch.n_rows
            if step:
                pause(step)
        now = time.monotonic()
    return n / (now - begin)


def pause(milliseconds):
    if milliseconds:
        time.sleep(milliseconds / 1000)


def length_of(milliseconds):
    """What a step takes that sleeps so long: a sleep ends late."""
    if not milliseconds:
        return 0
    n, begin = 100, time.monotonic()
    for _ in range(n):
        pause(milliseconds)
    return (time.monotonic() - begin) / n * 1000


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


def nothing_helps(chain):
    """That no change to the input is worth anything, as advice."""
    chain = chain.replace(".batch(", ".cache().batch(")
    blank = dict.fromkeys(("option", "value", "command"))
    return {"rule": "cache", "gain": 1.0, "is_measured": False, "chain": chain, **blank}


def python_processes():
    import stoker

    def slow(element):
        return {"x": sum(range(20000)) + int(element["x"])}

    return stoker.range(100000).map(slow, workers="process").batch(16)


def packed(advice, folder):
    """Runs the command's pack, and reads what it wrote with the chain of the advice."""
    import shlex

    import stoker

    words = shlex.split(advice["command"])
    chain, out = words[2], folder / "packed-{shard:05d}.tfrecord"
    variants = int(words[words.index("--variants") + 1]) if "--variants" in words else None
    stoker.parse(chain).pack(str(out), shards=4, variants=variants)
    return stoker.parse(advice["chain"].replace("packed-*", str(folder / "packed-*")))


def run_case(name, folder):
    import stoker

    case = CASES[name]
    made = case.make(folder)
    ds = stoker.parse(made) if isinstance(made, str) else made
    found = ds.profile(seconds=SECONDS, consumer_ms=length_of(case.step), **case.options)
    row = {
        "case": name,
        "bound": found.bound,
        "is_right": found.bound in case.bounds,
        "sentence": found.verdict,
    }
    advice = found.advice[0] if found.advice else nothing_helps(str(ds))
    other, options = apply(case, ds, advice, folder)
    before = after = 0
    for _ in range(ROUNDS):
        before += rate_of(ds, case.options, case.step) / ROUNDS
        is_cache = advice["rule"] == "cache"
        after += rate_of(other, options, case.step, warm_epoch=is_cache) / ROUNDS
    row |= {
        "advice": advice["rule"] if found.advice else "none",
        "is_measured": advice["is_measured"],
        "predicted": advice["gain"],
        "found": after / before,
        "rates": [before, after],
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


def is_close(row):
    return abs(row["predicted"] / row["found"] - 1) <= RIGHT


def how(row):
    if row["advice"] == "none":
        return "said"
    return "measured" if row["is_measured"] else "modelled"


def line(row):
    text = f"{row['case']:13} {row['bound']:8} {'right' if row['is_right'] else 'WRONG'}"
    if "found" in row:
        before, after = row["rates"]
        text += f"  {row['advice']:10} {how(row)} {row['predicted']:.2f}x, found {row['found']:.2f}x"
        text += f" ({before:.0f}, {after:.0f}/s) {'right' if is_close(row) else 'OFF'}"
    return text + f"\n              {row['sentence']}"


def table(rows):
    lines = [
        "| case | bound | advice | predicted | found | elements/s before and after |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        bound = row["bound"] if row["is_right"] else f"{row['bound']} (wrong)"
        cells = [CASES[row["case"]].title, bound, "", "", "", ""]
        if "found" in row:
            before, after = row["rates"]
            off = "" if is_close(row) else " (off)"
            cells[2:] = [row["advice"], f"{row['predicted']:.2f}×, {how(row)}"]
            cells += [f"{row['found']:.2f}×{off}", f"{before:,.0f} → {after:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    n_right = sum(row["is_right"] for row in rows)
    n_close = sum("found" in row and is_close(row) for row in rows)
    lines += ["", f"{n_right} of {len(rows)} verdicts are right, {n_close} gains within 15 %."]
    return "\n".join(lines)


def write(rows):
    path = TOP / "docs" / "profile.md"
    text = path.read_text(encoding="utf-8")
    inside = f"{table(rows)}\n"
    path.write_text(MARKS.sub(lambda found: found[1] + inside + found[2], text), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of cases, with commas between them")
    parser.add_argument("--build", default=TOP / "build", type=Path)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each case")
    parser.add_argument("--rows", type=Path, help="write the table of what --json has printed")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        return run_case(args.case, args.folder)
    if args.rows:
        return write([json.loads(text) for text in args.rows.read_text().splitlines()])
    rows = []
    for name in args.only.split(",") if args.only else CASES:
        rows.append(start(name, args.build.resolve()))
        print(json.dumps(rows[-1]) if args.json else line(rows[-1]), flush=True)
    if not args.only:
        write(rows)


if __name__ == "__main__":
    main()
