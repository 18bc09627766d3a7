# SPDX-License-Identifier: Apache-2.0
"""Compares runs that tune themselves with a grid of fixed numbers; fills in docs/tuning.md and docs/benchmarks.md.

The grid is workers × window, and reads in flight where storage is slow. It is gone through once,
briefly; then its best three and the peers, which tune themselves or have a process per core, are
measured in turn, each in a process of its own, and the best reading of each counts. The run without
numbers is measured before each of the three: the best of as many readings is compared. Slow storage is simulated by libinterpose.so, for all of them alike.

examples:
    tuning.py                       everything; writes the documents
    tuning.py --quick               everything once on little data, to see that it works
    tuning.py --only jpeg,step      some rows; writes nothing
    tuning.py --only jpeg --keep rows.json; … --only step --keep rows.json
                                    the same in parts: writes once all rows are in the file
"""

import argparse
import itertools
import json
import os
import re
import tempfile
from pathlib import Path

import data
import machine
import process
from one import Job
from records import make_pictures, make_progressive
from run import TOP, fail, say
from tuning_rows import COLD, ROWS

PEERS = ("tf.data", "torch DataLoader")
WORKERS, WINDOWS = (1, 2), (2, 4, 8, 16)
BAR, STEP_BAR, DEVICE_BAR, MEMORY_BAR = 0.97, 0.01, 0.95, 1.05
DOCUMENTS = ("tuning.md", "benchmarks.md")
MARKS = re.compile(r"(<!-- tuning: measured -->\n).*?(<!-- /tuning -->)", re.S)


# ---- measuring ----


def grid_of(row):
    """Option sets: {name: value}."""
    for workers, window, depth in itertools.product(WORKERS, WINDOWS, row.depths):
        options = {"workers": workers, "window": window}
        yield {**options, "io_depth": depth} if depth else options


def job_of(run, row, seconds, options=None, peer=None, watches_memory=False):
    chain = row.chain
    for name in ("images", "records", "progressive"):
        chain = chain.replace("$" + name, str(getattr(run, name)))
    module, function = row.peers[peer] if peer else (None, None)
    budget = {"memory": row.memory_mb << 20} if row.is_tight or watches_memory else {}
    return Job(
        chain=chain,
        options={**(options or {}), **budget},
        watches_memory=watches_memory,
        device_mb_per_s=int(row.storage["STOKER_READ_MB_PER_S"]) if row.storage is COLD else 0,
        peer=module,
        function=function,
        field=row.field,
        batch=row.batch,
        step_s=row.step_s,
        seconds=seconds,
        warm_s=run.warm_s,
        files=data.image_files(run.images) * run.n_repeats,
        own=str(run.records),
        size=224,
        held=500,
        count=10_000_000,
        workers=2,
    )


def environment_of(run, row):
    if not row.storage:
        return {}
    folder = os.path.commonpath([run.images, run.records])
    preload = {"LD_PRELOAD": str(run.build / "libinterpose.so"), "STOKER_FAIL_PREFIX": folder}
    return {**row.storage, **preload}


def measure(run, row, *words, **named):
    path = run.place / "job.json"
    path.write_text(json.dumps(vars(job_of(run, row, *words, **named))), encoding="utf-8")
    return process.run_peer(path, environment_of(run, row), run.limit_s, "tuning_one.py")


def rate(reading):
    return reading.get("per_s", 0.0)


def best_of(run, row):
    """The three best of the grid at a glance."""
    found = []
    for options in grid_of(row):
        say(f"{row.title}: {options}")
        found.append((rate(measure(run, row, run.glance_s, options)), options))
    return [options for _, options in sorted(found, key=lambda pair: -pair[0])[:3]]


def measure_row(run, row):
    """{"tuned": reading, "grid": [(options, reading)], "peers": {name: reading}}."""
    grid = [(options, None) for options in best_of(run, row)]
    tuned, peers = None, dict.fromkeys(row.peers if run.has_peers else ())
    for number in range(1, run.rounds + 1):
        say(f"{row.title}: round {number} of {run.rounds}")
        for i, (options, old) in enumerate(grid):
            tuned = process.better(tuned, measure(run, row, run.seconds))
            grid[i] = options, process.better(old, measure(run, row, run.seconds, options))
        for name, old in peers.items():
            peers[name] = process.better(old, measure(run, row, run.seconds, peer=name))
    watched = measure(run, row, run.seconds, watches_memory=True)
    say("")
    return {"tuned": tuned, "grid": grid, "peers": peers, "watched": watched}


# ---- what is written ----


def options_text(options):
    names = {"workers": "workers", "window": "in flight", "io_depth": "reads"}
    return ", ".join(f"{value} {names[name]}" for name, value in options.items())


def peer_text(reading):
    if reading is None:
        return ""
    return f"{rate(reading):,.0f}" if "per_s" in reading else "failed"


def marked(text, is_met):
    return text if is_met else f"{text} (below the bar)"


