# SPDX-License-Identifier: Apache-2.0
"""One peer at one work, in a process of its own. run.py starts it and reads its events.

    one.py START FD JOB

START is when the process was started (CLOCK_MONOTONIC), FD where events go as lines of JSON, JOB a
file that says what to do. Little is imported before the peer is: the time to the first batch counts
from START."""

import json
import os
import sys
import time

Job = type(sys.implementation)  # types.SimpleNamespace


def session_processes(session):
    """The processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        fields = stat_fields(name) if name.isdigit() else None
        if fields and int(fields[3]) == session:
            found.append(int(name))
    return found


def stat_fields(pid):
    """/proc/PID/stat from the third field on, or None when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def status_megabytes(name):
    """A line of this process's /proc/self/status, e.g. VmHWM."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def cpu_seconds():
    """Of this process and of its worker processes, the living and the dead."""
    times = os.times()
    total = time.process_time() + times.children_user + times.children_system
    tick = os.sysconf("SC_CLK_TCK")
    for pid in session_processes(os.getsid(0)):
        fields = stat_fields(pid) if pid != os.getpid() else None
        if fields:
            total += (int(fields[11]) + int(fields[12])) / tick
    return total


def consume(epoch, job):
    """Runs one epoch; returns how many elements it had."""
    n = 0
    for array in epoch():
        n += len(array)
    if abs(n - job.epoch_elements) >= job.batch:
        raise ValueError(f"an epoch had {n} elements, not {job.epoch_elements}")
    return n


def first_batch(epoch):
    """Runs the first epoch; returns when its first batch was there."""
    batches = epoch()
    len(next(batches))
    when = time.monotonic()
    for _ in batches:
        pass
    return when


def border_gap(epoch, job):
    """The longest time between batches where epochs meet, divided by the median between any."""
    times = []
    for array in epoch():
        len(array)
        times.append(time.monotonic())
    gaps = [after - before for before, after in zip(times, times[1:])]
    return max(gaps[job.border_every - 1 :: job.border_every]) / sorted(gaps)[len(gaps) // 2]


def timed(epoch, job):
    """Whole epochs until enough time has passed: rate, and CPU seconds per 1000 elements."""
    cpu, start, n = cpu_seconds(), time.monotonic(), 0
    while True:
        n += consume(epoch, job)
        seconds = time.monotonic() - start
        if seconds >= job.stretch_s:
            return {"per_s": n / seconds, "cpu_s_per_1000": 1000 * (cpu_seconds() - cpu) / n}


def measure(make, loaded, job, send, times):
    before = status_megabytes("RssAnon")
    epoch = make(loaded, job)
    when = first_batch(epoch)
    send(event="warm")
    readings = [timed(epoch, job) for _ in range(job.n_stretches)]
    best = max(readings, key=lambda reading: reading["per_s"])
    if hasattr(job, "border_every"):
        best["border_gap"] = border_gap(epoch, job)
    if hasattr(epoch, "sizes"):
        best.update(epoch.sizes())
    send(
        event="done",
        **best,
        first_s=when - times.start,
        after_import_s=when - times.imported,
        import_s=times.imported - times.begun,
        rss_mb=status_megabytes("VmHWM"),
        anon_mb=status_megabytes("RssAnon"),
        grown_mb=status_megabytes("RssAnon") - before,
    )


def check(make, loaded, job, send):
    """The first batch must be what the work says; where it is the same for all, it is compared."""
    import numpy

    batches = make(loaded, job)()
    array = numpy.asarray(next(batches))
    if array.ndim == 4 and array.shape[1] == 3:
        array = array.transpose(0, 2, 3, 1)
    if job.shape and (list(array.shape) != job.shape or str(array.dtype) != job.dtype):
        raise ValueError(f"a batch is {array.dtype}{list(array.shape)}, not {job.dtype}{job.shape}")
    if job.range and not job.range[0] <= array.min() <= array.max() <= job.range[1]:
        raise ValueError(f"values go from {array.min()} to {array.max()}, not {job.range}")
    differs = None
    if job.reference and job.is_reference:
        numpy.save(job.reference, array)
    elif job.reference and os.path.exists(job.reference):
        steps = numpy.abs(array - numpy.load(job.reference)) * numpy.array(job.std) * 255
        differs = float(steps.mean())
    for _ in batches:  # some do not like to be left in the middle
        pass
    send(event="done", differs=differs)


def main():
    start, fd, path = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as file:
        job = Job(**json.load(file))

    def send(**event):
        os.write(fd, (json.dumps(event) + "\n").encode())

    try:
        from importlib import import_module

        peer = import_module(f"peers.{job.peer}")
        begun = time.monotonic()
        loaded = peer.load()
        times = Job(start=start, begun=begun, imported=time.monotonic())
        make = getattr(peer, job.function)
        if job.mode == "measure":
            measure(make, loaded, job, send, times)
            return
        if hasattr(peer, "prepare"):
            peer.prepare(loaded, job)
        check(make, loaded, job, send)
    except Exception as error:  # whatever a peer may raise is what its row says
        send(event="failed", why=f"{type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main()
