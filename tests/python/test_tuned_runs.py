# SPDX-License-Identifier: Apache-2.0
"""it.tuning(): what a run changed about itself, and that batches stay the same."""

import time

import numpy
import pytest

import stoker

PATIENCE_S = 40  # for the machine, not for the run, which decides within seconds


def consume_slowly(it):
    """Takes batches with pauses until something was decided, and the rest at once; their sums."""
    sums, end = [], time.monotonic() + PATIENCE_S
    for batch in it:
        sums.append(int(numpy.asarray(batch.x).sum()))
        if not it.tuning() and time.monotonic() < end:
            time.sleep(0.003)
    return sums


def test_a_slow_consumer_needs_less():
    data = stoker.range(4_000_000).map("x = x * 3").batch(100)
    with data.iterate() as it:
        assert it.tuning() == []
        sums = consume_slowly(it)
        decisions = it.tuning()
        assert [d["reason"] for d in it.metrics()["tuning"]] == [d["reason"] for d in decisions]
    first = decisions[0]
    assert set(first) == {"seconds", "knob", "from", "to", "reason"}
    assert first["knob"] in ("window", "workers")
    assert first["seconds"] > 0
    assert first["from"] != first["to"]
    assert "consumer" in first["reason"]
    with data.iterate(workers=1, window=2) as it:
        assert [int(numpy.asarray(batch.x).sum()) for batch in it] == sums
        assert it.tuning() == []


def test_closed():
    it = stoker.range(3).iterate()
    it.close()
    with pytest.raises(stoker.StateError):
        it.tuning()
