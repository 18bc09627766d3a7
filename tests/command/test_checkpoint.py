# SPDX-License-Identifier: Apache-2.0
"""--checkpoint, --every and --resume: a command that is killed again and again delivers what one
delivers that is not."""

import json
import random
import re
import signal
import subprocess
import time

import pytest

CHAIN = "range(3000).shuffle(100).filter('x % 7 != 0').batch(16)"


def lines(text):
    """Whole lines of a dump by epoch and batch; the same place twice must be the same line."""
    found = {}
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            continue
        at = json.loads(line)
        place = at["epoch"], at["batch"]
        assert found.setdefault(place, line) == line
    return found


def test_killed_at_any_moment(stoker, tmp_path):
    words = ["run", CHAIN, "--epochs", 3, "--dump", "--quiet"]
    whole = stoker(*words).stdout
    words += ["--checkpoint", tmp_path / "run.state", "--every", 1, "--resume"]
    seed = 7
    chance = random.Random(seed)
    dumped, n_killed = "", 0
    for attempt in range(200):
        out = tmp_path / "out.txt"
        with open(out, "w", encoding="utf-8") as file:
            process = stoker(*words, stdout=file, start=True)
            try:
                # longer and longer, so that a slow machine comes to the end, too
                process.wait(chance.uniform(0.005, 0.08) * (1 + attempt / 10))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                n_killed += 1
            code = process.wait(60)
        dumped += out.read_text(encoding="utf-8")
        dumped = dumped[: dumped.rfind("\n") + 1]
        if code == 0:
            break
    else:
        pytest.fail(f"no end in 200 runs (seed {seed})")
    assert n_killed > 0
    assert lines(dumped) == lines(whole)


def test_an_interrupt_saves_the_place(stoker, tmp_path):
    state, out = tmp_path / "run.state", tmp_path / "out.txt"
    words = ["run", "range(1000000).batch(2)", "--dump", "--checkpoint", state]
    with open(out, "w", encoding="utf-8") as file:
        process = stoker(*words, stdout=file, stderr=subprocess.DEVNULL, start=True)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 128 + signal.SIGINT
    last = json.loads(out.read_text().splitlines()[-1])
    rest = stoker(*words, "--resume", "--take", 1)
    assert json.loads(rest.stdout)["batch"] == last["batch"] + 1


def test_the_first_run_has_nothing_to_resume(stoker, tmp_path):
    words = ["run", "range(9).batch(4)", "--checkpoint", tmp_path / "s", "--resume", "--dump"]
    first = stoker(*words)
    assert first.returncode == 0 and "from the beginning" in first.stderr
    assert len(first.stdout.splitlines()) == 3
    again = stoker(*words)
    assert again.returncode == 0 and again.stdout == ""


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["--resume"], 2, "--resume needs --checkpoint FILE"),
        (["--every", 3], 2, "--every needs --checkpoint FILE"),
        (["--checkpoint", "no/such/folder/s"], 1, "no/such/folder"),
    ],
)
def test_usage(stoker, words, code, text):
    done = stoker("run", "range(9).batch(4)", *words)
    assert done.returncode == code and text in done.stderr


