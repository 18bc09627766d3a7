# SPDX-License-Identifier: Apache-2.0
"""The meaning of ops that number, draw, choose and remember. See model.py for what rows are."""

import itertools
import pathlib
from dataclasses import replace

from . import batch_ops, expression, nodes, order_ops, row_ops, source_ops
from .bits import key_join, key_make, mix, permute, row_words, unit_float
from .expression import RowError, Value

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
        yield nodes.source_row(node, path, index, fields, f"counter, element {index}")


def op_random(node, path, seed=None):
    """The first random word of each row's key."""
    for index in itertools.count():
        words = row_words(key_make(node.ordinal, path, index), node.seed, seed_of(seed), 0)
        fields = {"x": Value("int64", words[0])}
        yield nodes.source_row(node, path, index, fields, f"random, element {index}")


# ---- numbers, and errors that are forgotten ----


def op_enumerate(node, path, start=0):
    """A field index behind the others. Its number makes the row another one for random ops."""
    for index, row in enumerate(nodes.rows(node.inputs[0], path)):
        key = key_join(row.key, key_make(node.ordinal, path, index))
        fields = {**row.fields, "index": Value("int64", signed(start + index))}
        yield replace(row, key=key, fields={} if row.bad else fields)


def op_ignore_errors(node, path):
    for row in nodes.rows(node.inputs[0], path):
        if not row.bad:
            yield row


# ---- choosing among inputs ----


def op_sample_from(node, path, weights=None, seed=None, stop_on_empty=False):
    """Word n of the pass decides which of the inputs that are left has the next row. If it has
    none, the same word decides again, among the others.
    """
    inputs = [nodes.rows(chain, path) for chain in node.inputs]
    weights = weights or [1.0] * len(inputs)
    left = {i: weight for i, weight in enumerate(weights) if weight > 0}
    key = mix(mix(node.seed, seed_of(seed)), path)
    n = 0
    while left:
        chosen = weighted(left, (mix(key, n) >> 11) * 2.0**-53)
        row = next(inputs[chosen], None)
        if row is not None:
            yield row
            n += 1
        elif stop_on_empty:
            return
        else:
            del left[chosen]


def weighted(left, fraction):
    """The item at a fraction of the sum of weights."""
    at, reached = fraction * sum(left.values()), 0.0
    for item, weight in left.items():
        reached += weight
        if at < reached:
            break
    return item


def op_choose_from(node, path, field=None, stop_on_empty=True):
    """The first input has numbers of the others. Those of inputs that have ended are left out."""
    choices, *inputs = [nodes.rows(chain, path) for chain in node.inputs]
    left = set(range(len(inputs)))
    for choice in choices:
        if choice.bad:
            yield replace(choice, fields={})
            continue
        wanted = field or row_ops.only_field(choice.fields, lambda value: value.dtype == "int64")
        number = choice.fields[wanted].data
        if not 0 <= number < len(inputs):
            yield replace(choice, fields={}, bad=f"there is no input {number}")
            continue
        row = next(inputs[number], None) if number in left else None
        if row is not None:
            yield row
            continue
        left.discard(number)
        if stop_on_empty or not left:
            return


# ---- a chain for each element ----


def op_interleave(node, path, cycle_length=8, block_length=1):
    """Places take turns. One without a chain opens that of the next element; one whose chain has
    ended loses its turn. It ends if no element gives anything, were there no end of them.
    """
    outer, chain = node.inputs
    woven = not (is_indexed(outer) and is_plain(chain)) or any(map(is_missing, listed_names(outer)))
    elements = enumerate(nodes.rows(outer, path))
    places, turn, is_last, n_empty = [None] * cycle_length, 0, False, 0
    while (not is_last or any(places)) and n_empty < 1000:
        if not places[turn] and not is_last:
            number, row = next(elements, (None, None))
            is_last = row is None
            if not is_last:
                bad = spoiled(chain, row) if woven else None
                inner = opened(chain, outer, row, woven)
                places[turn] = iter([bad]) if bad else nodes.rows(inner, mix(path, number))
                n_empty += 1
        elif places[turn]:
            for _ in range(block_length):
                row = next(places[turn], None)
                if row is None:
                    places[turn] = None
                    break
                n_empty = 0
                yield row
            turn = (turn + 1) % cycle_length
        else:
            turn = (turn + 1) % cycle_length


