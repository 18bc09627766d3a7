# SPDX-License-Identifier: Apache-2.0
"""--checkpoint, --every and --resume: a command that is killed again and again delivers what one
delivers that is not."""

import json
import random
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
    for _ in range(200):
        out = tmp_path / "out.txt"
        with open(out, "w", encoding="utf-8") as file:
            process = stoker(*words, stdout=file, start=True)
            try:
                process.wait(chance.uniform(0.005, 0.08))
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
