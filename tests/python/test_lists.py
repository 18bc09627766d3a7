# SPDX-License-Identifier: Apache-2.0
"""Lists of texts, and of lists: as fields of batches and elements, out of generators and functions."""

import gc

import numpy as np
import pytest
import stoker

LISTS = [["a", "bb", ""], [], ["zwölf"]]
RAW = [[text.encode() for text in row] for row in LISTS]


def texts(lists=LISTS):
    return stoker.values({"t": lists})


def only(ds):
    (batch,) = ds
    return batch


# ---- ragged ----


def test_a_batch_of_lists_of_texts():
    field = only(texts().batch(3)).t
    assert isinstance(field, stoker.Ragged) and field.dtype == "bytes" and field.row_length is None
    assert len(field) == 3 and field.tolist() == RAW and field == RAW
    assert [row.tolist() for row in field] == RAW and field[-1].decode() == ["zwölf"]
    assert field[0][1] == b"bb" and [row.tolist() for row in field[::2]] == RAW[::2]
    assert isinstance(field[0], stoker.Bytes) and isinstance(field.values, stoker.Bytes)
    assert field.values.tolist() == sum(RAW, []) and field.splits.tolist() == [0, 3, 3, 4]
    assert field.nbytes == sum(len(text) for row in RAW for text in row)
    assert field[2].nbytes == 6 and field[1].nbytes == 0
    with pytest.raises(IndexError):
        field[3]


def test_rows_hold_their_batch():
    row = only(texts().batch(3)).t[2]
    gc.collect()
    assert row.tolist() == RAW[2]
    data, offsets = row.data.tolist(), row.offsets.tolist()
    assert bytes(data[offsets[0] : offsets[1]]) == RAW[2][0]


def test_numpy_of_ragged_texts():
    arrays = only(texts().batch(3)).t.numpy()
    assert isinstance(arrays, list) and all(a.dtype == object for a in arrays)
    assert [a.tolist() for a in arrays] == RAW


def test_lists_of_lists():
    ds = stoker.values({"x": [[1, 2], [3], [], [4]]}).window(2).batch(2)
    field = only(ds).x
    assert field.tolist() == [[[1, 2], [3]], [[], [4]]] and field.dtype == "int64"
    assert isinstance(field.values, stoker.Ragged) and field.values.tolist() == [[1, 2], [3], [], [4]]
    assert field.values.values.tolist() == [1, 2, 3, 4] and field.splits.tolist() == [0, 2, 4]
    assert field[1].tolist() == [[], [4]] and field[1].nbytes == 8 and field.nbytes == 32
    assert [[row.tolist() for row in rows] for rows in field.numpy()] == field.tolist()


# ---- arrays ----


@pytest.mark.parametrize(
    "ds, wanted",
    [
        (texts().padded_batch(3), [[b"a", b"bb", b""], [b""] * 3, [RAW[2][0], b"", b""]]),
        (texts([["a", "b"], ["c", ""]]).batch(2), [[b"a", b"b"], [b"c", b""]]),
        (texts([["a"], []]).padded_batch(2, {"t": [2]}, {"t": "-"}), [[b"a", b"-"], [b"-", b"-"]]),
    ],
)
def test_lists_that_are_equally_long_are_an_array(ds, wanted):
    field = only(ds).t
    array = field.numpy()
    assert field.row_length == len(wanted[0]) and field.tolist() == wanted
    assert array.shape == np.array(wanted, object).shape and array.tolist() == wanted


def test_lists_without_texts():
    field = only(texts([["a"], []]).filter("len(t) == 0").padded_batch(2)).t
    assert field.row_length == 0 and field.numpy().shape == (1, 0) and field.tolist() == [[]]


# ---- arrays of texts ----


def example(*features):
    """A record of (key, texts)."""

    def piece(number, body):
        return bytes([number << 3 | 2, len(body)]) + body

    entries = b""
    for key, texts_of in features:
        values = b"".join(piece(1, text) for text in texts_of)
        entries += piece(1, piece(1, key) + piece(2, piece(1, values)))
    return piece(1, entries)


def grid(i):
    return [[b"%d.%d" % (i, 3 * row + k) * k for k in range(3)] for row in range(2)]


GRIDS = [grid(i) for i in range(7)]


def grids(features=None):
    records = [example((b"g", sum(rows, []))) for rows in GRIDS]
    return stoker.values({"record": records}).parse_example({"g": features or stoker.fixed([2, 3], bytes)})


def test_elements_that_are_arrays_of_texts():
    ds = grids()
    assert repr(ds.spec["g"]) == "bytes[2, 3]" and ds.batch(4).spec["g"].shape == (None, 2, 3)
    field = ds[1].g
    assert isinstance(field, stoker.Bytes) and field.shape == (2, 3) and len(field) == 2
    assert field.tolist() == GRIDS[1] and field[-1].tolist() == GRIDS[1][1] and field[1][2] == GRIDS[1][1][2]
    assert field[1].shape == (3,) and field[::-1] == GRIDS[1][::-1]
    assert field.decode()[1] == [text.decode() for text in GRIDS[1][1]]
    array = field.numpy()
    assert array.shape == (2, 3) and array.dtype == object and array.tolist() == GRIDS[1]


