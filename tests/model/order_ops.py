# SPDX-License-Identifier: Apache-2.0
"""The meaning of ops that say which rows come, and when; a bad row is a row. See model.py."""

import itertools
import struct
from dataclasses import replace

from .bits import MASK64, below, hash_bytes, key_join, key_make, mix, permute
from .nodes import Row, leaves, rows

SPLIT_SALT = 0x73706C6974


def op_shuffle(node, path, buffer_size=None, seed=None, reshuffle_each_iteration=True):
    """Without a buffer size a permutation of everything, else draws from a buffer kept full."""
    key = mix(mix(node.seed, (seed or 0) & MASK64), path if reshuffle_each_iteration else 0)
    if buffer_size is None:
        everything = list(rows(node.inputs[0], path))
        for position in range(len(everything)):
            yield everything[permute(len(everything), key, position)]
        return
    held = []
    draws = itertools.count()
    for row in rows(node.inputs[0], path):
        if len(held) < buffer_size:
            held.append(row)
            continue
        pick = below(mix(key, next(draws)), len(held))
        yield held[pick]
        held[pick] = row
    while held:
        pick = below(mix(key, next(draws)), len(held))
        yield held[pick]
        held[pick] = held[-1]
        held.pop()


def op_repeat(node, path, count=None):
    """count passes; without a count (or a negative one) for ever, until a pass is empty."""
    is_endless = count is None or count < 0
    for r in itertools.count() if is_endless else range(count):
        is_empty = True
        for row in rows(node.inputs[0], mix(path, r)):
            is_empty = False
            yield row
        if is_empty and is_endless or node.run.failure:
            return


def op_take(node, path, count):
    """The first rows; a negative count means all. Asks for no row after the last one it yields."""
    if count == 0:
        return
    for index, row in enumerate(rows(node.inputs[0], path)):
        yield row
        if index + 1 == count:
            node.run.failure = None  # errors after the last row are ignored
            return


def op_assert_cardinality(node, path, count):
    """All rows: the model knows only chains whose count is right."""
    return rows(node.inputs[0], path)


def op_skip(node, path, count):
    """All but the first rows; a negative count leaves none."""
    for index, row in enumerate(rows(node.inputs[0], path)):
        if 0 <= count <= index:
            yield row


def op_shard(node, path, num_shards=None, index=None, remainder="uneven"):
    """Every num_shards-th row; without numbers, those of the run's world and rank."""
    if num_shards is None:
        num_shards, index = node.run.world, node.run.rank
    if remainder != "uneven":
        everything = list(rows(node.inputs[0], path))
        while remainder == "drop" and len(everything) % num_shards:
            everything.pop()
        first = everything[:]
        while remainder == "pad" and len(everything) % num_shards:
            everything.append(first[len(everything) % len(first)])
        yield from everything[index::num_shards]
        return
    for position, row in enumerate(rows(node.inputs[0], path)):
        if position % num_shards == index:
            yield row


def op_pick(node, path, indices):
    """Rows by their numbers."""
    everything = list(rows(node.inputs[0], path))
    for index in indices:
        yield everything[index]


def op_zip(node, path):
    """Rows side by side until the shortest input ends; bad if one of them is."""
    for parts in zip(*(rows(chain, path) for chain in node.inputs)):
        row = parts[0]
        for part in parts[1:]:
            row = Row(
                fields={**row.fields, **part.fields},
                key=key_join(row.key, part.key),
                origin=row.origin,
                bad=row.bad or part.bad,
            )
        yield row


def op_concatenate(node, path):
    for chain in node.inputs:
        yield from rows(chain, path)


def op_split(node, path, fractions, part=0, seed=None, by=None):
    """One part of the rows. Without `by` sizes are exact and a permutation deals rows out; with it,
    the value of a field decides, so that equal values stay together, and order is kept."""
    salt = mix(SPLIT_SALT, (seed or 0) & MASK64)
    sums = [0.0, *itertools.accumulate(fractions)]
    if by is not None:
        for row in rows(node.inputs[0], path):
            x = (mix(salt, hash_bytes(0, raw(row.fields[by]))) >> 11) * 2.0**-53
            if sums[part] <= x < sums[part + 1]:
                yield row
        return
    everything = list(rows(node.inputs[0], path))
    n = len(everything)
    first, end = (min(n, int(n * sums[p] + 0.5)) for p in (part, part + 1))
    for position in range(first, end):
        yield everything[permute(n, salt, position)]


def op_prefetch(node, path, buffer_size="auto"):
    """Changes when rows are made, never which."""
    return rows(node.inputs[0], path)


def op_cache(node, path, directory=None, compression="none"):
    """What comes before is in its first epoch for ever; what comes behind can tell epochs apart."""
    for row in rows(node.inputs[0], mix(0, 0)):
        yield replace(row, key=key_join(row.key, key_make(node.ordinal, path, 0)))


def raw(value):
    """The bytes of a value as they lie in memory."""
    if value.dtype == "bytes":
        return blob(value.data) if isinstance(value.data, list) else value.data
    code = {"int64": "<q", "int32": "<i", "uint8": "<B", "bool": "<?", "float32": "<f"}[value.dtype]
    return b"".join(struct.pack(code, number) for number in leaves(value.data))


def blob(texts):
    """A list of texts: their number, where each begins, where the last ends; and then the texts."""
    ends = list(itertools.accumulate(map(len, texts), initial=0))
    head = struct.pack(f"<{len(ends) + 1}q", len(texts), *ends)
    return head + b"\0" * (-len(head) % 64) + b"".join(texts)
