# SPDX-License-Identifier: Apache-2.0
"""Profiles of chains and of loops: what they have, not how fast anything was."""

import json
import os
import subprocess

import pytest
import stoker

BOUNDS = set("step compute workers storage memory others lock serial batches order nothing".split())
KEYS = set(
    "verdict chain seconds elements batches elements_per_second cores cores_used workers "
    "wait_share step_ms ops stages advice budget_bytes".split()
)


def assert_whole(found):
    assert KEYS <= set(found)
    assert found["verdict"]["bound"] in BOUNDS
    assert 0 <= found["wait_share"] <= 1.001
    for op in found["ops"]:
        assert op["cpu_s"] >= 0 and op["rows"] >= 0
    for item in found["advice"]:
        assert item["gain"] >= 1.05 and item["text"]
        assert item["chain"] or item["option"] or item["command"] or "workers='process'" in item["text"]


def test_a_chain():
    ds = stoker.range(1000).map("x * 2").batch(10)
    found = ds.profile(seconds=0.2, trials=False)
    assert_whole(found)
    assert found["elements"] > 1000  # epoch after epoch
    assert [op["name"] for op in found["ops"]] == ["range(1000)", "map('x * 2')", "batch(10)"]
    assert found["ops"][1]["rows"] > 0
    assert found["step_ms"] == 0
    assert found.verdict in str(found) and found.verdict == found["verdict"]["sentence"]
    assert found.bound == found["verdict"]["bound"] and found.stall == found["wait_share"]
    assert "range(1000)" in found._repr_html_()


def test_a_step():
    found = stoker.range(1000).batch(10).profile(seconds=0.3, consumer_ms=5, trials=False)
    assert found["step_ms"] >= 5  # a sleep is never shorter
    assert found["batches"] <= 0.3 / 0.005 + 10


def test_advice_is_a_chain_that_runs():
    ds = stoker.range(100000).batch(1)
    found = ds.profile(seconds=0.3)
    assert_whole(found)
    for item in found.advice:
        if item["chain"]:
            next(iter(stoker.parse(item["chain"])))


def test_the_loop_of_python_is_a_part_of_every_batch(monkeypatch):
    """A loop that takes 20 ms gets no more batches than there is time for."""
    monkeypatch.setattr("stoker._profile.loop_us", lambda: 20000.0)
    found = stoker.range(1000).batch(10).profile(seconds=0.2, trials=False)
    assert 0 < found["batches"] <= 0.2 / 0.02 + 2


def test_what_a_loop_in_python_takes():
    from stoker import _profile

    assert 0 < _profile.loop_us() < 1e6


def test_options():
    found = stoker.range(1000).batch(10).profile(seconds=0.1, trials=False, workers=1, memory=2**24)
    assert found["workers"] == 1 and found["budget_bytes"] == 2**24


def test_wrong_numbers():
    ds = stoker.range(10).batch(2)
    for wrong in ({"seconds": -1}, {"consumer_ms": "5"}, {"seconds": float("nan")}):
        with pytest.raises(ValueError, match="is a number"):
            ds.profile(**wrong)


def test_an_error_is_raised(tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    ds = stoker.files(str(tmp_path / "*.jpg")).decode().resize(8, 8).batch(1)
    with pytest.raises(stoker.DataError, match="bad.jpg"):
        ds.profile(seconds=0.1)


def test_a_function_that_raises():
    def fail(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        stoker.range(10).map(fail).batch(2).profile(seconds=0.1)


# ---- watch ----


def test_watching_a_loop():
    ds = stoker.range(5000).batch(10)
    with stoker.watch(ds) as w:
        for _ in range(2):
            for batch in ds:
                pass
    assert_whole(w.profile)
    assert w.profile["batches"] == 500  # the longest run of two
    assert 0 <= w.stall <= 1.001 and w.bound in BOUNDS
    assert w.verdict in repr(w)
    assert ds._watch is None


def test_watching_part_of_a_loop():
    ds = stoker.range(5000).batch(10)
    with stoker.watch(ds) as w:
        for i, batch in enumerate(ds):
            if i == 20:
                break
    assert w.profile["batches"] == 21


def test_watching_nothing():
    ds = stoker.range(10).batch(2)
    with pytest.raises(ValueError, match="nothing was read"), stoker.watch(ds):
        pass
    with stoker.watch(ds) as w:
        with pytest.raises(ValueError, match="being watched already"), stoker.watch(ds):
            pass
        list(ds)
    assert w.profile["batches"] == 5


def test_an_exception_goes_through_a_watch():
    ds = stoker.range(10).batch(2)
    with pytest.raises(KeyError), stoker.watch(ds):
        raise KeyError("mine")
    assert ds._watch is None


# ---- the command ----


def run(*words):
    command = [os.environ["STOKER"], "profile", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_command():
    done = run("range(1000).map('x + 1').batch(10)", "--seconds", "0.2", "--json", "--no-trials")
    assert done.returncode == 0, done.stderr
    assert_whole(json.loads(done.stdout))
    done = run("range(1000).batch(10)", "--seconds", "0.2", "--no-trials")
    assert "elements/s" in done.stdout and "range(1000)" in done.stdout


def test_command_refuses():
    done = run("range(10).batch(2)", "--seconds", "soon")
    assert done.returncode == 2 and "--seconds takes a number, not 'soon'" in done.stderr
    assert run("range(10).bat(2)").returncode == 2
