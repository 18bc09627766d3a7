# SPDX-License-Identifier: Apache-2.0
"""Runs: several at once, in threads, closed in the middle, with generators that wait."""

import gc
import os
import threading
import time

import numpy as np
import pytest
import stoker


def n_threads():
    return len(os.listdir("/proc/self/task"))


def wait_until(is_true, seconds=20):
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.005)
    return is_true()


def all_x(batches):
    return [x for batch in batches for x in batch.x.tolist()]


def test_several_at_once():
    ds = stoker.range(1000).shuffle().batch(10)
    wanted = all_x(ds.iterate(epoch=0))
    iterators = [ds.iterate(epoch=0, workers=i % 3) for i in range(6)]
    got = [[] for _ in iterators]
    for _ in range(100):
        for it, seen in zip(iterators, got):
            seen += next(it).x.tolist()
    assert all(seen == wanted for seen in got)
    assert all(next(it, None) is None for it in iterators)


def test_in_several_threads():
    ds = stoker.range(20000).shuffle().map("x * 2").batch(50)
    wanted, got = all_x(ds.iterate(epoch=0)), {}

    def consume(number):
        got[number] = all_x(ds.iterate(epoch=0, workers=1))

    threads = [threading.Thread(target=consume, args=(i,)) for i in range(6)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(got) == 6 and all(seen == wanted for seen in got.values())


def test_one_iterator_in_several_threads():
    it, got = stoker.range(20000).batch(10).iterate(), []

    def consume():
        for batch in it:
            got.append(batch.x.tolist())

    threads = [threading.Thread(target=consume) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert sorted(x for batch in got for x in batch) == list(range(20000))


def test_epochs_of_threads_differ():
    ds, epochs = stoker.range(4).batch(4), []

    def consume():
        for _ in range(50):
            epochs.extend(batch.position.epoch for batch in ds)

    threads = [threading.Thread(target=consume) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert sorted(epochs) == list(range(200))


def test_others_run_while_one_waits():
    """A generator that waits does not hold the interpreter up."""
    gate = threading.Event()

    def numbers():
        yield 1
        gate.wait(30)
        yield 2

    it = stoker.from_generator(numbers, "int64").iterate()
    assert next(it).x == 1
    threading.Timer(0.1, gate.set).start()
    assert next(it).x == 2


def test_interpreter_is_released():
    """Another thread goes on while this one waits for a batch."""
    count = [0]
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            count[0] += 1

    thread = threading.Thread(target=spin)
    thread.start()
    ds = (
        stoker.range(3_000_000)
        .map("y = exp(sin(float64(x))); z = exp(cos(y)); w = tanh(sin(z) * y)")
        .batch(3_000_000)
    )
    before = count[0]
    list(ds.iterate(workers=0))
    moved = count[0] - before
    stop.set()
    thread.join(10)
    assert moved > 1000


def test_close():
    before = n_threads()
    it = stoker.range(10**9).batch(10).iterate(workers=3)
    next(it)
    assert not it.closed
    it.close()
    it.close()
    assert it.closed and wait_until(lambda: n_threads() <= before)
    for use in (lambda: next(it), it.stats, it.errors):
        with pytest.raises(stoker.StateError, match="closed"):
            use()


def test_context():
    with stoker.range(100).batch(10).iterate() as it:
        assert len(next(it).x) == 10
    assert it.closed
    with pytest.raises(ZeroDivisionError):
        with stoker.range(100).batch(10).iterate() as it:
            1 / 0
    assert it.closed


def test_close_from_another_thread():
    started, outcome = threading.Event(), []

    def numbers():
        started.set()
        while True:
            time.sleep(0.01)
            yield 1

    it = stoker.from_generator(numbers, "int64").batch(100000).iterate()

    def consume():
        try:
            next(it)
        except stoker.StateError as error:
            outcome.append(str(error))

    thread = threading.Thread(target=consume)
    thread.start()
    assert started.wait(20)
    it.close()
    thread.join(20)
    assert outcome == ["this iterator was closed"]


def test_left_in_the_middle():
    before = n_threads()
    for _ in range(20):
        for batch in stoker.range(10**9).batch(10).iterate(workers=2):
            break
    assert wait_until(lambda: n_threads() <= before + 1)


def test_left_while_a_generator_waits():
    """Letting go of the iterator does not wait for a generator that waits for us."""
    gate, inside, left = threading.Event(), threading.Event(), threading.Event()

    def numbers():
        yield 1
        inside.set()
        left.set() if gate.wait(60) else None
        yield 2

    it = stoker.from_generator(numbers, "int64").iterate(workers=2)
    assert next(it).x == 1 and inside.wait(20)
    del it
    gc.collect()
    assert not gate.is_set() and not left.is_set()
    gate.set()
    assert left.wait(20)


def test_stats():
    it = stoker.range(100).batch(30).iterate(workers=1, epochs=2)
    list(it)
    stats = it.stats()
    assert (stats.elements, stats.batches, stats.epochs, stats.errors, stats.workers) == (
        200,
        8,
        2,
        0,
        1,
    )
    assert (
        stats.budget_bytes > stats.peak_bytes > 0 and stats._fields
        if hasattr(stats, "_fields")
        else True
    )


def test_after_the_end():
    it = stoker.range(3).iterate()
    assert len(list(it)) == 3 and list(it) == [] and next(it, "end") == "end"


def test_same_for_any_number_of_workers(pictures):
    ds = (
        stoker.image_folder(pictures).shuffle().decode().flip(probability=0.5).resize(8, 8).batch(4)
    )
    results = [
        [(b.origins, b.image.tolist()) for b in ds.iterate(epoch=1, workers=n)]
        for n in (0, 1, 2, 5)
    ]
    assert all(result == results[0] for result in results)


def test_batches_held():
    held = list(stoker.range(10000).batch(10))
    assert all_x(held) == list(range(10000))
    addresses = {b.x.address for b in held}
    assert len(addresses) == 1000


def test_writes_stay_in_the_batch():
    ds = stoker.range(100).batch(10)
    for batch in ds.iterate(epochs=3):
        array = np.asarray(batch.x)
        assert array[0] % 10 == 0
        array[:] = -1
