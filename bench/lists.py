# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers that differ in length, as all their values and where each begins."""


def ragged_lists(count, longest):
    import numpy

    random = numpy.random.default_rng(1)
    lengths = random.integers(1, longest + 1, count)
    splits = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype("int64")
    return random.integers(0, 1000, splits[-1]), splits
