# SPDX-License-Identifier: Apache-2.0
"""Files of `pack` read by the installed TensorFlow and webdataset: every field as it was."""
import io
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import PIL.Image
import pytest
import stoker
import tensorflow as tf

N = 50
NAMES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split()
# How an Example holds tensors of a type.
INTS, FLOATS = {"uint32", "int32", "uint64", "int64"}, {"float32"}


def random_array(rng, name, shape):
    kind = np.dtype(name)
    if kind.kind == "f":
        return rng.normal(0, 100, shape).astype(kind)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(kind)
    info = np.iinfo(kind)
    return rng.integers(info.min, min(info.max, 2**63 - 1), shape, kind, endpoint=True)


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(7)
    found = {name: random_array(rng, name, (N, 3, 2)) for name in NAMES}
    found |= {f"{name}_one": random_array(rng, name, N) for name in NAMES}
    return found


@pytest.fixture(scope="module")
def texts():
    return [f"wört {i}" * (i % 4) for i in range(N)]


@pytest.fixture(scope="module")
def lists():
    return [list(range(i % 5)) for i in range(N)]


def feature(name, array):
    """What parse_single_example is asked for, and how its result becomes the array."""
    kind, shape = array.dtype.name, array.shape[1:]
    is_small = array.dtype.itemsize < 4
    if kind in INTS or (not shape and array.dtype.kind in "iub"):
        return tf.io.FixedLenFeature(shape, tf.int64), lambda t: t.numpy().astype(kind)
    if kind in FLOATS or (not shape and is_small):
        return tf.io.FixedLenFeature(shape, tf.float32), lambda t: t.numpy().astype(kind)
    read = lambda t: np.frombuffer(t.numpy(), kind).reshape(shape)
    return tf.io.FixedLenFeature([], tf.string), read


@pytest.mark.parametrize("compression", ["none", "gzip", "zlib"])
def test_tensorflow_reads_every_field(arrays, texts, lists, tmp_path, compression):
    ds = stoker.from_arrays({**arrays, "text": texts, "list": lists})
    ds.pack(tmp_path / "x-{shard:03d}.tfrecord", 3, compression=compression)
    files = sorted(map(str, tmp_path.glob("*.tfrecord")))
    names = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}
    spec = {name: feature(name, array) for name, array in arrays.items()}
    wanted = {name: row[0] for name, row in spec.items()}
    wanted |= {"text": tf.io.FixedLenFeature([], tf.string), "list": tf.io.VarLenFeature(tf.int64)}
    n = 0
    for i, record in enumerate(tf.data.TFRecordDataset(files, names[compression])):
        element = tf.io.parse_single_example(record, wanted)
        for name, array in arrays.items():
            np.testing.assert_array_equal(spec[name][1](element[name]), array[i], name)
        assert element["text"].numpy().decode() == texts[i]
        assert tf.sparse.to_dense(element["list"]).numpy().tolist() == lists[i]
        n += 1
    assert n == N


def test_the_bytes_are_those_of_tensorflow(arrays, texts, tmp_path):
    """A TFRecordWriter given the same values writes the same file."""
    some = {name: array for name, array in arrays.items() if name in ("float32", "int64", "uint8")}
    stoker.from_arrays({**some, "text": texts}).pack(tmp_path / "ours")
    feature_of = tf.train.Feature
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for i in range(N):
            features = {
                "float32": feature_of(
                    float_list=tf.train.FloatList(value=some["float32"][i].ravel())),
                "int64": feature_of(int64_list=tf.train.Int64List(value=some["int64"][i].ravel())),
                "uint8": feature_of(
                    bytes_list=tf.train.BytesList(value=[some["uint8"][i].tobytes()])),
                "text": feature_of(bytes_list=tf.train.BytesList(value=[texts[i].encode()])),
            }
            whole = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(whole.SerializeToString(deterministic=True))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_images_of_any_shape(tmp_path):
    rng = np.random.default_rng(1)
    images = [rng.integers(0, 256, (3 + i, 9 - i, 3), np.uint8) for i in range(6)]
    ds = stoker.from_generator(lambda: iter(images), {"image": ("uint8", (None, None, 3))})
    ds.pack(tmp_path / "x.tfrecord")
    spec = {"image": tf.io.FixedLenFeature([], tf.string),
            "image/shape": tf.io.FixedLenFeature([3], tf.int64)}
    for image, record in zip(images, tf.data.TFRecordDataset(str(tmp_path / "x.tfrecord")), strict=True):
        element = tf.io.parse_single_example(record, spec)
        back = tf.reshape(tf.io.decode_raw(element["image"], tf.uint8), element["image/shape"])
        np.testing.assert_array_equal(back.numpy(), image)


# ---- webdataset ----


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_webdataset_reads_every_field(arrays, texts, tmp_path, compression):
    wds = pytest.importorskip("webdataset")
    end = "tar.gz" if compression == "gzip" else "tar"
    tensors = {name: array for name, array in arrays.items() if not name.endswith("_one")}
    ds = stoker.from_arrays({**tensors, "label": np.arange(N), "text": texts, "f": arrays["float32_one"]})
    ds = ds.map("weight = f").select("weight", "label", "text", *tensors)
    ds.pack(tmp_path / f"x-{{shard:02d}}.{end}", 3, to="tar", compression=compression)
    files = sorted(map(str, tmp_path.glob(f"*.{end}")))
    n = 0
    for i, sample in enumerate(wds.WebDataset(files, shardshuffle=False).decode()):
        assert sample["__key__"] == f"{i:09}"
        assert sample["cls"] == i and sample["txt"] == texts[i]
        assert np.float32(sample["json"]) == arrays["float32_one"][i]
        for name, array in tensors.items():
            np.testing.assert_array_equal(sample[f"{name}.npy"], array[i], name)
            assert sample[f"{name}.npy"].dtype == array.dtype
        n += 1
    assert n == N


def test_webdataset_reads_pictures(tmp_path):
    wds = pytest.importorskip("webdataset")
    for i in range(5):
        folder = tmp_path / "in" / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        PIL.Image.new("RGB", (20 + i, 10), (i * 40, 9, 99)).save(folder / f"{i}.png")
    ds = stoker.image_folder(str(tmp_path / "in")).decode().encode_png()
    ds.pack(tmp_path / "x.tar", to="tar")
    expected = list(stoker.image_folder(str(tmp_path / "in")).decode())
    found = list(wds.WebDataset(str(tmp_path / "x.tar"), shardshuffle=False).decode("rgb8"))
    for sample, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(sample["png"], wanted["image"].numpy())
        assert sample["cls"] == int(wanted["label"].numpy())


def test_reencoded_jpegs_are_the_encoder_s(tmp_path):
    """Stored JPEGs are the bytes that the chain delivers, and Pillow reads them."""
    image = PIL.Image.effect_noise((64, 48), 60).convert("RGB")
    image.save(tmp_path / "a.jpg")
    chain = stoker.files(str(tmp_path / "a.jpg")).decode().resize(24, 32, dtype="uint8").encode_jpeg(quality=90)
    chain.pack(tmp_path / "x.tfrecord")
    record = next(iter(tf.data.TFRecordDataset(str(tmp_path / "x.tfrecord"))))
    spec = {"bytes": tf.io.FixedLenFeature([], tf.string)}
    data = tf.io.parse_single_example(record, spec)["bytes"].numpy()
    assert PIL.Image.open(io.BytesIO(data)).size == (32, 24)
    (element,) = list(chain)
    assert bytes(element["bytes"]) == data
