# SPDX-License-Identifier: Apache-2.0
"""Batches and their fields: access, memory, conversions."""

import gc
import pickle
import sys

import numpy as np
import pytest
import stoker

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "float32",
    "float64",
]


@pytest.fixture
def batch():
    return (
        stoker.values(
            {
                "x": [1, 2, 3],
                "t": ["one", "zwölf", ""],
                "r": [[1.5], [], [2.5, 3.5]],
                "p": [[0.5, 1], [2, 3], [4, 5]],
            }
        )
        .batch(3)
        .head(1)[0]
    )


def test_fields(batch):
    assert batch["x"].tolist() == batch.x.tolist() == batch[0].tolist() == [1, 2, 3]
    x, t, r, p = batch
    assert p.tolist() == batch[-1].tolist() and len(batch) == 4
    assert (
        batch.keys() == ["x", "t", "r", "p"] and [name for name, _ in batch.items()] == batch.keys()
    )
    assert len(batch.values()) == 4 and "x" in batch and "z" not in batch and 3 not in batch
    assert set(dict(batch)) == set(dict(**batch)) == set(batch.keys())
    assert "p" in dir(batch) and "numpy" in dir(batch)
    assert (
        repr(batch) == "Batch(x: int64[3], t: bytes × 3, r: ragged float32 × 3, p: float32[3, 2])"
    )


def test_wrong_fields(batch):
    with pytest.raises(KeyError, match="no field 'z'.*'x', 't', 'r', 'p'"):
        batch["z"]
    with pytest.raises(AttributeError, match="no field 'z'"):
        batch.z
    for wrong in (4, -5):
        with pytest.raises(IndexError):
            batch[wrong]
    for wrong in (1.5, None, slice(1)):
        with pytest.raises(TypeError):
            batch[wrong]
    with pytest.raises((AttributeError, TypeError)):
        batch.x = 3
    with pytest.raises(TypeError):
        stoker.Batch()


def test_field_named_like_a_method():
    batch = stoker.values({"keys": [1], "numpy": [2], "n_rows": [3]}).batch(1).head(1)[0]
    assert (
        batch.keys() == ["keys", "numpy", "n_rows"]
        and batch["keys"].tolist() == [1]
        and batch.n_rows == 1
    )
    assert batch["numpy"].tolist() == [2]


def test_field_name_that_is_no_name():
    batch = stoker.values({"my field": [1], "größe": [2]}).batch(1).head(1)[0]
    assert batch["my field"].tolist() == [1] and getattr(batch, "größe").tolist() == [2]


def test_where_it_comes_from(pictures):
    ds = stoker.image_folder(pictures).decode().resize(4, 4).batch(4)
    first, second = list(ds)
    assert first.n_rows == 4 and second.n_rows == 2
    assert first.origin(0) == f"{pictures}/cat/0.png" and first.origin(-1) == first.origins[3]
    with pytest.raises(IndexError):
        second.origin(2)
    assert (second.position.epoch, second.position.batch, second.position.rows) == (0, 1, 6)
    assert second.position[:3] == (0, 1, 6) and second.position.errors == 0


def test_elements(pictures):
    element = stoker.image_folder(pictures).decode()[1]
    assert element.n_rows == 1 and element.image.shape == (10, 14, 3) and element.label.shape == ()
    assert int(element.label) == 0 and ["cat", "dog"][element.label] == "cat"
    assert element.label == 0 and element.label != 1 and element.label < 1 and not element.label
    path = stoker.image_folder(pictures)[0].path
    assert isinstance(path, bytes) and path.endswith(b"cat/0.png")
    assert stoker.values({"r": [[1, 2], [3]]})[1].r.tolist() == [3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory(dtype):
    given = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    field = stoker.from_arrays(x=given).batch(2).head(1)[0].x
    array = np.asarray(field)
    assert array.dtype == given.dtype and (array == given).all() and array.flags.writeable
    assert (
        array.__array_interface__["data"][0]
        == field.address
        == field.numpy().__array_interface__["data"][0]
    )
    assert (field.shape, field.dtype, field.ndim, field.size, field.nbytes) == (
        (2, 3),
        dtype,
        2,
        6,
        given.nbytes,
    )
    assert field.tolist() == given.tolist()
    array[0, 0] = 1
    assert field.tolist()[0][0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 1)])