def test_a_batch_of_arrays_of_texts():
    field = next(iter(grids().batch(4))).g
    array = field.numpy()
    assert array.shape == (4, 2, 3) and array.dtype == object and array.tolist() == GRIDS[:4]
    assert field.row_shape == (2, 3) and field.row_length == 2 and field.tolist() == GRIDS[:4]
    assert field[3].shape == (2, 3) and field[3][0].tolist() == GRIDS[3][0] and len(field.values) == 24


def test_arrays_of_texts_are_pickled():
    import pickle

    for thing in (grids()[2], next(iter(grids().batch(3)))):
        again = pickle.loads(pickle.dumps(thing))
        assert again.g == thing.g and again.g.numpy().shape == thing.g.numpy().shape
    assert pickle.loads(pickle.dumps(grids()[2].g[1])).tolist() == GRIDS[2][1]


def test_arrays_of_texts_are_padded():
    field = next(iter(grids().padded_batch(2, {"g": [3, 4]}, {"g": "-"}))).g
    wanted = [[[*row, b"-"] for row in rows] + [[b"-"] * 4] for rows in GRIDS[:2]]
    assert field.numpy().shape == (2, 3, 4) and field.tolist() == wanted
    assert next(iter(grids().padded_batch(2))).g.tolist() == GRIDS[:2]
    padded = grids().padded_batch(2, {"g": [2, 4]}).unbatch()
    assert padded.spec["g"].shape == (2, 4)
    assert [e.g.tolist() for e in padded][6] == [[*row, b""] for row in GRIDS[6]]
    with pytest.raises(stoker.ChainError, match="cannot be padded to 1"):
        grids().padded_batch(2, {"g": [1, 3]})


@pytest.mark.parametrize(
    "change",
    [
        lambda ds, path: ds.batch(3).unbatch(),
        lambda ds, path: ds.cache(),
        lambda ds, path: ds.cache(str(path / "kept")),
        lambda ds, path: ds.batch(3).cache(str(path / "kept")).unbatch(),
        lambda ds, path: ds.window(3).unbatch(),
        lambda ds, path: ds.batch(2).rebatch(3).unbatch(),
        lambda ds, path: ds.take(2).concatenate(ds.skip(2)),
        lambda ds, path: ds.filter(lambda e: len(e["g"]) == 2 and len(e["g"][1]) == 3),
        lambda ds, path: packed(ds, path),
        lambda ds, path: packed(ds.batch(4), path),
    ],
)
def test_arrays_of_texts_all_the_way(tmp_path, change):
    ds = change(grids(), tmp_path)
    for _ in range(2):
        assert [e.g.tolist() for e in ds] == GRIDS
    assert ds.spec["g"].shape == (2, 3)


def packed(ds, path):
    ds.pack(path / "grids.tfrecord")
    return stoker.tfrecord(path / "grids.tfrecord").parse_example({"g": stoker.fixed([2, 3], "bytes")})


def test_rows_of_an_array_of_texts():
    ds = grids().unbatch()
    assert ds.spec["g"].shape == (3,) and [e.g.tolist() for e in ds] == sum(GRIDS, [])
    assert [e.g for e in ds.unbatch()][:6] == sum(GRIDS[0], [])


def test_ops_on_arrays_of_texts():
    ds = grids().text_upper(field="g").batch(7)
    assert only(ds).g.numpy().shape == (7, 2, 3)
    numbers = only(grids().text_to_hash_bucket(10, field="g").batch(7)).g
    assert np.asarray(numbers).shape == (7, 2, 3)
    with pytest.raises(stoker.TypeMismatchError, match="array of texts"):
        grids().filter("len(g) == 2")
    with pytest.raises(stoker.TypeMismatchError, match="arrays of texts must have one shape"):
        grids().concatenate(grids(stoker.fixed([3, 2], bytes)))


def test_arrays_of_texts_are_shuffled_and_resumed():
    ds = grids().shuffle(4, seed=3).batch(2)
    wanted = [batch.g.tolist() for batch in ds.iterate(workers=0, epoch=0)]
    assert [batch.g.tolist() for batch in ds.iterate(workers=4, epoch=0)] == wanted
    it = ds.iterate(epoch=0)
    state = [next(it) for _ in range(2)][-1].state_dict()
    assert [batch.g.tolist() for batch in ds.resume(state)] == wanted[2:]


# ---- elements ----


def test_elements():
    rows = [element.t for element in texts()]
    assert all(isinstance(row, stoker.Bytes) for row in rows) and rows == RAW
    assert texts()[2].t.decode() == ["zwölf"]


