# SPDX-License-Identifier: Apache-2.0
"""How far the memory of a process grows while it runs a chain: `memory_peak.py CHAIN [name=value …]` prints
JSON. Anonymous and shared memory count, from the moment the dataset is open.
"""

import json
import sys
import threading

import stoker

SAMPLE_SECONDS = 0.001


def resident():
    """Bytes of this process that no file stands behind."""
    with open("/proc/self/status", encoding="ascii") as file:
        rows = dict(line.split(":", 1) for line in file)
    return 1024 * sum(int(rows[name].split()[0]) for name in ("RssAnon", "RssShmem"))


class Sampler(threading.Thread):
    """Looks again and again and remembers the most."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = 0
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, resident())


def consume(runs):
    """A step of each in turn, as a training loop does: the batch before is let go when the next one is there. zip
    would keep one more.
    """
    n, together = 0, [next(run, None) for run in runs]
    while None not in together:
        n += len(together)
        together = [next(run, None) for run in runs]
    return n


def main():
    chain, *words = sys.argv[1:]
    options = dict(word.split("=", 1) for word in words)
    epochs = int(options.pop("epochs", 1))
    stoker.memory_limit(int(options.pop("limit", 0)))
    datasets = [stoker.parse(text) for text in chain.split("; ")]
    sampler = Sampler()
    sampler.start()
    start, ends, batches = resident(), [], 0
    for _ in range(epochs):
        batches += consume([iter(ds.iterate(epochs=1, **options)) for ds in datasets])
        ends.append(resident() - start)
    sampler.is_over.set()
    sampler.join()
    print(json.dumps({"batches": batches, "peak": sampler.peak - start, "ends": ends}))


main()
