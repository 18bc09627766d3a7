# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with a process per core; each opens the file with h5py and reads an item at a time."""

NAME = "h5py, torch"
PLACE = 26
PACKAGES = ["h5py", "torch"]


def load():
    import h5py
    import torch

    torch.set_num_threads(1)  # the worker processes are the parallelism
    return torch, h5py


class Rows:
    """A map-style data set over the rows of a dataset, opened by each process for itself."""

    def __init__(self, h5py, path, name, count):
        self.h5py, self.path, self.name, self.count = h5py, path, name, count
        self.rows = None

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.rows is None:
            self.rows = self.h5py.File(self.path, "r")[self.name]
        return self.rows[i]


def hdf5(loaded, job):
    torch, h5py = loaded
    loader = torch.utils.data.DataLoader(
        Rows(h5py, job.own, job.field, job.count),
        batch_size=job.batch,
        shuffle=True,
        num_workers=job.workers,
        persistent_workers=True,
    )
    return lambda: iter(loader)


def hdf5_gzip(loaded, job):
    return hdf5(loaded, job)
