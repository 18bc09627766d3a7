# SPDX-License-Identifier: Apache-2.0
"""`map(num_parallel_calls=AUTOTUNE)`, `batch`, `prefetch(AUTOTUNE)`, as its guide advises."""

import os

from functions import plus_one
from lists import ragged_lists

NAME = "tf.data"
PLACE = 10
PACKAGES = ["tensorflow-cpu"]
FAST_DCT = "decodes with the faster inverse transform, its default; stoker with the accurate one"
NOTES = {
    "seed": FAST_DCT,
    "center_crop": FAST_DCT,
    "rrc": FAST_DCT,
    "tfrecord_open": "reads all records and counts them",
    "pack": "syncs nothing",
    "shuffle": "has no global shuffle in its stable interface: a buffer that holds every number",
}


def load():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    return tensorflow


def seed(tf, job):
    def make(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, [job.size, job.size]) / 255.0

    files = tf.data.Dataset.from_tensor_slices(job.files).shuffle(len(job.files))
    return _epoch(tf, job, files.map(make, num_parallel_calls=tf.data.AUTOTUNE))


def cache(tf, job, *where):
    def make(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, [job.size, job.size]) / 255.0

    files = tf.data.Dataset.from_tensor_slices(job.files[: job.n_files])
    kept = files.map(make, num_parallel_calls=tf.data.AUTOTUNE).cache(*where)
    return _epoch(tf, job, kept.repeat(job.passes).shuffle(job.n_files))


def cache_disk(tf, job):
    return cache(tf, job, f"{job.cache}/rows-by-tf-{os.getpid()}")


def photos(tf, job):
    return seed(tf, job)


def center_crop(tf, job):
    first = (job.resized - job.size) // 2
    mean, std = tf.constant(job.mean) * 255, tf.constant(job.std) * 255

    def make(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize(image, [job.resized, job.resized])
        image = tf.image.crop_to_bounding_box(image, first, first, job.size, job.size)
        return (image - mean) / std

    files = tf.data.Dataset.from_tensor_slices(job.files)
    return _epoch(tf, job, files.map(make, num_parallel_calls=tf.data.AUTOTUNE))


def rrc(tf, job):
    mean, std = tf.constant(job.mean) * 255, tf.constant(job.std) * 255

    def make(path):
        encoded = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(encoded),
            tf.zeros([0, 0, 4]),
            area_range=job.area,
            aspect_ratio_range=job.ratio,
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, [job.size, job.size]))
        return (image - mean) / std

    files = tf.data.Dataset.from_tensor_slices(job.files).shuffle(len(job.files))
    return _epoch(tf, job, files.map(make, num_parallel_calls=tf.data.AUTOTUNE))


def shuffle(tf, job):
    return _epoch(tf, job, tf.data.Dataset.range(job.count).shuffle(job.count))


def buffer(tf, job):
    return _epoch(tf, job, tf.data.Dataset.range(job.count).shuffle(job.held))


def map(tf, job):  # pylint: disable=redefined-builtin
    numbers = tf.data.Dataset.range(job.count)
    return _epoch(tf, job, numbers.map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE))


def filter(tf, job):  # pylint: disable=redefined-builtin
    return _epoch(tf, job, tf.data.Dataset.range(job.count).filter(lambda x: x % 2 == 0))


def zip(tf, job):  # pylint: disable=redefined-builtin
    pairs = tf.data.Dataset.zip(
        tf.data.Dataset.range(job.count), tf.data.Dataset.range(0, 2 * job.count, 2)
    )
    batches = _epoch(tf, job, pairs)
    return lambda: (first for first, _ in batches())


def interleave(tf, job):
    def repeated(x):
        return tf.data.Dataset.from_tensors(x).repeat(job.rows)

    groups = tf.data.Dataset.range(0, job.count, job.rows)
    elements = groups.interleave(repeated, cycle_length=job.open, block_length=job.block)
    return _epoch(tf, job, elements)


def window(tf, job):
    windows = tf.data.Dataset.range(job.count).window(job.size, 1, drop_remainder=True)
    return _epoch(tf, job, windows.flat_map(lambda window: window.batch(job.size)))


def padded_batch(tf, job):
    lists = tf.RaggedTensor.from_row_splits(*ragged_lists(job.count, job.longest))
    rows = tf.data.Dataset.from_tensor_slices(lists).map(lambda row: row)
    batches = rows.padded_batch(job.batch, [None]).prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)


