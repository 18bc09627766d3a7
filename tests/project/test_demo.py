# SPDX-License-Identifier: Apache-2.0
"""The data of `make demo`: the same files by any number of threads, and something to see while they are drawn."""

import os
import pty
import re
import subprocess

import pytest
from places import BUILD

PROGRAM = BUILD / "tools" / "make_shapes"


def draw(folder, *words, **options):
    return subprocess.run([PROGRAM, folder, *map(str, words)], capture_output=True, text=True, check=False, **options)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jpg")}


def test_any_number_of_threads_draws_the_same(tmp_path):
    for n_threads in (1, 5):
        assert draw(tmp_path / str(n_threads), 24, 7, n_threads).returncode == 0
    drawn = files(tmp_path / "1")
    assert len(drawn) == 24 and len({name.split("/")[0] for name in drawn}) == 8
    assert drawn == files(tmp_path / "5")
    assert draw(tmp_path / "other", 24, 8).returncode == 0
    assert drawn != files(tmp_path / "other"), "another seed draws others"


def test_a_log_gets_a_line_for_each_tenth(tmp_path):
    done = draw(tmp_path, 20)
    lines = done.stderr.splitlines()
    assert len(lines) == 10 and all(re.fullmatch(r"drawn \d+ of 20", line) for line in lines)
    assert "drawn 20 of 20" in lines


def test_a_terminal_gets_a_bar(tmp_path):
    ours, theirs = pty.openpty()
    subprocess.run([PROGRAM, tmp_path, "20"], stdout=subprocess.DEVNULL, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\rdrawing [" + "#" * 40 + "] 20 of 20" in shown


@pytest.mark.parametrize("words", [[0], ["many"], [8, 1, 0], [8, 1, 1000]])
def test_numbers_out_of_range_are_refused(tmp_path, words):
    done = draw(tmp_path, *words)
    assert done.returncode == 2 and "it must be 1 to" in done.stderr
