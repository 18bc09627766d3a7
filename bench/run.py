# SPDX-License-Identifier: Apache-2.0
"""Compares stoker with its peers, side by side; writes docs/benchmarks.*, README's chart and table.

Everything runs on the same two cores, each measurement in a process of its own. Work after work, a
round measures stoker and its peers in turn, so that what slows the machine for a while slows all of
them; the best reading of each counts. What was measured is kept work by work: a run may be broken
off, and --only measures some works again and leaves the others as they were. What there is to
measure is in works/ and peers/, a file for each (catalog.py says what is in one).

examples:
    run.py                                  everything, three rounds; writes the documents
    run.py --quick                          everything once, briefly, to see that it works
    run.py --list                           works, and who does them
    run.py --only seed,map --rounds 5       some works again; the documents keep the others
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


def doers(work, peers):
    """Who does a work, in the order of a round; None where it measures itself."""
    return [None] if work.measure else [peer for peer in peers if peer.function(work)]


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


def check(setup, work, peer, not_installed):
    """{"failed": why} or {"differs": …} or nothing; nothing is measured."""
    if peer and peer.stem in not_installed:
        return {"failed": f"could not be installed: {not_installed[peer.stem]}"}
    return run_job(setup, work, peer, "check") if peer and not peer.IS_PROGRAM else {}


def measure(setup, work, peer, checked):
    """A reading of one peer at one work, with what its check found."""
    if "failed" in checked:
        return checked
    reading = run_job(setup, work, peer, "measure") if peer else work.measure(setup)
    both = {**checked, **reading}
    return {key: value for key, value in both.items() if value is not None}


def measure_work(setup, work, peers, title):
    """The best readings of all rounds, {peer: reading}."""
    not_installed, checked, best = read_failures(), {}, {}
    for peer in peers:
        say(f"{title}, checking {name_of(peer)}")
        checked[name_of(peer)] = check(setup, work, peer, not_installed)
    for number in range(1, setup.rounds + 1):
        for peer in peers:
            name = name_of(peer)
            say(f"{title}, round {number} of {setup.rounds}: {name}")
            reading = measure(setup, work, peer, checked[name])
            best[name] = process.better(best.get(name), reading)
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


def former(path, results):
    """What was measured before, on the same processor and images; {} where there is nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_same = found["machine"]["cpu"] == results["machine"]["cpu"] and (
        found["images"] == results["images"] or not results["images"]["n"]
    )
    return found if is_same else {}


def run(setup, works, peers, keep):
    """Measures work after work; `keep` is told after each, so that a run may be broken off."""
    start = time.monotonic()
    results = {**describe(setup, peers), "works": {}}
    for at, work in enumerate(works, 1):
        title = f"{at} of {len(works)}: {work.name}"
        results["works"][work.name] = measure_work(setup, work, doers(work, peers), title)
        after = machine.two_processes(0.05 if setup.quick else 0.5)
        results["machine"]["two"] = min(results["machine"]["two"], after)
        results["minutes"] = (time.monotonic() - start) / 60
        keep(results)
    return results


def add_results(path, results):
    """Puts what was measured among what was measured before."""
    before = former(path, results)
    images = results["images"] if results["images"]["n"] else before.get("images")
    rounds = dict.fromkeys(results["works"], results["rounds"])
    now, then = results["machine"], before.get("machine", results["machine"])
    two = {
        "two": min(now["two"], then["two"]),
        "two_most": max(x.get("two_most", x["two"]) for x in (now, then)),
    }
    merged = {
        **results,
        "machine": {**now, **two},
        "rounds_of": {**before.get("rounds_of", {}), **rounds},
        "images": images or results["images"],
        "works": {**before.get("works", {}), **results["works"]},
    }
    path.write_text(json.dumps(merged, indent=1), encoding="utf-8")
    return merged


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
        is_kept = not (options.quick or options.peers)
        path = setup.cache / "results.json"
        results = run(setup, works, peers, lambda r: add_results(path, r) if is_kept else None)
    print(report.terminal(results, works, peers))
    if is_kept and not options.no_write:
        report.write_all(TOP, add_results(path, results), catalog.works(), peers)
        print(f"\nwritten: {path}, docs/benchmarks.md, docs/benchmarks.svg, the chart and the table of README.md")
    return 1 if options.strict and not report.all_hold(results, works) else 0


if __name__ == "__main__":
    sys.exit(main())
