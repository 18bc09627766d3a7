# SPDX-License-Identifier: Apache-2.0
"""Bad elements that a loop leaves out: one warning where an epoch ends, unless somebody asks."""

import warnings

import pytest
import stoker

BAD = "values({x: [4, 0, 2, 0, 1, 5]}).map('y = 20 // x')"


@pytest.fixture
def ds():
    return stoker.parse(BAD).batch(2).options(on_error="skip")


def told(loop):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        loop()
    assert all(w.category is stoker.StokerWarning and w.filename == __file__ for w in seen)
    return [str(w.message) for w in seen]


def test_one_warning_at_the_end_of_each_epoch(ds):
    for _ in range(2):
        texts = told(lambda: [batch for batch in ds])
        assert len(texts) == 1 and texts[0].startswith("2 bad elements were skipped or replaced")
        assert "map: values, element 1 (element 1 of epoch" in texts[0]
    one = stoker.values({"x": [1, 0]}).map("1 // x").options(on_error="replace")
    texts = told(lambda: [batch for batch in one])
    assert len(texts) == 1 and texts[0].startswith("1 bad element was skipped or replaced")


@pytest.mark.parametrize("workers", [0, 3])
def test_several_epochs_in_one_run(ds, workers):
    texts = told(lambda: [batch for batch in ds.iterate(epochs=3, workers=workers)])
    assert 1 <= len(texts) <= 3 and sum(int(text.split()[0]) for text in texts) == 6
    texts = told(lambda: [batch for batch in ds.iterate(epoch=5, workers=workers)])
    assert len(texts) == 1 and "of epoch 5)" in texts[0]


def test_more_than_are_kept():
    ds = stoker.range(500).map("10 // (x % 2)").batch(10).options(on_error="skip")
    texts = told(lambda: [batch for batch in ds])
    assert len(texts) == 1 and texts[0].startswith("250 bad elements")


def test_no_warning_for_who_asks_or_has_none(ds):
    def asks():
        with ds.iterate() as batches:
            for _ in batches:
                batches.errors()

    def counts():
        with ds.iterate() as batches:
            for _ in batches:
                batches.stats()

    good = stoker.range(9).batch(2).options(on_error="skip")
    ignored = stoker.parse(BAD).ignore_errors().batch(2)
    for loop in (asks, counts, lambda: list(good), lambda: list(ignored)):
        assert told(loop) == []


def test_a_resumed_run_tells_of_its_own(ds):
    it = iter(ds)
    state = next(it).state_dict()
    it.close()
    texts = told(lambda: [batch for batch in ds.resume(state)])
    assert len(texts) == 1 and texts[0].startswith("1 bad element was")


def test_a_warning_that_is_an_exception_loses_nothing(ds):
    """Where an epoch ends in the middle of a run, the batch that came comes again."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches, n_raised = ds.iterate(epochs=2, workers=0), 0
        while n_raised < 5:
            try:
                rows += next(batches).x.tolist()
            except stoker.StokerWarning:
                n_raised += 1
            except StopIteration:
                break
    assert rows == [4, 2, 1, 5] * 2 and 1 <= n_raised <= 2
