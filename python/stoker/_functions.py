# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own in a chain: ds.map(function) and ds.filter(function)."""

from . import _arrays, _convert, _draws, _text
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


class Element(dict):
    """What a function gets where a field has '/' in its name: element['a'] are those named a/…."""

    def __missing__(self, name):
        inner = _convert.within(self, name)
        if not inner:
            raise KeyError(name)
        return Element(inner)


def map(dataset, function, output, workers, processes, random=None):
    """The dataset of what a function makes of each element."""
    carried_out = Carried(function, workers, processes, random)
    rows = found_rows(dataset, carried_out) if output is None else given_rows(dataset, output)
    return append(dataset, "map_function", carried_out.bound(rows))


def filter(dataset, function, workers, processes, random=None):
    """The dataset of the elements for which a function is true."""
    return append(
        dataset, "filter_function", Carried(function, workers, processes, random).bound(None)
    )


class Carried:
    """A function, who carries it out, and what is known of its random numbers."""

    def __init__(self, function, workers="thread", processes=None, random=None):
        _numpy()
        if workers not in ("thread", "process"):
            raise ValueError(f"workers is 'thread' or 'process', not {workers!r}")
        if workers == "thread" and processes is not None:
            raise TypeError("processes is how many helpers workers='process' has")
        self.n_helpers = _helpers_wanted(processes) if workers == "process" else 0
        self.draws = _draws.Found(function, random)

    def bound(self, rows):
        """It as an object of a chain."""
        call, flags = self.draws.called(), self.draws.flags(self.n_helpers > 0)
        if self.n_helpers:
            call = _helpers().Remote(call, self.n_helpers)
        return Function(call, rows, empty, getattr(call, "n_waiting", 0), flags)


def _helpers():
    from . import _helpers

    return _helpers


def _helpers_wanted(processes):
    import os

    n = len(os.sched_getaffinity(0)) if processes is None else processes.__index__()
    if n < 1:
        raise ValueError(f"processes is 1 or more, not {n}")
    return n


def elsewhere(objects):
    """Objects of a chain with its functions in helper processes; None where none is to be moved."""
    moved = {}
    for name, thing in objects.items():
        if isinstance(thing, Function):
            function, rows, make, n_waiting, flags = thing.__reduce__()[1]
            if not n_waiting:
                remote = _helpers().Remote(function, _helpers_wanted(None))
                flags &= ~_draws.SHARED
                moved[name] = Function(remote, rows, make, remote.n_waiting, flags)
    return {**objects, **moved} if moved else None


def append(dataset, op, bound):
    call = bound.__reduce__()[1][0]
    name = getattr(call, "__name__", "function")
    name = name if _text.is_name(name) else "function"
    return dataset._with_object(op, name, bound)


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
    return tuple(_arrays.spec_row(name, field) for name, field in _arrays.flat(output).items())


def only_name(dataset):
    names = list(dataset.spec)
    if len(names) == 1:
        return names[0]
    raise TypeError(
        f"a function on elements of several fields ({', '.join(names)}) returns a dict, so that "
        "what it makes has names"
    )


def found_rows(dataset, carried_out):
    """The rows of what the function makes of the first element, on which it is tried."""
    found = Trial(dataset, carried_out)
    if found.shapes is None:
        raise ValueError(
            "there is no element to try the function on; say what it makes: "
            "output={'name': (dtype, shape)}"
        )
    result = found.result
    if not isinstance(result, dict):
        result = {only_name(dataset): result}
    if not result:
        raise ValueError("the function returned a dict without fields")
    varying = Varying(dataset.spec, found.shapes)
    return tuple(found_row(name, value, varying) for name, value in _arrays.flat(result).items())


class Trial:
    """A call with the first element: what comes out, and whether it draws random numbers."""

    def __init__(self, dataset, carried_out):
        self.draws, self.shapes = carried_out.draws, None
        called = self.draws.called()
        self.call = called if self.draws.is_drawing() else lambda element, seed: called(element)
        flags = self.draws.flags(False) | _draws.SEEDED
        append(dataset.take(1), "filter_function", Function(self, None, empty, 0, flags)).head(1)
        if self.shapes is not None:
            self.draws.settle(self.has_drawn, carried_out.n_helpers > 0)

    def __call__(self, element, seed):
        self.shapes = {name: getattr(value, "shape", ()) for name, value in element.items()}
        is_open = self.draws.code == _draws.MAYBE
        if is_open:
            _draws.seed_all(seed)
        before = _draws.digest(_draws.states()) if is_open else None
        self.result = self.call(element, seed)
        self.has_drawn = is_open and before != _draws.digest(_draws.states())
        return True


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
        dtype = {"b": "bool", "i": "int64", "f": "float64"}.get(array.dtype.kind)
        shape = array.shape
    else:
        shape = tuple(value.shape)
    if dtype is None:
        raise TypeError(f"the function returned {type(value).__name__} for the field {name!r}")
    shape = varying.shape(name, shape)
    kind = "shaped" if None in shape else "fixed"
    return name, kind, _arrays.spec_dtype(name, dtype), shape
