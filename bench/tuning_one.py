# SPDX-License-Identifier: Apache-2.0
"""One measurement of tuning.py, in a process of its own: batches for a while, maybe with a step.

    tuning_one.py START FD JOB      as one.py
"""

import importlib
import itertools
import json
import os
import sys
import time

from one import Job


def stoker_batches(job):
    """One run for all epochs, as long training has."""
    import stoker

    with stoker.parse(job.chain).iterate(epochs=10**9, **job.options) as batches:
        for batch in batches:
            yield batch[job.field]


def peer_batches(job):
    """Epoch after epoch; the files of an epoch are many times those of the data set."""
    peer = importlib.import_module(f"peers.{job.peer}")
    epoch = getattr(peer, job.function)(peer.load(), job)
    for _ in itertools.count():
        yield from epoch()


def take(batches, step_s, seconds):
    """(elements, batches, seconds, seconds spent waiting in next)."""
    n_elements, n_batches, waited = 0, 0, 0.0
    start = asked = time.monotonic()
    while asked - start < seconds:
        n_elements += len(next(batches))
        got = time.monotonic()
        waited += got - asked
        n_batches += 1
        if step_s:
            time.sleep(step_s)
            asked = time.monotonic()
        else:
            asked = got
    return n_elements, n_batches, asked - start, waited


def measure(job):
    batches = peer_batches(job) if job.peer else stoker_batches(job)
    take(batches, job.step_s, job.warm_s)
    n_elements, n_batches, seconds, waited = take(batches, job.step_s, job.seconds)
    reading = {"per_s": n_elements / seconds}
    if job.step_s:
        reading["added"] = waited / n_batches / job.step_s
    return reading


def main():
    fd, path = int(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as file:
        job = Job(**json.load(file))
    try:
        event = {"event": "done", **measure(job)}
    except Exception as error:  # pylint: disable=broad-exception-caught
        event = {"event": "failed", "why": f"{type(error).__name__}: {error}"}
    os.write(fd, (json.dumps(event) + "\n").encode())
    os._exit(0)  # some do not like to be left in the middle


if __name__ == "__main__":
    main()
