# SPDX-License-Identifier: Apache-2.0
"""The meaning of every op that needs no pixels, as generators over rows.

A chain is a tree of nodes; rows(node, path) are the rows it yields in one pass. `path` says which
pass: the iterator's epoch e gives mix(0, e), and each repeat on the way down to the source gives
mix(path, r) for its r-th pass. Whatever depends on the pass (a shuffle, the keys that feed random
numbers) depends on nothing but the path and the run's seed, so it does not matter who computes a
row, or when.

A row that cannot be made is bad: it carries a message instead of fields and travels like any other.
It is judged once, in order, by the last batch of the chain, or by the consumer if there is none:
see Judge.

Ops are in a module for each kind (*_ops.py, combining.py); nodes.py has what they share.
"""

import dataclasses
from dataclasses import dataclass

from . import batch_ops, combining, field_ops, language, order_ops, row_ops, source_ops, text_ops
from .batch_ops import BATCHES
from .bits import below, mix
from .nodes import OPS, Failure, Node, build, by_row, rows

MAX_TRIES = 16
MIN_JUDGED = 100


def ops_of(names):
    return {name[3:]: function for name, function in names.items() if name.startswith("op_")}


for module in (source_ops, row_ops, order_ops, batch_ops, combining):
    OPS.update(ops_of(vars(module)))
for changes in (field_ops.CHANGES, text_ops.CHANGES):
    OPS.update((name, by_row(change)) for name, change in changes.items())


@dataclass
class Judge:
    """Decides about bad rows, in order: fail ends the run, skip drops the row, replace redraws it.

    Each pass of the batch that judges has a judge of its own. max_errors: an integer n lets n errors
    pass and fails at the next. A fraction f fails at a bad row once 100 rows were judged, or at the
    end of the pass, if more than f of its rows so far were bad.
    """

    on_error: str = "fail"
    max_errors: float = None
    n_judged: int = 0
    n_errors: int = 0

    def good_rows(self, source):
        if self.on_error == "replace":
            source = list(source)
        for row in source:
            self.n_judged += 1
            if row.bad:
                self.n_errors += 1
                self.check_limit(row)
                row = self.redraw(row, source) if self.on_error == "replace" else None
            if row:
                yield row

    def check_limit(self, row):
        limit = self.max_errors
        if self.on_error == "fail":
            raise Failure(row.bad)
        if isinstance(limit, int) and self.n_errors > limit:
            raise Failure(row.bad)
        if self.n_judged >= MIN_JUDGED and self.is_fraction_exceeded():
            raise self.fraction_failure()

    def is_fraction_exceeded(self):
        return isinstance(self.max_errors, float) and self.n_errors > self.max_errors * self.n_judged

    def fraction_failure(self):
        return Failure(f"{self.n_errors} of {self.n_judged} rows are bad")

    def redraw(self, bad, everything):
        """Another row of the same pass, chosen by the bad row's key: up to 16 tries."""
        for attempt in range(1, MAX_TRIES + 1):
            word = mix(mix(*bad.key), attempt)
            row = everything[below(word, len(everything))]
            if not row.bad:
                return row
        raise Failure(bad.bad)


@dataclass
class Run:
    """One iterator: a chain and its options. `delivered` and `error` are what the consumer sees."""

    text: str
    seed: int = 0
    epochs: int = 1
    rank: int = 0
    world: int = 1
    on_error: str = "fail"
    max_errors: float = None
    objects: dict = dataclasses.field(default_factory=dict)  # what @names stand for
    judge_node: Node = None
    failure: Exception = None
    delivered: list = dataclasses.field(default_factory=list)
    error: str = None

    def new_judge(self):
        return Judge(self.on_error, self.max_errors)

    def go(self):
        top = build(language.parse(self.text), self)
        self.judge_node = last_batch(top)
        try:
            for epoch in range(self.epochs):
                self.one_epoch(top, epoch)
        except Failure as failure:
            self.error = str(failure)
        return self

    def one_epoch(self, top, epoch):
        path = mix(0, epoch)
        judge = self.new_judge()
        elements = rows(top, path) if top is self.judge_node else judge.good_rows(rows(top, path))
        for ordinal, element in enumerate(elements):
            fields = {name: value.data for name, value in element.fields.items()}
            self.delivered.append(
                {
                    "epoch": epoch,
                    "batch": ordinal,
                    "rows": len(element.origin),
                    "fields": fields,
                    "origin": list(element.origin),
                }
            )
        if self.failure:
            raise self.failure
        if judge.is_fraction_exceeded():
            raise judge.fraction_failure()


def last_batch(node):
    """The batch that judges: the last one that no zip, concatenate or ignore_errors follows."""
    while node and node.name not in BATCHES:
        goes_on = len(node.inputs) == 1 and node.name != "ignore_errors"
        node = node.inputs[0] if goes_on else None
    return node


def run(text, on_error="fail", max_errors=None, **options):
    return Run(text, on_error=on_error, max_errors=max_errors, **options).go()