def test_dlpack_shares_memory(dtype, version):
    field = stoker.from_arrays(x=np.arange(6).reshape(2, 3).astype(dtype)).batch(2).head(1)[0].x
    assert field.__dlpack_device__() == (1, 0)
    name = repr(field.__dlpack__(max_version=version))
    assert ("dltensor_versioned" in name) == bool(version and version[0] >= 1)

    class Consumer:
        def __dlpack__(self, **options):
            return field.__dlpack__(max_version=version)

        def __dlpack_device__(self):
            return field.__dlpack_device__()

    array = np.from_dlpack(Consumer())
    assert (
        array.__array_interface__["data"][0] == field.address and array.tolist() == field.tolist()
    )
    assert (np.from_dlpack(field) == np.asarray(field)).all()


def test_dlpack_options(batch):
    assert np.from_dlpack(batch.p, copy=True).__array_interface__["data"][0] != batch.p.address
    for wrong in ({"dl_device": (2, 0)}, {"stream": 1}):
        with pytest.raises(BufferError):
            batch.p.__dlpack__(**wrong)
    with pytest.raises(TypeError):
        batch.p.__dlpack__(None)
    with pytest.raises(TypeError):
        batch.p.__dlpack__(max_version="new")


def test_memory_outlives_everything():
    ds = stoker.range(100000).batch(50000)
    it = ds.iterate()
    kept = [next(it), next(it)]
    arrays = [np.asarray(b.x) for b in kept]
    views = [memoryview(b.x) for b in kept]
    tensors = [np.from_dlpack(b.x) for b in kept]
    it.close()
    del it, ds, kept
    gc.collect()
    junk = [b.x.numpy().sum() for b in stoker.range(400000, 0, -1).batch(50000)]
    assert len(junk) == 8
    for kind in (arrays, views, tensors):
        assert kind[0][0] == 0 and kind[0][49999] == 49999 and kind[1][0] == 50000
        assert np.asarray(kind[0]).sum() == sum(range(50000))


def test_references_of_a_field(batch):
    before = sys.getrefcount(batch)
    array = np.asarray(batch.x)
    part = batch.r[0]
    assert sys.getrefcount(batch) > before
    del array, part
    assert sys.getrefcount(batch) == before
    capsule = batch.x.__dlpack__()
    del capsule
    assert sys.getrefcount(batch) == before


def test_buffer_protocol(batch):
    view = memoryview(batch.p)
    assert (
        view.format == "f" and view.shape == (3, 2) and view.strides == (8, 4) and not view.readonly
    )
    assert bytes(batch.x) == np.array([1, 2, 3]).tobytes()
    assert (
        memoryview(stoker.range(3)[1].x).shape == ()
        and memoryview(stoker.range(3)[1].x).tolist() == 1
    )


def test_empty_arrays():
    element = stoker.values({"r": [[1], []]})[1]
    assert (
        element.r.shape == (0,) and np.asarray(element.r).shape == (0,) and element.r.tolist() == []
    )


def test_indexing(batch):
    assert (
        batch.p[1].tolist() == [2, 3]
        and batch.p[1, 1] == 3
        and batch.p[:, 0].tolist() == [0.5, 2, 4]
    )
    assert batch.p[-1].tolist() == [4, 5] and [row.tolist() for row in batch.p] == batch.p.tolist()
    assert batch.x[batch.x == 2].tolist() == [2] and len(batch.x) == 3
    with pytest.raises(IndexError):
        batch.p[3]
    with pytest.raises(TypeError):
        len(stoker.range(3)[0].x)
    with pytest.raises(TypeError):
        iter(stoker.range(3)[0].x)


def test_single_values(batch):
    one = stoker.values({"f": [2.5], "b": [True], "i": [7]})[0]
    assert float(one.f) == 2.5 and one.f.item() == 2.5 and bool(one.b) and one.b.item() is True
    assert int(one.i) == 7 and list(range(10))[one.i] == 7 and one.f > 2 and one.i == one.i
    with pytest.raises(TypeError):
        list(range(10))[one.f]
    for convert in (int, float, bool):
        with pytest.raises(ValueError, match="3 values"):
            convert(batch.x)
    with pytest.raises(TypeError):
        hash(batch.x)


def test_as_array_arguments(batch):
    assert np.asarray(batch.x, dtype=np.float32).tolist() == [1, 2, 3]
    assert batch.x.__array__(np.dtype("int8")).dtype == np.int8
    assert np.array(batch.x, copy=True).__array_interface__["data"][0] != batch.x.address
    assert (np.add(batch.x, 1) == [2, 3, 4]).all()


