# SPDX-License-Identifier: Apache-2.0
"""Batches to and from PyTorch, TensorFlow and JAX, where they are installed, and DataLoader
workers.
"""

import gc
import os
import subprocess
import sys
import textwrap

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import pytest
import stoker

HANG_SECONDS = 300
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def import_or_skip(name):
    return pytest.importorskip(name, reason=f"{name} is not installed in this environment")


@pytest.fixture(scope="module")
def torch():
    return import_or_skip("torch")


@pytest.fixture(scope="module")
def tf():
    return import_or_skip("tensorflow")


@pytest.fixture(scope="module")
def jax():
    return import_or_skip("jax")


def batch_of(values):
    return stoker.from_arrays(x=values).batch(len(values)).head(1)[0]


@pytest.fixture
def mixed():
    return stoker.from_arrays(
        x=np.arange(6, dtype=np.float32).reshape(3, 2), t=["a", "", "ccc"], r=[[1, 2], [], [3]]
    ).batch(3)


# ---- PyTorch ----


@pytest.mark.parametrize("dtype", [*DTYPES, "uint16", "uint32", "uint64"])
def test_torch_shares_memory(torch, dtype):
    field = batch_of(np.arange(6).reshape(2, 3).astype(dtype)).x
    for tensor in (
        field.torch(),
        torch.from_dlpack(field),
        torch.utils.dlpack.from_dlpack(field.__dlpack__()),
    ):
        assert tensor.data_ptr() == field.address and tensor.shape == (2, 3)
        assert tensor.dtype == getattr(torch, dtype) and tensor.numpy().tolist() == field.tolist()


def test_torch_bfloat16(torch):
    field = stoker.values({"x": [0.5, -3]}).cast("bfloat16").batch(2).head(1)[0].x
    tensor = field.torch()
    assert (
        tensor.dtype == torch.bfloat16
        and tensor.tolist() == [0.5, -3]
        and tensor.data_ptr() == field.address
    )
    back = stoker.from_arrays(x=tensor)
    assert back.spec["x"].dtype == "bfloat16" and [e.x.item() for e in back] == [0.5, -3]


def test_torch_keeps_the_batch(torch):
    tensors = [b.x.torch() for b in stoker.range(1000).batch(100)]
    gc.collect()
    list(stoker.range(5000, 0, -1).batch(100))
    assert torch.cat(tensors).tolist() == list(range(1000))


def test_torch_of_a_batch(torch, mixed):
    got = mixed.head(1)[0].torch()
    assert got["x"].tolist() == [[0, 1], [2, 3], [4, 5]] and got["t"] == [b"a", b"", b"ccc"]
    assert [row.tolist() for row in got["r"]] == [[1, 2], [], [3]]
    assert stoker.range(3)[1].torch()["x"].shape == ()


def test_from_torch(torch):
    tensor = torch.arange(12, dtype=torch.float32).reshape(4, 3)
    ds = stoker.from_arrays(x=tensor)
    assert ds._chain.objects["x"].address == tensor.data_ptr() and ds[3].x.tolist() == [9, 10, 11]
    turned = stoker.from_arrays(x=tensor.T)
    assert turned._chain.objects["x"].is_copy and turned[1].x.tolist() == tensor.T[1].tolist()
    with pytest.raises(TypeError, match="field 'x'"):
        stoker.from_arrays(x=torch.ones(3, requires_grad=True))
    with pytest.raises(TypeError, match="field 'x'"):
        stoker.from_arrays(x=torch.ones(3, dtype=torch.complex64))


def test_generator_of_tensors(torch):
    ds = stoker.from_generator(
        lambda: (torch.full((2,), n, dtype=torch.float32) for n in range(5)), (torch.float32, (2,))
    )
    assert [e.x.tolist() for e in ds] == [[n, n] for n in range(5)]


def test_casts_by_torch_dtypes(torch):
    assert str(stoker.range(3).cast(torch.float16)) == "range(3).cast(float16)"


LOADER = """
    import sys
    import stoker
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Stream(IterableDataset):
        def __init__(self, ds):
            self.ds = ds

        def __iter__(self):
            info = get_worker_info()
            for batch in self.ds.iterate(rank=info.id, world=info.num_workers, workers=1):
                yield batch.torch()

    class Table:
        def __init__(self, ds):
            self.ds = ds

        def __len__(self):
            return len(self.ds)

        def __getitem__(self, index):
            return self.ds[index].torch()["x"]

    if __name__ == "__main__":
        ds = stoker.range(1000).shuffle()
        running = ds.batch(10).iterate()
        next(running)
        options = dict(num_workers=2, multiprocessing_context=sys.argv[1])
        for epoch in range(2):
            stream = DataLoader(Stream(ds.shard().batch(10)), batch_size=None, **options)
            assert sorted(x for b in stream for x in b["x"].tolist()) == list(range(1000))
            table = DataLoader(Table(ds), batch_size=50, shuffle=True, **options)
            assert sorted(x for b in table for x in b.tolist()) == list(range(1000))
        assert sum(1 for _ in running) == 99
        print("fine")
    """


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_loader_workers(torch, method, tmp_path):
    script = tmp_path / "loader.py"
    script.write_text(textwrap.dedent(LOADER), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, method], capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert done.stdout == "fine\n" and done.returncode == 0, done.stderr


