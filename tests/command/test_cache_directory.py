# SPDX-License-Identifier: Apache-2.0
"""A cache on disk under everything that happens to directories: runs that are killed at any moment, several
processes, damage, removal, a full disk. What comes out is the same as without it, or a clear message; and
`stoker inspect` tells what is there.

STOKER_KILLS=200 kills that many runs in place of 40."""

import json
import os
import pathlib
import random
import shutil
import signal
import time

import pytest
from places import BUILD

KILLS = int(os.environ.get("STOKER_KILLS", "40"))
INTERPOSE = BUILD / "libinterpose.so"

# Elements by number, and a stream; each takes a while, so that moments lie in between.
BY_NUMBER = "range(20000).map('y = float32(x) / 3; z = sin(y)').cache('{}').shuffle().batch(16)"
IN_ORDER = "range(20000).filter('x % 4 != 1').map('y = float32(x) / 3').cache('{}').shuffle(50).batch(16)"
OTHER_WRITES = "another run writes it; this one reads what was there when it began"
CHAINS = pytest.mark.parametrize("chain", [BY_NUMBER, IN_ORDER], ids=["by number", "in order"])


def run(stoker, chain, *options, **how):
    done = stoker("run", chain, "--json", "--digest", "--epochs", "2", *options, **how)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def looked_at(stoker, directory):
    done = stoker("inspect", directory, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows_of(directory):
    [rows] = pathlib.Path(directory).glob("*/rows")
    return rows


@pytest.fixture(scope="module")
def expected(stoker, tmp_path_factory):
    """The digest that each chain has."""
    top = tmp_path_factory.mktemp("expected")
    return {chain: run(stoker, chain.format(top / str(i)))["digest"]
            for i, chain in enumerate((BY_NUMBER, IN_ORDER))}


# ---- kill -9 ----


def kill_after(process, seconds):
    """True if it was killed before its end."""
    time.sleep(seconds)
    was_running = process.poll() is None
    process.kill()
    process.wait()
    return was_running


@CHAINS
def test_killed_at_any_moment(stoker, tmp_path, expected, chain):
    """Whatever a killed run left, the next one, killed or not, goes on with it and delivers the right batches."""
    directory, text = tmp_path / "c", chain.format(tmp_path / "c")
    rng, begun = random.Random(7), time.monotonic()
    run(stoker, chain.format(tmp_path / "once"))
    seconds, killed = time.monotonic() - begun, 0
    for attempt in range(KILLS // 2):
        if rng.random() < 0.25:
            shutil.rmtree(directory, ignore_errors=True)
        process = stoker("run", text, "--quiet", "--epochs", "2", start=True)
        killed += kill_after(process, rng.uniform(0, seconds))
        if rng.random() < 0.5:
            assert run(stoker, text)["digest"] == expected[chain], f"after attempt {attempt}"
            found = looked_at(stoker, directory)
            assert not found["is_damaged"], found
    assert killed > KILLS // 8
    assert run(stoker, text)["digest"] == expected[chain]
    assert run(stoker, text)["cache_misses"] == 0


@CHAINS
def test_killed_at_any_byte(stoker, tmp_path, expected, chain):
    """A run that was killed leaves a beginning of what it would have written, of both files."""
    text = chain.format(tmp_path / "c")
    run(stoker, text)
    rows = rows_of(tmp_path / "c")
    whole, index = rows.read_bytes(), (rows.parent / "index").read_bytes()
    rng = random.Random(11)
    for _ in range(10):
        rows.write_bytes(whole[: rng.randrange(len(whole))])
        (rows.parent / "index").write_bytes(index[: rng.randrange(len(index))])
        assert run(stoker, text)["digest"] == expected[chain]
        assert run(stoker, text)["cache_misses"] == 0


# ---- several processes ----


@CHAINS
def test_two_processes_at_once(stoker, tmp_path, expected, chain):
    """One writes, the others read what is there, and all are right."""
    text = chain.format(tmp_path / "c")
    for attempt in range(3):
        runs = [stoker("run", text, "--json", "--digest", "--epochs", "2", start=True, stdout=-1, encoding="utf-8")
                for _ in range(3)]
        told = [json.loads(process.communicate(timeout=60)[0]) for process in runs]
        assert [t["digest"] for t in told] == 3 * [expected[chain]]
        if attempt == 0:
            assert any(t["cache_trouble"] == "" for t in told)
        assert all(t["cache_trouble"] in ("", OTHER_WRITES) for t in told)
    assert run(stoker, text)["cache_misses"] == 0


def test_the_second_one_goes_without(stoker, tmp_path, expected):
    text = BY_NUMBER.format(tmp_path / "c")
    first = stoker("run", text, "--dump", "--epochs", "2", start=True, stdout=-1)  # nobody reads: it waits
    try:
        while not (tmp_path / "c").exists() or not list((tmp_path / "c").glob("*/lock")):
            time.sleep(0.01)
        time.sleep(0.2)
        second = run(stoker, text)
        assert second["digest"] == expected[BY_NUMBER] and second["cache_trouble"] == OTHER_WRITES
        assert "a run writes it now" in looked_at(stoker, tmp_path / "c")["notes"][-1]
    finally:
        first.kill()
        first.wait()
    assert run(stoker, text)["cache_trouble"] == ""


# ---- removed and damaged while it is used ----


def stopped_in_the_middle(stoker, text):
    """A run that waits, since nobody reads what it prints."""
    process = stoker("run", text, "--dump", "--epochs", "2", start=True, stdout=-1, stderr=-1, encoding="utf-8")
    time.sleep(0.3)
    assert process.poll() is None
    return process


def dumped(done):
    return [json.loads(line)["fields"] for line in done.splitlines()]


def check_rest(process, stoker, chain, tmp_path):
    """It ends with the right batches; a stream may stop with a message, but gives nothing that is wrong."""
    out, err = process.communicate(timeout=60)
    right = stoker("run", chain.format(tmp_path / "other"), "--dump", "--epochs", "2", "--quiet").stdout
    found, right = dumped(out), dumped(right)
    if process.returncode == 0:
        assert found == right
    else:
        assert chain is IN_ORDER and "run again" in err and "cache" in err, err
        assert found == right[: len(found)]


@CHAINS
@pytest.mark.parametrize("what", ["removed", "cut", "damaged", "gone", "renamed"])
@pytest.mark.parametrize("is_filled", [False, True], ids=["fills", "filled"])
def test_in_the_middle_of_a_run(request, stoker, tmp_path, expected, chain, what, is_filled):
    text, directory = chain.format(tmp_path / "c"), tmp_path / "c"
    if is_filled:
        run(stoker, text)
    process = stopped_in_the_middle(stoker, text)
    request.addfinalizer(process.kill)  # it would wait for ever
    rows = rows_of(directory)
    if what == "removed":
        shutil.rmtree(directory)
    elif what == "gone":
        rows.unlink()
    elif what == "renamed":
        directory.rename(tmp_path / "moved")
    elif what == "cut":
        os.truncate(rows, rows.stat().st_size // 3)
    else:
        rng = random.Random(3)
        with rows.open("r+b") as file:
            for _ in range(300):
                file.seek(rng.randrange(rows.stat().st_size))
                file.write(b"\xa5")
    check_rest(process, stoker, chain, tmp_path)
    for _ in range(2):
        done = stoker("run", text, "--json", "--digest", "--epochs", "2")
        if done.returncode == 0:
            break
        assert chain is IN_ORDER and "run again" in done.stderr
    assert json.loads(done.stdout)["digest"] == expected[chain]


def test_removal_is_told(stoker, tmp_path):
    """In the numbers, while the run is on and behind it, and in the summary for people."""
    chain = f"range(400000).cache('{tmp_path}/c').batch(16)"
    process = stoker("run", chain, "--dump", "--epochs", "2", start=True, stdout=-1, stderr=-1, encoding="utf-8")
    try:
        while not list((tmp_path / "c").glob("*/rows")):
            time.sleep(0.01)
        shutil.rmtree(tmp_path / "c")
    finally:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "its files were removed meanwhile" in err
    assert not (tmp_path / "c").exists()
    assert "removed" not in run(stoker, chain)["cache_trouble"]


# ---- a full disk ----


def interposed(directory, **given):
    """An environment in which files below a directory are read and written as `given` says."""
    if not INTERPOSE.exists():
        pytest.fail(f"there is no {INTERPOSE}: build it with make")
    if "asan" in os.environ.get("STOKER", "") or "tsan" in os.environ.get("STOKER", ""):
        pytest.skip("a sanitizer wants to be the first library that is loaded")
    directory.mkdir()
    return {**os.environ, "LD_PRELOAD": str(INTERPOSE), "STOKER_FAIL_PREFIX": str(directory), **given}


@CHAINS
def test_files_that_cannot_be_mapped_are_read(stoker, tmp_path, expected, chain):
    env = interposed(tmp_path / "c", STOKER_SHORT_READ="5", STOKER_INTERRUPT_READ="7")
    text = chain.format(tmp_path / "c")
    for _ in range(2):
        told = run(stoker, text, env=env)
        assert told["digest"] == expected[chain]
    assert told["cache_misses"] == 0


@CHAINS
@pytest.mark.parametrize("room", [1, 300, 5000, 20000, 80000])
def test_a_full_disk(stoker, tmp_path, expected, chain, room):
    small = interposed(tmp_path / "c", STOKER_DISK_BYTES=str(room))
    text = chain.format(tmp_path / "c")
    told = run(stoker, text, env=small)
    assert told["digest"] == expected[chain]
    assert "No space left on device; make room there" in told["cache_trouble"]
    assert told["cache_full"] is True and told["cache_disk_bytes"] <= room
    assert told["cache_hits"] >= told["cache_rows"] > 0 or room < 5000
    found = looked_at(stoker, tmp_path / "c")
    assert found["kept"] == told["cache_rows"]
    assert run(stoker, text)["digest"] == expected[chain]  # there is room again
    assert run(stoker, text)["cache_misses"] == 0


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_rows_that_storage_did_not_give(stoker, tmp_path, on_error):
    """A filter before a cache counts what it sees. Of an element that could not be read it does not know whether it
    counts, so when that one is there again those behind it may have other numbers."""
    data = tmp_path / "data"
    data.mkdir()
    for i in range(40):
        (data / f"{i:02}").write_bytes(bytes([i]) * (i % 7))
    chain = f"files('{data}/*').read().filter('len(bytes) % 3 != 1').cache('{{}}').batch(4)"
    words = ("--digest", "--json", "--on-error", on_error)
    expected = json.loads(stoker("run", chain.format(tmp_path / "whole"), *words).stdout)["digest"]
    env, n_missed = interposed(tmp_path / "c", STOKER_FAIL_PREFIX=str(data)), 0
    for n in range(1, 60, 3):
        text = chain.format(tmp_path / "c" / str(n))
        done = stoker("run", text, *words, env={**env, "STOKER_FAIL_READ": str(n)})
        n_missed += done.returncode == 1 or json.loads(done.stdout)["errors"] > 0
        if n % 2:
            stoker("run", text, "--take", "3", *words)
        for _ in range(2):
            told = json.loads(stoker("run", text, *words).stdout)
            assert (told["digest"], told["errors"]) == (expected, 0), f"call {n} had failed"
    assert n_missed > 5


@pytest.mark.parametrize("chain, ways", [
    ("range(10).shard().flat_map(range(5).filter('x > 0'))", [["--world", 2, "--rank", 0], ["--world", 5, "--rank", 1]]),
    ("random().take(9).filter('x % 2 == 0').flat_map(range(5).filter('x > 0'))", [["--seed", 1], ["--seed", 2]]),
    ("range(9).shuffle(4).take(4).filter('x % 3 == 0').flat_map(range(5).filter('x > 0'))", [["--seed", 1], ["--seed", 2]]),
])
def test_elements_that_chains_are_opened_for_count(stoker, tmp_path, chain, ways):
    """Also where the chain does not begin with them: how many there are depends on rank and seed."""
    for way in ways:
        expected = run(stoker, f"{chain}.cache().batch(2)", *way)
        assert run(stoker, f"{chain}.cache('{tmp_path}/c').batch(2)", *way)["digest"] == expected["digest"]


# ---- what inspect tells ----


def test_inspect(stoker, tmp_path):
    whole, part = f"range(50).cache('{tmp_path}/c').batch(5)", f"range(90).map('y = x').cache('{tmp_path}/c').batch(5)"
    run(stoker, whole)
    stoker("run", part, "--take", "4", "--workers", "0", "--quiet")
    several = looked_at(stoker, tmp_path / "c")
    assert several["format"] == "cache" and several["chains"] == 2 and not several["is_damaged"]
    assert several["kept"] > 50 + 19 and several["fields"] == [] and "chain" not in several
    told = [value for value in several.values() if isinstance(value, str) and "elements" in value]
    assert sorted(t.split(" elements")[0].split()[-1] for t in told) == ["50", "90"]
    assert any("not complete: range(90).map('y = x')" in t for t in told)
    for directory in (tmp_path / "c").iterdir():
        one = looked_at(stoker, directory)
        assert one["name"] == directory.name and one["damaged"] == 0
        if one["of"] == 50:
            assert (one["made by"], one["kept"], one["complete"]) == ("range(50)", 50, "yes")
            assert one["elements"] == "{x: int64[]}"
            assert one["bytes"] == sum(f.stat().st_size for f in directory.iterdir() if f.name in ("rows", "index"))
        else:
            assert (one["of"], one["complete"]) == (90, "no")
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "c").rglob("*")}
    looked_at(stoker, tmp_path / "c")
    assert before == {f: f.stat().st_mtime_ns for f in (tmp_path / "c").rglob("*")}


def test_inspect_of_a_stream(stoker, tmp_path):
    chain = f"range(90).filter('x > 9').cache('{tmp_path}/c').batch(5)"
    stoker("run", chain, "--take", "2", "--workers", "0", "--quiet")
    [directory] = (tmp_path / "c").iterdir()
    part = looked_at(stoker, directory)
    assert "of" not in part and part["complete"] == "no" and part["kept"] >= 10
    run(stoker, chain)
    whole = looked_at(stoker, directory)
    assert (whole["kept"], whole["of"], whole["complete"]) == (80, 80, "yes")


def test_inspect_of_damage(stoker, tmp_path):
    chain = f"range(90).map('y = x').cache('{tmp_path}/c').batch(5)"
    run(stoker, chain)
    rows = rows_of(tmp_path / "c")
    data = bytearray(rows.read_bytes())
    record = len(data) // 90
    for number in (20, 60):
        data[number * record + 40] ^= 255  # behind its header
    rows.write_bytes(data + b"half of a record")
    one = looked_at(stoker, rows.parent)
    assert one["is_damaged"] and one["damaged"] == 2 and one["complete"] == "no"
    assert any("2 elements cannot be read and are made again" in note for note in one["notes"])
    assert any("16 bytes behind the last good element" in note for note in one["notes"])
    assert looked_at(stoker, f"{rows.parent}/")["name"] == rows.parent.name == one["name"]
    told = stoker("inspect", str(tmp_path / "c")).stdout
    assert "90 of 90 elements" in told and "2 damaged: range(90).map('y = x')" in told
    again = run(stoker, chain)
    assert again["cache_misses"] == 2
    assert not looked_at(stoker, rows.parent)["is_damaged"]


def test_other_directories_are_none(stoker, tmp_path):
    (tmp_path / "0123456789abcdef0123456789abcdef").mkdir()
    (tmp_path / "text").write_text("")
    assert looked_at(stoker, tmp_path)["format"] == "directory"
