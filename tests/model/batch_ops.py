# SPDX-License-Identifier: Apache-2.0
"""The meaning of batches, windows and buckets, and of what takes them apart. See model.py."""

import dataclasses
from dataclasses import dataclass, replace

from . import expression
from .bits import key_make
from .expression import Value
from .nodes import Failure, Row, rows

BATCHES = {
    "batch",
    "bucket_by_length",
    "group_by_window",
    "padded_batch",
    "ragged_batch",
    "rebatch",
    "window",
}


def incoming(node, path, refuse):
    """The rows of a batch op's input; refuse(fields) says why one of them cannot be taken. The last
    batch op of the chain judges them; an earlier one passes a bad row on in its place."""
    judge = node.run.new_judge() if node is node.run.judge_node else None
    source = rows(node.inputs[0], path)
    if refuse:
        source = (refused(row, refuse) for row in source)
    yield from judge.good_rows(source) if judge else source
    if judge and judge.is_fraction_exceeded():
        node.run.failure = judge.fraction_failure()


def refused(row, refuse):
    why = None if row.bad else refuse(row.fields)
    return replace(row, fields={}, bad=why) if why else row


@dataclass
class Group:
    """Rows that wait to become an element: size of them, every stride-th."""

    size: int
    shift: int
    stride: int = 1
    held: list = dataclasses.field(default_factory=list)
    to_skip: int = 0

    @property
    def span(self):
        return (self.size - 1) * self.stride + 1

    def take(self):
        """The rows of the next element; the one after it begins `shift` rows later."""
        taken = self.held[: self.span : self.stride]
        self.to_skip = max(0, self.shift - len(self.held))
        del self.held[: self.shift]
        return taken


def gathered(node, path, group_of, join, drop_remainder, refuse=None, is_sorted=False):
    """Elements made of rows: group_of(fields) are a name and how to make its Group."""
    groups = {}
    try:
        for row in incoming(node, path, refuse):
            if row.bad:
                yield row
                continue
            name, make = group_of(row.fields)
            group = groups[name] = groups.get(name) or make()
            if group.to_skip:
                group.to_skip -= 1
                continue
            group.held.append(row)
            if len(group.held) == group.span:
                yield join(name, group.take())
    except Failure as failure:
        # The stream ends here: what follows finishes with what it has, then the run fails.
        node.run.failure = failure
        return
    for name in sorted(groups) if is_sorted else groups:
        while groups[name].held and not drop_remainder:
            yield join(name, groups[name].take())


def op_batch(node, path, batch_size, drop_remainder=False):
    """Runs of rows as one element with a new first dimension; the last run may be shorter."""
    return run_after_run(node, path, batch_size, drop_remainder, lambda name, held: stack(node, held))


def run_after_run(node, path, size, drop_remainder, join, refuse=None):
    def group_of(fields):
        return 0, lambda: Group(size, size)

    return gathered(node, path, group_of, join, drop_remainder, refuse)


def op_ragged_batch(node, path, batch_size, drop_remainder=False):
    return op_batch(node, path, batch_size, drop_remainder)


def op_padded_batch(
    node, path, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False
):
    """As batch; a dimension is as long as padded_shapes says, or as its longest in the batch."""
    return run_after_run(
        node,
        path,
        batch_size,
        drop_remainder,
        lambda name, held: padded(stack(node, held), padded_shapes, padding_values),
        lambda fields: too_large(fields, padded_shapes),
    )


def op_window(node, path, size, shift=None, stride=1, drop_remainder=False, by=None):
    """Runs of rows that may overlap; with `by` a sequence of them for each value of a field."""

    def group_of(fields):
        name = fields[by].data if by else 0
        return name, lambda: Group(size, shift or size, stride)

    return gathered(node, path, group_of, lambda name, held: stack(node, held), drop_remainder)


def op_group_by_window(node, path, key, window_size, drop_remainder=False):
    def group_of(fields):
        named = fields if key in fields else expression.assign(f"key = {key}", fields)
        value = named[key if key in fields else "key"].data
        return value, lambda: Group(window_size, window_size)

    def join(name, held):
        return stack(node, held)

    return gathered(node, path, group_of, join, drop_remainder, is_sorted=True)


