# SPDX-License-Identifier: Apache-2.0
"""Runs stay within their budget: the memory of a process of its own is looked at every millisecond while it
iterates. What is compared is bytes, the most there were above the start with the budget.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import time

import numpy
import pytest
import record_files
import stoker
from model import damage
from PIL import Image

SLACK = 1.05
MB = 1 << 20
HANG_SECONDS = 300


class NoDamage:
    def hits(self):
        return False


def smooth(size, seed):
    """A picture with detail everywhere, as photographs have."""
    y, x = numpy.mgrid[0:size, 0:size]
    planes = [128 + 90 * numpy.sin(x / (9 + seed) + k) * numpy.cos(y / (7 + k)) for k in range(3)]
    return Image.fromarray(numpy.stack(planes, axis=-1).astype("uint8"))


def noisy(size, seed):
    """One that no encoder makes small."""
    noise = numpy.random.default_rng(seed).integers(-25, 25, (size, size, 3))
    return Image.fromarray((numpy.asarray(smooth(size, seed)) // 2 + 60 + noise).astype("uint8"))


# An Example whose p is the one number 65535: a row that many others come before.
EMPTY_ROWS = b"\x0a\x0e\x0a\x0c\x0a\x01p\x12\x07\x1a\x05\x0a\x03\xff\xff\x03"


def write_records(path, n, data):
    head = struct.pack("<Q", len(data))
    record = head + struct.pack("<I", record_files.masked(head)) + data
    record += struct.pack("<I", record_files.masked(data))
    path.write_bytes(record * n)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("budget")
    for kind in ("progressive", "small", "png", "mixed", "photos"):
        (folder / kind).mkdir()
    for i in range(8):
        picture = smooth(2048, i)
        picture.save(folder / f"progressive/{i}.jpg", quality=80, progressive=True, subsampling=0)
        picture.save(folder / f"png/{i}.png", compress_level=1)
    for i in range(64):
        smooth(300, i).save(folder / f"small/{i:02}.jpg", quality=80)
    for i in range(48):
        smooth(160 + 97 * i % 400, i).save(folder / f"mixed/{i:02}.jpg", quality=85)
    for i in range(40):
        noisy(240 + 97 * i % 660, i).save(folder / f"photos/{i:02}.jpg", quality=90)
    write_records(folder / "large.tfrecord", 400, bytes(range(256)) * 781)
    write_records(folder / "short.tfrecord", 40_000, bytes(range(256)) * 4)
    write_records(folder / "gaps.tfrecord", 500, EMPTY_ROWS)
    (folder / "rows.csv").write_text("a,b\n" + "".join(f"{i},text {i}\n" for i in range(60_000)))
    rows = [[i] * 512 for i in range(4000)]
    (folder / "rows.h5").write_bytes(damage.hdf5(NoDamage(), rows, 64))
    lengths = numpy.random.default_rng(1).integers(1, 200, 20_000)
    (folder / "lists.txt").write_text("".join("7654 " * n + "\n" for n in lengths))
    (folder / "wrong.jsonl").write_text("".join(f"{{'a': oops {i}}}\n" for i in range(12_000)))
    numpy.save(folder / "large.npy", numpy.zeros((24, 1024, 1024), "float32"))
    return folder


@pytest.fixture
def measure(folder):
    """measure(chain, name=value …) → what memory_peak.py prints."""

    def run(chain, **options):
        script = pathlib.Path(__file__).with_name("memory_peak.py")
        words = [f"{name}={value}" for name, value in options.items()]
        done = subprocess.run(
            [sys.executable, script, chain, *words],
            cwd=folder,
            timeout=HANG_SECONDS,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


CHAINS = {
    "seed chain": (
        "files('small/*.jpg').decode().resize(224, 224).normalize('imagenet').shuffle().batch(32)",
        128,
        4,
    ),
    "progressive": (
        "files('progressive/*.jpg').decode().resize(224, 224).normalize('imagenet').batch(8)",
        96,
        2,
    ),
    "progressive, shuffled buffer": (
        "files('progressive/*.jpg').decode().filter('mean(image) >= 0').resize(224, 224)"
        ".shuffle(4).batch(4)",
        128,
        1,
    ),
    "png": ("files('png/*.png').decode().random_crop(512, 512).batch(4)", 96, 2),
    "records": ("tfrecord('large.tfrecord').shuffle().batch(16)", 48, 2),
    "records in a buffer": ("tfrecord('large.tfrecord').shuffle(64).batch(8)", 48, 2),
    "stream in a buffer": (
        "tfrecord('short.tfrecord').filter('len(record) > 9').shuffle(4000).batch(64)",
        32,
        2,
    ),
    "hdf5": ("hdf5('rows.h5').shuffle().batch(64)", 32, 3),
    "hdf5, little memory": ("hdf5('rows.h5').shuffle().batch(64)", 16, 3),
    "hdf5 in order": ("hdf5('rows.h5').batch(64)", 16, 3),
    "large elements": ("npy('large.npy').map('data = data + 1').batch(2)", 64, 2),
    "small elements": ("range(2000000).map('x + 1').shuffle(100000).batch(256)", 32, 1),
    "batches in a cache": ("range(4000000).batch(6000, true).cache().batch(32)", 32, 2),
    "batches of any size in a cache": ("range(4200000).batch(6000).cache().batch(32)", 32, 2),
    "lists in a cache": (
        "lines('lists.txt').text_to_number('int64', sep='').ragged_batch(64).cache().unbatch().batch(16)",
        16,
        2,
    ),
    "texts in a cache": (
        "lines('lists.txt').filter('len(text) > 9').cache().shuffle(1000).batch(64)",
        16,
        2,
    ),
    "large elements on disk": (
        "tfrecord('large.tfrecord').filter('len(record) > 9').cache('kept').batch(8)",
        32,
        2,
    ),
    "stream in a buffer, little memory": (
        "tfrecord('short.tfrecord').filter('len(record) > 9').shuffle(4000).batch(64)",
        16,
        2,
    ),
    "windows": ("range(1000000).window(2000, 100, drop_remainder=true).batch(4)", 16, 1),
    "batches apart and together": ("range(3000000).batch(1000).shuffle(100).unbatch().batch(400)", 16, 1),
    "rows that are empty": (
        "tfrecord('gaps.tfrecord').parse_example({v: ragged(int64, p, value_rowids=p)}).filter('len(v) > 9').batch(2)",
        16,
        2,
    ),
    "hardly any memory": ("range(1000000).filter('x % 2 > 0').batch(333)", 4, 1),
}


@pytest.mark.parametrize("workers", [1, 4])
def test_rows_larger_than_was_guessed(stoker, folder, workers):
    """Many are read before the first one is made, which tells how large they are."""
    chain = CHAINS["rows that are empty"][0].replace("gaps.tfrecord", str(folder / "gaps.tfrecord"))
    for _ in range(5):
        done = stoker("run", chain, "--memory", "8M", "--workers", workers, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["peak_bytes"] <= told["budget_bytes"], told


@pytest.mark.parametrize("name", CHAINS)
def test_budget_is_kept(measure, name):
    chain, megabytes, epochs = CHAINS[name]
    found = measure(chain, memory=megabytes * MB, epochs=epochs)
    assert found["batches"] > 0
    assert found["peak"] <= SLACK * megabytes * MB


# What threads and libraries take counts as well: chains, budgets and workers that are many for them.
MIXED = "files('mixed/*.jpg').decode()"
PHOTOS = "files('photos/*.jpg').decode()"
CROWDS = {
    "decode": (f"{MIXED}.resize(96, 96).batch(8)", 16, 64),
    "decode, in little": (f"{MIXED}.resize(64, 64).batch(4)", 10, 32),
    "encode_png": (f"{MIXED}.resize(128, 128).cast('uint8').encode_png().decode().resize(32, 32).batch(8)", 12, 32),
    "encode_webp": (f"{MIXED}.encode_webp().decode().resize(32, 32).batch(8)", 32, 16),
    "jpeg_quality": (f"{MIXED}.jpeg_quality(50).resize(32, 32).batch(8)", 12, 32),
    "csv": ("csv('rows.csv', {a: int64, b: text}).shuffle().batch(64)", 16, 32),
    "photos, resize": (f"{PHOTOS}.resize(224, 224).batch(8)", 16, 32),
    "photos, encode_png and decode": (f"{PHOTOS}.take(20).encode_png().decode().resize(64, 64).batch(8)", 16, 32),
    "photos, progressive": (
        f"{PHOTOS}.encode_jpeg(progressive=true).decode().resize(64, 64).batch(8)",
        16,
        16,
    ),
    "lossless": (
        f"{PHOTOS}.repeat(5).resize(128, 128).cast('uint8').encode_webp(lossless=true).batch(8)",
        32,
        16,
    ),
}
WIDE = {
    "whole pictures": f"{MIXED}.encode_png().batch(4)",
    "progressive": f"{MIXED}.encode_jpeg(progressive=true).decode().resize(64, 64).batch(8)",
    "resize": f"{MIXED}.resize(224, 224).batch(2)",
    "small": "files('small/*.jpg').decode().resize(64, 64).shuffle(16).batch(8)",
    "records": "tfrecord('large.tfrecord').shuffle().batch(4)",
    "records in a buffer": "tfrecord('short.tfrecord').shuffle(500).batch(16)",
    "csv": "csv('rows.csv', {a: int64, b: text}).shuffle(2000).batch(64)",
    "hdf5": "hdf5('rows.h5').shuffle().batch(16)",
    "cache": f"{MIXED}.resize(64, 64).cache().shuffle().batch(8)",
    "windows": "range(200000).window(500, 100, drop_remainder=true).batch(4)",
    "lists": "lines('lists.txt').text_to_number('int64', sep='').padded_batch(16)",
}
for name, chain in WIDE.items() if os.environ.get("STOKER_WIDE_BUDGETS") else ():
    for megabytes in (16, 32, 64):
        for workers in (1, 4, 16, 64):
            CROWDS[f"{name}, {megabytes} MB, {workers} workers"] = (chain, megabytes, workers)


@pytest.mark.parametrize("name", CROWDS)
def test_budget_is_kept_by_many_workers(measure, name):
    """STOKER_WIDE_BUDGETS=1 tries many more."""
    chain, megabytes, workers = CROWDS[name]
    found = measure(chain, memory=megabytes * MB, workers=workers)
    print(f"{found['peak'] / megabytes / MB:.2f} of the budget: {name}")
    assert found["batches"] > 0
    assert found["peak"] <= SLACK * megabytes * MB


def test_fewer_workers_where_their_threads_would_take_the_budget():
    with stoker.range(1000).batch(10).iterate(memory=8 * MB, workers=64) as run:
        (decision,) = [d for d in run.tuning() if d["knob"] == "workers"]
        assert sum(len(batch) for batch in run) > 0
    assert decision["from"] == 64 and 4 < decision["to"] < 20
    assert "a quarter of the budget of 8.4 MB" in decision["reason"]
    plan = stoker.range(1000).batch(10).plan(memory=8 * MB, workers=64)
    assert f"{decision['to']} workers (not 64, whose threads" in str(plan)


def test_bad_elements_count(measure):
    chain = "lines('wrong.jsonl').filter('len(text) > 2').parse_json({a: int64}).shuffle(3000).batch(8)"
    found = measure(chain, memory=4 * MB, on_error="skip")
    assert found["batches"] == 0
    assert found["peak"] <= SLACK * 4 * MB


def test_two_runs_share_the_budget(measure):
    """Training and evaluation at the same time, each with memory=auto."""
    train = "files('progressive/*.jpg').decode().resize(224, 224).normalize('imagenet').batch(4)"
    records = "tfrecord('large.tfrecord').shuffle().batch(16)"
    found = measure(f"{train}; {records}", limit=128 * MB, epochs=2)
    assert found["peak"] <= SLACK * 128 * MB


def test_unpacked_chunks_have_an_owner(folder):
    """They get an eighth of the budget at most, and are given back when the run is over."""
    with stoker.parse(f"hdf5('{folder}/rows.h5').batch(64)").iterate(memory=16 * MB) as run:
        next(run)
        assert run.memory()["unpacked"]["held_bytes"] > 0
        for _ in run:
            pass
        use = run.memory()["unpacked"]
    chunk = 64 * 512 * 8
    assert use["held_bytes"] == 0
    assert use["peak_bytes"] <= 16 * MB / 8 * 1.25 + 4 * chunk


def test_owners_are_shown(folder):
    chain = f"files('{folder}/small/*.jpg').decode().resize(64, 64).shuffle(9).batch(4)"
    with stoker.parse(chain).iterate(memory=96 * MB) as run:
        for _ in run:
            pass
        for _ in range(1000):  # a worker may still be about to give back what it had
            use = run.memory()
            if use["scratch"]["held_bytes"] == 0:
                break
            time.sleep(0.01)
    assert {"batches", "chunks", "reads", "state", "scratch", "cache", "indices", "unpacked", "pool"} == set(use)
    for owner in ("batches", "reads", "scratch", "pool"):
        assert 0 < use[owner]["peak_bytes"] <= 96 * MB, owner
    assert use["batches"]["held_bytes"] == use["reads"]["held_bytes"] == 0  # the run is over
    assert use["pool"]["held_bytes"] == 0 and use["scratch"]["held_bytes"] == 0


def test_nothing_grows(measure):
    """Twenty epochs need as much as a few."""
    chain = "files('small/*.jpg').decode().resize(224, 224).normalize('imagenet').shuffle().batch(16)"
    ends = measure(chain, memory=96 * MB, epochs=20)["ends"]
    assert max(ends[10:]) <= max(ends[:5]) + 4 * MB


def test_limit_of_the_process():
    with pytest.raises(ValueError, match="memory_limit: -1 is no number of bytes"):
        stoker.memory_limit(-1)
    stoker.memory_limit("8M")
    try:
        assert stoker.memory()["limit_bytes"] == 8 * MB
        with pytest.raises(stoker.BudgetError, match=r"the budget is 8388608"):
            next(iter(stoker.parse("range(9000000).batch(9000000)")))
        run = iter(stoker.parse("range(100).batch(2)"))
        next(run)
        assert stoker.memory()["runs"] == 1
        with pytest.raises(stoker.BudgetError, match="other runs of the process have"):
            iter(stoker.parse("range(100).batch(2)").iterate(memory=8 * MB))
        own = stoker.parse("range(100).batch(2)").iterate(memory=4 * MB)
        assert stoker.memory()["owners"]["own_budgets_bytes"] == 4 * MB
        del own, run
    finally:
        stoker.memory_limit("auto")
    assert stoker.memory()["limit_bytes"] >= 64 * MB


def indices():
    return stoker.memory()["owners"]["indices_bytes"]


def test_indices_count(folder):
    """What a dataset keeps belongs to the process, once however many share it, until it is gone."""
    before = indices()
    records = stoker.tfrecord(str(folder / "short.tfrecord"))  # an index of 4 bytes a record and more
    taken = indices() - before
    assert 40_000 * 4 < taken < 40_000 * 8
    more = records.shuffle().batch(8)
    assert indices() - before < taken + 0.2 * MB
    with more.iterate(memory=16 * MB) as run:
        next(run)
        use = run.memory()["indices"]
        assert 40_000 * 4 < use["held_bytes"] == use["peak_bytes"]
    del more, records, run
    assert indices() == before


def test_indices_are_part_of_a_budget(folder):
    records = stoker.tfrecord(str(folder / "short.tfrecord")).batch(1)
    with pytest.raises(stoker.BudgetError, match="lists of files and indices take [0-9]+ of them"):
        records.iterate(memory=200_000)


def test_lists_of_files_count(tmp_path):
    for i in range(500):
        (tmp_path / f"{'name' * 20}{i}.bin").write_bytes(b"x")
    before = indices()
    files = stoker.files(f"{tmp_path}/*.bin")
    assert indices() - before > 500 * 90
    del files
    assert indices() == before


def test_tables_of_disk_caches_count(tmp_path):
    def caches():
        return stoker.memory()["owners"]["caches_bytes"]

    before = caches()
    kept = stoker.range(20_000).map("x + 1").cache(str(tmp_path / "kept"))
    assert sum(len(batch) for batch in kept.batch(100)) > 0
    taken = caches() - before
    assert taken >= 20_000 * 40  # an entry has 40 bytes
    again = stoker.range(20_000).map("x + 1").cache(str(tmp_path / "kept")).batch(100)
    with again.iterate(memory=64 * MB) as run:
        next(run)
        assert run.memory()["cache"]["held_bytes"] >= 20_000 * 40
    del kept, again, run
    assert caches() == before


@pytest.mark.parametrize("ending", ["jpg", "png"])
@pytest.mark.parametrize("rest", ["", ".batch(1)", ".filter('mean(image) >= 0').batch(1)"])
def test_an_oversized_picture_is_there_once(measure, folder, ending, rest):
    """It is delivered where it was decoded; a copy would be as large again."""
    size = 5000
    if not (path := folder / f"oversized.{ending}").exists():
        smooth(size // 4, 1).resize((size, size), Image.Resampling.NEAREST).save(path)
    peak = measure(f"files('oversized.{ending}').decode(){rest}", memory="64M", workers=2)["peak"]
    assert peak < 1.5 * size * size * 3
