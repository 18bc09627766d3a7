# SPDX-License-Identifier: Apache-2.0
"""Compares stoker with its peers, side by side in one run, and writes docs/benchmarks.md, a plot and README's table.

    run.py [--stoker build/stoker] [--images DIRECTORY] [--rounds N] [--quick] [--no-write] [--strict]

How it measures. Everything runs on the same two cores, each measurement in a process of its own. A round does every
measurement once, so that what slows the machine for a while slows all of them; the best reading of each counts. A
reading is the fastest epoch after a first one that warms up. Absolute numbers belong to the machine, ratios carry
further. --images (or DATA in the environment) is a directory of JPEGs; without it the demo's drawn shapes are used.
"""
import argparse
import importlib.metadata
import json
import math
import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Optional

import peers
import report

TOP = Path(__file__).resolve().parent.parent
READ_DELAY_US, READ_DEPTH, N_READ_FILES = 2000, 64, 6400
EPOCH_IMAGES = 3000  # a short epoch would say more about its ends than about the middle


class Work(NamedTuple):
    """Something that stoker and peers both do."""

    name: str
    text: str
    chain: str  # {images} and {passes} are filled in
    epochs: int
    targets: dict  # peer: times as fast as it stoker must be


class Row(NamedTuple):
    """One line of the result."""

    name: str
    text: str
    value: float
    unit: str  # × for a ratio to a peer
    target: float
    is_limit: bool = False  # the target is the most there may be, not the least
    peer: Optional[str] = None
    stoker_per_s: float = 0
    peer_per_s: float = 0

    @property
    def passes(self):
        return self.value <= self.target if self.is_limit else self.value >= self.target


WORKS = [
    Work("seed", "JPEG files → decode → resize to 224×224 → float32/255 → shuffled batches of 32",
         "files('{images}/**/*.{{jpg,jpeg,JPG,JPEG}}').shuffle().repeat({passes}).decode().resize(224, 224)"
         ".scale(1/255).batch(32).prefetch()", 4, {"tf.data": 1.12, "opencv": 1.12}),
    Work("shuffle", "a million numbers in a random order, batches of 256; tf.data with a buffer that holds all",
         "range(1000000).shuffle().batch(256)", 30, {"tf.data": 40}),
    Work("buffer", "a million numbers, shuffled in a buffer of 10 000, batches of 256",
         "range(1000000).shuffle(10000).batch(256)", 20, {"tf.data": 12}),
    Work("map", "a million numbers plus one, batches of 256; tf.data does a tenth of them",
         "range(1000000).map('x + 1').batch(256)", 30, {"tf.data": 1500}),
]
READS = f"files('{{reads}}/*').read().batch({READ_DEPTH})"


def fail(text):
    sys.exit(f"bench: {text}")


def ask(*words, env=None):
    """What a program prints."""
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        fail(f"{' '.join(words)} failed:\n{done.stderr.strip()}")
    return done.stdout


def run_json(words, env=None):
    return json.loads(ask(*words, env=env).strip().splitlines()[-1])


# ---- measurements: each returns a reading, a dict of numbers ----


def read_stoker(options, chain, n_epochs, *more, env=None):
    n_epochs = 2 if options.quick else n_epochs
    answer = run_json([options.stoker, "run", chain, "--epochs", n_epochs, "--json", *more], env)
    return {"per_s": answer["best_epoch_elements_per_s"], "first_batch_s": answer["first_batch_s"],
            "rss_mb": answer["peak_rss_mb"], "anon_mb": answer["peak_anon_mb"]}


def read_peer(options, peer, work):
    return run_json([sys.executable, TOP / "bench" / "peers.py", peer, work.name, "--images", options.images,
                     "--passes", options.passes, "--epochs", 1 if options.quick else 3])


def read_slow_storage(options):
    """Files whose reads take 2 ms each, by an interposed read()."""
    env = dict(os.environ, LD_PRELOAD=str(options.build / "libinterpose.so"),
               STOKER_DELAY_READ_US=str(READ_DELAY_US), STOKER_FAIL_PREFIX=str(options.reads))
    chain = READS.format(reads=quoted(options.reads))
    return read_stoker(options, chain, 4, "--io-depth", READ_DEPTH, env=env)


def read_kernel(options):
    """Milliseconds that one core takes to resize a 500×375 image to 224×224 float32/255; AVX2 where there is."""
    printed = ask(options.build / "tests" / "checkkernel", "--bench", "resize bilinear u8, affine in it")
    times = re.findall(r"affine in it +[\d.]+ +([\d.]+) ns per image", printed)
    return {"per_s": 1e9 / float(times[0])} if times else {"per_s": math.inf}


def measurements(options):
    """{(work, who): function}, in the order of a round."""
    made = {}
    for work in WORKS:
        chain = work.chain.format(images=quoted(options.images), passes=options.passes)
        made[work.name, "stoker"] = lambda chain=chain, work=work: read_stoker(options, chain, work.epochs)
        if work.name == "seed":
            made["seed", "one worker"] = lambda chain=chain, work=work: read_stoker(
                options, chain, work.epochs, "--workers", 1)
        for peer in work.targets:
            made[work.name, peer] = lambda peer=peer, work=work: read_peer(options, peer, work)
    made["reads", "stoker"] = lambda: read_slow_storage(options)
    made["resize", "stoker"] = lambda: read_kernel(options)
    return made


def better(old, new):
    """The best of two readings: rates high, the first batch early; memory is the most that was seen."""
    if old is None:
        return new
    pick = {"per_s": max, "first_batch_s": min}
    return {key: pick.get(key, max)(old[key], new[key]) for key in new}


