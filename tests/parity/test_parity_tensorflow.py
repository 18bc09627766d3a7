# SPDX-License-Identifier: Apache-2.0
"""Compares what the command delivers with the installed TensorFlow and Pillow, on pictures made on the spot."""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

SIZES = [(333, 500), (500, 375), (64, 48)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """JPEG files with smooth and rough parts, at two chroma resolutions."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(5)
    for i, (height, width) in enumerate(SIZES):
        y, x = np.mgrid[0:height, 0:width]
        smooth = np.stack([x * 255 / width, y * 255 / height, (x + y) % 256], axis=2)
        rough = rng.normal(0, 12, smooth.shape)
        image = PIL.Image.fromarray(np.clip(smooth + rough, 0, 255).astype(np.uint8))
        image.save(folder / f"{i}.jpg", quality=80 + 5 * i, subsampling=2 * (i % 2))
    return folder


def delivered(stoker, chain, field):
    """The field of every element a chain without batch delivers."""
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [np.array(json.loads(line)["fields"][field]) for line in done.stdout.splitlines()]


def files(folder):
    return sorted(folder.glob("*.jpg"))


def test_fast_decode_is_tensorflow(stoker, pictures):
    got = delivered(stoker, f"files('{pictures}/*.jpg').decode(dct=fast)", "image")
    for path, image in zip(files(pictures), got, strict=True):
        expected = tf.io.decode_jpeg(path.read_bytes(), channels=3).numpy()
        np.testing.assert_array_equal(image, expected)


def test_accurate_decode_is_pillow(stoker, pictures):
    got = delivered(stoker, f"files('{pictures}/*.jpg').decode()", "image")
    for path, image in zip(files(pictures), got, strict=True):
        np.testing.assert_array_equal(image, np.asarray(PIL.Image.open(path)))


@pytest.mark.parametrize(
    "method, antialias", [("bilinear", False), ("bilinear", True), ("nearest", False), ("area", False)]
)
@pytest.mark.parametrize("size", [(224, 224), (61, 130), (600, 601)])
def test_resize_is_tensorflow(stoker, pictures, method, antialias, size):
    words = f"{size[0]}, {size[1]}, method={method}, antialias={str(antialias).lower()}"
    got = delivered(stoker, f"files('{pictures}/*.jpg').decode(dct=fast).resize({words})", "image")
    for path, image in zip(files(pictures), got, strict=True):
        source = tf.io.decode_jpeg(path.read_bytes(), channels=3)
        expected = tf.image.resize(source, size, method=method, antialias=antialias).numpy()
        np.testing.assert_allclose(image, expected, rtol=0, atol=1e-3)


NUMBERS = tf.data.Dataset.range(20)
ORDER = [
    ("range(20).take(7)", NUMBERS.take(7)),
    ("range(20).take(-1)", NUMBERS.take(-1)),
    ("range(20).skip(15)", NUMBERS.skip(15)),
    ("range(20).skip(-1)", NUMBERS.skip(-1)),
    ("range(20).shard(3, 1)", NUMBERS.shard(3, 1)),
    ("range(3).repeat(2)", tf.data.Dataset.range(3).repeat(2)),
    ("range(2, 20, 5)", tf.data.Dataset.range(2, 20, 5)),
    ("range(10, 0, -3)", tf.data.Dataset.range(10, 0, -3)),
    ("range(3).concatenate(range(5, 7))", tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(5, 7))),
    ("range(20).filter('x > 11')", NUMBERS.filter(lambda x: x > 11)),
    ("range(20).map('x * x - 3')", NUMBERS.map(lambda x: x * x - 3)),
]


@pytest.mark.parametrize("chain, data", ORDER, ids=[chain for chain, _ in ORDER])
def test_order_is_tf_data(stoker, chain, data):
    expected = [int(x) for x in data.as_numpy_iterator()]
    assert [int(x) for x in delivered(stoker, chain, "x")] == expected


@pytest.mark.parametrize("drop", [False, True])
def test_batch_is_tf_data(stoker, drop):
    got = delivered(stoker, f"range(20).batch(6, drop_remainder={str(drop).lower()})", "x")
    expected = list(NUMBERS.batch(6, drop_remainder=drop).as_numpy_iterator())
    assert [x.tolist() for x in got] == [x.tolist() for x in expected]


LENGTHS = [3, 1, 0, 5, 2, 2, 4]


def lists_of(data):
    return [np.asarray(x).tolist() for x in data.as_numpy_iterator()]


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("shape, value", [(None, None), (None, 7), (6, None), (5, -3)])
def test_padded_batch_is_tf_data(stoker, shape, value, drop):
    rows = [[i] * n for i, n in enumerate(LENGTHS)]
    data = tf.data.Dataset.from_generator(lambda: rows, tf.int64, output_shapes=[None])
    filler = None if value is None else tf.constant(value, tf.int64)
    expected = data.padded_batch(3, None if shape is None else [shape], filler, drop_remainder=drop)
    words = f"3, {str(shape).lower()}, {str(value).lower()}, {str(drop).lower()}"
    got = delivered(stoker, f"values({{x: {rows}}}).padded_batch({words})", "x")
    assert [x.tolist() for x in got] == lists_of(expected)


def test_padding_of_two_dimensions_is_tf_data(stoker):
    nested = tf.data.Dataset.range(29).batch(4).padded_batch(3).padded_batch(2)
    got = delivered(stoker, "range(29).batch(4).padded_batch(3).padded_batch(2)", "x")
    assert [x.tolist() for x in got] == lists_of(nested)


@pytest.mark.parametrize("drop", [False, True])
def test_ragged_batch_is_tf_data(stoker, drop):
    rows = [[i] * n for i, n in enumerate(LENGTHS)]
    data = tf.data.Dataset.from_generator(lambda: rows, tf.int64, output_shapes=[None])
    expected = [x.to_list() for x in data.ragged_batch(3, drop_remainder=drop)]
    done = stoker("run", f"values({{x: {rows}}}).ragged_batch(3, {str(drop).lower()})", "--dump", "--quiet")
    assert [json.loads(line)["fields"]["x"] for line in done.stdout.splitlines()] == expected


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("words", [(3, None, 1), (3, 1, 1), (3, 1, 2), (2, 5, 1), (4, 3, 7), (9, 2, 3)])
def test_window_is_tf_data(stoker, words, drop):
    size, shift, stride = words
    windows = NUMBERS.window(size, shift, stride, drop_remainder=drop)
    text = ", ".join(str(word).lower() for word in (*words, drop))
    got = delivered(stoker, f"range(20).window({text})", "x")
    assert [x.tolist() for x in got] == lists_of(windows.flat_map(lambda window: window.batch(size)))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_group_by_window_is_tf_data(stoker, size):
    keys = [5, 1, 5, -9, 1, 5, 2, -9, 2, 2, 5, 7, 1]
    data = tf.data.Dataset.from_tensor_slices(tf.constant(keys, tf.int64))
    expected = data.group_by_window(lambda x: x, lambda key, window: window.batch(size), size)
    got = delivered(stoker, f"values({{x: {keys}}}).group_by_window(x, {size})", "x")
    assert [x.tolist() for x in got] == lists_of(expected)


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("pads, boundaries, sizes", [(False, [2, 4], [2, 3, 1]), (True, [3, 6], [3, 2, 1])])
def test_buckets_are_tf_data(stoker, pads, boundaries, sizes, drop):
    rows = [[i] * n for i, n in enumerate(LENGTHS + LENGTHS[::-1])]
    data = tf.data.Dataset.from_generator(lambda: rows, tf.int64, output_shapes=[None])
    expected = data.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], boundaries, sizes, pad_to_bucket_boundary=pads, drop_remainder=drop
    )
    words = f"pad_to_bucket_boundary={str(pads).lower()}, drop_remainder={str(drop).lower()}"
    chain = f"values({{x: {rows}}}).bucket_by_length(x, {boundaries}, {sizes}, {words})"
    assert [x.tolist() for x in delivered(stoker, chain, "x")] == lists_of(expected)


@pytest.mark.parametrize("drop", [False, True])
def test_rebatch_and_unbatch_are_tf_data(stoker, drop):
    word = str(drop).lower()
    got = delivered(stoker, f"range(20).batch(6).rebatch(4, drop_remainder={word})", "x")
    expected = list(NUMBERS.batch(6).rebatch(4, drop_remainder=drop).as_numpy_iterator())
    assert [x.tolist() for x in got] == [x.tolist() for x in expected]
    got = delivered(stoker, f"range(20).batch(6, drop_remainder={word}).unbatch()", "x")
    assert [int(x) for x in got] == list(NUMBERS.batch(6, drop_remainder=drop).unbatch().as_numpy_iterator())
