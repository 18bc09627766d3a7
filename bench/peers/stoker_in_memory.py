# SPDX-License-Identifier: Apache-2.0
"""From Python, keeping in memory what the work keeps on disk."""

import itertools
import re

NAME = "stoker, in memory"
PLACE = 4
IS_STOKER = True
IS_APART = True


def load():
    import stoker

    return stoker


def cache_disk(stoker, job):
    data = stoker.parse(re.sub(r"cache\('[^']*'\)", "cache()", job.chain))
    epochs = itertools.count()

    def epoch():
        with data.iterate(epoch=next(epochs), epochs=job.repeat, **job.options) as batches:
            for batch in batches:
                yield batch[job.field]

    return epoch
