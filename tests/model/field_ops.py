# SPDX-License-Identifier: Apache-2.0
"""Ops that make a field out of others: change(fields, …) are the fields of one good row after it.

A field goes in the place of the one it is made of, or under a name of its own, which replaces a
field of that name or comes last.
"""

from .expression import RowError, Value, convert


def picked(fields, field, fits):
    """The name of the field that is meant."""
    names = [field] if field else [name for name, value in fields.items() if fits(value)]
    if len(names) != 1:
        raise TypeError(f"which field is meant: {', '.join(names)}?")
    return names[0]


def is_bytes(value):
    return value.dtype == "bytes"


def is_list(value):
    return isinstance(value.data, list)


def is_integers(value):
    return value.dtype.startswith(("int", "uint"))


def put(fields, target, into, value):
    return {**fields, into or target: value}


# ---- arrays ----


def one_hot(fields, depth, field=None, on=1, off=0, dtype="float32", into=None):
    target = picked(fields, field, is_integers)

    def vector(item):
        if isinstance(item, list):
            return [vector(part) for part in item]
        return [on if k == item else off for k in range(depth)]

    value = convert(Value(None, vector(fields[target].data)), dtype)
    return put(fields, target, into, value)


def pad(fields, shape, value=0, field=None, into=None):
    target = picked(fields, field, is_list)
    shape = shape if isinstance(shape, list) else [shape]

    def filled(item, dims):
        if not dims:
            return item
        if len(item) > dims[0]:
            raise RowError("larger than the shape")
        empty = value if len(dims) == 1 else []
        return [filled(part, dims[1:]) for part in item + [empty] * (dims[0] - len(item))]

    old = fields[target]
    made = convert(Value(None, filled(old.data, shape)), old.dtype)
    return put(fields, target, into, made)


def ensure_shape(fields, shape, field=None, ragged=False):
    target = picked(fields, field, is_list)

    def check(item, dims):
        if dims and dims[0] not in (None, -1, len(item)):
            raise RowError("another shape is wanted")
        for part in item if dims else []:
            check(part, dims[1:])

    check(fields[target].data, shape)
    return fields


def slice_along(item, where, axis):
    return item[where] if axis == 0 else [slice_along(part, where, axis - 1) for part in item]


def rank_of(item):
    return 1 + rank_of(item[0]) if isinstance(item, list) and item else 1


def slice_(fields, start=None, stop=None, step=1, axis=0, field=None, into=None):
    target = picked(fields, field, lambda value: is_list(value) or is_bytes(value))
    old = fields[target]
    axis = axis + rank_of(old.data) if axis < 0 else axis
    made = Value(old.dtype, slice_along(old.data, slice(start, stop, step), axis))
    return put(fields, target, into, made)


def concat_fields(fields, names, into, axis=0):
    def joined(parts, depth):
        if depth == 0:
            return [item for part in parts for item in part]
        return [joined(items, depth - 1) for items in zip(*parts, strict=True)]

    parts = [fields[name].data for name in names]
    parts = [part if isinstance(part, list) else [part] for part in parts]
    axis = axis + rank_of(parts[0]) if axis < 0 else axis
    return put(fields, None, into, Value(fields[names[0]].dtype, joined(parts, axis)))


CHANGES = {
    "one_hot": one_hot,
    "pad": pad,
    "ensure_shape": ensure_shape,
    "slice": slice_,
    "concat_fields": concat_fields,
}
