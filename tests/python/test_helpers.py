# SPDX-License-Identifier: Apache-2.0
"""Functions that helper processes carry out: workers='process'."""

import gc
import multiprocessing
import os
import pickle
import signal
import traceback

import numpy as np
import pytest
import stoker


def numbers(ds, field="x", **options):
    with ds.iterate(**options) as batches:
        return [value for batch in batches for value in np.atleast_1d(batch[field].numpy())]


def with_pid(element):
    return {"x": element["x"] * 2, "pid": os.getpid()}


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_order_and_processes(workers):
    ds = stoker.range(200).map(with_pid, workers="process", processes=2).batch(16)
    assert numbers(ds, workers=workers) == list(range(0, 400, 2))
    pids = set(numbers(ds, "pid", workers=workers))
    assert 1 <= len(pids) <= 2 and os.getpid() not in pids
    kept = stoker.range(50).filter(lambda e: e["x"] % 5 == 0, workers="process", processes=2)
    assert numbers(kept, workers=workers) == list(range(0, 50, 5))


def test_large_and_small_arrays():
    sizes = [1, 1000, 3_000_000, 5, 0]

    def make(element):
        n = sizes[element["i"]]
        assert (element["x"] == np.arange(n)).all() and element["x"].flags.writeable
        return {"x": element["x"][::-1].copy(), "t": f"{n} values"}

    rows = [{"i": i, "x": np.arange(n)} for i, n in enumerate(sizes)]
    source = stoker.from_generator(lambda: iter(rows), {"i": "int64", "x": ("int64", "ragged")})
    output = {"x": ("int64", "ragged"), "t": str}
    for n, made in zip(sizes, source.map(make, output=output, workers="process", processes=1)):
        assert made.t.decode() == f"{n} values"
        assert (made.x.numpy() == np.arange(n)[::-1]).all()


def fail_at_5(element):
    if element["x"] == 5:
        raise LookupError("not five")
    return element


def test_exceptions():
    ds = stoker.range(20).map(fail_at_5, workers="process", processes=2).batch(4)
    with pytest.raises(LookupError, match="not five") as caught:
        list(ds)
    lines = "".join(traceback.format_exception(caught.value))
    assert "in fail_at_5" in lines and "range, element 5 (element 5 of epoch 0)" in lines
    assert numbers(ds, on_error="skip") == [n for n in range(20) if n != 5]
    with pytest.raises(Exception, match="pickle"):
        list(stoker.range(3).map(lambda e: (lambda: 0), "int64", "process", 1))


def test_a_killed_helper_costs_no_element(tmp_path):
    def killed(element):
        mark = tmp_path / str(element["x"])
        if element["x"] % 7 == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return element["x"] + 1

    ds = stoker.range(30).map(killed, "int64", "process", 2).batch(4)
    for workers in (0, 3):
        for mark in tmp_path.iterdir():
            mark.unlink()
        assert numbers(ds, workers=workers) == list(range(1, 31))


def test_an_element_that_kills_is_bad():
    def kill(element):
        if element["x"] == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return element["x"]

    ds = stoker.range(20).map(kill, "int64", "process", 2).batch(4)
    with pytest.raises(stoker.DataError, match="two helper processes ended .* by signal 9"):
        list(ds)
    for workers in (0, 3):
        left = numbers(ds, workers=workers, on_error="skip")
        assert left == [n for n in range(20) if n != 9]


@pytest.mark.parametrize("processes", [1, 3])
def test_elements_that_kill_take_no_other_with_them(processes):
    def kill(element):
        if element["x"] % 3 == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return element["x"]

    ds = stoker.range(30).map(kill, "int64", "process", processes).batch(4)
    with ds.iterate(on_error="skip") as batches:
        left = [n for batch in batches for n in batch["x"].numpy()]
        assert batches.stats().errors == 10
    assert left == [n for n in range(30) if n % 3 != 1]


def test_helpers_that_end_at_once_are_no_hang(monkeypatch):
    from stoker import _helpers

    monkeypatch.setattr(_helpers, "_serve", lambda lanes, function: os.kill(os.getpid(), 9))
    ds = stoker.range(3).map(lambda e: e["x"], "int64", "process", 1)
    with pytest.raises(stoker.DataError, match="ended before they got to this element.*signal 9"):
        list(ds)


def test_all_helpers_are_at_work_at_a_time():
    n = 2 * len(os.sched_getaffinity(0)) + 1
    meeting = multiprocessing.get_context("fork").Barrier(n)

    def meet(element):
        meeting.wait(30)  # for all of them
        return element["x"]

    ds = stoker.range(n).map(meet, "int64", "process", n).batch(n)
    assert numbers(ds) == list(range(n))


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return set(file.read().split())


def test_helpers_end_with_their_dataset():
    before = children()
    ds = stoker.range(40).map(with_pid, workers="process", processes=2).batch(8)
    pids = {int(pid) for pid in numbers(ds, "pid", workers=2)}
    del ds
    gc.collect()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert children() <= before


def test_pickle_and_mistakes():
    ds = pickle.loads(pickle.dumps(stoker.range(5).map(fail_at_5, workers="process", processes=1)))
    assert numbers(ds) == [0, 1, 2, 3, 4]
    for options, kind in (
        ({"workers": "threads"}, ValueError),
        ({"processes": 2}, TypeError),
        ({"workers": "process", "processes": 0}, ValueError),
    ):
        with pytest.raises(kind):
            stoker.range(3).map(fail_at_5, **options)
        with pytest.raises(kind):
            stoker.range(3).filter(fail_at_5, **options)
    with pytest.raises(TypeError, match="for functions"):
        stoker.range(3).map("x + 1", workers="process")


def test_exit_and_fork(run_python):
    result = run_python(
        """
        import os, stoker
        ds = stoker.range(1000).map(lambda e: e['x'] + 1, workers='process', processes=2).batch(10)
        it = ds.iterate(workers=2)
        next(it)
        if os.fork() == 0:
            total = sum(batch.x.numpy().sum() for batch in ds.iterate(workers=2))
            os._exit(0 if total == 500500 else 1)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        assert sum(batch.x.numpy().sum() for batch in it) == 500500 - 55
        it = ds.iterate(workers=2)
        next(it)
        print('ok', flush=True)
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")
