# SPDX-License-Identifier: Apache-2.0
"""Batches and their fields as pickles: how they come from one process to another.

Memory goes as bytes inside the pickle, beside it where the pickle's user takes buffers (protocol
5), and through PyTorch's shared memory where a worker of its DataLoader sends it.
"""

from ._core import Memory, Position, restore_array, restore_batch, restore_rows

_SHARED_BYTES = 1 << 15  # below this a copy costs less than a file descriptor


def array(field, protocol):
    if protocol >= 5:
        from pickle import PickleBuffer

        return _array, (PickleBuffer(field._raw()), field.dtype, field.shape)
    return _array, (field.tobytes(), field.dtype, field.shape)


def _array(memory, dtype, shape):
    """Bytes inside a pickle cannot be written to, and arrays of a batch can."""
    if isinstance(memory, bytes):
        memory = bytearray(memory)
    is_read_only = hasattr(memory, "__buffer__") and memoryview(memory).readonly
    return restore_array(Memory(memory), dtype, shape, not is_read_only)


def rows(field):
    """Of a Bytes or a Ragged: what all rows are made of, and where each begins."""
    values, splits = field._parts()
    if isinstance(splits, list):
        splits = _int64(splits)
    is_bytes = not hasattr(field, "row_shape")
    shape = field.shape if is_bytes else field.row_shape or ()
    return restore_rows, (is_bytes, values, splits, shape)


def _int64(numbers):
    from array import array as packed

    return _array(packed("q", numbers).tobytes(), "int64", (len(numbers),))


def batch(whole, protocol):
    """Where its rows come from and its place in the data go along."""
    parts = (
        tuple(whole.values()),
        whole.n_rows,
        whole.origins,
        tuple(whole.position),
        whole.state_dict(),
    )
    return _batch, (tuple(whole.keys()), *parts)


def _batch(names, fields, n_rows, origins, position, state):
    return restore_batch(names, (fields, n_rows, origins, Position(position), state))


# ---- shared memory ----


def share_by_torch():
    """In a worker of a DataLoader, which waits until the other side has taken what it sent."""
    from multiprocessing.reduction import ForkingPickler

    from ._core import Array

    ForkingPickler.register(Array, _shared)


def _shared(field):
    if field.nbytes < _SHARED_BYTES:
        return array(field, 4)
    import torch

    return _array, (torch.from_dlpack(field._raw()), field.dtype, field.shape)
