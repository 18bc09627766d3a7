# SPDX-License-Identifier: Apache-2.0
"""Ops that number, draw, choose and remember, as Python calls them."""

import itertools
import json

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


def test_known_choices_have_a_length_and_positions():
    low, high = stoker.from_arrays(x=np.arange(500)), stoker.range(1000, 2000)
    mixed = stoker.values({"i": [1, 0, 1]}).repeat().choose_from([low, high])
    assert len(mixed) == 1500 and len(mixed.batch(64)) == 24
    assert [int(mixed[i].x) for i in (0, 1, 2, 3, 1499)] == [1000, 0, 1001, 1002, 1999]
    assert sorted(xs(mixed.shuffle())) == [*range(500), *range(1000, 2000)]
    assert xs(mixed.shard(3, 1)) == list(range(500))


def test_a_place_among_known_choices_is_a_few_bytes():
    mixed = stoker.range(10).map("x % 2").repeat().choose_from([stoker.range(10**6), stoker.range(10**6)])
    with iter(mixed.batch(1000)) as batches:
        for _ in range(1500):
            next(batches)
        state = batches.state_dict()
        expected = np.array(next(batches).x)
    assert len(json.dumps(state)) < 4096
    with mixed.batch(1000).resume(state) as rest:
        assert np.array_equal(next(rest).x, expected)


def test_functions_that_choose_are_called_once_for_each_element():
    called = []
    numbers = stoker.range(6).map(lambda e: called.append(int(e["x"])) or {"x": e["x"] % 2})
    called.clear()  # the call that shows what it returns
    mixed = numbers.choose_from([stoker.range(5), stoker.range(10, 15)])
    assert called == [] and mixed.cardinality == stoker.UNKNOWN
    assert xs(mixed) == [0, 10, 1, 11, 2, 12] and called == list(range(6))


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


@pytest.mark.parametrize("combine", ["zip", "sample_from", "choose_from"])
def test_an_input_is_not_read_far_ahead_of_the_others(combine):
    """What a batch waits for is made first, also by a single thread."""
    n_made = [0, 0]

    def count(k):
        def made(x):
            n_made[k] += 1
            return x

        return stoker.range(10_000).filter("x >= 0").map(made)

    first, second = count(0), count(1)
    ds = {
        "zip": lambda: stoker.zip(first, second.rename({"x": "y"})),
        "sample_from": lambda: stoker.sample_from([first, second], weights=[1, 0.0001]),
        "choose_from": lambda: stoker.range(100).map("x = 0").filter("x == 0").choose_from([first, second]),
    }[combine]()
    with ds.batch(4).iterate(workers=0) as run:
        next(run)
    assert 4 <= n_made[0] <= 200 and n_made[1] <= 200
