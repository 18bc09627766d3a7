# SPDX-License-Identifier: Apache-2.0
"""Measures what formats cost, on one data set; writes docs/formats.md and its picture.

The same pictures and the same numbers are stored in every way that people store them
(format_data.py), and read by stoker, and where it can by tf.data: from the page cache, in order and
shuffled; with the files dropped from the cache; and with opening and reading slowed, as on storage
behind a network. Each measurement is a process of its own on the same two cores; a round does all
of them in turn, and the best reading of each counts.

examples:
    measure_formats.py                      everything; writes the document
    measure_formats.py --quick              everything once on little data, to see that it works
    measure_formats.py --only csv,fixed     some rows; writes nothing
    measure_formats.py --for 100            for 100 s; the same again goes on, until all is measured
    DATA=photos measure_formats.py          a directory of JPEG files instead of generated ones
"""

import argparse
import ctypes
import json
import mmap
import os
import sys
import tempfile
import time
from pathlib import Path

import data
import format_data
import format_report
import machine
import process
from format_rows import BATCH, FIELD, HELD, ROWS
from one import Job
from pictures import SIZE
from run import TOP, fail, say

DELAY_US = 2000  # of every open and every read
READ_BYTES = 1 << 20
# A measurement of a row: mode, order, whether pictures are made ready, what is done to the files.
MEASURES = {
    "open": ("open", "", False, ""),
    "order": ("warm", "", False, ""),
    "shuffled": ("warm", "shuffle", False, ""),
    "ready": ("warm", "shuffle", True, ""),
    "cold": ("once", "", False, "drop"),
    "cold_shuffled": ("once", "shuffle", False, "drop"),
    "slow_open": ("open", "", False, "delay"),
    "slow": ("once", "", False, "delay"),
    "slow_shuffled": ("once", "shuffle", False, "delay"),
}
MIX_ORDERS = {"none": "", "100": "100", "1000": "1000", "all": "shuffle"}
# HDF5 by more than one: who, cores it may use (0: both), threads or processes, is it processes.
CROWDS = {
    "stoker_one": ("stoker", 1, 0, False),
    "stoker_two": ("stoker", 0, 0, False),
    "h5py_one": ("h5py", 0, 1, False),
    "h5py_threads": ("h5py", 0, 2, False),
    "h5py_processes": ("h5py", 0, 2, True),
}


# ---- the files ----


def drop_from_cache(paths):
    """Asks for the pages of the files to be dropped; returns the share that stayed."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)  # a page that is not written yet stays
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    return share_in_cache(paths)


def bring_into_cache(paths):
    for path in paths:
        with path.open("rb") as file:
            while file.read(READ_BYTES):
                pass


def share_in_cache(paths):
    """The share of these files' pages that is in the page cache."""
    found = [pages_in_cache(path) for path in paths if path.stat().st_size]
    return sum(n for n, _ in found) / max(1, sum(n_all for _, n_all in found))