def buffer_stream(tf, job):
    return buffer(tf, job)


def shuffle_10m(tf, job):
    return shuffle(tf, job)


def python_map(tf, job):
    def call(x):
        return tf.ensure_shape(tf.numpy_function(plus_one, [x], tf.int64), [])

    return _epoch(tf, job, tf.data.Dataset.range(job.count).map(call))


def python_batches(tf, job):
    batches = tf.data.Dataset.range(job.count).batch(job.batch)
    batches = batches.map(lambda batch: tf.numpy_function(plus_one, [batch], tf.int64))
    return lambda: iter(batches.prefetch(tf.data.AUTOTUNE))


def iterate(tf, job):
    return _epoch(tf, job, tf.data.Dataset.range(job.count))


def tfrecord_raw(tf, job):
    def make(record):
        kinds = {"image": tf.io.FixedLenFeature([], tf.string)}
        kinds["label"] = tf.io.FixedLenFeature([], tf.int64)
        image = tf.io.decode_raw(tf.io.parse_single_example(record, kinds)["image"], tf.uint8)
        return tf.cast(tf.reshape(image, [job.size, job.size, 3]), tf.float32) / 255.0

    files = tf.io.gfile.glob(f"{job.own}/raw-*.tfrecord")
    records = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    images = records.map(make, num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, job, images.shuffle(job.held))


def tfrecord_read(tf, job):
    return _epoch(tf, job, tf.data.TFRecordDataset([job.own]))


def tfrecord_example(tf, job):
    kinds = {"label": tf.io.FixedLenFeature([], tf.int64)}
    kinds["x"] = tf.io.FixedLenFeature([10], tf.float32)

    def make(record):
        return tf.io.parse_single_example(record, kinds)["x"]

    records = tf.data.TFRecordDataset([job.own])
    rows = records.map(make, num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, job, rows.shuffle(job.held))


def tfrecord_open(tf, job):
    def epoch():
        batches = tf.data.TFRecordDataset([job.own]).batch(job.at_once).prefetch(tf.data.AUTOTUNE)
        yield [sum(len(batch) for batch in batches)]

    return epoch


def epoch_border(tf, job):
    def make(record):
        kinds = {"bytes": tf.io.FixedLenFeature([], tf.string)}
        image = tf.io.decode_jpeg(tf.io.parse_single_example(record, kinds)["bytes"], channels=3)
        return tf.image.resize(image, [224, 224]) / 255.0

    records = tf.data.TFRecordDataset([job.own], compression_type="GZIP")
    images = records.map(make, num_parallel_calls=tf.data.AUTOTUNE).shuffle(job.held)
    batches = images.batch(job.batch).repeat(job.n_epochs).prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)


def beyond_memory(tf, job):
    return _epoch(tf, job, tf.data.TFRecordDataset([job.own]).shuffle(job.held))


def pack(tf, job):
    """The files are read in parallel, and written as they come."""
    paths = sorted(tf.io.gfile.glob(f"{job.own}/*/*.jpg"))
    labels = [int(path.split("/")[-2]) for path in paths]
    files = tf.data.Dataset.from_tensor_slices((paths, labels))
    data = files.map(
        lambda path, label: (tf.io.read_file(path), label), num_parallel_calls=tf.data.AUTOTUNE
    ).prefetch(tf.data.AUTOTUNE)
    out = f"{job.cache}/packed-by-tensorflow-{os.getpid()}.tfrecord"

    def example(image, label):
        feature = {"bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image]))}
        feature["label"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
        return tf.train.Example(features=tf.train.Features(feature=feature))

    def epoch():
        with tf.io.TFRecordWriter(out + ".part") as writer:
            for image, label in data.as_numpy_iterator():
                writer.write(example(image, label).SerializeToString())
        os.rename(out + ".part", out)
        yield range(len(paths))
        os.unlink(out)

    return epoch


def csv(tf, job):
    types = [tf.float32] * job.columns
    rows = tf.data.experimental.CsvDataset(job.own, types, header=True).batch(job.batch)
    batches = rows.map(
        lambda *columns: tf.stack(columns, axis=1), num_parallel_calls=tf.data.AUTOTUNE
    ).prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)


def _epoch(tf, job, elements):
    batches = elements.batch(job.batch).prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)
