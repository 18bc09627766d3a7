# SPDX-License-Identifier: Apache-2.0
"""Fields as arrays of other packages, which are imported when they are asked for."""

import operator

from ._core import Array, Bytes, Ragged

_COMPARE = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


def _import_numpy():
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def _need_numpy(what):
    np = _import_numpy()
    if np is None:
        raise ImportError(f"{what} needs NumPy; tolist() and memoryview() do without", name="numpy")
    return np


def within(fields, name):
    """Those that are named name/…, as a dict: of dicts that lay in a dict."""
    before = f"{name}/"
    return {key[len(before) :]: fields[key] for key in fields.keys() if key.startswith(before)}


def fields_within(batch, name):
    """batch['a'] where there is no such field but there are some named a/…."""
    from ._functions import Element

    found = within(batch, name)
    if not found:
        raise KeyError(f"the batch has no field {name!r}; it has {tuple(batch.keys())!r}")
    return Element(found)


# ---- one field ----


def numpy(field):
    np = _need_numpy("numpy()")
    if isinstance(field, Bytes):
        array = np.empty(field.shape, dtype=object)
        if array.size:
            array[...] = field.tolist()
        return array
    if isinstance(field, Ragged) and field.row_shape is not None:
        return numpy(field.values).reshape(len(field), *field.row_shape)
    if isinstance(field, Ragged):
        return [numpy(row) for row in field]
    return _bfloat16(np, field) if field.dtype == "bfloat16" else np.asarray(memoryview(field))


def _bfloat16(np, field):
    """With ml_dtypes the same memory, else a copy as float32, which loses nothing."""
    bits = np.frombuffer(field, dtype=np.uint16).reshape(field.shape)
    try:
        import ml_dtypes
    except ImportError:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.view(ml_dtypes.bfloat16)


def as_array(field, dtype, copy):
    """Array.__array__, which NumPy asks where the buffer protocol has no answer."""
    np = _need_numpy("this")
    array = numpy(field)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError("another dtype needs a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def torch(field):
    if isinstance(field, Bytes):
        return field.tolist()
    if isinstance(field, Ragged):
        return [torch(row) for row in field]
    import torch as package

    return package.from_dlpack(field)


_TENSORFLOW_ALIGNS = 64


def tensorflow(field):
    import tensorflow as tf

    if isinstance(field, Bytes):
        return tf.constant(field.tolist(), dtype=tf.string, shape=field.shape)
    if isinstance(field, Ragged) and field.row_shape is not None:
        return tf.reshape(tensorflow(field.values), (len(field), *field.row_shape))
    if isinstance(field, Ragged):
        return _ragged_tensor(tf, field)
    array = numpy(field)
    if array.ctypes.data % _TENSORFLOW_ALIGNS:
        return tf.constant(array)  # a copy: some ops end the process where others take it
    try:
        return tf.experimental.dlpack.from_dlpack(field.__dlpack__())
    except Exception:  # a dtype that TensorFlow does not take as it is
        return tf.convert_to_tensor(array)


def _ragged_tensor(tf, field):
    """A row of lists of lists has the values of all rows, and splits that begin anywhere."""
    values, splits = tensorflow(field.values), tensorflow(field.splits)
    first, last = field.splits.tolist()[0], field.splits.tolist()[-1]
    if (first, last) != (0, len(field.values)):
        values, splits = values[first:last], splits - first
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def jax(field):
    if isinstance(field, Bytes):
        return field.tolist()
    if isinstance(field, Ragged):
        return [jax(row) for row in field]
    import jax.numpy as jnp

    try:
        return jnp.from_dlpack(field)
    except Exception:  # a dtype or an alignment that JAX does not take as it is
        return jnp.asarray(numpy(field))


_PACKAGES = {"numpy": numpy, "torch": torch, "tensorflow": tensorflow, "jax": jax}


def batch(fields, package):
    """A dict of all fields; the bytes of a single element stay bytes."""
    convert = _PACKAGES[package]
    return {
        name: field if isinstance(field, bytes) else convert(field)
        for name, field in fields.items()
    }


# ---- what Array leaves to NumPy ----


def subscript(array, key):
    np = _import_numpy()
    if np is not None:
        return numpy(array)[key]
    if hasattr(key, "__index__"):
        return array._part(key)
    raise ImportError("indexing with anything but a number needs NumPy", name="numpy")


def compare(array, other, op):
    if isinstance(other, (Bytes, Ragged)):
        return NotImplemented
    if array.ndim == 0 and not (isinstance(other, Array) and other.ndim):
        return _COMPARE[op](array.item(), other.item() if isinstance(other, Array) else other)
    np = _import_numpy()
    if np is None:
        return NotImplemented
    return _COMPARE[op](numpy(array), numpy(other) if isinstance(other, Array) else other)
