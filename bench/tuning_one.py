# SPDX-License-Identifier: Apache-2.0
"""One measurement of tuning.py, in a process of its own: batches for a while, maybe with a step.

    tuning_one.py START FD JOB      as one.py
"""

import importlib
import itertools
import json
import os
import sys
import threading
import time

from one import Job

SAMPLE_S = 0.002


class Memory(threading.Thread):
    """The most that this process has beyond what it had at the start; files do not count."""

    def __init__(self):
        super().__init__(daemon=True)
        self.start_bytes = self.most_bytes = resident()
        self.is_over = threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(SAMPLE_S):
            self.most_bytes = max(self.most_bytes, resident())

    def grown_bytes(self):
        self.is_over.set()
        self.join()
        return self.most_bytes - self.start_bytes


def resident():
    with open("/proc/self/status", encoding="ascii") as file:
        rows = dict(line.split(":", 1) for line in file)
    return 1024 * sum(int(rows[name].split()[0]) for name in ("RssAnon", "RssShmem"))


class StokerBatches:
    """One run for all epochs, as long training has."""

    def __init__(self, job):
        import stoker

        data = stoker.parse(job.chain)
        self.memory = Memory() if job.watches_memory else None
        self.run, self.field = data.iterate(epochs=10**9, **job.options), job.field

    def __next__(self):
        return next(self.run)[self.field]

    def read_bytes(self):
        return self.run.stats().bytes_read

    def close(self):
        self.run.close()


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
    batches = peer_batches(job) if job.peer else StokerBatches(job)
    take(batches, job.step_s, job.warm_s)
    before = 0 if job.peer else batches.read_bytes()
    n_elements, n_batches, seconds, waited = take(batches, job.step_s, job.seconds)
    reading = {"per_s": n_elements / seconds}
    if job.step_s:
        reading["added"] = waited / n_batches / job.step_s
    if job.device_mb_per_s and not job.peer:
        mb_per_s = (batches.read_bytes() - before) / seconds / 1e6
        reading["device"] = mb_per_s / job.device_mb_per_s
    if job.watches_memory:
        reading["grown_mb"] = batches.memory.grown_bytes() / 2**20
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
