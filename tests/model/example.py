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


def ragged(values, dtype, partition=None, uniform_row_length=None):
    """partition is (name, numbers), or there is none."""
    entries = values or []
    if uniform_row_length:
        entries = fixed_sequence(values, [uniform_row_length], dtype, True).data
    if not partition:
        return Value(str(dtype), entries)
    splits = splits_of(*partition, len(entries))
    if splits != sorted(splits) or splits[0] != 0 or splits[-1] != len(entries):
        raise RowError("no partition")
    return Value(str(dtype), [entries[a:b] for a, b in zip(splits, splits[1:])])


def splits_of(name, numbers, n):
    """Where the rows of n entries begin, and the end of the last."""
    if name == "row_splits":
        return numbers or [0]
    if name == "row_lengths":
        return [sum(numbers[:i]) for i in range(len(numbers) + 1)]
    if name == "row_starts":
        return [*numbers, n if numbers else 0]
    if name == "row_limits":
        return [0, *numbers]
    if len(numbers) != n or numbers != sorted(numbers):
        raise RowError("no rows of values")
    n_rows = numbers[-1] + 1 if numbers else 0
    if numbers and (numbers[0] < 0 or n_rows > n + (1 << 16)):
        raise RowError("no rows")
    return [sum(number < row for number in numbers) for row in range(n_rows + 1)]


def sparse(values, dtype, indices, size, already_sorted, part):
    """indices: a list for each dimension."""
    values = values or []
    if any(len(index) != len(values) for index in indices):
        raise RowError("another number of indices")
    places = list(zip(*indices))
    if any(not 0 <= i < most for place in places for i, most in zip(place, size)):
        raise RowError("outside")
    pairs = list(zip(places, values))
    if part == "dense" or already_sorted not in (True, "true"):
        pairs.sort(key=lambda pair: pair[0])
    if part == "indices":
        return Value("int64", [place[0] if len(size) == 1 else list(place) for place, _ in pairs])
    if part == "values":
        return Value(str(dtype), [value for _, value in pairs])
    if len({place for place, _ in pairs}) < len(pairs):
        raise RowError("an index is repeated")
    nothing = {"bytes": b"", "float32": 0.0}.get(dtype, 0)
    flat = [nothing] * size_of(size)
    for place, value in pairs:
        at = 0
        for i, most in zip(place, size):
            at = at * most + i
        flat[at] = value
    return Value(str(dtype), shaped(flat, size))


CALLS = {"fixed": fixed, "varlen": varlen, "fixed_sequence": fixed_sequence}


def values_at(features, key, dtype):
    """The values of a key, or None."""
    if key not in features:
        return None
    kind, found = values_of(features[key])
    if kind != KINDS[dtype]:
        raise RowError("another type")
    return found


def ragged_field(features, name, dtype, value_key=None, uniform_row_length=None, **given):
    values = values_at(features, value_key or name, dtype)
    partition = [(kind, values_at(features, key, "int64") or []) for kind, key in given.items()]
    return ragged(values, dtype, partition[0] if partition else None, uniform_row_length)


def sparse_field(
    features, name, index_key, value_key, dtype, size, already_sorted=False, part="dense"
):
    keys = index_key if isinstance(index_key, list) else [index_key]
    values = values_at(features, value_key, dtype)
    indices = [values_at(features, key, "int64") or [] for key in keys]
    sizes = size if isinstance(size, list) else [size]
    return sparse(values, dtype, indices, sizes, already_sorted, part)


def field(features, name, spec):
    """One field of a record. A word alone is a single value."""
    call = spec.calls[0] if isinstance(spec, Chain) else None
    args, kwargs = (call.args, dict(call.kwargs)) if call else ([[], spec], {})
    if call and call.name in ("ragged", "sparse"):
        read = ragged_field if call.name == "ragged" else sparse_field
        return read(features, name, *args, **kwargs)
    key = kwargs.pop("key", name)
    dtype = args[0] if call and call.name == "varlen" else args[1]
    found = values_at(features, key, dtype)
    return CALLS[call.name if call else "fixed"](found, *args, **kwargs)
