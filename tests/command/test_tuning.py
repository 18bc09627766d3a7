# SPDX-License-Identifier: Apache-2.0
"""run --tuning: what is listed, and as JSON. How runs are tuned is in test_tuning.c."""

import json
import re

CHAIN = "range(100000).map('y = x * 2 + 1').batch(32)"
LINE = re.compile(r"  +\d+\.\d{3} s  (window|workers|io_depth) \d+ → \d+ +  \S.*")


def test_text(stoker):
    done = stoker("run", CHAIN, "--tuning")
    assert done.returncode == 0, done.stderr
    said = done.stdout[done.stdout.index("\ntuning") :].splitlines()[1:]
    assert said[0].split() in (["tuning"], ["tuning", "nothing", "was", "changed"])
    assert all(LINE.fullmatch(line) for line in said[1:])
    assert "tuning" not in stoker("run", CHAIN).stdout


def test_json(stoker):
    done = json.loads(stoker("run", CHAIN, "--tuning", "--json").stdout)
    for decision in done["tuning"]:
        assert set(decision) == {"seconds", "knob", "from", "to", "reason"}
        assert decision["from"] != decision["to"]
    assert "tuning" not in json.loads(stoker("run", CHAIN, "--json").stdout)


def test_numbers_that_are_given_stay(stoker):
    words = ["--workers", 2, "--window", 3, "--io-depth", 4]
    done = json.loads(stoker("run", CHAIN, "--tuning", "--json", *words).stdout)
    assert done["tuning"] == []
