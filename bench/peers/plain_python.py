# SPDX-License-Identifier: Apache-2.0
"""A loop in Python that calls the function and does nothing else."""

from functions import plus_one

NAME = "plain Python"
PLACE = 5
IS_APART = True


def load():
    import numpy

    return numpy


def python_map(numpy, job):
    numbers = list(numpy.arange(job.count))

    def epoch():
        for first in range(0, job.count, job.batch):
            yield [plus_one(number) for number in numbers[first : first + job.batch]]

    return epoch


def python_batches(numpy, job):
    firsts = range(0, job.count, job.batch)
    batches = [numpy.arange(first, min(first + job.batch, job.count)) for first in firsts]

    def epoch():
        for batch in batches:
            yield plus_one(batch)

    return epoch
