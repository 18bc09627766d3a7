# SPDX-License-Identifier: Apache-2.0
"""Which epoch comes next, for a dataset that worker processes of a DataLoader iterate.

A loop over a Dataset is the epoch after the last one. Each worker of a DataLoader has a copy of the
Dataset that lives for an epoch or for the whole program, so no copy can count: the numbers lie in
a file in memory that they share with the process that started them. All workers of one loop have
the same seed from PyTorch, and that is how they find the same epoch.

    record of a dataset:  seed of the loop that began last │ its first epoch │ next epoch │ 1

A worker that lives on begins the k-th loop of its seed with epoch first + k. Zeros: nobody has
written yet, and the Dataset's own number holds.
"""

import itertools
import os
import sys
from _thread import allocate_lock

_NUMBER_BYTES = 8
_RECORD_BYTES = 4 * _NUMBER_BYTES
_NOBODY = -1  # in place of a seed, which is never negative

_lock = allocate_lock()  # between threads; between processes it is the lock of the file
_ours = None  # the file of this process
_parents = None  # the file of the process that was forked
_numbers = itertools.count(1)  # of datasets
_first_here = 0  # those below it were made before this process was forked
_loops = {}  # (file, number, worker): (seed, loops that this worker has begun)


def new_number():
    return next(_numbers)


def was_made_here(number):
    return number >= _first_here


def _make_file():
    global _ours
    if _ours is None:
        _ours = os.memfd_create("stoker-epochs", os.MFD_CLOEXEC)


def _forget_ours():
    """A child counts for itself, unless it is a worker."""
    global _ours, _parents, _lock, _first_here
    _lock = allocate_lock()
    _ours, _parents = None, _ours
    _first_here = new_number()


os.register_at_fork(before=_make_file, after_in_child=_forget_ours)


class Record:
    """The place of one dataset in a file, locked while it is looked at."""

    def __init__(self, file, number):
        self.file, self.place = file, number * _RECORD_BYTES

    def __enter__(self):
        import fcntl

        _lock.acquire()
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX, _RECORD_BYTES, self.place)
        except BaseException:
            _lock.release()
            raise
        return self

    def __exit__(self, *_):
        import fcntl

        try:
            fcntl.lockf(self.file, fcntl.LOCK_UN, _RECORD_BYTES, self.place)
        finally:
            _lock.release()

    def read(self):
        raw = os.pread(self.file, _RECORD_BYTES, self.place).ljust(_RECORD_BYTES, b"\0")
        return [
            int.from_bytes(raw[at : at + _NUMBER_BYTES], "little", signed=True)
            for at in range(0, _RECORD_BYTES, _NUMBER_BYTES)
        ]

    def write(self, seed, first, following):
        numbers = seed, first, following, 1
        raw = b"".join(n.to_bytes(_NUMBER_BYTES, "little", signed=True) for n in numbers)
        os.pwrite(self.file, raw, self.place)


# ---- in the process that has the DataLoader ----


def claim(number, following, n):
    """The first of the next n epochs; `following` is what the Dataset itself thinks."""
    if _ours is None:
        return following
    with Record(_ours, number) as record:
        seed, first, written, is_written = record.read()
        if not is_written:
            return following
        record.write(seed, first, written + n)
        return written


def for_spawned(number, following):
    """What a dataset takes along into a process that is being started, or None elsewhere."""
    context = sys.modules.get("multiprocessing.context")
    start = context.get_spawning_popen() if context else None
    if start is None:
        return None
    from multiprocessing.reduction import DupFd

    _make_file()
    if not hasattr(start, "stoker_epochs"):  # a file is taken along once, whoever asks for it
        start.stoker_epochs = DupFd(_ours)
    with Record(_ours, number) as record:
        if not record.read()[3]:
            record.write(_NOBODY, 0, following)
    return start.stoker_epochs, number


# ---- in a worker ----


def _place(is_worker, came_with, number):
    """The file and the number of a dataset's record; a worker that is a thread has no parent."""
    if is_worker and (came_with or _parents is not None):
        return came_with or (_parents, number)
    if is_worker:
        _make_file()
    return _ours, number


def say(is_worker, came_with, number, following):
    """Makes `following` the next epoch, also for workers that run already."""
    file, number = _place(is_worker, came_with, number)
    if file is not None:
        with Record(file, number) as record:
            record.write(_NOBODY, 0, following)


def claim_in_worker(info, came_with, number, following, n):
    """As claim, the same for all workers of a loop. came_with: what for_spawned has sent."""
    file, number = _place(True, came_with, number)
    seed = info.seed - info.id
    with Record(file, number) as record:
        key = file, number, info.id
        known, k = _loops.get(key, (_NOBODY, 0))
        k = k if known == seed else 0
        _loops[key] = seed, k + 1
        begun, first, written, is_written = record.read()
        written = written if is_written else following
        if not is_written or begun != seed:
            first = written - k * n
        epoch = first + k * n
        record.write(seed, first, max(written, epoch + n))
    return epoch
