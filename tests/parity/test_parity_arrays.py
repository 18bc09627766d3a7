# SPDX-License-Identifier: Apache-2.0
"""Compares npy, npz and hdf5 with the installed NumPy and h5py, on random arrays of random types, shapes, chunks
and filters."""
import itertools

import h5py
import numpy as np
import pytest
import stoker

N_TRIALS = 60
TYPES = ["?", *(order + kind for order in "<>" for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"))]
HDF5_FILTERS = {
    "compression": [None, None, "gzip", "lzf"],
    "shuffle": [False, True],
    "fletcher32": [False, True],
    "scaleoffset": [None, None, None, None, None, 0],
}


def random_array(rng):
    dtype = np.dtype(rng.choice(TYPES))
    shape = tuple(int(n) for n in rng.integers(1, 12, rng.integers(1, 5)))
    if rng.random() < 0.5:  # something to compress
        return (rng.integers(0, 5, shape)).astype(dtype)
    raw = rng.integers(0, 256, (int(np.prod(shape)), dtype.itemsize), dtype=np.uint8)
    return (raw % 2 if dtype.kind == "b" else raw).copy().view(dtype).reshape(shape)


def random_texts(rng, n):
    letters = "ab \u00e4\u20ac\U0001f600"
    return ["".join(rng.choice(list(letters), rng.integers(0, 7))).strip() for _ in range(n)]


def same(got, expected):
    """Bit for bit: a NaN may be any."""
    expected = np.ascontiguousarray(expected.astype(expected.dtype.newbyteorder("=")))
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


def rows_of(dataset, field):
    """All elements, stacked; batches of three, so that the last one is short."""
    parts = [np.array(batch[field]) for batch in dataset.batch(3)]
    return np.concatenate(parts)


@pytest.fixture
def rng():
    return np.random.default_rng()


def test_npy(rng, tmp_path):
    for i in range(N_TRIALS):
        array = random_array(rng)
        np.save(tmp_path / f"{i}.npy", array)
        same(rows_of(stoker.npy(str(tmp_path / f"{i}.npy")), "data"), array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(save, rng, tmp_path):
    for i in range(N_TRIALS // 4):
        arrays = {f"a{k}": random_array(rng) for k in range(3)}
        n = min(len(array) for array in arrays.values())
        arrays = {name: array[:n] for name, array in arrays.items()}
        save(tmp_path / f"{i}.npz", **arrays)
        for name, array in arrays.items():
            same(rows_of(stoker.npz(str(tmp_path / f"{i}.npz")), name), array)


def hdf5_options(rng, array):
    options = {name: values[rng.integers(len(values))] for name, values in HDF5_FILTERS.items()}
    # h5py cannot read all that it writes with this filter: not large numbers, nor other filters beside it.
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 100:
        options["scaleoffset"] = None
    if options["scaleoffset"] is not None:
        options = {"scaleoffset": 0}
    chunks = tuple(int(rng.integers(1, n + 1)) for n in array.shape)
    is_plain = not any(options.values()) and "compression" in options
    return {} if is_plain and rng.random() < 0.4 else {**options, "chunks": chunks}


@pytest.mark.parametrize("libver", ["earliest", ("v110", "v110")])  # Debian's library is 1.10
def test_hdf5(libver, rng, tmp_path):
    for i in range(N_TRIALS):
        array, path = random_array(rng), str(tmp_path / f"{i}.h5")
        options = hdf5_options(rng, array)
        with h5py.File(path, "w", libver=libver) as file:
            file.create_dataset("group/x", data=array, **options)
        with h5py.File(path) as file:
            expected = file["group/x"][:]
        for hold in (0, 1 << 20):
            data = stoker.hdf5(path, {"data": "group/x"}, hold=hold)
            same(rows_of(data, "data"), expected)


def patches_of(array, patch, stride):
    starts = [range(0, n - p + 1, s) for n, p, s in zip(array.shape, patch, stride)]
    return np.stack([
        array[tuple(slice(at, at + p) for at, p in zip(corner, patch))]
        for corner in itertools.product(*starts)
    ])


def test_hdf5_patches(rng, tmp_path):
    for i in range(N_TRIALS):
        array, path = random_array(rng), str(tmp_path / f"{i}.h5")
        rank = int(rng.integers(1, array.ndim + 1))
        patch = [int(rng.integers(1, n + 1)) for n in array.shape[:rank]]
        stride = [int(rng.integers(1, 5)) for _ in patch]
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=array, **hdf5_options(rng, array))
        data = stoker.hdf5(path, patch=patch, stride=stride, hold=0)
        same(rows_of(data, "x"), patches_of(array, patch, stride))


def test_hdf5_texts(rng, tmp_path):
    for i in range(N_TRIALS // 4):
        texts, path = random_texts(rng, 9), str(tmp_path / f"{i}.h5")
        fixed = np.array([text.encode() for text in texts])
        with h5py.File(path, "w") as file:
            file.create_dataset("any", data=texts, dtype=h5py.string_dtype())
            file.create_dataset("fixed", data=fixed, chunks=(4,), compression="gzip")
        for hold in (0, 1 << 20):
            for field in ("any", "fixed"):
                data = stoker.hdf5(path, {"text": field}, hold=hold)
                got = [bytes(element["text"]) for element in data]
                assert got == [text.encode() for text in texts], (path, field, hold)


def test_numpy_texts(rng, tmp_path):
    for i in range(N_TRIALS // 4):
        texts = random_texts(rng, 9)
        np.save(tmp_path / f"{i}.npy", np.array(texts))
        data = stoker.npy(str(tmp_path / f"{i}.npy"))
        assert [bytes(element["data"]) for element in data] == [text.encode() for text in texts]


def test_h5py_in_the_same_process(rng, tmp_path):
    """h5py has its own libhdf5; both read the same file in turn."""
    path = str(tmp_path / "one.h5")
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.create_dataset("x", data=np.arange(1000).reshape(100, 10), chunks=(3, 4), compression="gzip")
    data = stoker.hdf5(path, hold=0).batch(7)
    with h5py.File(path) as file:
        at = 0
        for batch in data:
            got = np.array(batch["x"])
            same(got, file["x"][at : at + len(got)])
            at += len(got)
    assert at == 100
