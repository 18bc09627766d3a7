# SPDX-License-Identifier: Apache-2.0
"""The meaning of ops with one row in and one row out, or none. See model.py."""

import pathlib
import struct
from dataclasses import replace

from . import example, expression
from .expression import Value
from .nodes import each_good_row, rows


def only_field(fields, wanted):
    names = [name for name, value in fields.items() if wanted(value)]
    if len(names) != 1:
        raise TypeError(f"which field is meant: {', '.join(names)}?")
    return names[0]


def op_read(node, path, field=None):
    """Replaces a path by the bytes of the file it names; the field path becomes the field bytes."""

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        try:
            data = pathlib.Path(fields[target].data.decode()).read_bytes()
        except OSError as error:
            raise expression.RowError(error.strerror) from None
        renamed = {"path": "bytes"}.get(target, target)
        changed = {**fields, target: Value("bytes", data)}
        return {renamed if name == target else name: value for name, value in changed.items()}

    return each_good_row(node, path, change)


def op_map(node, path, text):
    return each_good_row(node, path, lambda fields: expression.assign(text, fields))


def op_filter(node, path, text):
    """Keeps rows for which the condition holds, and bad rows: they are judged later."""
    for row in rows(node.inputs[0], path):
        try:
            if row.bad or expression.predicate(text, row.fields):
                yield row
        except expression.RowError as error:
            yield replace(row, fields={}, bad=str(error))


def op_select(node, path, *names):
    """select(b, a): these fields, in this order."""
    return each_good_row(node, path, lambda fields: {name: fields[name] for name in names})


def op_rename(node, path, names):
    """rename({old: new}): the field stays in its place."""

    def change(fields):
        return {names.get(name, name): value for name, value in fields.items()}

    return each_good_row(node, path, change)


def op_cast(node, path, dtype, field=None):
    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype != "bytes")
        return {**fields, target: expression.convert(fields[target], dtype)}

    return each_good_row(node, path, change)


def op_scale(node, path, factor, offset=0, field=None, dtype="float32"):
    """x * factor + offset in float32, each operation rounded; then a cast."""
    f32 = expression.round_float32

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype != "bytes")
        data = expression.each(
            lambda x: f32(f32(f32(x) * f32(factor)) + f32(offset)), fields[target].data
        )
        return {**fields, target: expression.convert(Value("float32", data), dtype)}

    return each_good_row(node, path, change)


def replaced(fields, target, new):
    """New fields in the place of one."""
    out = {}
    for name, value in fields.items():
        out.update(new if name == target else {name: value})
    return out


def op_parse_example(node, path, features, field=None):
    """A record becomes the fields of the map."""

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        found = example.read(fields[target].data)
        new = {name: example.field(found, name, spec) for name, spec in features.items()}
        return replaced(fields, target, new)

    return each_good_row(node, path, change)


def op_decode_raw(node, path, dtype, little_endian=True, shape=None, field=None):
    """Bytes as numbers, low byte first or last."""
    code = {"uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "int32": "i", "bool": "?"}[dtype]
    order = "<" if little_endian else ">"

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        data = fields[target].data
        if len(data) % struct.calcsize(order + code):
            raise expression.RowError("half a value")
        numbers = [number for (number,) in struct.iter_unpack(order + code, data)]
        if shape is not None and len(numbers) != shape:
            raise expression.RowError("another number of values")
        return {**fields, target: Value(str(dtype), numbers)}

    return each_good_row(node, path, change)