def op_flat_map(node, path):
    return op_interleave(node, path, 1, 1)


def op_element(node, path, make):
    """What opened() put in for one element."""
    return make(node, path)


STREAMS = {"filter", "ignore_errors", "reduce", "rejection_resample", "scan"}
STREAMS |= {"flat_map", "interleave", "sample_from", "take_while", "unbatch", "unique"}
STREAMS |= batch_ops.BATCHES


def is_indexed(node):
    """Whether any element can be made from its position; what cannot makes chains that are opened as
    elements come. This decides how rows of files are numbered, and what a bad name of one is.
    """
    is_buffer = node.name == "shuffle" and (node.args or "buffer_size" in node.kwargs)
    is_packed = any(".gz" in str(arg) for arg in node.args)
    if node.name == "choose_from" and not has_known_choices(node):
        return False
    return not is_buffer and not is_packed and node.name not in STREAMS and all(
        is_indexed(below) for below in node.inputs)


def calls(node):
    """The names of a chain's calls."""
    return [node.name, *(name for below in node.inputs for name in calls(below))]


def has_known_choices(node):
    """Whether numbers that choose are the same in every pass, and all of them mean an input."""
    choices, *inputs = node.inputs
    if {"balance", "random", "shuffle"} & set(calls(choices)):
        return False
    rows = itertools.islice(nodes.rows(choices, 0), 100_000)
    return all(not row.bad and 0 <= next(iter(row.fields.values())).data < len(inputs) for row in rows)


def is_plain(chain):
    """Whether a chain that is opened orders the rows of one source alone."""
    plain = is_indexed(chain) and len(chain.inputs) < 2 and chain.name not in {"balance", "split"}
    return plain and all(is_plain(below) for below in chain.inputs)


def listed_names(node):
    """The files that elements name."""
    names = node.args[0] if node.name == "files" else []
    return [*names, *(name for below in node.inputs for name in listed_names(below))]


def is_missing(name):
    return not pathlib.Path(name).exists()


def spoiled(chain, row):
    """The one bad element for a chain whose file cannot be opened, whatever follows in the chain."""
    while chain.inputs:
        chain = chain.inputs[0]
    if chain.args[:1] != ["path"]:
        return None
    if row.bad:
        return row
    return replace(row, fields={}, bad="cannot read") if is_missing(row.fields["path"].data.decode()) else None


def opened(chain, outer, row, woven):
    """The chain for one element. A file that is not there is one bad element."""
    if chain.name in {"flat_map", "interleave"}:
        first, inner = chain.inputs
        return replace(chain, inputs=[opened(first, outer, row, woven), inner])
    if chain.inputs:
        return replace(chain, inputs=[opened(below, outer, row, woven) for below in chain.inputs])
    if chain.name == "element":
        return replace(chain, args=[lambda node, path: one_row(node, path, row)])
    if chain.args[:1] == ["path"] and woven and row.bad:
        return replace(chain, name="element", args=[lambda _, path: iter([row])], kwargs={})
    if chain.args[:1] == ["path"]:
        name = row.fields["path"].data.decode()
        if is_missing(name):
            missing = replace(row, fields={}, bad="cannot read")
            return replace(chain, name="element", args=[lambda _, path: iter([missing])], kwargs={})
        if woven:
            return replace(chain, args=[source_ops.InOrder(name), *chain.args[1:]])
        make = [lambda _, path: rows_of(chain, outer, name, path)]
        return replace(chain, name="element", args=make, kwargs={})
    return chain


def one_row(node, path, row):
    yield replace(row, key=key_join(row.key, key_make(node.ordinal, path, 0)))


