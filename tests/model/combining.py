# SPDX-License-Identifier: Apache-2.0
"""The meaning of ops that number, draw, choose and remember. See model.py for what rows are."""

import itertools
from dataclasses import replace

from . import model
from .bits import key_join, key_make, row_words
from .expression import Value

MASK64 = 2**64 - 1


def signed(word):
    """A word of 64 bits as int64."""
    word &= MASK64
    return word - 2**64 if word >> 63 else word


def seed_of(seed):
    return (seed or 0) & MASK64


# ---- sources ----


def op_counter(node, path, start=0, step=1):
    """counter(3, 2): 3, 5, 7, … in int64."""
    for index in itertools.count():
        fields = {"x": Value("int64", signed(start + index * step))}
        yield model.source_row(node, path, index, fields, f"counter, element {index}")


def op_random(node, path, seed=None):
    """The first random word of each row's key."""
    for index in itertools.count():
        words = row_words(key_make(node.ordinal, path, index), node.seed, seed_of(seed), 0)
        fields = {"x": Value("int64", words[0])}
        yield model.source_row(node, path, index, fields, f"random, element {index}")


# ---- numbers, and errors that are forgotten ----


def op_enumerate(node, path, start=0):
    """A field index behind the others. Its number makes the row another one for random ops."""
    for index, row in enumerate(model.rows(node.inputs[0], path)):
        key = key_join(row.key, key_make(node.ordinal, path, index))
        fields = {**row.fields, "index": Value("int64", signed(start + index))}
        yield replace(row, key=key, fields={} if row.bad else fields)


def op_ignore_errors(node, path):
    for row in model.rows(node.inputs[0], path):
        if not row.bad:
            yield row
