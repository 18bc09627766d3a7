#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the pairs of programs in docs/from-tensorflow.md and writes what it found under each pair.

    build/venv-peers/bin/python tools/measure_pairs.py [--rounds 3] [--images 600] [--quick]
    DATA=photos …/measure_pairs.py      a directory of JPEG files instead of generated ones

A pair is two Python blocks of the page above a line <!-- measured: NAME -->. Each program runs in a
process of its own, as it is shown: all but its last statement is preparation; the last one is run
once to warm up, and then timed a few times. A round does all programs in turn, so that what slows
the machine for a while slows both sides. The best time of each counts.
"""

import argparse
import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "from-tensorflow.md"
FENCE = r"\*\*(?P<{0}_name>[^*]+)\*\*\n\n```python[^\n]*\n(?P<{0}>.*?)^```\n\n"
PAIR = re.compile(
    FENCE.format("theirs") + FENCE.format("ours") + r"</div>\n\n<!-- measured: (?P<name>\w+) -->",
    re.MULTILINE | re.DOTALL,
)
CLASSES = ("cat", "dog", "owl")
HANG_SECONDS = 300


class Pair(NamedTuple):
    name: str
    theirs_name: str
    theirs: str
    ours: str


def find_pairs(text):
    return [Pair(m["name"], m["theirs_name"], m["theirs"], m["ours"]) for m in PAIR.finditer(text)]


# ---- one program, in a process of its own ----


def time_program(path, seconds):
    """Runs the program of a file and prints the best time of its last statement."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    last = ast.Module([tree.body.pop()], [])
    names = sys.modules["__main__"].__dict__
    exec(compile(tree, path, "exec"), names)  # pylint: disable=exec-used
    timed = compile(last, path, "exec")
    exec(timed, names)  # pylint: disable=exec-used
    best, total = float("inf"), 0.0
    while total < seconds:
        start = time.perf_counter()
        exec(timed, names)  # pylint: disable=exec-used
        took = time.perf_counter() - start
        best, total = min(best, took), total + took
    print(json.dumps({"seconds": best}))


def run_program(text, place, seconds):
    """In a directory of its own, because programs write files."""
    home = Path(tempfile.mkdtemp(dir=place))
    for folder in ("train", "photos"):
        (home / folder).symlink_to(place / folder)
    (home / "program.py").write_text(text, encoding="utf-8")
    command = [sys.executable, Path(__file__).resolve(), "--time", "program.py", str(seconds)]
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(
        command,
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    if done.returncode:
        sys.exit(f"measure_pairs: a program failed:\n{text}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


# ---- all of them ----


def image_files(directory, count):
    """JPEG files: those of a directory of the user, or the generated ones of the benchmark."""
    sys.path.insert(0, str(TOP / "bench"))
    import data  # pylint: disable=import-outside-toplevel

    if not directory:
        cache = TOP / "build" / "bench"
        cache.mkdir(parents=True, exist_ok=True)
        directory = data.make(cache / f"photos-{count}-v{data.VERSION}", count)
    return data.image_files(directory)[:count]


def lay_out(place, files):
    """The folders that the programs read: train/CLASS/N.jpg and photos/N.jpg."""
    for folder in (*(f"train/{name}" for name in CLASSES), "photos"):
        (place / folder).mkdir(parents=True)
    for number, path in enumerate(files):
        name, path = f"{number:05}.jpg", Path(path).resolve()
        (place / "train" / CLASSES[number % 3] / name).symlink_to(path)
        (place / "photos" / name).symlink_to(path)


def measure(pairs, place, options):
    """{pair: {"theirs": seconds, "ours": seconds}}, the best of all rounds."""
    best = {pair.name: {} for pair in pairs}
    for number in range(1, options.rounds + 1):
        for pair in pairs:
            for side in ("theirs", "ours"):
                print(f"round {number} of {options.rounds}: {pair.name}, {side}", file=sys.stderr)
                took = run_program(getattr(pair, side), place, options.seconds)
                best[pair.name][side] = min(took, best[pair.name].get(side, took))
    return best


def seconds_text(seconds):
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.{0 if seconds >= 0.1 else 1}f} ms"


def ratio_text(ratio):
    return f"{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def line_of(pair, found):
    theirs, ours = found["theirs"], found["ours"]
    return (
        f"Measured: {pair.theirs_name} {seconds_text(theirs)}, stoker {seconds_text(ours)}. "
        f"stoker is **{ratio_text(theirs / ours)} times** as fast."
    )


def version_of(*packages):
    """The version of the first of these that is installed."""
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return "?"


def setup_line(options, files):
    import stoker  # pylint: disable=import-outside-toplevel

    kind = "JPEG files" if options.data else "generated photographs"
    cpu = stoker.devices()["cpu"]["model"]
    rounds = "one round" if options.rounds == 1 else f"best of {options.rounds} rounds"
    return (
        f"Measured with {len(files)} {kind} in the page cache, on two cores ({cpu}); "
        f"stoker {stoker.__version__}, TensorFlow {version_of('tensorflow-cpu', 'tensorflow')}, "
        f"Pillow {version_of('pillow')}; {rounds}. "
        f"[Benchmarks](benchmarks.md) has more."
    )


def put(text, name, line):
    pattern = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- /measured -->)", re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"measure_pairs: {PAGE.name} has no place for {name}")
    return pattern.sub(lambda match: f"{match[1]}\n{line}\n\n{match[2]}", text)


def parse_options(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, data = parser.add_argument, os.environ.get("DATA")
    add("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    add("--images", type=int, default=600, metavar="N", help="how many images (default 600)")
    add("--data", default=data, metavar="DIRECTORY", help="JPEG files (default: $DATA)")
    add("--only", metavar="PAIRS", help="these pairs, with commas between; writes nothing")
    add("--quick", action="store_true", help="one short round; writes nothing")
    add("--no-write", action="store_true", help="leave the page alone")
    options = parser.parse_args(words)
    options.rounds, options.seconds = (1, 0.01) if options.quick else (options.rounds, 2.0)
    return options


def main(words):
    options = parse_options(words)
    text = PAGE.read_text(encoding="utf-8")
    pairs = find_pairs(text)
    if options.only:
        pairs = [pair for pair in pairs if pair.name in options.only.split(",")]
    if not pairs:
        sys.exit(f"measure_pairs: no pairs to measure in {PAGE}")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    files = image_files(options.data, options.images)
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder), files)
        best = measure(pairs, Path(folder), options)
    for pair in pairs:
        line = line_of(pair, best[pair.name])
        print(f"{pair.name:10} {line}")
        text = put(text, pair.name, line)
    text = put(text, "setup", setup_line(options, files))
    if not (options.quick or options.no_write or options.only):
        PAGE.write_text(text, encoding="utf-8")
        print(f"written: {PAGE.relative_to(TOP)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--time"]:
        time_program(sys.argv[2], float(sys.argv[3]))
    else:
        main(sys.argv[1:])
