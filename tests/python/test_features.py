# SPDX-License-Identifier: Apache-2.0
"""Features in Python: the functions that write them, and those of TensorFlow."""

from typing import Any, NamedTuple

import pytest
import stoker

LABEL = b"\x0a\x10\x0a\x0e\x0a\x05label\x12\x05\x1a\x03\x0a\x01\x05"  # one int64, 5


class FixedLenFeature(NamedTuple):
    """As tf.io has it."""

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class RaggedFeature(NamedTuple):
    dtype: Any
    value_key: Any = None
    partitions: Any = ()


class SparseFeature(NamedTuple):
    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


class RowSplits(NamedTuple):
    key: Any


class RowLengths(NamedTuple):
    key: Any


class UniformRowLength(NamedTuple):
    length: Any


class DType:
    def __init__(self, name):
        self.name = name


def first(features):
    return next(iter(stoker.values({"record": [LABEL]}).parse_example(features)))


def test_functions_write_calls():
    assert repr(stoker.fixed([2, 3], "float32")) == "fixed([2, 3], float32)"
    assert repr(stoker.fixed([], bytes, b"a'b\0", key="x/y")) == (
        "fixed([], bytes, 'a\\'b\\x00', 'x/y')"
    )
    assert repr(stoker.varlen("int64", key="k")) == "varlen(int64, 'k')"
    assert repr(stoker.fixed_sequence(4, "int64", True)) == "fixed_sequence(4, int64, true)"
    assert repr(stoker.ragged("int64", uniform_row_length=2)) == (
        "ragged(int64, uniform_row_length=2)"
    )


def test_features_are_read():
    element = first({"label": "int64", "l": stoker.varlen("int64", key="label")})
    assert int(element.label) == 5
    assert element.l.tolist() == [5]
    element = first({"a": stoker.fixed([2], "float32", [1, 2.5]), "s": stoker.fixed([], "bytes", b"\xff\0")})
    assert element.a.tolist() == [1, 2.5]
    assert element.s == b"\xff\0"


def test_numpy_defaults_and_dtypes():
    np = pytest.importorskip("numpy")
    element = first({"a": stoker.fixed([2], np.float32, np.array([1, 2], np.float32))})
    assert element.a.tolist() == [1, 2]


def test_features_of_tensorflow():
    element = first(
        {
            "label": FixedLenFeature([], DType("int64")),
            "a": FixedLenFeature((2,), DType("float32"), [1.0, 2.0]),
            "s": FixedLenFeature([], DType("string"), ""),
            "v": VarLenFeature(DType("float32")),
            "q": FixedLenSequenceFeature([3], DType("int64"), True),
            "r": RaggedFeature(DType("int64"), "label"),
        }
    )
    assert int(element.label) == 5
    assert (element.a.tolist(), element.s, element.v.tolist()) == ([1, 2], b"", [])
    assert element.q.shape == (0, 3)
    assert element.r.tolist() == [5]


def ints(**features):
    """A record of small numbers."""

    def piece(number, body):
        return bytes([number << 3 | 2, len(body)]) + body

    entries = b""
    for key, values in features.items():
        entries += piece(1, piece(1, key.encode()) + piece(2, piece(3, piece(1, bytes(values)))))
    return piece(1, entries)


PARTS = {"v": range(6), "s": (0, 2, 2, 6), "n": (1, 2), "i": (4, 0, 2), "j": (1, 0, 1), "w": (7, 8, 9)}


def parsed(features, record=None):
    return stoker.values({"record": [record or ints(**PARTS)]}).parse_example(features)


def ragged_of(*partitions):
    return {"r": RaggedFeature(DType("int64"), "v", partitions)}


def test_partitions_of_tensorflow():
    assert str(parsed(ragged_of(RowSplits("s")))).endswith("{r: ragged(int64, 'v', row_splits='s')})")
    assert next(iter(parsed(ragged_of(RowSplits("s"))))).r.tolist() == [[0, 1], [], [2, 3, 4, 5]]
    rows = next(iter(parsed(ragged_of(RowLengths("n"), UniformRowLength(2))))).r
    assert rows.tolist() == [[[0, 1]], [[2, 3], [4, 5]]]
    batch = next(iter(parsed(ragged_of(RowSplits("s"))).repeat(2).batch(2))).r
    assert batch.tolist() == [[[0, 1], [], [2, 3, 4, 5]]] * 2
    assert next(iter(parsed(ragged_of(UniformRowLength(3))))).r.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert next(iter(parsed(ragged_of(UniformRowLength(1), UniformRowLength(2))))).r.shape == (3, 1, 2)


def test_partitions_that_cannot_be():
    for partitions in ((RowSplits("s"), RowLengths("n")), (UniformRowLength(2), RowSplits("s"))):
        with pytest.raises(TypeError, match=r"r: .*deeper.*stoker.varlen\('int64', key='v'\)"):
            parsed(ragged_of(*partitions))
    with pytest.raises(TypeError, match="str is no partition"):
        parsed(ragged_of("row_splits"))
    with pytest.raises(stoker.ChainError, match="lists of lists of strings"):
        parsed({"r": RaggedFeature(DType("string"), "v", [RowSplits("s")])})
    with pytest.raises(stoker.DataError, match="Key: v.  The 2 numbers of 'n' are no row_splits of 6 values"):
        list(parsed(ragged_of(RowSplits("n"))))


