# SPDX-License-Identifier: Apache-2.0
"""Ops that make fields of others, through methods: arguments of Python's types, results as arrays."""

import numpy as np
import pytest
import stoker

WORDS = ["the cat", "a dog", ""]


def test_texts_to_a_batch_of_ids():
    data = stoker.values({"text": ["The cat ", "A dog", "cat dog THE"]})
    data = data.text_lower().text_strip().lookup(["the", "cat"], sep=" ", default=9)
    batch = next(iter(data.pad([3], value=-1).batch(3)))
    ids = batch.text.numpy()
    assert ids.dtype == np.int64
    np.testing.assert_array_equal(ids, [[0, 1, -1], [9, 9, -1], [1, 9, 0]])


def test_vocabulary_of_numbers_and_one_hot():
    data = stoker.from_arrays(label=np.array([30, 10, 77], np.int32))
    data = data.lookup([10, 30], into="id").one_hot(2, field="id", dtype="uint8")
    got = [element.id.numpy().tolist() for element in data]
    assert got == [[0, 1], [1, 0], [0, 0]]


def test_arrays_are_sliced_and_joined():
    x = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    data = stoker.from_arrays(x=x, y=-x)
    data = data.slice(step=-1, axis=1, field="x").concat_fields(["x", "y"], into="z", axis=-1)
    for i, element in enumerate(data):
        np.testing.assert_array_equal(element.z, np.concatenate([x[i][:, ::-1], -x[i]], axis=1))


def test_borrowed_bytes_are_not_read_beyond_their_end():
    """Texts of the caller may end where memory ends."""
    digits = b"12 345"
    data = stoker.from_arrays(t=np.array([digits], dtype="S6"))
    for call in (data.text_to_number("int64", sep=" "), data.text_upper(), data.text_strip()):
        assert len(list(call)) == 1


def test_list_of_texts():
    data = stoker.values({"t": ["a b", "", "c"], "i": [1, 2, 3]}).text_split(" ")
    assert [[bytes(word) for word in element.t] for element in data] == [[b"a", b"b"], [b""], [b"c"]]
    assert [bytes(word) for word in data[0].t] == [b"a", b"b"]


def test_pattern_with_backslashes():
    data = stoker.values({"path": ["train/cat/0.jpg", "train/dog/1.jpg"]})
    data = data.text_regex_replace(r".*/(\w+)/(\d+)\.jpg", r"\2-\1", into="name")
    data = data.text_regex_full_match(r"\d-cat", field="name", into="ok").filter("ok")
    assert [bytes(element.name) for element in data] == [b"0-cat"]


def test_errors_name_op_element_and_cause():
    data = stoker.values({"t": ["1", "two"]}).text_to_number("int64")
    with pytest.raises(stoker.Error, match="text_to_number.*element 1.*'two' in the field 't' is no int64"):
        list(data)
    with pytest.raises(stoker.Error, match="wants group 1"):
        stoker.values({"t": ["1"]}).text_regex_replace("a", r"\1")
    with pytest.raises(stoker.Error, match="twice"):
        stoker.values({"t": ["1"]}).lookup(["a", "a"])


def test_order_is_kept_by_any_number_of_workers():
    texts = [f"Row {i} {'x' * (i % 50)}" for i in range(2000)]
    data = stoker.values({"t": texts}).shuffle().text_split(" ", ["a", "n", "x"])
    data = data.text_to_number("int64", field="n").text_join(["x", "a"]).select("n", "x").batch(64)
    runs = [
        [(b.n.numpy().tolist(), list(map(bytes, b.x))) for b in data.iterate(epoch=0, workers=workers)]
        for workers in (0, 1, 3)
    ]
    assert runs[0] == runs[1] == runs[2]
    assert sorted(n for ns, _ in runs[0] for n in ns) == list(range(2000))
