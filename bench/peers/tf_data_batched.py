# SPDX-License-Identifier: Apache-2.0
"""The same on whole batches, for those who know that it pays per element."""

import os

NAME = "tf.data, batched"
PLACE = 11
PACKAGES = ["tensorflow-cpu"]
NOTES = {
    "shuffle": "one permutation of everything in memory, cut into batches",
    "buffer": "blocks of 10 000 are shuffled one by one: a number never leaves its block",
}


def load():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    return tensorflow


def shuffle(tf, job):
    whole = job.count // job.batch * job.batch

    def cut(numbers):
        full = tf.reshape(numbers[:whole], [-1, job.batch])
        rest = tf.data.Dataset.from_tensors(numbers[whole:])
        data = tf.data.Dataset.from_tensor_slices(full)
        return data.concatenate(rest) if whole < job.count else data

    def permuted(_):
        return tf.random.shuffle(tf.range(job.count, dtype=tf.int64))

    return _epoch(tf, tf.data.Dataset.range(1).map(permuted).flat_map(cut))


def buffer(tf, job):
    blocks = tf.data.Dataset.range(job.count).batch(job.held)
    blocks = blocks.map(tf.random.shuffle, num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, blocks.rebatch(job.batch))


def map(tf, job):  # pylint: disable=redefined-builtin
    batches = tf.data.Dataset.range(job.count).batch(job.batch)
    return _epoch(tf, batches.map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE))


def tfrecord_example(tf, job):
    kinds = {"label": tf.io.FixedLenFeature([], tf.int64)}
    kinds["x"] = tf.io.FixedLenFeature([10], tf.float32)

    def make(records):
        return tf.io.parse_example(records, kinds)["x"]

    batches = tf.data.TFRecordDataset([job.own]).shuffle(job.held).batch(job.batch)
    return _epoch(tf, batches.map(make, num_parallel_calls=tf.data.AUTOTUNE))


def _epoch(tf, batches):
    batches = batches.prefetch(tf.data.AUTOTUNE)
    return lambda: iter(batches)
