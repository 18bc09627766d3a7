# SPDX-License-Identifier: Apache-2.0
"""What the benchmark runs on: processor, cores, versions, and what two busy processes get done."""

import importlib.metadata
import json
import multiprocessing
import os
import platform
import subprocess
import time


def spin(seconds):
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        n += 1
    return n


def two_processes(seconds=0.5):
    """How much two busy processes get done compared with one: 2.0 where two cores are free."""
    with multiprocessing.Pool(2) as pool:
        alone = max(pool.map(spin, [seconds], chunksize=1)[0] for _ in range(3))
        both = max(sum(pool.map(spin, [seconds] * 2, chunksize=1)) for _ in range(3))
    return both / alone


def ask_json(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def versions(peers):
    """{package: version} of what the peers are made of, where it is installed."""
    found = {}
    for name in (name for peer in peers for name in peer.VERSION_OF or peer.PACKAGES):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe(command, peers, seconds=0.5):
    devices = ask_json(command, "devices", "--json")
    version = subprocess.run(
        [command, "version"], capture_output=True, text=True, timeout=60, check=True
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") / 2**30
    return {
        "cpu": devices["cpu"]["model"],
        "level": devices["cpu"]["used"],
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "two": two_processes(seconds),
        "stoker": version.stdout.split()[1],
        "versions": versions(peers),
        "date": time.strftime("%Y-%m-%d"),
    }
