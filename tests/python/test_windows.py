# SPDX-License-Identifier: Apache-2.0
"""Uneven rows, windows and buckets as Python sees them: shapes, dtypes, access by number."""

import numpy as np
import pytest
import stoker

LISTS = {"t": [[1, 2, 3], [4], [], [5, 6]], "s": ["a", "bb", "", "c"]}


def test_a_padded_field_is_an_array():
    first, second = stoker.values(LISTS).padded_batch(3, {"t": [None]}, {"t": -1})
    assert first.t.shape == (3, 3) and np.asarray(first.t).dtype == np.int64
    assert np.asarray(first.t).tolist() == [[1, 2, 3], [4, -1, -1], [-1, -1, -1]]
    assert np.asarray(second.t).tolist() == [[5, 6]]
    assert [bytes(x) for x in first.s] == [b"a", b"bb", b""]


def test_what_a_spec_says_is_what_comes():
    data = stoker.values(LISTS).padded_batch(2, {"t": [4]}, drop_remainder=True)
    assert data.spec["t"].shape == (2, 4)
    assert [batch.t.shape for batch in data] == [(2, 4), (2, 4)]
    windows = stoker.range(9).window(3, 1, drop_remainder=True)
    assert windows.spec["x"].shape == (3,) and len(windows) == 7


def test_batches_by_number():
    data = stoker.values(LISTS).padded_batch(2, None, 9)
    assert np.asarray(data[1].t).tolist() == [[9, 9], [5, 6]]
    assert len(data) == 2


def test_ragged_rows_of_what_was_a_batch():
    (batch,) = stoker.range(7).batch(3).ragged_batch(3)
    assert [np.asarray(row).tolist() for row in batch.x] == [[0, 1, 2], [3, 4, 5], [6]]


def test_windows_are_elements():
    windows = [np.asarray(e.x).tolist() for e in stoker.range(4).window(2, 1)]
    assert windows == [[0, 1], [1, 2], [2, 3], [3]]


def test_a_mistake_is_raised_where_it_is_written():
    with pytest.raises(stoker.ChainError, match="no field 'u'"):
        stoker.values(LISTS).padded_batch(2, {"u": [1]})


@pytest.mark.parametrize("workers", [0, 3])
def test_windows_of_pictures_hold_what_they_overlap(workers):
    """Large rows: elements have buffers of their own, which live as long as they are held."""
    images = np.arange(6 * 64 * 64, dtype=np.int32).reshape(6, 64, 64)
    kept = list(stoker.from_arrays(x=images).window(3, 1).iterate(workers=workers))
    assert len(kept) == 6
    for i, window in enumerate(kept):
        np.testing.assert_array_equal(np.asarray(window.x), images[i : i + 3])
