# SPDX-License-Identifier: Apache-2.0
"""Lists of texts, and of lists, as the installed TensorFlow has them: batches of tf.data, ragged tensors, and
records that either of the two wrote."""
import os
import random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pytest
import stoker
import tensorflow as tf


def random_lists(seed, n=40):
    """Some empty, with texts that are empty, end in zeros, or are no UTF-8."""
    pick = random.Random(seed)
    words = [b"", b"a", b"zero\0", b"\0", "zwölf".encode(), b"\xff\xfe", b"long" * 50]
    return [pick.choices(words, k=pick.choice([0, 1, 2, 3, 17])) for _ in range(n)]


LISTS = random_lists(1)


def ours(lists=LISTS):
    return stoker.from_generator(lambda: ({"t": row} for row in lists), {"t": (bytes, (None,))})


def theirs(lists=LISTS):
    """A list without texts would be a tensor of floats."""
    tensors = lambda: (np.array(row, object) for row in lists)
    return tf.data.Dataset.from_generator(tensors, output_signature=tf.TensorSpec([None], tf.string))


def check_equal(got, wanted):
    """Values, splits and types of tensors, one by one."""
    for mine, other in zip(got, wanted, strict=True):
        assert type(mine) is type(other) and mine.dtype == other.dtype
        if isinstance(other, tf.RaggedTensor):
            assert mine.ragged_rank == other.ragged_rank
            for a, b in zip(mine.nested_row_splits, other.nested_row_splits, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
            mine, other = mine.flat_values, other.flat_values
        assert mine.shape == other.shape
        np.testing.assert_array_equal(mine.numpy(), other.numpy())


# ---- batches ----


@pytest.mark.parametrize("size, rest", [(1, {}), (7, {}), (7, {"drop_remainder": True}), (100, {})])
def test_ragged_batches(size, rest):
    got = [batch.t.tensorflow() for batch in ours().batch(size, **rest)]
    check_equal(got, theirs().ragged_batch(size, **rest))
    got = [batch.t.tensorflow() for batch in ours().ragged_batch(size, **rest)]
    check_equal(got, theirs().ragged_batch(size, **rest))


@pytest.mark.parametrize("shape", [None, 17, 20])
@pytest.mark.parametrize("value", [None, "", "<none>", "\0"])
def test_padded_batches(shape, value):
    got = ours().padded_batch(7, {"t": [shape]}, None if value is None else {"t": value})
    wanted = theirs().padded_batch(7, [shape], value)
    check_equal([batch.t.tensorflow() for batch in got], wanted)


def test_padded_batches_that_are_too_long():
    with pytest.raises(tf.errors.DataLossError):
        list(theirs().padded_batch(7, [16]))
    with pytest.raises(stoker.DataError, match="17 entries along dimension 0"):
        list(ours().padded_batch(7, {"t": [16]}))


def test_buckets():
    length = lambda row: tf.shape(row)[0]
    wanted = theirs().bucket_by_sequence_length(length, [1, 3], [4, 5, 6])
    got = ours().bucket_by_length("t", [1, 3], [4, 5, 6])
    check_equal([batch.t.tensorflow() for batch in got], wanted)


def test_unbatched():
    wanted = [row.numpy().tolist() for row in theirs().ragged_batch(7).unbatch()]
    assert [row.t.tolist() for row in ours().batch(7).unbatch()] == wanted == LISTS
    texts = [text.numpy() for text in theirs().unbatch()]
    assert [element.t for element in ours().unbatch()] == texts == sum(LISTS, [])


def test_elements():
    check_equal([element.t.tensorflow() for element in ours()], theirs())


def test_lists_of_lists():
    lists = [[list(range(k)) for k in range(i % 4)] for i in range(9)]
    records = [
        tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(feature_list={
            "x": tf.train.FeatureList(feature=[
                tf.train.Feature(int64_list=tf.train.Int64List(value=step)) for step in row])}))
        .SerializeToString() for row in lists
    ]
    _, found, _ = tf.io.parse_sequence_example(records, sequence_features={"x": tf.io.RaggedFeature(tf.int64)})
    ds = stoker.values({"record": records}).parse_sequence_example(sequence={"x": stoker.ragged("int64")})
    (batch,) = ds.batch(9)
    assert batch.x.tolist() == lists
    wanted = found["x"].with_row_splits_dtype(tf.int64)
    check_equal([batch.x.tensorflow()], [wanted])


# ---- texts in lists ----


def test_texts_in_lists():
    tags = ["red big", "", "  blue", "a b c d", "red"]
    wanted = tf.strings.split(tags)
    (batch,) = stoker.values({"t": tags}).text_split("").batch(5)
    check_equal([batch.t.tensorflow()], [wanted])
    (hashed,) = stoker.values({"t": tags}).text_split("").text_to_hash_bucket(1000).batch(5)
    check_equal([hashed.t.tensorflow()], [tf.strings.to_hash_bucket_fast(wanted, 1000)])
    (changed,) = stoker.values({"t": tags}).text_split("").text_upper().text_regex_replace("[AE]", "<\\0>").batch(5)
    check_equal([changed.t.tensorflow()], [tf.strings.regex_replace(tf.strings.upper(wanted), "[AE]", r"<\0>")])


# ---- records ----


def example(row, pair):
    def strings(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    return tf.train.Example(features=tf.train.Features(feature={"pair": strings(pair), "t": strings(row)}))


def pairs():
    return [[b"first %d" % i, b""] for i in range(len(LISTS))]


@pytest.fixture
def both():
    rows = list(zip(LISTS, pairs(), strict=True))
    spec = {"t": (bytes, (None,)), "pair": (bytes, (2,))}
    return stoker.from_generator(lambda: ({"t": row, "pair": pair} for row, pair in rows), spec)


@pytest.mark.parametrize("is_batched", [False, True])
def test_the_bytes_are_those_of_tensorflow(both, tmp_path, is_batched):
    (both.batch(7) if is_batched else both).pack(tmp_path / "ours")
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for row, pair in zip(LISTS, pairs(), strict=True):
            writer.write(example(row, pair).SerializeToString(deterministic=True))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


FEATURES = {
    "t": tf.io.RaggedFeature(tf.string),
    "pair": tf.io.FixedLenFeature([2], tf.string),
}


def test_tensorflow_reads_what_was_packed(both, tmp_path):
    both.pack(tmp_path / "x")
    records = [record.numpy() for record in tf.data.TFRecordDataset(str(tmp_path / "x"))]
    found = tf.io.parse_example(records, FEATURES)
    assert found["t"].to_list() == LISTS and found["pair"].numpy().tolist() == pairs()
    (batch,) = stoker.tfrecord(tmp_path / "x").parse_example(FEATURES).batch(len(LISTS))
    wanted = [found["t"].with_row_splits_dtype(tf.int64), found["pair"]]
    check_equal([batch.t.tensorflow(), batch.pair.tensorflow()], wanted)
