# SPDX-License-Identifier: Apache-2.0
"""`stoker run --trace`: the structure of Chrome's trace events, by the rules of the format."""

import collections
import json
import subprocess

import pytest
from PIL import Image
from places import STOKER

WORK = {"run", "fetch", "step", "move", "wait", "next"}


def record(chain, place, *options):
    command = [STOKER, "run", chain, "--quiet", "--trace", "t.json", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=place)
    assert result.returncode == 0, result.stderr
    return json.loads((place / "t.json").read_text())


@pytest.fixture(name="images")
def fixture_images(tmp_path):
    for i in range(24):
        Image.effect_noise((120 + i, 100), 40).convert("RGB").save(tmp_path / f"{i:02}.jpg")
    return tmp_path


def tracks_of(trace):
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"]
             if e["ph"] == "M" and e["name"] == "thread_name"}
    slices = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] == "X":
            slices[names[e["tid"]]].append(e)
    return names, slices


def check_events(trace):
    for e in trace["traceEvents"]:
        assert e["ph"] in "MXbeC" and e["pid"] == 1 and e["tid"] >= 1 and e["name"]
        if e["ph"] != "M":
            assert e["ts"] >= 0
        if e["ph"] == "X":
            assert e["dur"] >= 0 and e["cat"] in WORK | {"op"}
            assert e["args"]["does"] == e["cat"]
        if e["ph"] == "C":
            assert all(isinstance(v, int) and v >= 0 for v in e["args"].values())


def check_nesting(slices):
    """Slices of one track lie beside or inside each other, never across."""
    slack = 0.0011  # times are rounded down to a nanosecond
    ordered = sorted(slices, key=lambda e: (e["ts"], -e["dur"]))
    around = []
    for e in ordered:
        while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"] + slack:
            around.pop()
        if around:
            assert e["ts"] + e["dur"] <= around[-1]["ts"] + around[-1]["dur"] + slack, (e, around[-1])
        if e["cat"] == "op":
            assert any(a["cat"] == "run" for a in around), e
        around.append(e)


def test_images(images):
    chain = "files('*.jpg').decode().resize(32, 32).batch(4)"
    trace = record(chain, images, "--workers", "2")
    names, slices = tracks_of(trace)
    assert sorted(names.values()) == ["consumer", "reads", "worker 1", "worker 2"]
    check_events(trace)
    for events in slices.values():
        check_nesting(events)
    every = [e for events in slices.values() for e in events]
    ops = {e["name"] for e in every if e["cat"] == "op"}
    assert {"decode", "resize"} <= ops
    assert sum(e["args"]["rows"] for e in every if e["cat"] == "run") == 24
    assert [e["args"]["number"] for e in slices["consumer"] if e["cat"] == "next"] == list(range(6))
    assert trace["otherData"]["dropped"] == 0


def test_reads_begin_and_end(images):
    trace = record("files('*.jpg').read().batch(4)", images)
    begun = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "b"}
    ended = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "e"}
    assert begun and begun.keys() == ended.keys()
    for key, e in begun.items():
        assert e["cat"] == ended[key]["cat"] == "read" and e["ts"] <= ended[key]["ts"]
    sizes = sum(path.stat().st_size for path in images.glob("*.jpg"))
    assert 0 < sum(e["args"]["bytes"] for e in begun.values()) <= sizes


def test_serial_stages_and_counters(tmp_path):
    chain = "range(20000).filter('x % 2 == 0').shuffle(500).batch(8)"
    trace = record(chain, tmp_path, "--workers", "2")
    check_events(trace)
    _, slices = tracks_of(trace)
    for events in slices.values():
        check_nesting(events)
    kinds = {e["cat"] for events in slices.values() for e in events}
    assert {"run", "op", "step", "move", "next"} <= kinds
    counters = {e["name"] for e in trace["traceEvents"] if e["ph"] == "C"}
    assert counters == {"busy workers", "window", "batches in flight", "batches ready",
                        "reads in flight", "memory"}


def test_chains_that_run_ahead_of_their_turn(tmp_path):
    """Work at a chain whose turn comes later is a step of the stage that weaves them."""
    for i in range(40):
        (tmp_path / f"{i:02}.txt").write_text("".join(f"{i} {k}\n" for k in range(300)))
    chain = "files('*.txt').interleave(lines(path).filter('len(text) > 0'), 8).batch(16)"
    trace = record(chain, tmp_path, "--workers", "4")
    check_events(trace)
    _, slices = tracks_of(trace)
    steps = [e for events in slices.values() for e in events if e["cat"] == "step"]
    assert sum(e["args"]["rows"] for e in steps if e["args"]["rows"] > 0) >= 40 * 300
    assert any(e["args"]["rows"] == 0 for e in steps)


def test_recording_changes_nothing(tmp_path):
    chain = "range(5000).map('x * 3').shuffle().batch(7)"
    digests = set()
    for options in ([], ["--trace", str(tmp_path / "t.json")]):
        command = [STOKER, "run", chain, "--quiet", "--digest", *options]
        digests.add(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1
