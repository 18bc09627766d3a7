# SPDX-License-Identifier: Apache-2.0
"""Compares stoker with its peers, side by side; writes docs/benchmarks.* and README's table.

Everything runs on the same two cores, each measurement in a process of its own. A round does every
measurement once, stoker and peers in turn, so that what slows the machine for a while slows all of
them; the best reading of each counts. What there is to measure is in works/ and peers/, a file for
each (catalog.py says what is in one).

examples:
    run.py                                  everything, three rounds; writes the documents
    run.py --quick                          everything once, briefly, to see that it works
    run.py --list                           works, and who does them
    run.py --only seed,map --rounds 5       some works; writes nothing
    run.py --only seed --peers tf.data,opencv
    run.py --only map --peers stoker        stoker alone
    DATA=photos run.py                      a directory of JPEG files instead of generated ones
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import catalog
import data
import jobs
import machine
import process
import report

TOP = Path(__file__).resolve().parent.parent
N_QUICK_IMAGES, N_QUICK_PHOTOS = 96, 8


def fail(text):
    sys.exit(f"bench: {text}")


def say(text):
    """A line that the next one replaces, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# ---- measuring ----


def plan(works, peers):
    """[(work, peer)] in the order of a round; the peer is None where a work measures itself."""
    made = []
    for work in works:
        able = [peer for peer in peers if peer.function(work)]
        made += [(work, None)] if work.measure else [(work, peer) for peer in able]
    return made


def name_of(peer):
    return peer.name if peer else report.MAIN


def run_job(setup, work, peer, mode):
    job = jobs.make(setup, work, peer, mode)
    environment = jobs.environment(setup, work)
    Path(job.list_file).write_text("".join(path + "\n" for path in job.files), encoding="utf-8")
    if peer.IS_PROGRAM:
        words = peer.function(work)(job)
        return process.run_program(words, environment, setup.stretch_s, setup.limit_s)
    path = setup.place / "job.json"
    path.write_text(json.dumps(vars(job)), encoding="utf-8")
    return process.run_peer(path, environment, setup.limit_s)


def check_all(setup, todo, not_installed):
    """{work: {peer: {"failed": why} or {"differs": …}}}: who can do what; nothing is measured."""
    found = {work.name: {} for work, _ in todo}
    for number, (work, peer) in enumerate(todo, 1):
        say(f"checking {number} of {len(todo)}: {work.name}, {name_of(peer)}")
        if peer and peer.stem in not_installed:
            why = f"could not be installed: {not_installed[peer.stem]}"
            found[work.name][peer.name] = {"failed": why}
        elif peer and not peer.IS_PROGRAM:
            found[work.name][peer.name] = run_job(setup, work, peer, "check")
    return found


def measure(setup, work, peer, checked):
    """A reading of one peer at one work, with what its check found."""
    if "failed" in checked:
        return checked
    reading = run_job(setup, work, peer, "measure") if peer else work.measure(setup)
    both = {**checked, **reading}
    return {key: value for key, value in both.items() if value is not None}


def measure_all(setup, todo, checked):
    """The best readings of all rounds, {work: {peer: reading}}."""
    best = {work.name: {} for work, _ in todo}
    for number in range(1, setup.rounds + 1):
        for at, (work, peer) in enumerate(todo, 1):
            name = name_of(peer)
            say(f"round {number} of {setup.rounds}, {at} of {len(todo)}: {work.name}, {name}")
            reading = measure(setup, work, peer, checked[work.name].get(name, {}))
            best[work.name][name] = process.better(best[work.name].get(name), reading)
    say("")
    return best


# ---- preparation ----


def make_read_files(directory, count):
    directory.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        path = directory / f"{i:05}.txt"
        if not path.exists():
            path.write_text(f"file {i}\n", encoding="ascii")


def choose_images(options, cache):
    """The directory of images: the user's, or generated."""
    if options.images:
        return options.images.resolve()
    count = N_QUICK_IMAGES if options.quick else data.COUNT
    say(f"generating {count} images")
    return data.make(cache / f"photos-{count}-v{data.VERSION}", count)