JUNK = {
    "empty": b"",
    "word": b"junk",
    "zeros": b"\0" * 100,
    "long": b"x" * 100000,
    "incomplete": b"state@1(seed=1)",
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_files_that_are_no_state(stoker, tmp_path, junk):
    path = tmp_path / "s"
    path.write_bytes(junk)
    done = stoker("run", "range(9).batch(4)", "--checkpoint", path, "--resume")
    assert done.returncode == 2 and str(path) in done.stderr
    assert path.read_bytes() == junk


@pytest.mark.parametrize(
    "number, text",
    [
        ("n_in=101", "at element 101, but there are only 100"),
        ("n_out=77", "at element 101, but there are only 100"),
        (f"n_out={2**63 - 1}", "there are only 100"),
        ("epoch=1", "in epoch 0 behind a batch of epoch 1"),
        ("passes=[1.0]", "in epoch 1 behind a batch of epoch 0"),
        ("passes=[2.0]", "in epoch 2, but ends before epoch 2"),
    ],
)
def test_places_that_are_none(stoker, tmp_path, number, text):
    """They were read behind the end of the data, or for ever."""
    path = tmp_path / "s"
    words = ["run", "range(100).batch(8)", "--epochs", 2, "--checkpoint", path]
    assert stoker(*words, "--take", 3, "--every", 1).returncode == 0
    name = number.split("=", maxsplit=1)[0]
    changed, n = re.subn(rf"\b{name}=[^,)]+", number, path.read_text())
    assert n == 1
    path.write_text(changed)
    done = stoker(*words, "--resume")
    assert done.returncode == 2 and text in done.stderr


def test_a_closed_gate_counts_no_further(stoker, tmp_path):
    path = tmp_path / "s"
    words = ["run", "range(100).batch(8).take(9)", "--checkpoint", path, "--dump"]
    assert stoker(*words, "--take", 3, "--every", 1).returncode == 0
    path.write_text(path.read_text().replace("gates=[3.0]", f"gates=[{2.0**62}]"))
    assert f"{2.0**62}" in path.read_text()
    done = stoker(*words, "--resume")
    assert done.returncode == 0 and done.stdout == ""


def least_memory(stoker, chain, *words):
    return json.loads(stoker("plan", chain, "--json", *words).stdout)["minimum_bytes"]


@pytest.mark.parametrize("n_taken", [1, 10, 15])
def test_want_of_memory_before_the_place_ends_a_resumed_run(stoker, tmp_path, n_taken):
    """With less memory than before, rows that were delivered cannot be made again: what follows would be others."""
    chain, place = "range(40).window(7, 1, 1, by=x).ragged_batch(2)", tmp_path / "place"
    saved, little = ["--dump", "--quiet", "--checkpoint", place], ["--workers", 1, "--window", 1]
    assert stoker("run", chain, *saved, "--take", n_taken).returncode == 0
    done = stoker("run", chain, *saved, "--resume", *little, "--memory", least_memory(stoker, chain, *little))
    assert done.returncode == 1 and not done.stdout
    assert "rows that wait for each value take more than the memory budget" in done.stderr
    whole = stoker("run", chain, "--dump", "--quiet").stdout.splitlines()
    assert stoker("run", chain, *saved, "--resume").stdout.splitlines() == whole[n_taken:]


@pytest.mark.parametrize("rest", ["skip(180)", "skip(180).take(3)", "shuffle(5).skip(190)", "repeat(2).skip(199)"])
def test_want_of_memory_is_no_element_that_could_be_skipped(stoker, rest):
    chain, little = f"range(200).window(7, 1, 1, by=x).{rest}.ragged_batch(2)", ["--workers", 1, "--window", 1]
    done = stoker("run", chain, "--dump", "--quiet", *little, "--memory", least_memory(stoker, chain, *little))
    assert done.returncode == 1 and not done.stdout
    assert "rows that wait for each value take more than the memory budget" in done.stderr


@pytest.mark.parametrize("rest", [
    "skip(3000)", "take(3000).skip(2990)", "shuffle(5).skip(3990)", "repeat(2).skip(4001)",
    "repeat(2).skip(4001).take(3)", "ignore_errors().repeat(2).skip(4001)",
])  # fmt: skip
def test_a_value_without_room_is_no_element_that_could_be_skipped(stoker, rest):
    """The stream breaks at the first value for which unique has no room: nothing behind counts it."""
    chain, little = f"range(4000).unique().{rest}.batch(2)", ["--workers", 1, "--window", 1]
    done = stoker("run", chain, "--dump", "--quiet", *little, "--memory", least_memory(stoker, chain, *little))
    assert done.returncode == 1 and not done.stdout
    told = re.search(r"element (\d+) of epoch 0\): there is no room for another value: (\d+) were", done.stderr)
    assert told and told[1] == told[2]


@pytest.mark.parametrize("rest, n_taken", [("batch(2)", 100), ("repeat(3).skip(4100).batch(2)", 7)])
def test_a_run_resumed_with_less_memory_than_its_values_need(stoker, tmp_path, rest, n_taken):
    chain, place = f"range(4000).unique().{rest}", tmp_path / "place"
    saved, little = ["--dump", "--quiet", "--checkpoint", place], ["--workers", 1, "--window", 1]
    assert stoker("run", chain, *saved, "--take", n_taken).returncode == 0
    done = stoker("run", chain, *saved, "--resume", *little, "--memory", least_memory(stoker, chain, *little))
    assert done.returncode == 1 and not done.stdout
    assert "there is no room for another value" in done.stderr
