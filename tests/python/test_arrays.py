# SPDX-License-Identifier: Apache-2.0
"""from_arrays: what is taken, what is shared, what is refused."""

import array
import gc
import mmap
import sys
import weakref

import numpy as np
import pytest
import stoker


class Tensor:
    """Speaks DLPack only, as PyTorch's tensors do."""

    def __init__(self, values, is_versioned=True):
        self.values, self.is_versioned = values, is_versioned

    def __dlpack__(self, **options):
        if options and not self.is_versioned:
            raise TypeError("no max_version here")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def first(ds, n):
    return ds.batch(n).head(1)[0]


def memory_of(ds, name="x"):
    return ds._chain.objects[name]


def test_nothing_is_copied():
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    ds = stoker.from_arrays({"x": values})
    assert (
        memory_of(ds).address == values.__array_interface__["data"][0] and not memory_of(ds).is_copy
    )
    assert first(ds, 4).x.tolist() == values.tolist()
    values[2] = 7
    assert ds[2].x.tolist() == [7, 7, 7]


def test_order_and_index():
    values = np.arange(1000)
    ds = stoker.from_arrays(x=values, y=values * 2)
    assert len(ds) == 1000 and list(ds.spec) == ["x", "y"] and ds[-1].y == 1998
    seen = [(int(e.x), int(e.y)) for e in ds.shuffle()]
    assert sorted(seen) == [(i, 2 * i) for i in range(1000)] != seen


@pytest.mark.parametrize("is_versioned", [True, False])
def test_dlpack(is_versioned):
    values = np.arange(6, dtype=np.int32).reshape(3, 2)
    ds = stoker.from_arrays(x=Tensor(values, is_versioned))
    assert memory_of(ds).address == values.__array_interface__["data"][0]
    assert first(ds, 3).x.tolist() == values.tolist()
    turned = stoker.from_arrays(x=Tensor(values.T, is_versioned))
    assert memory_of(turned).is_copy and first(turned, 2).x.tolist() == values.T.tolist()


def test_read_only_arrays():
    values = np.arange(3)
    values.flags.writeable = False
    assert first(stoker.from_arrays(x=values), 3).x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(24).reshape(4, 6)[:, ::2],
        lambda: np.arange(24).reshape(4, 6).T,
        lambda: np.arange(10)[::-1],
        lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        lambda: np.broadcast_to(np.arange(3, dtype=np.uint8), (4, 3)),
    ],
)
def test_other_layouts_are_copied_once(make):
    values = make()
    ds = stoker.from_arrays(x=values)
    assert memory_of(ds).is_copy and first(ds, len(values)).x.tolist() == values.tolist()


@pytest.mark.parametrize(
    "values, dtype",
    [
        (array.array("d", [1, 2]), "float64"),
        (array.array("h", [1, 2]), "int16"),
        (b"\1\2", "uint8"),
        (bytearray(b"\1\2"), "uint8"),
        (memoryview(b"\1\2"), "uint8"),
        (memoryview(b"\1\0\2\0").cast("H"), "uint16"),
        (np.array([1, 2], dtype="<i4"), "int32"),
        (np.array([True, False]), "bool"),
        (np.array([1, 2], dtype=np.longlong), "int64"),
        (np.array([1, 2], dtype=np.ulonglong), "uint64"),
    ],
)
def test_buffers(values, dtype):
    field = first(stoker.from_arrays(x=values), 2).x
    assert field.dtype == dtype and field.tolist() == list(values)


def test_mapped_file(tmp_path):
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.int64).tofile(path)
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    ds = stoker.from_arrays(
        x=memoryview(mapped).cast("q"), y=np.memmap(path, dtype=np.int64, mode="r")
    )
    assert first(ds, 5).x.tolist() == first(ds, 5).y.tolist() == [0, 1, 2, 3, 4]


def test_lists():
    ds = stoker.from_arrays(
        i=[1, 2],
        f=[1, 2.5],
        b=[True, False],
        s=["é", "b"],
        y=[b"\0", b""],
        n=[[1, 2], [3, 4]],
        r=[[1], [2, 3]],
        e=[[], [1.5]],
        t=((1, 2), (3, 4)),
        z=[np.int64(3), np.int64(4)],
        a=[np.zeros(3), np.ones(3)],
    )
    batch = first(ds, 2)
    kinds = {name: (field.kind, field.dtype) for name, field in ds.spec.items()}
    assert kinds == {
        "i": ("fixed", "int64"),
        "f": ("fixed", "float64"),
        "b": ("fixed", "bool"),
        "s": ("bytes", "bytes"),
        "y": ("bytes", "bytes"),
        "n": ("fixed", "int64"),
        "r": ("ragged", "int64"),
        "e": ("ragged", "float64"),
        "t": ("fixed", "int64"),
        "z": ("fixed", "int64"),
        "a": ("fixed", "float64"),
    }
    assert (
        batch.s.decode() == ["é", "b"]
        and batch.y == [b"\0", b""]
        and batch.n.tolist() == [[1, 2], [3, 4]]
    )
    assert (
        batch.r == [[1], [2, 3]]
        and batch.e == [[], [1.5]]
        and batch.a.tolist() == [[0, 0, 0], [1, 1, 1]]
    )


def test_many_strings():
    words = [f"word {i}" * (i % 5) for i in range(30000)]
    ds = stoker.from_arrays(w=words)
    assert [w.decode() for b in ds.batch(1000) for w in b.w] == words
    assert ds[12345].w.decode() == words[12345] and len(str(ds)) < 100
    assert sorted(w for b in ds.shuffle().batch(999) for w in b.w.decode()) == sorted(words)