def test_spec():
    assert texts().spec["t"].shape == (None,) and repr(texts().spec["t"]) == "bytes[?]"
    assert texts([["a", "b"]]).spec["t"].shape == (2,)
    assert texts().batch(2).spec["t"].shape == (None, None)
    assert repr(texts().padded_batch(2, {"t": [4]}).spec["t"]) == "bytes[?, 4]"
    assert repr(stoker.values({"t": ["a"]}).spec["t"]) == "bytes"


def test_shown():
    batch = only(texts().batch(3))
    assert repr(batch) == "Batch(t: ragged bytes × 3)"
    assert repr(batch.t) == f"Ragged(bytes, 3 rows, {RAW})"


# ---- what Python makes ----


@pytest.mark.parametrize(
    "lists",
    [
        LISTS,
        RAW,
        [["a", b"\xff\0'"], []],
        (("a", "b"), ["c", ""]),
        np.array([["a", "bb"], ["", "d"]]),
        np.array([["a", "bb"], ["", "d"]], object),
        [np.array(["a"]), np.array([], "U1"), np.array(["b", "c"], object)],
    ],
)
def test_out_of_arrays(lists):
    wanted = [[t.encode() if isinstance(t, str) else t for t in row] for row in lists]
    ds = stoker.from_arrays(t=lists, n=np.arange(len(lists)))
    assert [element.t.tolist() for element in ds] == wanted
    batch = only(ds.batch(9))
    assert batch.t == wanted and batch.n.tolist() == list(range(len(lists)))
    assert [element.t.tolist() for element in ds.skip(1)] == wanted[1:]


def test_wrong_lists_of_arrays():
    with pytest.raises(TypeError, match="field 't': strings and int in one list"):
        stoker.from_arrays(t=[["a", 1]])
    with pytest.raises(TypeError, match="field 't'"):
        stoker.from_arrays(t=[["a"], "b"])
    with pytest.raises(TypeError, match="field 't'"):
        stoker.from_arrays(t=[[["a"]]])
    with pytest.raises(ValueError, match="'n' has 2 values, but 't' has 1"):
        stoker.from_arrays(t=[["a"]], n=[1, 2])


def test_out_of_a_generator():
    rows = [(["a", b"b\0"], ["x", "y"]), ([], ("", "z")), (("ü",), ["1", "2"])]
    spec = {"t": (str, (None,)), "pair": (bytes, (2,)), "u": ("bytes", "ragged")}
    ds = stoker.from_generator(lambda: ((*row, row[0]) for row in rows), spec)
    batch = only(ds.batch(3))
    assert batch.t == [[b"a", b"b\0"], [], ["ü".encode()]] == batch.u
    assert batch.pair.row_length == 2 and batch.pair.numpy()[2].tolist() == [b"1", b"2"]
    assert [element.t.tolist() for element in ds] == batch.t.tolist()


def test_wrong_lists_of_a_generator():
    ds = stoker.from_generator(lambda: [{"t": ["a"]}], {"t": (str, (2,))})
    with pytest.raises(stoker.Error, match="number of texts of 1, not 2"):
        list(ds)
    with pytest.raises(ValueError, match="one dimension"):
        stoker.from_generator(lambda: [], {"t": (str, (2, 2))})


def test_through_functions():
    ds = texts().map(lambda e: {"t": [t + b"!" for t in e["t"]], "n": len(e["t"])},
                     output={"t": (bytes, (None,)), "n": "int64"})
    batch = only(ds.batch(3))
    assert batch.t == [[text + b"!" for text in row] for row in RAW] and batch.n.tolist() == [3, 0, 1]
    assert only(texts().filter(lambda e: len(e["t"]) == 1).batch(2)).t == RAW[2:]
    with pytest.raises(stoker.Error, match="a function cannot take"):
        texts().batch(2).map(lambda e: e, output={"t": bytes})


# ---- all the way ----


@pytest.mark.parametrize("ds", [texts(), texts().batch(2)])
def test_packed_and_read_again(tmp_path, ds):
    path = tmp_path / "lists.tfrecord"
    ds.pack(path)
    read = stoker.tfrecord(path).parse_example({"t": stoker.varlen("bytes")})
    assert only(read.batch(9)).t == RAW
    assert only(read.take(1)).t == RAW[0]


def test_workers_and_resuming_change_nothing():
    lists = [[f"{i}-{k}" for k in range(i * 7 % 5)] for i in range(200)]
    ds = texts(lists).shuffle(seed=3).batch(7)
    wanted = [batch.t.tolist() for batch in ds.iterate(workers=0, epoch=0)]
    assert [batch.t.tolist() for batch in ds.iterate(workers=4, epoch=0)] == wanted
    it = ds.iterate(workers=2, epoch=0)
    state = [next(it) for _ in range(5)][-1].state_dict()
    assert [batch.t.tolist() for batch in ds.resume(state)] == wanted[5:]
