# SPDX-License-Identifier: Apache-2.0
"""Where passes meet, the next one fills a shuffle's buffer as fast as this one drains."""

import threading

import pytest
import stoker

N, HELD, BATCH = 64, 32, 4


@pytest.mark.parametrize("workers", (0, 1, 2))
def test_the_next_pass_fills_as_this_one_drains(workers):
    made = []

    def numbers():
        for i in range(N):
            made.append(i)
            yield i

    ds = stoker.from_generator(numbers, "int64").shuffle(HELD).batch(BATCH).repeat(2)
    rows, at_border = [], None
    with ds.iterate(workers=workers) as batches:
        for batch in batches:
            rows += batch[0].tolist()
            if len(rows) == N - BATCH:
                at_border = len(made)
    assert sorted(rows[:N]) == sorted(rows[N:]) == list(range(N))
    # all but the batch that is yet to come
    assert at_border >= N + HELD - 2 * BATCH


def test_a_pass_that_does_not_come_holds_nothing_back():
    is_over = threading.Event()
    passes = []

    def numbers():
        passes.append(1)
        if len(passes) > 1:
            assert is_over.wait(60), "the first pass never came to its end"
        yield from range(N)

    ds = stoker.from_generator(numbers, "int64").shuffle(HELD).batch(BATCH).repeat(2)
    n = 0
    for batch in ds:
        n += batch.n_rows
        if n == N:
            is_over.set()
    assert n == 2 * N
