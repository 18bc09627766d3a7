# SPDX-License-Identifier: Apache-2.0
"""Ops that number, draw, choose and remember, as Python calls them."""

import itertools

import numpy as np
import pytest
import stoker


def xs(dataset):
    return [int(element.x) for element in dataset]


def test_sources_without_an_end():
    assert xs(itertools.islice(stoker.counter(2, 5), 4)) == [2, 7, 12, 17]
    assert xs(stoker.random(seed=3).take(5)) == xs(stoker.random(seed=3).take(5))
    assert stoker.counter().cardinality == stoker.INFINITE
    assert int(stoker.counter()[10**9].x) == 10**9
    with pytest.raises(TypeError, match="endless"):
        len(stoker.random())


def test_elements_are_numbered():
    words = stoker.from_arrays(word=np.array([b"a", b"bc"])).enumerate(start=5)
    assert list(words.spec) == ["word", "index"]
    assert [int(element.index) for element in words] == [5, 6]


def test_datasets_are_mixed_with_their_arrays():
    low, high = stoker.from_arrays(x=np.arange(5)), stoker.from_arrays(x=np.arange(100, 105))
    mixed = stoker.sample_from([low, high], weights=[1, 2], seed=4)
    assert sorted(xs(mixed)) == [*range(5), *range(100, 105)]
    assert xs(low.sample_from([high], weights=[0, 1])) == list(range(100, 105))
    order = stoker.values({"i": [1, 0, 0, 1]})
    assert xs(order.choose_from([low, high])) == [100, 0, 1, 101]
    assert xs(stoker.range(3).choose_from([low], stop_on_empty=False).ignore_errors()) == [0]


def test_classes_are_balanced():
    labels = np.array([0] * 6 + [1] * 2 + [7])
    balanced = stoker.from_arrays(label=labels, i=np.arange(9)).balance("label")
    assert len(balanced) == 18
    assert [int(element.label) for element in balanced] == [0, 1, 7] * 6
    kept = stoker.from_arrays(x=labels % 7).rejection_resample("x", [1, 1], initial=[2, 1])
    assert sum(xs(kept)) == 2


def test_what_is_remembered():
    numbers = stoker.values({"x": [3, 1, 3, 2]})
    assert xs(numbers.unique()) == [3, 1, 2]
    assert xs(numbers.take_while("x != 2")) == [3, 1, 3]
    assert [int(e.total) for e in numbers.scan({"total": 0}, "total = total + x")] == [3, 4, 7, 9]
    (result,) = numbers.reduce({"n": 0, "most": 0}, "n = n + 1; most = max(most, x)")
    assert (int(result.n), int(result.most)) == (4, 3)
