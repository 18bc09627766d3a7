# SPDX-License-Identifier: Apache-2.0
"""What a Dataset does inside a worker of PyTorch's DataLoader: it gives that worker's part.

A DataLoader takes from its workers in turn. Worker i of n gives batches i, i + n, i + 2 n …, so what
arrives is what a plain loop gives, in the same order, whatever the number of workers.
"""

import os
import sys

from . import _epochs

_is_registered = _is_sharing = False


def register():
    """Makes Dataset an IterableDataset once PyTorch is there: a DataLoader that takes it for a
    table asks for ds[0], ds[1] …, which are epoch 0 for ever.
    """
    global _is_registered
    kind = getattr(sys.modules.get("torch.utils.data"), "IterableDataset", None)
    if kind is None or _is_registered:
        return
    from ._dataset import Dataset

    _is_registered = True
    kind.register(Dataset)


def info():
    """PyTorch's WorkerInfo in a worker that iterates; None elsewhere, and in workers of tables, where
    nobody deals out what a dataset is used for.
    """
    data = sys.modules.get("torch.utils.data")
    ask = getattr(data, "get_worker_info", None)
    found = ask() if ask else None
    return found if found and isinstance(found.dataset, data.IterableDataset) else None


def was_made_in(ds, worker):
    """Whether the worker has built the dataset itself, so that nobody else knows of it."""
    is_thread = getattr(worker, "worker_method", None) == "thread"
    return not is_thread and not ds._came_with and _epochs.was_made_here(ds._number)


def part(ds, worker):
    """The chain of this worker's batches, which go through shared memory if they are large."""
    _share_once()
    if worker.num_workers == 1 or _is_dealt_out_here(ds, worker):
        return ds._chain
    return ds.shard(worker.num_workers, worker.id)._chain


def _share_once():
    global _is_sharing
    if not _is_sharing:
        from . import _pickling

        _is_sharing = True
        _pickling.share_by_torch()


def settings(given, worker):
    """Options of a run beside those of the other workers: processors are shared."""
    if worker.num_workers == 1 or "workers" in given:
        return given
    n = len(os.sched_getaffinity(0)) // worker.num_workers
    return {"workers": str(max(1, n)), **given}


def _is_dealt_out_here(ds, worker):
    """Whether the program has built the chain in this process with a shard(n, i) of its own."""
    text = ds._chain.text(True)
    return was_made_in(ds, worker) and text.count("shard@") > text.count("(num_shards=none")
