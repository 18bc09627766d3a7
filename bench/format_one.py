# SPDX-License-Identifier: Apache-2.0
"""One measurement of measure_formats.py, in a process of its own; started as one.py is.

    format_one.py START FD JOB

The job's mode says what is timed:
    open   making the dataset and asking for its length, twice: the second time indexes are there
    warm   whole passes, after one to warm up
    once   the first pass, for so long at most: files are cold, or slow
    mix    nothing; counts the classes that a batch has"""

import json
import os
import sys
import time

from one import Job


def batches_of(job):
    """pass_() → an iterator over arrays; what was made for it was made before."""
    if job.who == "stoker":
        return stoker_batches(job)
    if job.who == "h5py":
        return h5py_batches(job)
    import format_tensorflow

    return getattr(format_tensorflow, job.key)(job)


def stoker_batches(job):
    import stoker

    dataset, state = stoker.parse(job.chain), {"epoch": 0}

    def one_pass():
        with dataset.iterate(epoch=state["epoch"], **job.options) as batches:
            state["epoch"] += 1
            for batch in batches:
                yield batch[job.field]

    return one_pass


def h5py_batches(job):
    """Rows in random order, by `parallel` threads or processes."""
    import concurrent.futures
    import multiprocessing
    import random

    import h5py

    start = {"initializer": open_rows, "initargs": (job.path, job.field)}
    if job.is_processes:
        forks = multiprocessing.get_context("fork")
        pool = concurrent.futures.ProcessPoolExecutor(job.parallel, forks, **start)
    else:
        pool = concurrent.futures.ThreadPoolExecutor(job.parallel, **start)

    def one_pass():
        with h5py.File(job.path, "r") as file:
            order = list(range(len(file[job.field])))
        random.shuffle(order)
        parts = [order[at : at + job.batch] for at in range(0, len(order), job.batch)]
        for count in pool.map(read_rows, parts):
            yield range(count)

    return one_pass


opened = {}


def open_rows(path, field):
    import h5py

    opened["rows"] = h5py.File(path, "r")[field]


def read_rows(numbers):
    return sum(len(opened["rows"][number : number + 1]) for number in numbers)


# ---- modes ----


def timed_pass(one_pass, limit_s=float("inf")):
    """(elements, seconds) of a pass, or of the part of it that fits into the time."""
    start, n = time.monotonic(), 0
    batches = one_pass()
    for array in batches:
        n += len(array)
        if time.monotonic() - start >= limit_s:
            break
    seconds = time.monotonic() - start
    batches.close()
    return n, seconds


def measure_warm(job):
    one_pass = batches_of(job)
    timed_pass(one_pass, job.limit_s)
    best = 0.0
    for _ in range(job.n_stretches):
        n = seconds = 0
        while seconds < job.stretch_s:
            more, took = timed_pass(one_pass, job.limit_s)
            n, seconds = n + more, seconds + took
        best = max(best, n / seconds)
    return {"per_s": best}


def measure_once(job):
    n, seconds = timed_pass(batches_of(job), job.limit_s)
    return {"per_s": n / seconds}


def measure_open(job):
    import stoker

    times = []
    for _ in range(2):
        start = time.monotonic()
        dataset = stoker.parse(job.chain)
        count = length_of(dataset)
        times.append(time.monotonic() - start)
    return {"first_open_s": times[0], "open_s": times[1], "batches": count}


def length_of(dataset):
    """None of a stream."""
    try:
        return len(dataset)
    except TypeError:
        return None


def measure_mix(job):
    import stoker

    kinds = [len(set(batch.label.tolist())) for batch in stoker.parse(job.chain).iterate()]
    return {"classes": sum(kinds) / len(kinds)}


MODES = {"warm": measure_warm, "once": measure_once, "open": measure_open, "mix": measure_mix}


def main():
    fd, path = int(sys.argv[2]), sys.argv[3]

    def send(**event):
        os.write(fd, (json.dumps(event) + "\n").encode())

    try:
        with open(path, encoding="utf-8") as file:
            job = Job(**json.load(file))
        if job.cores:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job.cores])
        send(event="done", **MODES[job.mode](job))
    except Exception as error:  # whatever goes wrong is what the table says
        send(event="failed", why=f"{type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main()