def test_bytes(batch):
    words = ["one", "zwölf", ""]
    raw = [word.encode() for word in words]
    assert list(batch.t) == raw == batch.t.tolist() and len(batch.t) == 3 and batch.t == raw
    assert (
        batch.t[1] == raw[1]
        and batch.t[-1] == b""
        and batch.t[:2] == raw[:2]
        and batch.t[::-1] == raw[::-1]
    )
    assert batch.t.decode() == words and batch.t.decode("latin-1")[1] == "zwÃ¶lf"
    assert bytes(batch.t.data) == b"".join(raw) and batch.t.offsets.tolist() == [0, 3, 9, 9]
    assert batch.t.dtype == "bytes" and batch.t.nbytes == 9 and b"one" in batch.t
    assert batch.t.numpy().tolist() == raw and batch.t.numpy().dtype == object
    with pytest.raises(IndexError):
        batch.t[3]
    with pytest.raises(UnicodeDecodeError):
        batch.t.decode("ascii")
    with pytest.raises((ValueError, BufferError, TypeError)):
        batch.t.offsets.numpy()[0] = 1


def test_ragged(batch):
    assert batch.r.tolist() == [[1.5], [], [2.5, 3.5]] == batch.r and len(batch.r) == 3
    assert batch.r.values.tolist() == [1.5, 2.5, 3.5] and batch.r.splits.tolist() == [0, 1, 1, 3]
    assert (
        isinstance(batch.r[2], stoker.Array)
        and batch.r[2].tolist() == [2.5, 3.5]
        and batch.r[1].shape == (0,)
    )
    assert batch.r[2].address == batch.r.values.address + 4
    assert [row.tolist() for row in batch.r.numpy()] == batch.r.tolist()
    with pytest.raises(IndexError):
        batch.r[-4]


def test_dicts_of_numpy(batch):
    arrays = batch.numpy()
    assert (
        list(arrays) == ["x", "t", "r", "p"]
        and arrays["p"].__array_interface__["data"][0] == batch.p.address
    )
    element = stoker.values({"t": ["a"], "x": [1]})[0].numpy()
    assert element["t"] == b"a" and element["x"] == 1


def test_half_floats():
    values = np.array([0, 1, -2.5, 65504, 6e-8, 1e-5, np.inf, -np.inf, 0.1], dtype=np.float16)
    field = stoker.from_arrays(x=values).batch(9).head(1)[0].x
    assert field.dtype == "float16" and field.tolist() == values.astype(float).tolist()
    made = (
        stoker.from_generator(lambda: [float(v) for v in values], "float16").batch(9).head(1)[0].x
    )
    assert made.tolist() == field.tolist()
    nan = stoker.from_generator(lambda: [float("nan")], "float16").head(1)[0].x
    assert nan.item() != nan.item()


def test_numbers_round_to_half_as_numpy_does():
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [
            rng.normal(size=500),
            rng.normal(size=500) * 1e-6,
            rng.normal(size=200) * 4e4,
            [2049, 2051, 65519.99, 65520, 2**-25, 2**-24 * 1.5, 0.0, -0.0],
        ]
    )
    made = (
        stoker.from_generator(lambda: [float(v) for v in values], "float16")
        .batch(len(values))
        .head(1)[0]
        .x
    )
    with np.errstate(over="ignore"):
        assert (
            made.numpy().view(np.uint16).tolist()
            == values.astype(np.float16).view(np.uint16).tolist()
        )


def test_brain_floats():
    field = stoker.values({"x": [0.5, 1.5, -3]}).cast("bfloat16").batch(3).head(1)[0].x
    assert field.dtype == "bfloat16" and field.tolist() == [0.5, 1.5, -3] and field.nbytes == 6
    assert field.numpy().astype(np.float32).tolist() == [0.5, 1.5, -3]
    assert np.asarray(field).astype(np.float32).tolist() == [0.5, 1.5, -3]
    assert bytes(field) == np.array([0.5, 1.5, -3], np.float32).view(np.uint16)[1::2].tobytes()
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(field)
    made = (
        stoker.from_generator(lambda: [0.5, 1.00390625, float("nan"), 3e38], "bfloat16")
        .batch(4)
        .head(1)[0]
        .x
    )
    assert made.tolist()[:2] == [0.5, 1.0] and made.tolist()[2] != made.tolist()[2]


def test_no_pickles():
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(iter(stoker.range(3)))


def test_texts(batch):
    assert repr(batch.x) == "Array(int64[3], [1, 2, 3])"
    assert repr(stoker.range(100).batch(100).head(1)[0].x) == "Array(int64[100])"
    assert repr(batch.r) == "Ragged(float32, 3 rows, [[1.5], [], [2.5, 3.5]])"
    assert repr(batch.t).startswith("Bytes(3 rows, [b'one'")


def test_what_an_array_has_not_is_told():
    field = next(iter(stoker.values({"x": [[1.0, 2.0]]}).batch(1))).x
    with pytest.raises(AttributeError, match=r"an Array has no 'mean'; its numpy\(\)"):
        field.mean()
    assert not hasattr(field, "__cuda_array_interface__")
    assert field.numpy().mean() == 1.5
