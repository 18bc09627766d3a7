# SPDX-License-Identifier: Apache-2.0
"""From Python, at its defaults: `for batch in stoker.parse(chain).iterate()`."""

import itertools
import os

from functions import busy, plus_one
from lists import ragged_lists
from train_models import batches

NAME = "stoker"
PLACE = 0
IS_STOKER = True


def load():
    import stoker

    return stoker


def chain(stoker, job):
    return _epoch(stoker.parse(job.chain), job)


def _epoch(data, job):
    epochs = itertools.count()

    def epoch():
        with data.iterate(epoch=next(epochs), epochs=job.repeat, **job.options) as batches:
            for batch in batches:
                yield batch[job.field]

    return epoch


def tfrecord_open(stoker, job):
    return lambda: iter([[len(stoker.tfrecord(job.own))]])


def pack(stoker, job):
    data = stoker.image_folder(job.own).read()
    path = f"{job.cache}/packed-by-stoker-{os.getpid()}.tfrecord"

    def epoch():
        result = data.pack(path, force=True)
        yield range(result.elements)
        os.unlink(path)
        os.unlink(result.manifest)

    return epoch


def padded_batch(stoker, job):
    values, splits = ragged_lists(job.count, job.longest)
    ends = zip(splits[:-1], splits[1:])
    lists = stoker.from_arrays({"t": [values[first:end].tolist() for first, end in ends]})
    return _epoch(lists.padded_batch(job.batch), job)


def python_map(stoker, job):
    numbers = stoker.range(job.count).map(lambda element: plus_one(element["x"]))
    return _epoch(numbers.batch(job.batch), job)


def python_batches(stoker, job):
    batches = stoker.range(job.count).batch(job.batch)
    return _epoch(batches.map(lambda batch: plus_one(batch["x"])), job)


def python_processes(stoker, job, processes=2):
    numbers = stoker.range(job.count).map(
        lambda element: busy(element["x"]), workers="process", processes=processes
    )
    return _epoch(numbers.batch(job.batch), job)


def train(stoker, job):
    trainer = stoker.Trainer(
        job.model, "adam()", "cross_entropy()", job.precision, max_batch=job.batch, threads=job.threads
    )
    made = batches(job)

    def epoch():
        for images, labels in itertools.islice(itertools.cycle(made), job.count // job.batch):
            trainer.step(images, labels)
            yield images

    def sizes():
        memory = trainer.memory
        beyond = memory["total"] - memory["weights"] - memory["optimizer"]
        return {"tensor_mb": beyond / 2**20, "activation_mb": memory["activations"] / 2**20}

    epoch.sizes = sizes
    return epoch


def train_job(stoker, job):
    trainer = stoker.Trainer(job.model, max_batch=job.batch, threads=job.threads)
    numbered = stoker.files(job.files).enumerate().map("label=index % 10").shuffle()
    data = numbered.decode().resize(job.size, job.size).scale(1 / 255).batch(job.batch)
    epochs = itertools.count()

    def epoch():
        for batch in data.iterate(epoch=next(epochs)):
            trainer.step(batch["image"], batch["label"])
            yield batch["image"]

    return epoch


def train_half(stoker, job):
    return train(stoker, job)