def verdict(row, found):
    """(share of the best and what else is asked of the row, whether the bars are met)."""
    _, best = max(found["grid"], key=lambda pair: rate(pair[1]))
    share = rate(found["tuned"]) / max(rate(best), 1e-9)
    text, is_met = f"{share:.1%}", share >= BAR
    if row.step_s:
        added = found["tuned"].get("added", 1.0)
        text, is_met = f"{text}; the step takes {added:.2%} longer", is_met and added <= STEP_BAR
    if row.storage is COLD:
        device = found["tuned"].get("device", 0.0)
        text, is_met = f"{text}; {device:.1%} of the device", is_met and device >= DEVICE_BAR
    return text, is_met


def memory_verdict(row, found):
    """(memory of the run that had a budget, whether it kept it)."""
    grown_mb = found["watched"].get("grown_mb", float("inf"))
    return f"{grown_mb:.0f} of {row.memory_mb} MB", grown_mb <= MEMORY_BAR * row.memory_mb


def table(results):
    lines = [
        "| chain | tuned, elements/s | best of the grid | with | tuned / best | memory | "
        + " | ".join(PEERS)
        + " |",
        "|---" * (6 + len(PEERS)) + "|",
    ]
    for row in ROWS:
        if row.key not in results:
            continue
        found = results[row.key]
        options, best = max(found["grid"], key=lambda pair: rate(pair[1]))
        peers = [peer_text(found["peers"].get(name)) for name in PEERS]
        cells = [row.title, f"{rate(found['tuned']):,.0f}", f"{rate(best):,.0f}"]
        cells += [options_text(options), marked(*verdict(row, found))]
        cells += [marked(*memory_verdict(row, found)), *peers]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures(results):
    for key, found in results.items():
        readings = {"stoker": found["tuned"], "its memory": found["watched"], **found["peers"]}
        for name, reading in readings.items():
            if reading and "failed" in reading:
                yield f"{key}, {name}: {reading['failed']}"


def write(results, about):
    inside = f"Measured on {about}.\n\n{table(results)}\n"
    for name in DOCUMENTS:
        path = TOP / "docs" / name
        text = path.read_text(encoding="utf-8")
        text = MARKS.sub(lambda found: found[1] + inside + found[2], text)
        path.write_text(text, encoding="utf-8")


def merged(path, results):
    """What a file has of rows, and these."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept |= results
    path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return kept


# ---- the command line ----


def parse_options(words):
    description, _, examples = __doc__.partition("examples:\n")
    parser = argparse.ArgumentParser(
        description=description,
        epilog="examples:\n" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--build", type=Path, default=TOP / "build", help="the build directory (default: build)")
    add("--images", type=Path, default=os.environ.get("DATA") or None, metavar="DIRECTORY",
        help="JPEG files to use (default: $DATA, else generated ones)")  # fmt: skip
    add("--only", metavar="ROWS", help="these rows, with commas between; writes nothing")
    add("--keep", type=Path, metavar="FILE", help="add what is found to this file")
    add("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    add("--seconds", type=float, default=4.0, metavar="S", help="for a reading (default 4)")
    add("--no-peers", action="store_true", help="stoker alone; writes nothing")
    add("--quick", action="store_true", help="one short round on little data; writes nothing")
    options = parser.parse_args(words)
    known = [row.key for row in ROWS]
    options.rows = options.only.split(",") if options.only else known
    for word in options.rows:
        if word not in known:
            fail(f"there is no row {word!r}; there are: {', '.join(known)}")
    return options


def prepare(options, place):
    build = options.build.resolve()
    cache = build / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    count = 48 if options.quick else data.COUNT
    images = options.images or data.make(cache / f"photos-{count}-v{data.VERSION}", count)
    return Job(
        build=build,
        place=Path(place),
        images=str(Path(images).resolve()),
        records=make_pictures(Job(cache=cache), 64 if options.quick else 2000),
        progressive=make_progressive(Job(cache=cache), 2 if options.quick else 16),
        rounds=1 if options.quick else options.rounds,
        n_repeats=1 if options.quick else 100,
        warm_s=0.1 if options.quick else 1.0,
        glance_s=0.1 if options.quick else 1.0,
        seconds=0.2 if options.quick else options.seconds,
        limit_s=120,
        has_peers=not options.no_peers,
    )


def main(words=None):
    options = parse_options(words)
    if not (options.build / "libinterpose.so").exists():
        fail(f"there is no {options.build / 'libinterpose.so'}: build it with make")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory(prefix="stoker-tuning-") as place:
        run = prepare(options, place)
        rows = [row for row in ROWS if row.key in options.rows]
        results = {row.key: measure_row(run, row) for row in rows}
    print(table(results))
    for text in failures(results):
        print(text)
    if options.keep:
        results = merged(options.keep, results)
    is_whole = all(row.key in results for row in ROWS)
    if options.quick or options.no_peers or not is_whole:
        return
    write(results, machine.describe(run.build / "stoker", [], 0.5)["cpu"])
    print("written: " + ", ".join(f"docs/{name}" for name in DOCUMENTS))


if __name__ == "__main__":
    main()
