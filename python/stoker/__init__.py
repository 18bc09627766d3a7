# SPDX-License-Identifier: Apache-2.0
"""stoker keeps a training step fed: data from storage to batches, at the speed of the hardware.

    import stoker

    ds = stoker.image_folder('train').shuffle().decode().resize(224, 224).scale(1/255).batch(32)
    for batch in ds:                       # each `for` is another epoch
        step(batch.image.torch(), batch.label.torch())

A Dataset is a chain of calls and a value: each method gives a new one. `stoker.parse` reads the
same chain as text, `str(ds)` prints it, `ds.plan()` says how it will run.
"""

import builtins as _builtins
import sys as _sys
from os import environ as _environ

from ._core import Array, Batch, Bytes, Iterator, Packed, Position, Ragged, Stats
from ._core import version as _version
from ._dataset import INFINITE, UNKNOWN, Dataset, Field, Plan, Rewrite, parse
from ._errors import (
    BudgetError,
    CancelledError,
    ChainError,
    DataError,
    Error,
    OutOfMemoryError,
    StateError,
    StokerWarning,
    StorageError,
    TypeMismatchError,
)
from ._ops import *
from ._ops import __all__ as _roots
from ._text import Call

__version__ = _version()

_public = [
    "INFINITE",
    "UNKNOWN",
    "Array",
    "Batch",
    "BudgetError",
    "Bytes",
    "Call",
    "CancelledError",
    "ChainError",
    "DataError",
    "Dataset",
    "Epoch",
    "Error",
    "Field",
    "Inspection",
    "Iterator",
    "Model",
    "OutOfMemoryError",
    "Packed",
    "Plan",
    "Position",
    "Profile",
    "Ragged",
    "Rewrite",
    "StateError",
    "Statistics",
    "Stats",
    "Step",
    "StokerWarning",
    "StorageError",
    "Trainer",
    "Training",
    "TypeMismatchError",
    "Watch",
    "cpu_limit",
    "devices",
    "from_arrays",
    "from_generator",
    "inspect",
    "load_plugin",
    "memory",
    "memory_limit",
    "pack",
    "parse",
    "progress",
    "train",
    "watch",
] + _roots

# Functions such as stoker.range and stoker.random stay what they are elsewhere: `import *` leaves out names of
# builtins and of modules of the standard library.
__all__ = [name for name in _public if not hasattr(_builtins, name) and name not in _sys.stdlib_module_names]


def from_arrays(fields=None, /, **named):
    """A dataset of arrays in memory: element i has the i-th part of each.

        stoker.from_arrays({'x': images, 'y': labels}).shuffle().batch(32)
        stoker.from_arrays(x=images, y=labels)

    Takes everything with the buffer protocol (NumPy arrays, array.array, memoryview, mmap) or
    `__dlpack__` (PyTorch tensors), and lists of numbers, str or bytes. Arrays that are C-contiguous
    are not copied: they are kept until the last dataset and iterator over them are gone, and must
    not change meanwhile. Others are copied once. Lists of whole numbers become int64, of other
    numbers float64 as in NumPy, of str and bytes a bytes field; lists in a list make an array, or a ragged
    field if they differ in length.
    """
    from . import _arrays

    return _arrays.from_arrays(fields, named)


def from_generator(fn, spec):
    """A dataset of what a Python function yields: `fn()` is called once per epoch and gives an
    iterable.

        def samples():
            for path in paths:
                yield {'image': load(path), 'name': path}

        stoker.from_generator(samples, {'image': ('uint8', (None, None, 3)), 'name': str})

    An element is a dict, a tuple in the order of the fields, or the value alone if there is one
    field. The spec maps names to what each field is:

        'float32', numpy.float32     one number
        ('float32', (28, 28))        an array; None: a dimension that differs between elements
        ('int64', 'ragged')          a list of any length
        ('int64', 'ragged', (3,))    the same, of rows of 3
        'bytes', bytes, str          a string of bytes; str is encoded as UTF-8
        ('bytes', (None,))           a list of strings
        a Field                      as in the spec of another dataset

    Arrays must have the dtype of the spec; numbers and lists are converted. The function runs in a
    thread of the run, one element at a time. An exception in it arrives where the dataset is
    iterated.
    """
    from . import _arrays

    return _arrays.from_generator(fn, spec)