def pages_in_cache(path):
    """(in the cache, in all). By a map: a read that does not wait would begin to read ahead."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    n = -(-len(mapped) // mmap.PAGESIZE)
    first, seen = ctypes.c_char.from_buffer(mapped), (ctypes.c_ubyte * n)()
    libc = ctypes.CDLL(None, use_errno=True)
    address, size = ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(mapped))
    code = libc.mincore(address, size, seen)
    del first  # or the map cannot be closed
    mapped.close()
    if code:
        raise OSError(ctypes.get_errno(), "mincore", str(path))
    return sum(page & 1 for page in seen), n


def remove_indexes(folders):
    for folder in set(folders.values()):
        for path in Path(folder).rglob("*.stkidx"):
            path.unlink()


def sizes(row, folders):
    stats = [path.stat() for path in row.files(folders)]
    return {"files": len(stats), "disk_bytes": sum(512 * stat.st_blocks for stat in stats)}


# ---- measuring ----


def job_of(run, row, mode, order, is_ready):
    path = Path(run.folders[row.kind]) / row.path
    return Job(
        mode=mode,
        who=row.who,
        key=row.key,
        chain=row.chain_for(run.folders, order, is_ready) if row.is_stoker else None,
        path=str(path),
        order=order,
        is_ready=is_ready,
        field=row.field or FIELD[row.kind],
        batch=BATCH[row.kind],
        held=HELD[row.kind],
        columns=format_data.N_COLUMNS,
        size=SIZE,
        options={},
        cores=0,
        limit_s=run.pass_s,
        stretch_s=run.stretch_s,
        n_stretches=run.n_stretches,
    )


def run_job(run, job, environment=None):
    path = run.place / "job.json"
    path.write_text(json.dumps(vars(job)), encoding="utf-8")
    return process.run_peer(path, environment or {}, run.limit_s, "format_one.py")


def slow_files(run, row):
    """Variables that make opening and reading a set's files slow."""
    return {
        "LD_PRELOAD": str(run.build / "libinterpose.so"),
        "STOKER_DELAY_READ_US": str(DELAY_US),
        "STOKER_DELAY_OPEN_US": str(DELAY_US),
        "STOKER_FAIL_PREFIX": str(run.folders[row.kind]),
    }


def can_do(row, name):
    """Whether a row has a measurement."""
    if name == "ready":
        return row.kind != "numbers"
    return row.is_stoker or MEASURES[name][0] != "open"


def measure(run, row, name):
    mode, order, is_ready, what = MEASURES[name]
    files, stayed = row.files(run.folders), {}
    if what == "drop":
        stayed = {"stayed": drop_from_cache(files)}
    else:
        bring_into_cache(files)
    environment = slow_files(run, row) if what == "delay" else {}
    reading = run_job(run, job_of(run, row, mode, order, is_ready), environment)
    return reading if "failed" in reading else {**reading, **stayed}


def measure_mix(run, order):
    row = next(row for row in ROWS if row.key == "tfrecord")
    return run_job(run, job_of(run, row, "mix", order, False))


def measure_crowd(run, name):
    who, cores, parallel, is_processes = CROWDS[name]
    row = next(row for row in ROWS if row.key == "gzip_one")
    job = job_of(run, row, "warm", "shuffle", False)
    job.who, job.cores, job.parallel, job.is_processes = who, cores, parallel, is_processes
    return run_job(run, job)


def better(old, new):
    """The best of two readings: rates high, all else low."""
    if old is None or "failed" in old or "failed" in new:
        return new if old is None or "failed" not in new else old
    pick = {"per_s": max, "stayed": max}
    return {
        key: value if value is None else pick.get(key, min)(value, old[key])
        for key, value in new.items()
    }


def todo_of(rows, is_all):
    """[(group, name, function of the run)] of a round."""
    todo = [
        (row.key, name, lambda run, row=row, name=name: measure(run, row, name))
        for row in rows
        for name in MEASURES
        if can_do(row, name)
    ]
    if is_all:
        for name, order in MIX_ORDERS.items():
            todo.append(("mix", name, lambda run, order=order: measure_mix(run, order)))
        for name in CROWDS:
            todo.append(("crowd", name, lambda run, name=name: measure_crowd(run, name)))
    return todo


def measure_all(run, todo, rounds, progress):
    """Measures what progress does not have yet; false if its time was up before the end."""
    best = progress.readings
    for step in range(progress.steps, rounds * len(todo)):
        if progress.is_over():
            break
        at, (group, name, function) = step % len(todo), todo[step % len(todo)]
        if at == 0:
            remove_indexes(run.folders)
        say(f"round {step // len(todo) + 1} of {rounds}, {at + 1} of {len(todo)}: {group}, {name}")
        found = best.setdefault(group, {})
        found[name] = better(found.get(name), function(run))
        progress.keep(step + 1)
    say("")
    return progress.steps == rounds * len(todo)


