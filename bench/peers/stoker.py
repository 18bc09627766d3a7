# SPDX-License-Identifier: Apache-2.0
"""From Python, at its defaults: `for batch in stoker.parse(chain).iterate()`."""

import itertools
import os

NAME = "stoker"
PLACE = 0
IS_STOKER = True


def load():
    import stoker

    return stoker


def chain(stoker, job):
    data = stoker.parse(job.chain)
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