def read_failures():
    """{peer: why} of the peers that could not be installed (written by install.py)."""
    path = Path(sys.prefix) / "not-installed.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def prepare(options, works, place):
    """Makes what the works need, and says how they are measured."""
    cache = options.build / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    setup = jobs.Setup(
        build=options.build,
        command=options.build / "stoker",
        cache=cache,
        place=place,
        reads=cache / "reads",
        images=None,
        files=[],
        photos=cache / "photos",
        photo_files=[],
        own={},
        is_generated=not options.images,
        quick=options.quick,
        rounds=options.rounds,
        workers=2,
        limit_s=120 if options.quick else 300,
        stretch_s=0.05 if options.quick else 1.0,
        n_stretches=1 if options.quick else 2,
    )
    if any(work.DATA in ("images", "photos") or work.measure for work in works):
        setup.images = choose_images(options, cache)
        setup.files = data.image_files(setup.images)
        if not setup.files:
            fail(f"there are no JPEG files below {setup.images}")
    if any(work.DATA == "photos" for work in works):
        count = N_QUICK_PHOTOS if options.quick else data.PHOTO_COUNT
        say(f"making {count} photographs of 4 megapixels")
        setup.photos = data.make_photos(setup.files, cache / f"large-{setup.images.name}", count)
        setup.photo_files = data.image_files(setup.photos)
    for work in works:
        if work.DATA == "reads":
            make_read_files(setup.reads, work.COUNT)
        if work.make_own:
            say(f"making files for {work.name}")
            setup.own[work.stem] = work.make_own(setup)
    return setup


def describe(setup, peers):
    """What the results begin with."""
    return {
        "machine": machine.describe(setup.command, peers, 0.05 if setup.quick else 0.5),
        "images": {
            "n": len(setup.files),
            "is_generated": setup.is_generated,
            "statistics": data.describe(setup.files) if setup.files else {},
        },
        "rounds": setup.rounds,
    }


# ---- the command line ----


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def chosen(entries, words, what):
    """The entries that are named, or all of them."""
    if not words:
        return entries
    wanted = [plain(word) for word in words.split(",")]
    known = {plain(name) for entry in entries for name in (entry.stem, entry.name)}
    for word in wanted:
        if word not in known:
            names = ", ".join(entry.stem for entry in entries)
            fail(f"there is no {what} {word!r}; there are: {names}")
    return [e for e in entries if plain(e.stem) in wanted or plain(e.name) in wanted]


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
    add("--only", metavar="WORKS", help="these works, with commas between")
    add("--peers", metavar="PEERS", help="these peers and stoker, with commas between")
    add("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    add("--quick", action="store_true", help="one short round; writes nothing")
    add("--no-write", action="store_true", help="leave the documents alone")
    add("--strict", action="store_true", help="exit with 1 when a bar is missed")
    add("--list", action="store_true", help="show works and peers, measure nothing")
    options = parser.parse_args(words)
    options.build = options.build.resolve()
    options.rounds = 1 if options.quick else options.rounds
    if options.rounds < 1:
        parser.error("--rounds is at least 1")
    return options


def select_peers(words):
    """The peers that are named, and stoker."""
    peers = catalog.peers()
    named = chosen(peers, words, "peer")
    return [peer for peer in peers if peer in named or peer.name == report.MAIN]


def print_list(works, peers):
    for work in works:
        names = [peer.name for peer in peers if peer.function(work)]
        print(f"{work.name:12} {work.text}\n{'':12} {' · '.join(names) or 'measured by itself'}")


def run(setup, works, peers):
    start = time.monotonic()
    results, todo = describe(setup, peers), plan(works, peers)
    checked = check_all(setup, todo, read_failures())
    results["works"] = measure_all(setup, todo, checked)
    after = machine.two_processes(0.05 if setup.quick else 0.5)
    results["machine"]["two"] = min(results["machine"]["two"], after)
    results["minutes"] = (time.monotonic() - start) / 60
    return results


def keep(options, setup, results, works, peers):
    """Writes what a whole run found."""
    path = setup.cache / "results.json"
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"\nwritten: {path}")
    if not options.no_write:
        report.write_all(TOP, results, works, peers)
        print("written: docs/benchmarks.md, docs/benchmarks.svg, the table in README.md")


def main(words=None):
    options = parse_options(words)
    works, peers = chosen(catalog.works(), options.only, "work"), select_peers(options.peers)
    if options.list:
        print_list(works, peers)
        return 0
    if not (options.build / "stoker").exists():
        fail(f"there is no {options.build / 'stoker'}: build it with make")
    # The first two cores, for every process that is started from here.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as place:
        setup = prepare(options, works, Path(place))
        results = run(setup, works, peers)
    print(report.terminal(results, works, peers))
    if not (options.quick or options.only or options.peers):
        keep(options, setup, results, works, peers)
    return 1 if options.strict and not report.all_hold(results, works) else 0


if __name__ == "__main__":
    sys.exit(main())