def load_plugin(path):
    """Adds the ops of a plug-in, a shared object built with stoker/op.h, for the life of the
    process: methods of datasets, and calls in chains. Gives the names of those that are new.

        stoker.load_plugin('./threshold.so')
        stoker.range(10).threshold(4)

    Files that the environment's STOKER_PLUGINS names (':' between them) are loaded at import.
    docs/plugins.md shows how one is written.
    """
    from . import _plugins

    return _plugins.load(path)


def inspect(path):
    """What is in a file or a directory, told from its content: an Inspection, which is a dict that
    prints as tables.

        found = stoker.inspect('train.tfrecord')
        print(found)
        ds = stoker.parse(found.chain)
    """
    from . import _findings

    return _findings.inspect(path)


def pack(ds, out, shards=1, **options):
    """Stores every element of a Dataset in record files; the same as ds.pack(out, shards, ...).

        stoker.pack(ds, 'train-{shard:05d}-of-{shards:05d}.tfrecord', shards=8)
    """
    return ds.pack(out, shards, **options)


def progress(batches, **options):
    """Iterates a Dataset or an Iterator and shows how far it is, and how fast, on standard error.

        for batch in stoker.progress(ds):
            ...

    On a terminal a line is kept up to date; otherwise one line is printed at the end.
    """
    from . import _progress

    return _progress.progress(batches, options)


def train(recipe=None, *, resume=False, resume_older=False, restart=False, callbacks=(), progress=True, **lines):
    """Trains a model, by a recipe and by keywords, which are further lines of it.

        stoker.train('recipe.stk')
        stoker.train(
            train=stoker.image_folder('train').decode().resize(64, 64).scale(1/255).shuffle().batch(32),
            model='m2(classes=10, height=64, width=64)',
            optimizer='adam(0.001)', epochs=10, checkpoint='run',
        )

    recipe        a file of lines name = value, or the lines; docs/training.md explains all of them
    resume        goes on from the newest checkpoint, if there is one
    resume_older  likewise, and where the newest one is damaged, from the newest that is whole
    restart       begins anew where checkpoints are, and takes their place
    callbacks     functions that are called with an Epoch after each one; True from one ends training
    progress      a line on standard error for each epoch

    Gives a Training.
    """
    from . import _train

    return _train.train(
        recipe, resume=resume, resume_older=resume_older, restart=restart, callbacks=callbacks, progress=progress, **lines
    )


def watch(ds, trials=False):
    """Watches the runs of a Dataset while a block of code is executed, and says how long the loop
    waited for its batches, why, and what to do about it.

        with stoker.watch(ds) as w:
            for batch in ds:
                train(batch)
        print(w.stall, w.verdict)
        print(w)

    trials=True tries advice out when it is first asked for, a second each.
    """
    from . import _profile

    return _profile.Watch(ds, trials)


def devices():
    """What this machine offers and what is used: processor, instruction sets, cores, caches,
    memory.
    """
    import json

    from . import _core

    return json.loads(_core.devices_json())


def cpu_limit(level):
    """Limits the kernels to an instruction set, for the whole process: 'scalar', 'avx2',
    'avx512' or 'auto'.
    """
    from . import _core

    _core.cpu_limit(level)


def memory_limit(limit):
    """Limits what all runs of the process together use: bytes, or text such as '512M'. 'auto'
    leaves it to the machine: a quarter of what is free, within the limits of its control groups.

    Runs share it; one with `memory=` of its own takes that much out of it.
    """
    from . import _core
    from ._dataset import _bytes

    limit = _bytes(limit) if isinstance(limit, str) else limit
    _core.memory_limit(0 if limit == "auto" else limit)


def memory():
    """Who has how much of the memory of `memory_limit`, as a dict."""
    import json

    from . import _core

    return json.loads(_core.memory_json())


def __dir__():
    return sorted({*globals(), *_public})


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'stoker' has no attribute {name!r}", name=name)
    if name in ("Inspection", "Statistics"):  # only who asks for them imports what they need
        from . import _findings

        return getattr(_findings, name)
    if name == "Feed":  # not in __all__, so that `import *` does not import PyTorch
        from . import _feed

        return _feed.Feed
    if name in ("Profile", "Watch"):
        from . import _profile

        return getattr(_profile, name)
    if name == "Model":
        from . import _model

        return _model.Model
    if name in ("Step", "Trainer"):
        from . import _trainer

        return getattr(_trainer, name)
    if name in ("Epoch", "Training"):
        from . import _train

        return getattr(_train, name)
    from . import _names

    raise AttributeError(_names.missing_function(name, _public), name=name)


if _environ.get("STOKER_PLUGINS"):
    from . import _plugins

    _plugins.load_all(_environ["STOKER_PLUGINS"])