def rows_of(chain, outer, name, path):
    """The rows of one file of those that all elements name, counted through."""
    while outer.inputs:
        outer = outer.inputs[0]
    names = [row.fields["path"].data.decode() for row in nodes.rows(outer, 0)]
    source = replace(chain, args=[names, *chain.args[1:]])
    return (row for row in nodes.rows(source, path) if row.origin[0].startswith(f"{name}, "))


# ---- classes ----


def op_balance(node, path, field, seed=None):
    """Classes take turns; each is gone through in random order until the largest is through. The
    order of a class, and what random ops draw, are new in every pass over it.
    """
    def members(pass_path):
        classes = {}
        for row in nodes.rows(node.inputs[0], pass_path):
            classes.setdefault(order_ops.raw(row.fields[field]), []).append(row)
        return list(classes.values())

    sizes = [len(rows) for rows in members(path)]
    passes = {}
    for turn in range(max(sizes, default=0)):
        for number, size in enumerate(sizes):
            below = mix(path, turn // size)
            if below not in passes:
                passes[below] = members(below)
            key = mix(mix(mix(node.seed, seed_of(seed)), below), number)
            yield passes[below][number][permute(size, key, turn % size)]


def op_rejection_resample(node, path, field, target, initial=None, seed=None):
    """A row stays by a chance that is the larger the rarer its class is for what is wanted."""
    if initial is None:
        found = [row.fields[field].data for row in nodes.rows(node.inputs[0], path)]
        initial = [float(found.count(c)) for c in range(len(target))]
    ratio = [t / i if t else 0.0 for t, i in zip(target, initial, strict=True)]
    for row in nodes.rows(node.inputs[0], path):
        if row.bad:
            yield row
            continue
        number = row.fields[field].data
        if not 0 <= number < len(target):
            yield replace(row, fields={}, bad=f"there is no class {number}")
            continue
        words = row_words(row.key, node.seed, seed_of(seed), 0)
        is_rarest = ratio[number] == max(ratio)
        if unit_float(words[0]) < (1.0 if is_rarest else ratio[number] / max(ratio)):
            yield row


# ---- what is remembered ----


def op_unique(node, path, field=None):
    """The first row of each value; bad rows pass."""
    seen = set()
    for row in nodes.rows(node.inputs[0], path):
        names = [field] if field else list(row.fields)
        value = tuple(value_bytes(row.fields[name]) for name in names) if not row.bad else None
        if row.bad or value not in seen:
            yield row
        seen.add(value)


def value_bytes(value):
    """What tells a value from others; lists of different lengths differ, whatever is in them."""
    return repr(value.data) if isinstance(value.data, list) else order_ops.raw(value)


def op_take_while(node, path, text):
    for row in nodes.rows(node.inputs[0], path):
        try:
            if not row.bad and not expression.predicate(text, row.fields):
                return
            yield row
        except RowError as error:
            yield replace(row, fields={}, bad=str(error))


def folded(node, path, initial, text):
    """Rows with the state behind their fields, and the state after them; that of a row which is bad
    is the one before.
    """
    state = {name: source_ops.cell([value], 0) for name, value in initial.items()}
    for row in nodes.rows(node.inputs[0], path):
        if not row.bad:
            try:
                row = replace(row, fields=expression.assign(text, {**row.fields, **state}))
                state = {name: row.fields[name] for name in state}
            except RowError as error:
                row = replace(row, fields={}, bad=str(error))
        yield row, state


def op_scan(node, path, initial, text):
    for row, _ in folded(node, path, initial, text):
        yield row


def op_reduce(node, path, initial, text):
    """Bad rows, then the state at the end, which comes from where the last good row did."""
    state = {name: source_ops.cell([value], 0) for name, value in initial.items()}
    result = nodes.Row(state, key_make(node.seed, path, 0), ("no element",))
    for row, state in folded(node, path, initial, text):
        if row.bad:
            yield row
        else:
            result = replace(row, fields=state)
    if not node.run.failure:
        yield result
