# SPDX-License-Identifier: Apache-2.0
"""From Python with `workers=1`, to show what the second core brings."""

import itertools

NAME = "stoker, one worker"
PLACE = 2
IS_STOKER = True


def load():
    import stoker

    return stoker


def seed(stoker, job):
    data = stoker.parse(job.chain)
    epochs = itertools.count()

    def epoch():
        with data.iterate(epoch=next(epochs), workers=1) as batches:
            for batch in batches:
                yield batch["image"]

    return epoch