# ---- TensorFlow ----


@pytest.mark.parametrize("dtype", [*DTYPES, "uint16", "uint32", "uint64"])
def test_tensorflow(tf, dtype):
    field = batch_of(np.arange(64).reshape(2, 32).astype(dtype)).x
    tensor = field.tensorflow()
    assert (
        tensor.dtype.name == dtype
        and tensor.shape == (2, 32)
        and tensor.numpy().tolist() == field.tolist()
    )
    assert np.asarray(memoryview(tensor)).__array_interface__["data"][0] == field.address


def test_tensorflow_of_a_batch(tf, mixed):
    got = mixed.head(1)[0].tensorflow()
    assert got["x"].numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert got["t"].dtype == tf.string and got["t"].numpy().tolist() == [b"a", b"", b"ccc"]
    assert got["r"].to_list() == [[1, 2], [], [3]]


def test_tensorflow_bfloat16(tf):
    field = stoker.values({"x": [0.5, -3]}).cast("bfloat16").batch(2).head(1)[0].x
    tensor = field.tensorflow()
    assert tensor.dtype == tf.bfloat16 and tf.cast(tensor, tf.float32).numpy().tolist() == [0.5, -3]


def test_from_tensorflow(tf):
    tensor = tf.reshape(tf.range(12, dtype=tf.float32), (4, 3))
    assert stoker.from_arrays(x=tensor)[3].x.tolist() == [9, 10, 11]
    assert str(stoker.range(3).cast(tf.float16)) == "range(3).cast(float16)"


def test_dataset_from_generator(tf):
    ds = stoker.range(10).batch(4)
    data = tf.data.Dataset.from_generator(
        lambda: (b.tensorflow() for b in ds),
        output_signature={"x": tf.TensorSpec((None,), tf.int64)},
    )
    assert [e["x"].numpy().tolist() for e in data] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


# ---- JAX ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_jax(jax, dtype):
    field = batch_of(np.arange(64).reshape(2, 32).astype(dtype)).x
    array = field.jax()
    assert array.shape == (2, 32) and np.asarray(array).tolist() == field.tolist()
    if dtype in ("float32", "int32"):
        assert array.dtype == dtype and array.unsafe_buffer_pointer() == field.address


def test_jax_of_a_batch(jax, mixed):
    got = mixed.head(1)[0].jax()
    assert got["x"].tolist() == [[0, 1], [2, 3], [4, 5]] and got["t"] == [b"a", b"", b"ccc"]
    assert [row.tolist() for row in got["r"]] == [[1, 2], [], [3]]


def test_jax_bfloat16(jax):
    array = stoker.values({"x": [0.5, -3]}).cast("bfloat16").batch(2).head(1)[0].x.jax()
    assert array.dtype == "bfloat16" and array.tolist() == [0.5, -3]


def test_from_jax(jax):
    array = jax.numpy.arange(6, dtype=jax.numpy.float32).reshape(3, 2)
    assert stoker.from_arrays(x=array)[2].x.tolist() == [4, 5]
    brain = stoker.from_arrays(x=jax.numpy.ones(3, jax.numpy.bfloat16))
    assert brain.spec["x"].dtype == "bfloat16" and brain[0].x.item() == 1


# ---- ml_dtypes, which TensorFlow and JAX bring along ----


def test_brain_floats_of_numpy():
    ml_dtypes = import_or_skip("ml_dtypes")
    field = stoker.values({"x": [0.5, -3]}).cast("bfloat16").batch(2).head(1)[0].x
    array = field.numpy()
    assert (
        array.dtype == ml_dtypes.bfloat16 and array.__array_interface__["data"][0] == field.address
    )
    values = np.array([[1, 2], [3, 4]], ml_dtypes.bfloat16)
    ds = stoker.from_arrays(x=values)
    assert ds.spec["x"].dtype == "bfloat16" and ds[1].x.tolist() == [3, 4]
    assert ds._chain.objects["x"].address == values.__array_interface__["data"][0]
