# SPDX-License-Identifier: Apache-2.0
"""Rows, the nodes of a chain, and what ops of every kind are made with. See model.py."""

from dataclasses import dataclass, replace

from . import expression, language
from .bits import key_make, mix

WORDS = {"none": None, "true": True, "false": False}


@dataclass(frozen=True)
class Row:
    """One element. `origin` has a text for each source row in it: one, or those of a batch."""

    fields: dict
    key: tuple
    origin: tuple
    bad: str = None


@dataclass
class Node:
    """One call of a chain with the nodes that feed it."""

    name: str
    ordinal: int
    inputs: list
    args: list
    kwargs: dict
    run: "Run"

    @property
    def seed(self):
        return mix(self.run.seed, self.ordinal)


class Failure(Exception):
    """Ends the run: the message is what the consumer is told."""


OPS = {}  # by name; model.py fills it in


def rows(node, path):
    return OPS[node.name](node, path, *node.args, **node.kwargs)


def build(chain, run):
    """A chain as nodes; chains among the arguments, and in lists, become further inputs."""
    node = None
    for call in chain.calls:
        chains = [chain for arg in call.args for chain in chains_in(arg)]
        inputs = ([node] if node else []) + [build(chain, run) for chain in chains]
        args = [plain(arg) for arg in call.args if not chains_in(arg)]
        kwargs = {name: plain(value) for name, value in call.kwargs.items()}
        if call.name == "rebatch":
            inputs = [Node("unbatch", call.ordinal, inputs, [], {}, run)]
        node = Node(call.name, call.ordinal, inputs, args, kwargs, run)
    return node


def chains_in(value):
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, language.Chain)]


def plain(value):
    """Words as what they stand for."""
    if isinstance(value, language.Word):
        return WORDS.get(value, str(value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def source_row(node, path, index, fields, origin):
    return Row(fields, key_make(node.ordinal, path, index), (origin,))


def each_good_row(node, path, change):
    """Applies change(fields) → fields to good rows; bad rows pass untouched."""
    for row in rows(node.inputs[0], path):
        if row.bad:
            yield row
            continue
        try:
            yield replace(row, fields=change(row.fields))
        except expression.RowError as error:
            yield replace(row, fields={}, bad=str(error))


def by_row(change):
    """An op that changes good rows one by one."""

    def op(node, path, *args, **kwargs):
        return each_good_row(node, path, lambda fields: change(fields, *args, **kwargs))

    return op


def leaves(item):
    return [x for part in item for x in leaves(part)] if isinstance(item, list) else [item]
