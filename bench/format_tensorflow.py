# SPDX-License-Identifier: Apache-2.0
"""tf.data on the files of format_rows.py, as its guide advises; a function for each of its rows."""

import glob
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

FAST = tf.data.AUTOTUNE
IMAGE = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def tf_files(job):
    paths = sorted(glob.glob(f"{glob.escape(job.path)}/*/*.jpg"))
    labels = [int(path.split("/")[-2]) for path in paths]
    files = tf.data.Dataset.from_tensor_slices((paths, labels))
    files = files.shuffle(len(paths)) if job.order else files
    pictures = files.map(lambda path, label: (tf.io.read_file(path), label), FAST)
    return passes(ready(job, pictures).batch(job.batch))


def tf_tfrecord(job):
    records = shuffled(job, tf.data.TFRecordDataset([job.path]))
    if job.is_ready:
        pictures = records.map(lambda record: both(tf.io.parse_single_example(record, IMAGE)), FAST)
        return passes(ready(job, pictures).batch(job.batch))
    batches = records.batch(job.batch)
    return passes(batches.map(lambda many: both(tf.io.parse_example(many, IMAGE)), FAST))


def tf_row_tfrecord(job):
    kinds = {"x": tf.io.FixedLenFeature([job.columns], tf.float32), "label": IMAGE["label"]}
    batches = shuffled(job, tf.data.TFRecordDataset([job.path])).batch(job.batch)
    return passes(batches.map(lambda many: rows_of(tf.io.parse_example(many, kinds)), FAST))


def tf_csv(job):
    types = [tf.float32] * job.columns + [tf.int64]
    rows = shuffled(job, tf.data.experimental.CsvDataset(job.path, types, header=True))
    batches = rows.batch(job.batch)
    return passes(batches.map(lambda *row: (tf.stack(row[:-1], axis=1), row[-1]), FAST))


def both(parsed):
    return parsed["image"], parsed["label"]


def rows_of(parsed):
    return parsed["x"], parsed["label"]


def ready(job, pictures):
    def make(encoded, label):
        image = tf.image.resize(tf.io.decode_jpeg(encoded, channels=3), [job.size, job.size])
        return image / 255.0, label

    return pictures.map(make, FAST) if job.is_ready else pictures


def shuffled(job, records):
    return records.shuffle(job.held) if job.order else records


def passes(batches):
    def one_pass():
        for first, _ in batches.prefetch(FAST):
            yield first

    return one_pass
