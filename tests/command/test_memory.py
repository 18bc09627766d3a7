# SPDX-License-Identifier: Apache-2.0
"""In steady state a run allocates nothing.

libinterpose.so, next to the command, counts calls of malloc and its kin while `stoker run` runs; --json
says how many there were per batch over the last three quarters, stoker's own and those of libraries.
"""

import json
import os
import pathlib

import numpy
import pytest
from PIL import Image

# By chance a worker, a batch or a read-ahead buffer may be needed for the first time late in a run: so many
# allocations may come late. What allocates for every batch, for every hundredth or for every epoch always
# comes to more.
LATE = 6
TRIES = 12

INTERPOSER = "libinterpose.so"


@pytest.fixture(scope="session")
def measure(stoker):
    """measure(chain, epochs) → (own, of libraries) mallocs in the last three quarters of one run."""
    command = pathlib.Path(stoker("version").args[0])
    interposer = command.parent / INTERPOSER
    if not interposer.exists():
        pytest.skip(f"there is no {interposer}: a sanitizer has its own malloc")
    environment = {**os.environ, "LD_PRELOAD": str(interposer)}

    def run(chain, epochs):
        done = stoker("run", chain, "--json", "--epochs", epochs, env=environment)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["batches"] >= 400, "too short to tell"
        counted = report["batches"] * 3 / 4
        return tuple(round(report[of] * counted) for of in ("mallocs_per_batch", "library_mallocs_per_batch"))

    return run


def least(measure, chain, epochs):
    """The lowest counts seen; stops where both are few."""
    own, library = measure(chain, epochs)
    for _ in range(TRIES - 1):
        if own <= LATE and library <= LATE:
            break
        again = measure(chain, epochs)
        own, library = min(own, again[0]), min(library, again[1])
    return own, library


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """64 JPEG files of equal size in pixels, of different size in bytes."""
    folder = tmp_path_factory.mktemp("pictures")
    random = numpy.random.default_rng(7)
    for i in range(64):
        pixels = random.integers(0, 256, (12, 16, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).resize((160, 120)).save(folder / f"{i:02}.jpg", quality=60 + i % 30)
    return folder


@pytest.fixture(scope="session")
def words(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "words.txt"
    path.write_text("".join(f"line {i} {'x' * (i % 37)}\n" for i in range(20000)))
    return path


@pytest.mark.parametrize(
    "chain",
    [
        "range(200000).shuffle().batch(256)",
        "range(50000).shuffle(1000).map('x + 1').batch(64)",
        "range(50000).filter('x % 3 == 0').batch(32)",
        "range(20000).zip(range(30000).rename({x: y})).map('x = x + y').batch(50)",
        "range(20000).filter('x > 9').concatenate(range(9)).batch(50)",
        "range(20000).batch(10).map('x + 1').shuffle(5)",
        "range(20000).window(8, 1).shuffle(5)",
        "range(20000).batch(10).rebatch(7)",
        "values({name: ['a', 'bcd', ''], list: [[1], [2, 3], []]}).repeat(2000).padded_batch(8)",
        "values({name: ['a', 'bcd', ''], list: [[1], [2, 3], []]}).repeat(2000).batch(8)",
    ],
)
def test_nothing_is_allocated(measure, chain):
    assert max(least(measure, chain, 20)) <= LATE


def test_nothing_is_allocated_for_lines(measure, words):
    """But for the stream of bytes, a few for every pass over the file."""
    for chain in (f"lines('{words}').batch(32)", f"lines('{words}').shuffle(100).batch(32)"):
        own, library = least(measure, chain, 20)
        assert own < 5 * 20 and library <= LATE


@pytest.mark.parametrize(
    "calls, epochs",
    [
        ("decode().resize(64, 64).scale(1/255).batch(32)", 250),
        ("decode().center_crop(100, 100).flip(probability=0.5).batch(16)", 120),
    ],
)
def test_nothing_of_ours_is_allocated_for_pictures(measure, pictures, calls, epochs):
    # Two batches in flight are there at once; sixteen, only when something was slow for a while.
    chain = f"files('{pictures}/*.jpg').{calls}.prefetch(2)"
    assert least(measure, chain, epochs)[0] <= LATE


def test_a_cache_gets_its_part_of_a_small_budget(stoker):
    """Batches in flight leave it most of what there is, unless somebody asked for so many."""
    chain = "range(4000000).batch(6000, true).cache().batch(32)"

    def plan(*options):
        return json.loads(stoker("plan", chain, "--json", "--memory", "32M", *options).stdout)

    assert plan()["batch_bytes"] * 16 > 20 << 20  # which is what would be in flight
    assert plan()["cache_bytes"] > 10 << 20 > plan("--window", "16")["cache_bytes"]
    told = stoker("run", chain, "--memory", "32M", "--epochs", "2").stdout
    assert "it is full: a larger budget (--memory) would keep more" in told
    told = stoker("run", chain, "--memory", "5M", "--epochs", "2").stdout
    assert "keeps 0" in told and "the budget (--memory) left nothing for it" in told
    told = stoker("plan", chain, "--memory", "5M").stdout
    assert "cache, for which the budget leaves nothing" in told
