# SPDX-License-Identifier: Apache-2.0
"""Chains that are opened for each element, from Python: given as texts or as datasets."""

import pytest

import stoker


def numbers(ds):
    return [int(element.x) for element in ds]


def test_a_chain_as_text():
    ds = stoker.range(1, 6).interleave("element().repeat(6)", cycle_length=2, block_length=4)
    assert len(ds) == 30
    assert numbers(ds)[:14] == [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3]
    assert str(ds) == "range(1, 6).interleave(element().repeat(6), 2, 4)"
    assert numbers(stoker.parse(str(ds))) == numbers(ds)


def test_a_chain_as_dataset():
    ds = stoker.range(3).flat_map(stoker.range(4).take(2))
    assert numbers(ds) == [0, 1] * 3


def test_an_array_in_the_chain():
    arrays = stoker.from_arrays({"x": [5, 6, 7]})
    assert numbers(stoker.range(2).flat_map(arrays.skip(1))) == [6, 7, 6, 7]


@pytest.fixture
def tables(tmp_path):
    for number, n in enumerate([3, 0, 2]):
        rows = "".join(f"{10 * number + i}\n" for i in range(n))
        (tmp_path / f"{number}.csv").write_text("x\n" + rows)
    return tmp_path


def test_the_word_of_a_field_stays_one(tables):
    ds = stoker.files(f"{tables}/*.csv").interleave("csv(path)", 2)
    assert str(ds).endswith(".interleave(csv(path), 2)")
    assert len(ds) == 5 and numbers(ds) == [0, 1, 20, 2, 21]
    more = ds.map("x + 1").take(4)
    assert numbers(more) == [1, 2, 21, 3]
    assert numbers(stoker.parse(str(more))) == [1, 2, 21, 3]


def test_what_a_chain_was_built_on_is_not_looked_at_again(tables):
    """A call behind it shares what is open: the files may be gone."""
    ds = stoker.files(f"{tables}/*.csv").interleave("csv(path)", 2)
    for file in tables.iterdir():
        file.unlink()
    assert len(ds.map("x + 1").repeat(2)) == 10


def test_a_wrong_chain_is_refused_on_its_line():
    with pytest.raises(Exception, match="begins the chain of interleave"):
        stoker.parse("element().repeat(2)")
    with pytest.raises(Exception, match="no field 'y'"):
        stoker.range(3).flat_map("csv(y)")
    with pytest.raises(TypeError, match="chain cannot be"):
        stoker.range(3).flat_map(lambda x: x)
