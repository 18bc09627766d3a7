# SPDX-License-Identifier: Apache-2.0
"""What users would do in Python, for the works that measure how it is carried out."""

BUSY_LOOPS = 75_000  # about 5 ms here


def plus_one(number):
    return number + 1


def busy(number):
    """Holds the interpreter's lock for some milliseconds."""
    total = 0
    for i in range(BUSY_LOOPS):
        total += i & 7
    return number + total % 7
