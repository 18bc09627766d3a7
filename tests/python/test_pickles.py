# SPDX-License-Identifier: Apache-2.0
"""Batches and their fields as pickles, and through processes of multiprocessing and
concurrent.futures.
"""

import concurrent.futures
import io
import multiprocessing
import pickle
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import stoker
from stoker import _pickling

DTYPES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64"
HANG_SECONDS = 60
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@pytest.fixture
def batch():
    ds = stoker.from_arrays(
        x=np.arange(24, dtype=np.float32).reshape(4, 2, 3),
        t=["one", "", "three", "é"],
        r=[[1, 2], [], [3], [4, 5, 6]],
        s=[["a", "bc"], [], ["d"], [""]],
        keys=[1, 2, 3, 4],  # the name of a method
    )
    return ds.shuffle().batch(4).head(1)[0]


def lists(batch):
    return {
        name: field if isinstance(field, bytes) else field.tolist()
        for name, field in batch.items()
    }


def copies(thing):
    for protocol in PROTOCOLS:
        yield pickle.loads(pickle.dumps(thing, protocol))
    beside = []
    text = pickle.dumps(thing, 5, buffer_callback=beside.append)
    yield pickle.loads(text, buffers=beside)
    file = io.BytesIO()
    ForkingPickler(file).dump(thing)
    yield pickle.loads(file.getvalue())


def test_a_batch_comes_back_whole(batch):
    for back in copies(batch):
        assert type(back) is stoker.Batch and lists(back) == lists(batch)
        assert back.n_rows == 4 and back.origins == batch.origins
        assert back.origin(-1) == batch.origin(3) and list(back.keys()) == list(batch.keys())
        assert type(back.position) is stoker.Position and back.position == batch.position
        assert back.state_dict() == batch.state_dict() and repr(back) == repr(batch)
        assert back.x.shape == (4, 2, 3) and back["keys"].tolist() == batch["keys"].tolist()
        with pytest.raises(IndexError):
            back.origin(4)
        again = pickle.loads(pickle.dumps(back))  # and on to the next process
        assert lists(again) == lists(batch) and again.origins == batch.origins


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_arrays_of_all_dtypes(dtype):
    field = stoker.values({"x": [0, 1, 1]}).cast(dtype).batch(3).head(1)[0].x
    for back in copies(field):
        assert back.dtype == dtype and back.shape == (3,) and back.tolist() == field.tolist()


def test_a_restored_array_is_one(batch):
    for back in copies(batch.x):
        array = np.asarray(back)
        assert array.__array_interface__["data"][0] == back.address
        array[0, 0, 0] = 77
        assert back.tolist()[0][0][0] == 77
        shared = np.from_dlpack(back)
        del back, array
        assert shared[0, 0, 0] == 77 and shared.shape == (4, 2, 3)


def test_empty_ones_and_single_values():
    empty = stoker.from_arrays(r=[[], [1]]).batch(2).head(1)[0].r[0]
    single = stoker.range(9)[4]
    text = stoker.values({"t": ["abc"]})[0]
    for back in copies((empty, single, text)):
        assert back[0].shape == (0,) and int(back[1].x) == 4 and back[2].t == b"abc"


def test_rows_of_lists_and_their_parts(batch):
    padded = stoker.values({"t": [["a", "bc"], ["d"]]}).padded_batch(2).head(1)[0].t
    inner = _pickling.restore_rows(False, batch.r.values, batch.r.splits, ())
    lists_of_lists = _pickling.restore_rows(False, inner, _pickling._int64([0, 1, 1, 4]), ())
    assert lists_of_lists.tolist() == [inner.tolist()[:1], [], inner.tolist()[1:]]
    parts = [batch.s[i] for i in range(4)] + [lists_of_lists[2]]
    for field in (batch.t, batch.r, batch.s, padded, lists_of_lists, *parts):
        for back in copies(field):
            assert type(back) is type(field) and back.tolist() == field.tolist()
            assert back.nbytes == field.nbytes and len(back) == len(field)
            assert getattr(back, "row_length", None) == getattr(field, "row_length", None)


def test_a_part_goes_without_the_rest():
    rows = [["x" * 1000] * 50, ["y"]]
    field = stoker.from_arrays(s=rows).batch(2).head(1)[0].s
    assert len(pickle.dumps(field[1], 4)) < 1000


def test_large_arrays_go_beside_the_pickle(batch):
    field = stoker.from_arrays(x=np.zeros((4, 100_000), np.uint8)).batch(4).head(1)[0]
    beside = []
    assert len(pickle.dumps(field, 5, buffer_callback=beside.append)) < 4000
    assert sum(buffer.raw().nbytes for buffer in beside) == 400_000


@pytest.mark.parametrize(
    ("splits", "n"), [([0, 5], 4), ([0, 3, 2], 4), ([-1, 2], 4), ([], 4)], ids=str
)
def test_splits_that_do_not_fit(splits, n):
    values = _pickling._array(bytes(n), "uint8", (n,))
    with pytest.raises(ValueError, match="splits do not fit"):
        _pickling.restore_rows(True, values, _pickling._int64(splits), ())


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, -1), (-1, -4)])
def test_shapes_that_do_not_fit(shape):
    with pytest.raises(ValueError, match="shape does not fit"):
        _pickling._array(bytes(4), "uint8", shape)


# ---- processes ----


def numbers(batches):
    return [batch.x.tolist() for batch in batches]


def batches_of(ds):
    return list(ds)


def put_batches(ds, queue):
    for batch in ds:
        queue.put(batch)
    queue.put(None)


@pytest.fixture(scope="module", params=["fork", "spawn", "forkserver"])
def context(request):
    return multiprocessing.get_context(request.param)


def test_batches_from_processes(context):
    """While threads of stoker run in the process that is forked."""
    parts = [stoker.range(1000).shuffle().shard(2, i).batch(64) for i in range(2)]
    running = stoker.range(10**6).shuffle().batch(100).iterate()
    next(running)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        got = list(pool.map(batches_of, parts, timeout=HANG_SECONDS))
    assert [numbers(part) for part in got] == [numbers(part) for part in parts]
    assert next(running).position.batch == 1


def test_batches_through_a_queue(context):
    ds, queue = stoker.range(1000).shuffle().batch(64), context.Queue()
    child = context.Process(target=put_batches, args=(ds, queue))
    child.start()
    got = list(iter(lambda: queue.get(timeout=HANG_SECONDS), None))
    child.join(HANG_SECONDS)
    assert child.exitcode == 0 and numbers(got) == numbers(ds.options(epoch=0))


def test_every_process_counts_epochs_for_itself():
    """Only a DataLoader's workers share the number."""
    ds = stoker.range(100).shuffle().batch(10)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        both = pool.map_async(epoch_of_two_loops, [ds, ds]).get(HANG_SECONDS)
    assert both == [(0, 1), (0, 1)] and epoch_of_two_loops(ds) == (0, 1)


def epoch_of_two_loops(ds):
    return tuple(next(iter(ds)).position.epoch for _ in range(2))


def test_set_epoch():
    ds = stoker.range(10).shuffle().batch(5)
    ds.set_epoch(7)
    assert epoch_of_two_loops(ds) == (7, 8)
    ds.set_epoch(np.int64(0))
    assert epoch_of_two_loops(ds) == (0, 1)
    later = ds.options(epoch=5)
    later.set_epoch(2)
    assert epoch_of_two_loops(later) == (2, 3)
    with pytest.raises(ValueError, match="no epoch -1"):
        ds.set_epoch(-1)
