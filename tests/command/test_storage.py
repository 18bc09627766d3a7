# SPDX-License-Identifier: Apache-2.0
"""Slow and faulty storage, simulated by libinterpose.so: batches stay the same, messages name the file and
the cause, and the device is asked no more often than it must be."""

import json
import os
import pathlib
import struct
import zlib

import pytest

N_FILES, N_RECORDS = 160, 1200


def masked_crc(data):
    """CRC32C as TFRecord files have it; bit by bit, so for few and short records."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def noise(seed, size):
    """Bytes that differ, the same in every run."""
    return (zlib.crc32(str(seed).encode()).to_bytes(4, "little") * (size // 4 + 1))[:size]


def write_records(path, first, count):
    with open(path, "wb") as file:
        for i in range(first, first + count):
            data = noise(i, 90 + i % 7)
            head = struct.pack("<Q", len(data))
            file.write(head + struct.pack("<I", masked_crc(head)))
            file.write(data + struct.pack("<I", masked_crc(data)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("storage").resolve()
    (folder / "files").mkdir()
    for i in range(N_FILES):
        (folder / "files" / f"{i:04}.bin").write_bytes(noise(i, 1000 + 40 * i))
    write_records(folder / "a.tfrecord", 0, N_RECORDS // 2)
    write_records(folder / "b.tfrecord", N_RECORDS // 2, N_RECORDS // 2)
    (folder / "rows.bin").write_bytes(noise(0, 4_000_000))
    return folder


@pytest.fixture(scope="session")
def run(stoker, folder, tmp_path_factory):
    """run(chain, *words, STOKER_…=…) → CompletedProcess and what the device counted."""
    interposer = pathlib.Path(stoker("version").args[0]).parent / "libinterpose.so"
    if not interposer.exists():
        pytest.skip(f"there is no {interposer}: a sanitizer has its own malloc")
    counts = tmp_path_factory.mktemp("counts") / "counts.json"

    def call(chain, *words, **faults):
        environment = {
            **os.environ,
            **{name: str(value) for name, value in faults.items()},
            "LD_PRELOAD": str(interposer),
            "STOKER_FAIL_PREFIX": str(folder),
            "STOKER_COUNT_FILE": str(counts),
        }
        done = stoker("run", chain.format(folder), *words, env=environment)
        return done, json.loads(counts.read_text())

    return call


CHAINS = [
    "files('{}/files/*').read().shuffle().batch(8)",
    "tfrecord('{}/*.tfrecord', index=none).batch(16)",
    "tfrecord('{}/*.tfrecord', index=none).shuffle().batch(16)",
    "fixed_length('{}/rows.bin', 1000).batch(50)",
    "files('{}/*.tfrecord').interleave(tfrecord(path), cycle_length=2).batch(16)",
    "lines('{}/rows.bin').batch(16)",
]
STORAGE = {
    "far": {"STOKER_DELAY_READ_US": 500, "STOKER_DELAY_OPEN_US": 500},
    "cold": {"STOKER_DELAY_READ_US": 500, "STOKER_READ_MB_PER_S": 200},
    "disk": {"STOKER_SEEK_US": 500, "STOKER_READ_MB_PER_S": 200},
    "short": {"STOKER_SHORT_READ": 2},
    "interrupted": {"STOKER_INTERRUPT_READ": 3},
    "everything": {
        "STOKER_DELAY_READ_US": 200,
        "STOKER_SHORT_READ": 3,
        "STOKER_INTERRUPT_READ": 4,
    },
}


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("chain", CHAINS)
def test_batches_are_the_same(run, stoker, folder, chain, storage):
    expected = stoker("run", chain.format(folder), "--digest", "--quiet")
    assert expected.returncode == 0, expected.stderr
    for words in (), ("--io-depth", "5"), ("--workers", "0"):
        done, counts = run(chain, "--digest", "--quiet", *words, **STORAGE[storage])
        assert done.returncode == 0, done.stderr
        assert done.stdout == expected.stdout
        assert counts["reads"] > 0


@pytest.mark.parametrize("chain", CHAINS)
def test_a_ring_reads_the_same(stoker, folder, chain):
    """Where rings are refused threads read, and nobody is told."""
    digests = set()
    for words in ("--io", "threads"), ("--io", "uring"), ("--io", "uring", "--io-depth", "3"):
        done = stoker("run", chain.format(folder), "--digest", "--quiet", *words)
        assert done.returncode == 0 and done.stderr == ""
        digests.add(done.stdout)
    assert len(digests) == 1


def test_a_ring_that_is_refused_is_silently_done_without(run, stoker, folder):
    """libinterpose.so refuses rings as a container does, by a filter of system calls."""
    chain = CHAINS[0]
    expected = stoker("run", chain.format(folder), "--digest", "--quiet")
    done, counts = run(chain, "--digest", "--quiet", "--io", "uring", STOKER_DELAY_READ_US=300)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == expected.stdout
    assert counts["requests"] == N_FILES


def test_devices_say_whether_rings_are_permitted(stoker, run):
    done, _ = run("range(1)", "--quiet")
    environment = {**os.environ, "STOKER_DELAY_READ_US": "1"}
    environment["LD_PRELOAD"] = str(pathlib.Path(done.args[0]).parent / "libinterpose.so")
    refused = json.loads(stoker("devices", "--json", env=environment).stdout)["io"]
    assert refused == {"uring": False, "why": "Function not implemented"}


@pytest.mark.parametrize("chain", CHAINS[:4])
def test_an_error_names_file_and_cause(run, chain):
    """Whatever is the first to fail: opening, reading, reading a file's index."""
    slow = {"STOKER_DELAY_READ_US": 300}
    _, counts = run(chain, **slow)
    for n in (1, counts["reads"] // 2, counts["reads"]):
        done, _ = run(chain, **slow, STOKER_FAIL_READ=n)
        if done.returncode:  # neighbours that could not be read together are read again, apart
            assert "Input/output error" in done.stderr
            assert ".bin" in done.stderr or ".tfrecord" in done.stderr


def test_an_error_of_a_file_stops_the_run(run):
    done, _ = run(CHAINS[0], STOKER_FAIL_READ=20)
    assert done.returncode != 0 and "Input/output error" in done.stderr and ".bin" in done.stderr


@pytest.mark.parametrize("behind", ["", ".filter('len(bytes) > 0')"])
def test_a_cache_forgets_that_storage_failed(run, stoker, folder, tmp_path, behind):
    """An element that could not be read is read in the next epoch, and in the next run."""
    chain = f"files('{{}}/files/*').read(){behind}.cache('{tmp_path}/kept').batch(8)"
    words = ("--epochs", "2", "--on-error", "skip", "--json")
    done, _ = run(chain, *words, STOKER_FAIL_READ=30)
    first, second = json.loads(done.stdout), json.loads(stoker("run", chain.format(folder), *words).stdout)
    assert (first["elements"], first["errors"]) == (2 * N_FILES - 1, 1)
    assert (second["elements"], second["errors"]) == (2 * N_FILES, 0)


def test_a_file_is_one_seek(run):
    _, counts = run("files('{}/files/*').read().shuffle().batch(8)", STOKER_SEEK_US=300)
    assert counts["requests"] == counts["seeks"] == N_FILES


# 4 MB in tickets of 32 rows: a read each would be 125 of them.
def test_neighbours_of_several_tickets_are_one_read(run):
    _, counts = run("fixed_length('{}/rows.bin', 1000).batch(50)", STOKER_DELAY_READ_US=3000)
    assert counts["bytes"] >= 4_000_000
    assert counts["requests"] <= 40


@pytest.mark.parametrize("depth", [1, 2])
def test_a_disk_is_asked_in_the_order_of_places(run, stoker, folder, depth):
    """Where a read or two at a time are all it takes, reads that wait are served sweep by sweep."""
    chain, words = "fixed_length('{}/rows.bin', 4000).shuffle().batch(50)", ("--digest", "--quiet")
    travel = {}
    digests = {stoker("run", chain.format(folder), *words).stdout}
    for n in depth, 16:
        done, counts = run(chain, *words, "--io-depth", n, STOKER_SEEK_US=500)
        digests.add(done.stdout)
        travel[n] = counts["travel"]
    assert len(digests) == 1
    assert travel[16] > 1000 * 4_000_000 / 4  # at random a third of the file on average
    assert travel[depth] < travel[16] / 3


def depths(done):
    """The decisions about reads in flight that a run lists."""
    decisions = [d for d in json.loads(done.stdout)["tuning"] if d["knob"] == "io_depth"]
    assert all(d["reason"] and d["from"] != d["to"] for d in decisions)
    return [(d["from"], d["to"]) for d in decisions]


def test_the_depth_grows_where_reads_wait(run):
    chain, words = "files('{}/files/*').read().batch(8)", ("--epochs", "20", "--json", "--tuning")
    done, _ = run(chain, *words, STOKER_DELAY_READ_US=3000)
    assert any(to > before for before, to in depths(done))
    for (_, to), (before, _) in zip(depths(done), depths(done)[1:]):
        assert to == before  # each change goes on from the one before it


def test_a_depth_that_is_given_stays(run):
    chain, words = "files('{}/files/*').read().batch(8)", ("--epochs", "5", "--json", "--tuning")
    done, _ = run(chain, *words, "--io-depth", "6", STOKER_DELAY_READ_US=3000)
    assert all(to in (0, 6) for _, to in depths(done))


@pytest.mark.parametrize("who", ["threads", "uring"])
def test_a_file_that_is_gone_is_named(stoker, tmp_path, who):
    for i in range(8):
        (tmp_path / f"{i}.bin").write_bytes(noise(i, 100))
    (tmp_path / "5.bin").unlink()
    (tmp_path / "5.bin").symlink_to(tmp_path / "nowhere")
    chain = f"files('{tmp_path}/*').read().batch(2)"
    done = stoker("run", chain, "--io", who)
    assert done.returncode != 0
    assert "5.bin" in done.stderr and "No such file or directory" in done.stderr
    done = stoker("run", chain, "--io", who, "--on-error", "skip", "--json")
    assert json.loads(done.stdout)["elements"] == 7


def test_files_in_memory_are_not_read_far_ahead(run, folder):
    """Two tickets of four rows for each of three that compute, and those that are at work."""
    large = folder / "large"
    large.mkdir(exist_ok=True)
    for i in range(300):
        (large / f"{i:04}.bin").write_bytes(noise(i, 50_000))
    chain = "files('{}/large/*').read().batch(60)"
    done, _ = run(chain, "--json", "--workers", "2", "--window", "2", STOKER_NEVER_WAITS=1)
    most = json.loads(done.stdout)["memory"]["reads"]["peak_bytes"]
    assert 0 < most < 60 * 50_000


def test_a_small_file_is_four_calls(run):
    """Open, size, read, close; whether reads wait is asked at first only."""
    chain = "files('{}/files/*').read().batch(8)"
    done, counts = run(chain, "--epochs", "20", "--workers", "2", STOKER_NEVER_WAITS=1)
    assert done.returncode == 0, done.stderr
    assert 20 * 4 * N_FILES <= counts["calls"] < 20 * 4.2 * N_FILES
