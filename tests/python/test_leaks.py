# SPDX-License-Identifier: Apache-2.0
"""Things made a thousand times, and whether anything is left of them."""

import ctypes
import gc
import itertools
import os
import threading

import numpy as np
import pytest
import stoker


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def text_chain():
    stoker.range(1000).map("x + 1").shuffle(10).batch(4).prefetch(2)


def parsed_chain():
    stoker.parse("a = 5\nrange(@a).map('x * 2').batch(2)")


def wrong_chain():
    for make in (
        lambda: stoker.range(10).batch(0),
        lambda: stoker.parse("rang(3)"),
        lambda: stoker.range(3).decode(),
    ):
        try:
            make()
        except stoker.Error:
            pass


def short_run():
    for _ in stoker.range(100).shuffle().batch(10):
        pass


def run_left_early():
    next(stoker.range(10**6).batch(10).iterate(workers=2))


def arrays():
    ds = stoker.from_arrays(x=np.zeros((100, 100)), s=["a", "b"] * 50, r=[[1], [2, 3]] * 50)
    for batch in ds.shuffle().batch(20):
        batch.numpy()


def generators():
    ds = stoker.from_generator(
        lambda: ({"x": np.zeros(100), "t": "abc", "l": [1, 2]} for _ in range(20)),
        {"x": ("float64", (100,)), "t": str, "l": ("int64", "ragged")},
    )
    for batch in ds.batch(5):
        batch.x.numpy()


def failing_generators():
    def numbers():
        yield np.zeros(1000)
        raise ValueError("x" * 1000)

    try:
        list(stoker.from_generator(numbers, ("float64", (1000,))))
    except ValueError:
        pass


def elements():
    ds = stoker.from_arrays(x=np.zeros((10, 1000)), t=["abc"] * 10).batch(2)
    (
        ds[0],
        ds[-1],
        ds[1:3],
        ds.head(2),
        len(ds),
        ds.spec,
        str(ds),
        repr(ds),
        ds.canonical,
        ds.plan().json,
    )
    ds._repr_html_()


def fields():
    batch = stoker.values({"x": [1, 2], "t": ["a", "b"], "r": [[1], [2, 3]]}).batch(2).head(1)[0]
    (
        np.from_dlpack(batch.x),
        np.asarray(batch.x),
        batch.x.tolist(),
        batch.t.tolist(),
        batch.r.tolist(),
    )
    batch.x.__dlpack__(), batch.x.__dlpack__(max_version=(1, 0)), np.from_dlpack(batch.x, copy=True)
    (
        batch.origins,
        batch.position,
        batch.items(),
        dict(batch),
        repr(batch),
        batch._repr_html_(),
        batch.x == batch.x,
    )
    for wrong in (
        lambda: batch["z"],
        lambda: batch.z,
        lambda: batch[9],
        lambda: memoryview(batch.t),
    ):
        try:
            wrong()
        except (KeyError, AttributeError, IndexError, TypeError):
            pass


@pytest.mark.parametrize(
    "make, times",
    [
        (text_chain, 1000),
        (parsed_chain, 1000),
        (wrong_chain, 500),
        (short_run, 500),
        (run_left_early, 300),
        (arrays, 300),
        (generators, 300),
        (failing_generators, 300),
        (elements, 100),
        (fields, 500),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_is_left(make, times):
    def repeat(n):
        for _ in range(n):
            make()
        gc.collect()

    repeat(times // 4 + 1)
    threads, objects, before = threading.active_count(), len(gc.get_objects()), resident_kb()
    repeat(times)
    grown = resident_kb() - before
    if grown > 2000:  # pools may still settle; a leak goes on
        before = resident_kb()
        repeat(times)
        grown = resident_kb() - before
    assert grown <= 2000, f"{grown} KB more after {times} times"
    assert threading.active_count() <= threads and len(gc.get_objects()) - objects < 100


def test_batches_give_their_memory_back():
    ds = stoker.from_arrays(x=np.zeros((64, 1 << 18), np.uint8)).batch(8)
    list(ds)
    gc.collect()
    before = resident_kb()
    for _ in range(10):
        held = list(ds)
        del held
    gc.collect()
    assert resident_kb() - before < 20000


def test_many_small_runs_leave_no_heaps(tmp_path):
    """What malloc keeps for the threads of runs that are over; each run by itself is too small to look after it."""
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n" + "".join(f"{i},text {i}\n" for i in range(3000)))
    chains = (
        "range(300).map('y = x * x').batch(7).shuffle(5).unbatch().batch(4)",
        f"lines('{table}').filter('len(text) > 2').shuffle(50).unique(text).cache().batch(8)",
        f"csv('{table}', {{a: int64, b: text}}).cache().shuffle(100).batch(9)",
        "range(200).interleave(range(3).map('x + 1')).window(5).batch(2)",
    )
    for chain in chains * 30:
        with stoker.parse(chain).iterate(workers=32) as run:
            for _ in itertools.islice(run, 30):
                pass
    before = resident_kb()
    ctypes.CDLL(None).malloc_trim(0)
    assert before - resident_kb() < 16_000
