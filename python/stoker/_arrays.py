# SPDX-License-Identifier: Apache-2.0
"""Datasets of what is in the program's memory: arrays, lists, generators."""

from . import _dataset, _text
from ._core import Chain, Memory, Stream

_NATIVE = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
# As NumPy has them: a float of Python has 64 bits, and none are lost unless a dtype says so.
_PYTHON = {bool: "bool", int: "int64", float: "float64"}


def _dataset_of(text, objects):
    chain = Chain(_text.encode(text), objects, False)
    return _dataset.Dataset.__new__(_dataset.Dataset)._set(chain, {})


def object_name(field):
    """A name after @ for a field: letters, digits and _."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in field)
    return name if name[:1].isalpha() or name[:1] == "_" else "_" + name


# ---- arrays ----


def from_arrays(fields, named):
    if fields is not None and not isinstance(fields, dict):
        raise TypeError(
            f"from_arrays takes a dict of arrays or keywords, not {type(fields).__name__}"
        )
    given = {**(fields or {}), **named}
    if not given:
        raise ValueError("from_arrays needs at least one field, as in from_arrays({'x': array})")
    return fixed_fields(flat(given))


def flat(fields, before=""):
    """Dicts in a dict as one: {'a': {'b': x}} is {'a/b': x}."""
    found = {}
    for name, value in fields.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a field is a text, not {name!r}")
        if isinstance(value, dict) and not value:
            raise ValueError(f"the dict {before}{name} has no fields")
        name = before + name
        inner = flat(value, f"{name}/") if isinstance(value, dict) else {name: value}
        twice = found.keys() & inner.keys()
        if twice:
            raise ValueError(f"there are two fields {min(twice)!r}")
        found |= inner
    return found


def fixed_fields(given):
    """values({x: @x, …}) with every array bound to a name like its field's; lists of texts, which
    no array holds, are written out.
    """
    writer, parts = _text.Writer(), []
    for field, value in given.items():
        texts = lists_of_texts(value, field)
        if texts:
            parts.append(f"{_text.key(field)}: {writer.value(texts, 'value', field)}")
            continue
        name = writer.bind(object_name(field), memory(value, field))
        parts.append(f"{_text.key(field)}: @{name}")
    return _dataset_of("values({" + ", ".join(parts) + "})", writer.more)


def lists_of_texts(value, field):
    """The lists of strings that every element has, or None if they have something else."""
    if getattr(getattr(value, "dtype", None), "kind", None) in ("O", "S", "U"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return None
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in value]
    if not all(isinstance(row, (list, tuple)) for row in rows):
        return None
    kinds = {type(text) for row in rows for text in row}
    others = [kind.__name__ for kind in kinds if not issubclass(kind, (str, bytes))]
    if kinds and others and len(others) < len(kinds):
        raise TypeError(f"field {field!r}: strings and {others[0]} in one list")
    return rows if kinds and not others else None


def memory(value, field):
    """Anything array-like as Memory; messages name the field."""
    try:
        if isinstance(value, (list, tuple)):
            return from_list(value)
        if isinstance(value, (str, dict, set)) or value is None:
            raise TypeError(f"no array: {type(value).__name__}")
        return from_object(value)
    except (TypeError, ValueError, BufferError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"field {field!r}: {error}") from None


def from_object(value):
    dtype = getattr(value, "dtype", None)
    if (
        str(getattr(dtype, "name", dtype)) == "bfloat16"
        and hasattr(value, "view")
        and hasattr(value, "__array__")
    ):
        return Memory(value.view("uint16"), "bfloat16")
    if getattr(dtype, "kind", None) in ("O", "S", "U"):
        return from_list(value.tolist())
    try:
        memoryview(value)
    except ValueError as error:  # NumPy has dtypes that nobody else knows
        raise TypeError(str(error)) from None
    except TypeError:
        if not hasattr(value, "__dlpack__") and hasattr(value, "__array__"):
            import numpy

            return from_object(numpy.asarray(value))
    return Memory(value)


# ---- lists ----


def from_list(items):
    """Strings, numbers, or lists of them, as one block of memory."""
    if not items:
        raise ValueError("an empty list has no dtype; give an array")
    if any(isinstance(item, (str, bytes)) for item in items):
        return from_strings(items)
    if (
        not isinstance(items[0], (list, tuple))
        and hasattr(items[0], "__array__")
        and hasattr(items[0], "shape")
        and items[0].shape
    ):
        import numpy

        return from_object(numpy.stack(items))
    shape, numbers = [len(items)], items
    while numbers and isinstance(numbers[0], (list, tuple)):
        lengths = {len(item) if isinstance(item, (list, tuple)) else -1 for item in numbers}
        if -1 in lengths:
            raise ValueError("lists and single values at the same level")
        if len(lengths) > 1:
            if len(shape) == 1:
                return from_ragged(items)
            raise ValueError(
                "lists of different lengths inside its elements; only elements may differ in length"
            )
        shape.append(lengths.pop())
        numbers = [number for item in numbers for number in item]
    dtype = dtype_of(numbers)
    return Memory.copy_of(dtype, tuple(shape), pack(dtype, numbers), None)


def from_strings(items):
    raw = [
        item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item for item in items
    ]
    for item in raw:
        if not isinstance(item, bytes):
            raise TypeError(f"strings and {type(item).__name__} in one list")
    return Memory.copy_of("bytes", (len(raw),), b"".join(raw), splits_of(raw))


def from_ragged(items):
    numbers = [number for item in items for number in item]
    dtype = dtype_of(numbers)
    return Memory.copy_of(dtype, (len(items),), pack(dtype, numbers), splits_of(items))


def splits_of(items):
    from array import array

    splits = array("q", [0])
    for item in items:
        splits.append(splits[-1] + len(item))
    return splits


def dtype_of(numbers):
    kinds = {
        bool
        if isinstance(n, bool) or type(n).__name__ in ("bool", "bool_")
        else int
        if hasattr(n, "__index__")
        else float
        if hasattr(n, "__float__")
        else type(n)
        for n in numbers
    }
    kinds.discard(int) if float in kinds else None
    if len(kinds) > 1:
        raise TypeError(f"{' and '.join(sorted(kind.__name__ for kind in kinds))} in one list")
    kind = kinds.pop() if kinds else float
    if kind not in _PYTHON:
        raise TypeError(f"a list of {kind.__name__}")
    return _PYTHON[kind]


def pack(dtype, numbers):
    from array import array

    if dtype == "bool":
        return bytes(bool(number) for number in numbers)
    try:
        return array("q" if dtype == "int64" else "d", numbers)
    except OverflowError:
        raise ValueError(f"a number that does not fit {dtype}") from None


# ---- generators ----


def from_generator(fn, spec):
    stream = Stream(fn, spec_rows(spec))
    return _dataset_of("generator(@generator)", {"generator": stream})


def spec_rows(spec):
    """A spec as the extension takes it: a row (name, kind, dtype, shape) per field."""
    if not isinstance(spec, dict):
        spec = {"x": spec}
    if not spec:
        raise ValueError("the spec has no fields")
    return tuple(spec_row(name, field) for name, field in flat(spec).items())


def spec_row(name, field):
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a field is a text, not {name!r}")
    if isinstance(field, _dataset.Field):
        return name, field.kind, field.dtype, field.shape
    if isinstance(field, (tuple, list)):
        dtype, *rest = field
        if rest == ["ragged"] and spec_dtype(name, dtype) == "bytes":
            return name, "bytes", "bytes", (None,)
        if rest and rest[0] == "ragged" and len(rest) <= 2:
            return (
                name,
                "ragged",
                spec_dtype(name, dtype),
                (None, *shape_of(name, rest[1] if rest[1:] else ())),
            )
        if len(rest) > 1:
            raise TypeError(f"field {name!r}: (dtype, shape) or (dtype, 'ragged'), not {field!r}")
        shape = shape_of(name, rest[0] if rest else ())
    else:
        dtype, shape = field, ()
    kind = spec_dtype(name, dtype)
    if kind == "bytes" and len(shape) > 1:
        raise ValueError(f"field {name!r}: lists of strings have one dimension")
    return name, "bytes" if kind == "bytes" else "shaped" if None in shape else "fixed", kind, shape


def shape_of(name, shape):
    dims = (shape,) if shape is None or hasattr(shape, "__index__") else tuple(shape)
    for n in dims:
        if n is not None and (not hasattr(n, "__index__") or n.__index__() < 1):
            raise ValueError(
                f"field {name!r}: a dimension is a number from 1 on, or None, not {n!r}"
            )
    return tuple(n if n is None else n.__index__() for n in dims)


def spec_dtype(name, dtype):
    if dtype in (bytes, str, "bytes", "str", "string", "text"):
        return "bytes"
    if dtype in _PYTHON:
        return _PYTHON[dtype]
    text = dtype if isinstance(dtype, str) else _text.dtype_name(dtype)
    if text in _NATIVE:
        return text
    raise TypeError(f"field {name!r}: {dtype!r} is no dtype; there are bytes, {', '.join(_NATIVE)}")


# ---- objects of parse ----


def function_of(value):
    """What parse takes for a function of the chain: a condition, or (function, output)."""
    from . import _functions

    if callable(value):
        return _functions.Carried(value).bound(None)
    function, output = value
    if not isinstance(output, dict):
        raise TypeError(f"what a function makes is a dict of names and dtypes, not {output!r}")
    return _functions.Carried(function).bound(_functions.given_rows(None, output))


def assignments(objects, text):
    """(lines of a recipe, objects to bind) for the keywords of parse."""
    writer, lines = _text.Writer(), []
    bound = {}
    for name, value in objects.items():
        if isinstance(value, (int, float, str, bytes)):
            lines.append(f"{name} = {writer.value(value, 'text')}\n")
        elif callable(value) or f"_function(@{name})" in text:
            bound[name] = function_of(value)
        elif isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
            bound[name] = Stream(value[0], spec_rows(value[1]))
        elif not isinstance(value, _dataset.Dataset):
            bound[name] = memory(value, name)
    writer.known = bound
    lines += [
        f"{name} = {writer.chain(value)}\n"
        for name, value in objects.items()
        if isinstance(value, _dataset.Dataset)
    ]
    return "".join(lines), {**bound, **writer.more}
