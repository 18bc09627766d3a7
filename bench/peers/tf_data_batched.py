# SPDX-License-Identifier: Apache-2.0
"""The same on whole batches, for those who know that it pays per element."""

import os

from lists import ragged_lists

NAME = "tf.data, batched"
PLACE = 11
PACKAGES = ["tensorflow-cpu"]
BLOCKS = "blocks of 10 000 are shuffled one by one: a number never leaves its block"
NOTES = {
    "shuffle": "one permutation of everything in memory, cut into batches",
    "buffer": BLOCKS,
    "buffer_stream": BLOCKS,
    "window": "windows are cut out of ranges of 4096 numbers that it makes anew, with what overlaps",
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


def filter(tf, job):  # pylint: disable=redefined-builtin
    def kept(x):
        return tf.boolean_mask(x, x % 2 == 0)

    batches = tf.data.Dataset.range(job.count).batch(2 * job.batch)
    batches = batches.map(kept, num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, batches.rebatch(job.batch))


def zip(tf, job):  # pylint: disable=redefined-builtin
    pairs = tf.data.Dataset.zip(
        tf.data.Dataset.range(job.count).batch(job.batch),
        tf.data.Dataset.range(0, 2 * job.count, 2).batch(job.batch),
    )
    batches = _epoch(tf, pairs)
    return lambda: (first for first, _ in batches())


def interleave(tf, job):
    def blocks(x):
        return tf.data.Dataset.from_tensors(x).repeat(job.rows).batch(job.block)

    groups = tf.data.Dataset.range(0, job.count, job.rows)
    blocks_in_turn = groups.interleave(blocks, cycle_length=job.open, block_length=1)
    return _epoch(tf, blocks_in_turn.rebatch(job.batch))


def window(tf, job):
    n_windows = job.count - job.size + 1

    def windows(first):
        end = tf.minimum(first + job.block, n_windows) + job.size - 1
        return tf.signal.frame(tf.range(first, end), job.size, 1)

    blocks = tf.data.Dataset.range(0, n_windows, job.block)
    blocks = blocks.map(windows, num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, blocks.rebatch(job.batch))


def padded_batch(tf, job):
    lists = tf.RaggedTensor.from_row_splits(*ragged_lists(job.count, job.longest))
    batches = tf.data.Dataset.from_tensor_slices(lists).batch(job.batch)
    batches = batches.map(lambda batch: batch.to_tensor(), num_parallel_calls=tf.data.AUTOTUNE)
    return _epoch(tf, batches)


def buffer_stream(tf, job):
    return buffer(tf, job)


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
