# SPDX-License-Identifier: Apache-2.0
"""A map-style data set that calls the function, in a DataLoader with a process per core."""

from functions import busy, plus_one

NAME = "torch DataLoader"
PLACE = 22
PACKAGES = ["torch"]


def load():
    import torch

    torch.set_num_threads(1)  # the worker processes are the parallelism
    return torch


class Numbers:
    """A map-style data set."""

    def __init__(self, count, function):
        self.count, self.function = count, function

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.function(i)


def python_map(torch, job):
    return _epoch(torch, job, plus_one)


def python_processes(torch, job):
    return _epoch(torch, job, busy)


def _epoch(torch, job, function):
    loader = torch.utils.data.DataLoader(
        Numbers(job.count, function),
        batch_size=job.batch,
        num_workers=job.workers,
        persistent_workers=True,
    )
    return lambda: iter(loader)