def test_sparse_features():
    element = next(iter(parsed({"s": SparseFeature("i", "w", DType("int64"), 5)})))
    assert list(element.keys()) == ["s_indices", "s_values"]
    assert (element.s_indices.tolist(), element.s_values.tolist()) == ([0, 2, 4], [8, 9, 7])
    element = next(iter(parsed({"s": SparseFeature(["j", "i"], "w", DType("int64"), [2, 5], True)})))
    assert element.s_indices.tolist() == [[1, 4], [0, 0], [1, 2]] and element.s_values.tolist() == [7, 8, 9]
    batch = next(iter(parsed({"s": stoker.sparse(["j", "i"], "w", "int64", [2, 5])}).repeat(2).batch(2)))
    assert batch.s.tolist() == [[[8, 0, 0, 0, 0], [0, 0, 9, 0, 7]]] * 2
    with pytest.raises(stoker.DataError, match="Key: i.  Index 4 is outside of the size, 4"):
        list(parsed({"s": SparseFeature("i", "w", DType("int64"), 4)}))
    with pytest.raises(stoker.DataError, match="Key: i.  Saw 3 indices for 2 values of 'n'"):
        list(parsed({"s": SparseFeature("i", "n", DType("int64"), 9)}))
    with pytest.raises(stoker.DataError, match=r"Key: j.  indices\[2\] is repeated"):
        list(parsed({"s": stoker.sparse("j", "w", "int64", 9)}))


def test_fields_of_sparse_features_replace_no_others():
    sparse, other = SparseFeature("i", "w", DType("int64"), 5), stoker.varlen("int64")
    for features in ({"s": sparse, "s_values": other}, {"s_values": other, "s": sparse}):
        with pytest.raises(ValueError, match="two fields s_values"):
            parsed(features)


def test_an_array_of_texts_has_to_fit_the_budget():
    """A record of a few bytes asks for as many texts as the array has."""
    ds = stoker.values({"record": [LABEL]}).parse_example({"s": stoker.sparse("i", "t", "bytes", 10_000_000)})
    with pytest.raises(stoker.BudgetError, match="needs at least"):
        next(iter(ds.iterate(memory="64M")))
    ds = stoker.values({"record": [LABEL]}).parse_example({"s": stoker.sparse("i", "t", "bytes", 100_000)})
    assert next(iter(ds.iterate(memory="64M"))).s.shape == (100_000,)


def test_fields_that_nobody_uses_are_not_read():
    ds = parsed({"s": SparseFeature("i", "w", DType("int64"), 4), "v": stoker.varlen("int64")})
    assert next(iter(ds.select("v"))).v.tolist() == list(range(6))


def test_a_default_that_fills_up_lists_is_refused():
    """TensorFlow pads the lists of a batch with it."""
    for default in (None, 0, 0.0):
        assert first({"q": FixedLenSequenceFeature([], DType("int64"), True, default)}).q.shape == (0,)
    for default in (-1, "x"):
        with pytest.raises(TypeError, match=r"q: default_value=.* padded_batch\(n, padding_values={'q': "):
            first({"q": FixedLenSequenceFeature([], DType("int64"), True, default)})
    ds = stoker.values({"record": [LABEL, b""]}).parse_example({"label": stoker.varlen("int64")})
    assert next(iter(ds.padded_batch(2, None, {"label": -1}))).label.tolist() == [[5], [-1]]


def test_messages():
    with pytest.raises(stoker.DataError, match=r"Data types don't match\. Data type: int64 but"):
        first({"label": "float32"})
    with pytest.raises(stoker.ChainError, match="not 'int32'"):
        first({"label": "int32"})
    with pytest.raises(stoker.ChainError, match="dtype takes"):
        first({"label": stoker.varlen("int32")})


def test_chains_print_and_parse():
    ds = stoker.values({"record": [LABEL]}).parse_example({"a": stoker.fixed([2], "int64", [1, 2])})
    again = stoker.parse(str(ds))
    assert str(again) == str(ds)
    assert next(iter(again)).a.tolist() == [1, 2]


def test_sequences_and_raw_bytes():
    record = b"\x12\x10\x0a\x0e\x0a\x01w\x12\x09\x0a\x07\x1a\x05\x0a\x03\x01\x02\x03"
    ds = stoker.values({"record": [record]})
    steps = ds.parse_sequence_example(sequence={"w": stoker.fixed_sequence([3], "int64")})
    assert next(iter(steps)).w.tolist() == [[1, 2, 3]]
    raw = stoker.values({"x": [b"\x01\x00\x02\x00"]}).decode_raw("int16", shape=[2])
    assert next(iter(raw)).x.tolist() == [1, 2]