def test_arrays_of_strings():
    for values in (
        np.array(["a", "bc"]),
        np.array([b"a", b"bc"]),
        np.array(["a", b"bc"], dtype=object),
    ):
        assert first(stoker.from_arrays(x=values), 2).x == [b"a", b"bc"]


def test_fields_with_other_names():
    ds = stoker.from_arrays({"my field": [1], "größe": [2], "2": [3], "x": [4]})
    assert [e.item() for e in ds[0]] == [1, 2, 3, 4] and list(ds.spec) == [
        "my field",
        "größe",
        "2",
        "x",
    ]


def test_names_that_meet():
    a, b = stoker.from_arrays(x=np.arange(3)), stoker.from_arrays(x=np.arange(3) + 10)
    assert [int(e.x) for e in a.concatenate(b, a)] == [0, 1, 2, 10, 11, 12, 0, 1, 2]
    both = a.zip(b.rename({"x": "y"})).map("z = x + y; s = y").select("z")
    assert [int(e.z) for e in both] == [10, 12, 14]
    text = stoker.from_arrays(x=["@x", "'@x"]).filter('x != "@x"')
    assert [e.x for e in text.concatenate(stoker.from_arrays(x=["q"]))] == [b"'@x", b"q"]


# ---- lifetimes ----


def test_owner_is_kept():
    values = np.arange(100000)
    alive = weakref.ref(values)
    ds = stoker.from_arrays(x=values).batch(1000)
    del values
    gc.collect()
    assert alive() is not None
    assert sum(int(b.x.numpy().sum()) for b in ds) == sum(range(100000))
    it = ds.iterate()
    next(it)
    del ds
    gc.collect()
    assert alive() is not None and sum(1 for _ in it) == 99
    del it
    gc.collect()
    assert alive() is None


def test_owner_is_let_go_at_once():
    values = np.arange(10)
    before = sys.getrefcount(values)
    ds = stoker.from_arrays(x=values)
    assert sys.getrefcount(values) > before
    derived = ds.shuffle().batch(2)
    kept = list(derived)
    del ds, derived
    kept.clear()
    assert sys.getrefcount(values) == before


def test_dlpack_owner_is_let_go():
    values = np.arange(10)
    alive = weakref.ref(values)
    ds = stoker.from_arrays(x=Tensor(values))
    del values
    gc.collect()
    assert alive() is not None and ds[9].x == 9
    del ds
    gc.collect()
    assert alive() is None


def test_bytearray_is_locked():
    values = bytearray(b"abc")
    ds = stoker.from_arrays(x=values)
    with pytest.raises(BufferError):
        values.append(1)
    del ds
    values.append(1)


def test_failed_datasets_keep_nothing():
    values = np.arange(10)
    before = sys.getrefcount(values)
    for _ in range(10):
        with pytest.raises(stoker.Error):
            stoker.from_arrays(x=values, y=np.arange(3))
        with pytest.raises(stoker.Error):
            stoker.from_arrays(x=values).decode()
        with pytest.raises(TypeError):
            stoker.from_arrays(x=values, y=object())
    assert sys.getrefcount(values) == before


# ---- bad input ----


@pytest.mark.parametrize(
    "values, kind, words",
    [
        ("text", TypeError, "field 'x'"),
        (None, TypeError, "field 'x'"),
        (3, TypeError, "field 'x'"),
        (object(), TypeError, "neither"),
        ([], ValueError, "empty list"),
        ([object()], TypeError, "list of object"),
        ([1, "a"], TypeError, "in one list"),
        ([1, True], TypeError, "in one list"),
        ([[1], 2], ValueError, "same level"),
        ([[[1], [2, 3]]], ValueError, "different lengths"),
        ([2**70], ValueError, "int64"),
        ({1: 2}, TypeError, "is a text, not 1"),
        ({}, ValueError, "the dict x has no fields"),
        (np.array([1 + 2j]), TypeError, "format"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, "field 'x'"),
        (np.array([1, 2], dtype=">i4"), TypeError, "byte order"),
        (np.array(3), ValueError, "rank"),
        (np.zeros((3, 0)), ValueError, "empty dimension"),
        (np.zeros((1,) * 9), ValueError, "dimensions"),
        (np.zeros(2, dtype=[("a", "i4")]), TypeError, "format"),
    ],
)
def test_refused(values, kind, words):
    with pytest.raises(kind, match=words):
        stoker.from_arrays(x=values)


def test_refused_fields():
    with pytest.raises(ValueError, match="3 values.*|has 2"):
        stoker.from_arrays(x=np.arange(2), y=np.arange(3))
    with pytest.raises(ValueError):
        stoker.from_arrays()
    with pytest.raises(TypeError):
        stoker.from_arrays([1, 2])
    with pytest.raises((TypeError, ValueError)):
        stoker.from_arrays({3: [1]})
    with pytest.raises(ValueError):
        stoker.from_arrays({"": [1]})


def test_tensor_of_another_device():
    class Away(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("cannot export from the GPU")

    with pytest.raises(TypeError, match="field 'x': cannot export"):
        stoker.from_arrays(x=Away(np.arange(3)))


def test_empty_array():
    ds = stoker.from_arrays(x=np.zeros((0, 3)))
    assert len(ds) == 0 and list(ds) == [] and list(ds.batch(2)) == []
