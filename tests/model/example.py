# SPDX-License-Identifier: Apache-2.0
"""tf.train.Example in plain Python: its bytes, and what specs make of its features.

A feature is (kind, values) with the kinds of the wire: 1 bytes, 2 floats, 3 ints. Only whole records of the plain
form are modelled: packed lists, known fields. Everything else is a bad row.
"""

import struct

from .expression import RowError, Value, each
from .language import Chain

KINDS = {"bytes": 1, "float32": 2, "int64": 3}
MASK64 = (1 << 64) - 1


# ---- bytes ----


def varint(number):
    number &= MASK64
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def piece(number, body):
    return bytes([number << 3 | 2]) + varint(len(body)) + body


def write(features):
    """A record of {key: (kind, values)}."""
    entries = b""
    for key, (kind, values) in features.items():
        if kind == 1:
            body = b"".join(piece(1, value) for value in values)
        elif kind == 2:
            body = piece(1, struct.pack(f"<{len(values)}f", *values))
        else:
            body = piece(1, b"".join(varint(value) for value in values))
        entries += piece(1, piece(1, key.encode()) + piece(2, piece(kind, body)))
    return piece(1, entries)


def take_varint(data):
    number = 0
    for i, byte in enumerate(data[:10]):
        number |= (byte & 127) << 7 * i
        if byte < 128:
            return number & MASK64, data[i + 1 :]
    raise RowError("a varint has no end")


def pieces(data):
    """The (number, body) of every field; all fields are pieces."""
    while data:
        tag, size_and_rest = data[0], data[1:]
        size, rest = take_varint(size_and_rest)
        if tag & 7 != 2 or tag > 127 or size > len(rest):
            raise RowError("no piece")
        yield tag >> 3, rest[:size]
        data = rest[size:]


def read(record):
    """The features of a record: of each key the last that has a kind."""
    found = {}
    for number, features in pieces(record):
        for entry_number, entry in pieces(features) if number == 1 else ():
            parts = list(pieces(entry))
            if entry_number != 1 or sorted(number for number, _ in parts) != [1, 2]:
                raise RowError("no entry")
            by_number = dict(parts)
            if by_number[2]:
                found[by_number[1].decode()] = by_number[2]
    return found


def values_of(feature):
    """(kind, values) of a feature's only list."""
    ((kind, body),) = pieces(feature)
    parts = [part for _, part in pieces(body)]
    if kind == 1:
        return kind, parts
    packed = b"".join(parts)
    if kind == 2:
        return kind, list(struct.unpack(f"<{len(packed) // 4}f", packed))
    values = []
    while packed:
        number, packed = take_varint(packed)
        values.append(number - (1 << 64) if number >> 63 else number)
    return kind, values


# ---- specs ----


def shaped(values, shape):
    """A flat list as nested ones."""
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return [shaped(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def size_of(shape):
    return 1 if not shape else shape[0] * size_of(shape[1:])


def fixed(found, shape, dtype, default_value=None):
    shape = shape if isinstance(shape, list) else [shape]
    if found is None and default_value is None:
        raise RowError("it is missing")
    if found is None:
        is_text = dtype == "bytes"
        return Value(str(dtype), each(str.encode, default_value) if is_text else default_value)
    if len(found) != size_of(shape):
        raise RowError("another number of values")
    return Value(str(dtype), shaped(found, shape))


def varlen(found, dtype):
    return Value(str(dtype), found or [])


def fixed_sequence(found, shape, dtype, allow_missing=False):
    if found is None and allow_missing not in (True, "true"):
        raise RowError("it is missing")
    size = size_of(shape)
    if found and len(found) % size:
        raise RowError("not a multiple")
    return Value(str(dtype), shaped(found, [len(found) // size, *shape]) if found else [])


CALLS = {"fixed": fixed, "varlen": varlen, "fixed_sequence": fixed_sequence}


def field(features, name, spec):
    """One field of a record. A word alone is a single value."""
    call = spec.calls[0] if isinstance(spec, Chain) else None
    args, kwargs = (call.args, dict(call.kwargs)) if call else ([[], spec], {})
    key = kwargs.pop("key", name)
    dtype = args[0] if call and call.name == "varlen" else args[1]
    found = None
    if key in features:
        kind, found = values_of(features[key])
        if kind != KINDS[dtype]:
            raise RowError("another type")
    return CALLS[call.name if call else "fixed"](found, *args, **kwargs)
