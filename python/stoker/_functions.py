# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own in a chain: ds.map(function) and ds.filter(function)."""

from . import _arrays, _text
from ._core import Function


def empty(dtype, shape):
    """An array for a field of what a function gets, and its memory."""
    import numpy as np

    if dtype != "bfloat16":
        array = np.empty(shape, dtype)
        return array, array
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("a field of bfloat16 needs the package ml_dtypes; or cast it") from None
    bits = np.empty(shape, np.uint16)
    return bits.view(ml_dtypes.bfloat16), bits


def map(dataset, function, output, workers, processes):
    """The dataset of what a function makes of each element."""
    carried_out = by_whom(function, workers, processes)
    rows = found_rows(dataset, function) if output is None else given_rows(dataset, output)
    return append(dataset, "map_function", carried_out, rows)


def filter(dataset, function, workers, processes):
    """The dataset of the elements for which a function is true."""
    return append(dataset, "filter_function", by_whom(function, workers, processes), None)


def by_whom(function, workers, processes):
    """The function, or one that has helper processes carry it out."""
    if workers not in ("thread", "process"):
        raise ValueError(f"workers is 'thread' or 'process', not {workers!r}")
    if workers == "thread":
        if processes is not None:
            raise TypeError("processes is how many helpers workers='process' has")
        return function
    import os

    from . import _helpers

    n = len(os.sched_getaffinity(0)) if processes is None else processes.__index__()
    if n < 1:
        raise ValueError(f"processes is 1 or more, not {n}")
    return _helpers.Remote(function, n)


def elsewhere(objects):
    """Objects of a chain with its functions in helper processes; None where none is to be moved."""
    moved = {}
    for name, thing in objects.items():
        if isinstance(thing, Function):
            function, rows, _, n_waiting = thing.__reduce__()[1]
            if not n_waiting:
                moved[name] = bound(by_whom(function, "process", None), rows)
    return {**objects, **moved} if moved else None


def bound(function, rows):
    _numpy()
    return Function(function, rows, empty, getattr(function, "n_waiting", 0))


def append(dataset, op, function, rows):
    name = getattr(function, "__name__", "function")
    name = name if _text.is_name(name) else "function"
    return dataset._with_object(op, name, bound(function, rows))


def _numpy():
    try:
        import numpy
    except ImportError:
        raise ImportError("functions in map and filter need NumPy", name="numpy") from None
    return numpy


# ---- what a function returns ----


def given_rows(dataset, output):
    """The rows of output={name: (dtype, shape)}; without a name it is the only field's."""
    if not isinstance(output, dict):
        output = {only_name(dataset): output}
    if not output:
        raise ValueError("output has no fields")
    return tuple(_arrays.spec_row(name, field) for name, field in output.items())


def only_name(dataset):
    names = list(dataset.spec)
    if len(names) == 1:
        return names[0]
    raise TypeError(
        f"a function on elements of several fields ({', '.join(names)}) returns a dict, so that "
        "what it makes has names"
    )


def found_rows(dataset, function):
    """The rows of what the function makes of the first element, on which it is tried."""
    found = []

    def probe(element):
        shapes = {name: getattr(value, "shape", ()) for name, value in element.items()}
        found[:] = [function(element), shapes]
        return True

    append(dataset.take(1), "filter_function", probe, None).head(1)
    if not found:
        raise ValueError(
            "there is no element to try the function on; say what it makes: "
            "output={'name': (dtype, shape)}"
        )
    result, shapes = found
    if not isinstance(result, dict):
        result = {only_name(dataset): result}
    if not result:
        raise ValueError("the function returned a dict without fields")
    varying = Varying(dataset.spec, shapes)
    return tuple(found_row(name, value, varying) for name, value in result.items())


class Varying:
    """Which dimensions of a result differ between elements, as far as the input tells."""

    def __init__(self, spec, shapes):
        self.spec, self.shapes = spec, shapes
        first = {
            shapes[name][0] if field.shape[:1] == (None,) else 0
            for name, field in spec.items()
            if field.kind != "bytes"
        }
        # The rows of a batch: of one length in all fields, which differs between batches.
        self.length = first.pop() if len(first) == 1 else 0

    def shape(self, name, shape):
        field = self.spec.get(name)
        known = ()
        if field and len(field.shape) == len(shape):
            known = field.shape if self.shapes[name] == shape else ()
        dims = [None if known[d : d + 1] == (None,) else n or None for d, n in enumerate(shape)]
        if dims and self.length and dims[0] == self.length:
            dims[0] = None
        return tuple(dims)


def found_row(name, value, varying):
    if not isinstance(name, str):
        raise TypeError(f"the name of a field is a text, not {name!r}")
    if value is None:
        raise TypeError(f"the function returned None for the field {name!r}")
    if isinstance(value, (str, bytes)):
        return name, "bytes", "bytes", ()
    if getattr(getattr(value, "dtype", None), "kind", "") in ("O", "S", "U"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (str, bytes)):
        return name, "bytes", "bytes", (None,)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        array = _numpy().asarray(value)
        dtype = {"b": "bool", "i": "int64", "f": "float32"}.get(array.dtype.kind)
        shape = array.shape
    else:
        shape = tuple(value.shape)
    if dtype is None:
        raise TypeError(f"the function returned {type(value).__name__} for the field {name!r}")
    shape = varying.shape(name, shape)
    kind = "shaped" if None in shape else "fixed"
    return name, kind, _arrays.spec_dtype(name, dtype), shape