class Progress:
    """What was measured so far: of a run in pieces, in a file that the next piece goes on with."""

    def __init__(self, path, settings, seconds):
        self.path, self.settings = path, settings
        self.steps, self.readings = 0, {}
        self.end = time.monotonic() + seconds if seconds else None
        kept = json.loads(path.read_text("utf-8")) if seconds and path.exists() else {}
        if kept.get("settings") == settings:
            self.steps, self.readings = kept["steps"], kept["readings"]

    def is_over(self):
        return self.end is not None and time.monotonic() >= self.end

    def keep(self, steps):
        self.steps = steps
        if self.end is not None:
            kept = {"settings": self.settings, "steps": steps, "readings": self.readings}
            self.path.write_text(json.dumps(kept), encoding="utf-8")

    def forget(self):
        self.path.unlink(missing_ok=True)


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
    add("--pictures", type=int, metavar="N", help="how many pictures (default 2000)")
    add("--rows", type=int, metavar="N", help="how many rows of numbers (default 500000)")
    add("--only", metavar="ROWS", help="these rows, with commas between; writes nothing")
    add("--for", type=float, dest="seconds", metavar="SECONDS",
        help="begin no measurement after so many seconds; the next call goes on")  # fmt: skip
    add("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    add("--quick", action="store_true", help="one short round on little data; writes nothing")
    add("--no-write", action="store_true", help="leave the document alone")
    options = parser.parse_args(words)
    options.build = options.build.resolve()
    options.rounds = 1 if options.quick else max(options.rounds, 1)
    options.pictures = options.pictures or (48 if options.quick else 2000)
    options.rows = options.rows or (2000 if options.quick else 500_000)
    return options


def choose_rows(words):
    known = [row.key for row in ROWS]
    wanted = words.split(",") if words else known
    for word in wanted:
        if word not in known:
            fail(f"there is no row {word!r}; there are: {', '.join(known)}")
    return [row for row in ROWS if row.key in wanted]


def make_files(options):
    cache = options.build / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    images = options.images
    if not images:
        count = (options.pictures + 1) // 2  # each is used as it is, and mirrored
        say(f"generating {count} images")
        images = data.make(cache / f"photos-{count}-v{data.VERSION}", count)
    say("storing them in every format")
    return format_data.make(cache, Path(images).resolve(), options.pictures, options.rows)


def main(words=None):
    options = parse_options(words)
    rows = choose_rows(options.only)
    for name in ("stoker", "libinterpose.so"):
        if not (options.build / name).exists():
            fail(f"there is no {options.build / name}: build it with make")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    folders = make_files(options)
    progress = Progress(
        options.build / "bench" / "formats-part.json",
        [options.only, options.pictures, options.rows, options.rounds, str(options.images)],
        options.seconds,
    )
    with tempfile.TemporaryDirectory(prefix="stoker-formats-") as place:
        run = Job(
            build=options.build,
            place=Path(place),
            folders=folders,
            limit_s=60 if options.quick else 300,
            pass_s=1.0 if options.quick else 10.0,
            stretch_s=0.02 if options.quick else 1.0,
            n_stretches=1 if options.quick else 2,
        )
        todo = todo_of(rows, not options.only)
        if not measure_all(run, todo, options.rounds, progress):
            print(f"{progress.steps} of {options.rounds * len(todo)} measurements are done")
            return
        results = {
            "machine": machine.describe(run.build / "stoker", [], 0.05 if options.quick else 0.5),
            "versions": format_report.versions(),
            "pictures": options.pictures,
            "rows": options.rows,
            "rounds": options.rounds,
            "delay_us": DELAY_US,
            "is_generated": not options.images,
            "pass_s": run.pass_s,
            "sizes": {row.key: sizes(row, folders) for row in rows},
            "readings": progress.readings,
        }
    progress.forget()
    finish(options, results)


def finish(options, results):
    print(format_report.terminal(results))
    path = options.build / "bench" / "formats.json"
    if not (options.quick or options.only):
        path.write_text(json.dumps(results, indent=1), encoding="utf-8")
        print(f"\nwritten: {path}")
        if not options.no_write:
            format_report.write(TOP, results)
            print("written: docs/formats.md, docs/formats.svg")


if __name__ == "__main__":
    main()
