# SPDX-License-Identifier: Apache-2.0
"""From Python with one core for all of it, to show what the second core brings."""

import itertools
import os

NAME = "stoker, one core"
PLACE = 2
IS_STOKER = True


def load():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import stoker

    return stoker


def seed(stoker, job):
    data = stoker.parse(job.chain)
    epochs = itertools.count()

    def epoch():
        with data.iterate(epoch=next(epochs), epochs=job.repeat, **job.options) as batches:
            for batch in batches:
                yield batch[job.field]

    return epoch


def hdf5_gzip(stoker, job):
    return seed(stoker, job)