def op_bucket_by_length(
    node, path, field, boundaries, batch_sizes, pad_to_bucket_boundary=False, drop_remainder=False
):
    """Batches of rows between two boundaries of length. To a boundary it pads `field` alone."""
    most = len(boundaries)

    def bucket_of(fields):
        length = len(fields[field].data)
        return sum(length >= boundary for boundary in boundaries)

    def group_of(fields):
        bucket = bucket_of(fields)
        return bucket, lambda: Group(batch_sizes[bucket], batch_sizes[bucket])

    def join(bucket, held):
        shapes = {field: [boundaries[bucket] - 1]} if pad_to_bucket_boundary else None
        return padded(stack(node, held), shapes, None)

    def refuse(fields):
        return "too long" if pad_to_bucket_boundary and bucket_of(fields) == most else None

    return gathered(node, path, group_of, join, drop_remainder, refuse, is_sorted=True)


def too_large(fields, shapes):
    for name, shape in (shapes or {}).items():
        box = measure(fields[name].data, [])
        if any(most is not None and n > most >= 0 for n, most in zip(box, shape)):
            return f"{name} is larger than its padded shape"
    return None


def measure(item, box, depth=0):
    """How long the lists are at each depth, at most."""
    if isinstance(item, list):
        if depth == len(box):
            box.append(0)
        box[depth] = max(box[depth], len(item))
        for part in item:
            measure(part, box, depth + 1)
    return box


def padded(element, shapes, values):
    fields = {}
    for name, value in element.fields.items():
        if isinstance(value.data[0], bytes):
            fields[name] = value
            continue
        box = measure(value.data, [])
        for d, most in enumerate((shapes or {}).get(name, [])):
            if most is not None and most >= 0:
                box[d + 1 : d + 2] = [most]
        filler = padding(value.dtype, values.get(name) if isinstance(values, dict) else values)
        fields[name] = Value(value.dtype, fill_box(value.data, box, filler))
    return replace(element, fields=fields)


def padding(dtype, value):
    """What fills boxes of this type; a string is for texts alone."""
    if dtype == "bytes":
        return (value or "").encode()
    number = 0 if isinstance(value, str) else value or 0
    return expression.convert(Value("int64", number), dtype).data


def fill_box(item, box, filler):
    """The item in a box of this shape; filler where it has nothing."""
    if not box:
        return filler if item is None else item
    parts = item or []
    return [
        fill_box(parts[i] if i < len(parts) else None, box[1:], filler) for i in range(box[0])
    ]


@dataclass
class CycledGroup(Group):
    """Of which every element has the next of these sizes, over and over."""

    sizes: list = None

    def take(self):
        taken = super().take()
        self.sizes = [*self.sizes[1:], self.sizes[0]]
        self.size = self.shift = self.sizes[0]
        return taken


def op_rebatch(node, path, batch_size, drop_remainder=False):
    """Batches of another size, or of several in turn; build puts unbatch before it."""
    sizes = batch_size if isinstance(batch_size, list) else [batch_size]

    def group_of(fields):
        return 0, lambda: CycledGroup(sizes[0], sizes[0], sizes=sizes)

    return gathered(node, path, group_of, lambda name, held: stack(node, held), drop_remainder)


def op_unbatch(node, path):
    """Entries of the first dimension as rows; those of a batch come from where its rows did."""
    for row in rows(node.inputs[0], path):
        if row.bad:
            yield row
            continue
        lengths = {len(value.data) for value in row.fields.values()}
        if len(lengths) > 1:
            yield replace(row, fields={}, bad="fields must be equally long")
            continue
        n = lengths.pop()
        for i in range(n):
            fields = {name: Value(v.dtype, v.data[i]) for name, v in row.fields.items()}
            origin = row.origin[i] if len(row.origin) == n else row.origin[0]
            yield Row(fields, key_make(*row.key, i), (origin,))


def stack(node, held):
    """A row of rows. Where one of them is a batch itself, the first of its rows stands for it."""
    fields = {
        name: Value(value.dtype, [row.fields[name].data for row in held])
        for name, value in held[0].fields.items()
    }
    key = key_make(*held[0].key, node.ordinal)
    return Row(fields, key, tuple(row.origin[0] for row in held))