def say(text):
    """A line that the next one replaces, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(options):
    best = {}
    todo = measurements(options)
    for number in range(options.rounds):
        for (work, who), read in todo.items():
            say(f"round {number + 1} of {options.rounds}: {work}, {who}")
            best[work, who] = better(best.get((work, who)), read())
    say("")
    return best


# ---- from readings to rows ----


def result_rows(best):
    rows = []
    for work in WORKS:
        mine = best[work.name, "stoker"]["per_s"]
        for peer, target in work.targets.items():
            other = best[work.name, peer]["per_s"]
            rows.append(Row(work.name, work.text, mine / other, "×", target, peer=peer, stoker_per_s=mine,
                            peer_per_s=other))
    seed, alone = best["seed", "stoker"], best["seed", "one worker"]
    ideal = READ_DEPTH / (READ_DELAY_US * 1e-6)
    rows += [
        Row("scaling", "seed: two workers, times as fast as one", seed["per_s"] / alone["per_s"], "times", 1.9),
        Row("first batch", "seed: from the start of the process to the first batch", seed["first_batch_s"] * 1e3,
            "ms", 50, is_limit=True),
        Row("memory", "seed: most anonymous memory of the process", seed["anon_mb"], "MB", 100, is_limit=True),
        Row("reads", f"{N_READ_FILES} files, every read takes 2 ms, {READ_DEPTH} in flight: share of the ideal "
            f"{ideal:,.0f}/s", 100 * best["reads", "stoker"]["per_s"] / ideal, "%", 95),
        Row("resize", "500×375 uint8 → 224×224 float32/255, one image on one core",
            1e3 / best["resize", "stoker"]["per_s"], "ms", 0.10, is_limit=True),
    ]
    return rows


def print_rows(rows):
    print(f"{'work':12} {'stoker':>14} {'against':>9} {'':>14} {'result':>12} {'target':>10}")
    for row in rows:
        mine = f"{row.stoker_per_s:,.0f}/s" if row.peer else ""
        other = f"{row.peer_per_s:,.0f}/s" if row.peer else ""
        print(f"{row.name:12} {mine:>14} {row.peer or '':>9} {other:>14} {report.value_text(row):>12} "
              f"{report.target_text(row):>10}  {'pass' if row.passes else 'SHORT'}")


# ---- the machine ----


def spin(seconds):
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        n += 1
    return n


def two_processes():
    """How much two busy processes get done compared with one: 2.0 where two cores are really free."""
    with multiprocessing.Pool(2) as pool:
        alone = max(pool.map(spin, [0.5], chunksize=1)[0] for _ in range(3))
        both = max(sum(pool.map(spin, [0.5, 0.5], chunksize=1)) for _ in range(3))
    return both / alone


def describe_machine(options):
    devices = json.loads(ask(options.stoker, "devices", "--json"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") / 2**30
    return {
        "cpu": devices["cpu"]["model"],
        "level": devices["cpu"]["used"],
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "two": two_processes(),
        "stoker": re.search(r"\d+\.\d+\.\d+", ask(options.stoker, "version"))[0],
        "peers": {name: importlib.metadata.version(package) for name, package in
                  (("tf.data", "tensorflow-cpu"), ("opencv", "opencv-python-headless"))},
        "date": time.strftime("%Y-%m-%d"),
    }


# ---- preparation ----


def quoted(path):
    """A path as the beginning of a pattern in a chain's string."""
    escaped = re.sub(r"([*?\[\]{}\\])", r"\\\1", str(path))
    return escaped.replace("\\", "\\\\").replace("'", "\\'")


def default_images(build):
    images = build / "demo" / "shapes"
    if not images.is_dir():
        part = images.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        images.parent.mkdir(parents=True, exist_ok=True)
        ask(build / "tools" / "make_shapes", part, 2000)
        part.rename(images)
    return images


def make_read_files(directory):
    directory.mkdir(parents=True, exist_ok=True)
    for i in range(N_READ_FILES):
        path = directory / f"{i:05}.txt"
        if not path.exists():
            path.write_text(f"file {i}\n", encoding="ascii")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stoker", type=Path, default=TOP / "build" / "stoker")
    parser.add_argument("--images", type=Path, default=os.environ.get("DATA") or None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works; writes nothing")
    parser.add_argument("--no-write", action="store_true", help="leave the documents alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    options.stoker = options.stoker.resolve()
    options.build = options.stoker.parent
    options.rounds = 1 if options.quick else options.rounds
    options.is_drawn = options.images is None
    options.images = (options.images or default_images(options.build)).resolve()
    options.n_images = len(peers.image_files(options.images))
    if not options.n_images:
        fail(f"there are no JPEG files below {options.images}")
    options.passes = 1 if options.quick else math.ceil(EPOCH_IMAGES / options.n_images)
    options.reads = options.build / "bench" / "reads"
    make_read_files(options.reads)
    return options


def main():
    options = parse_options()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # inherited by every process started from here
    machine = describe_machine(options)
    machine["images"] = f"{options.n_images} {'drawn shapes' if options.is_drawn else 'JPEG files'}"
    for line in report.machine_lines(machine):
        print(line)
    rows = result_rows(measure(options))
    print()
    print_rows(rows)
    if not options.quick and not options.no_write:
        report.write_all(TOP, machine, WORKS, rows)
        print("\nwritten: docs/benchmarks.md, docs/benchmarks.svg, the table in README.md")
    return 1 if options.strict and not all(row.passes for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
