# SPDX-License-Identifier: Apache-2.0
"""Runs a peer in a process of its own and turns what it says into a reading.

A reading is a dict: per_s, first_s (first batch, from the start of the process), after_import_s
(the same without start and import), import_s, rss_mb (peak), anon_mb, grown_mb (from before the
first batch to the end), cpu_s_per_1000, tensor_mb and activation_mb (of a
training step: all beyond weights and state, and its activations); or {"failed": why}."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time

from one import session_processes

SAMPLE_S = 0.2
HERE = os.path.dirname(os.path.abspath(__file__))


class Child:
    """A process in a session of its own, so that its workers can be found, and ended with it."""

    def __init__(self, words, environment, **options):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            words,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stderr=self.errors,
            start_new_session=True,
            **options,
        )

    def last_words(self):
        """The last line that it wrote to stderr."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:300] if lines else "nothing was said"

    def end(self):
        for pid in session_processes(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.errors.close()
        if self.process.stdout:
            self.process.stdout.close()


class Memory:
    """The most that a process and its workers were seen to use together, while they warm up.

    Of a page that several of them have, each counts its share (Pss), so that it counts once.
    """

    def __init__(self, pid):
        self.pid, self.anon_mb, self.tree_mb, self.tree_anon_mb = pid, 0.0, 0.0, 0.0

    def sample(self):
        self.anon_mb = max(self.anon_mb, kilobytes(f"/proc/{self.pid}/status", "RssAnon") / 1024)
        tree = session_processes(self.pid)
        if len(tree) > 1:
            self.tree_mb = max(self.tree_mb, shares(tree, "Pss"))
            self.tree_anon_mb = max(self.tree_anon_mb, shares(tree, "Pss_Anon"))


def shares(processes, name):
    return sum(kilobytes(f"/proc/{pid}/smaps_rollup", name) for pid in processes) / 1024


def kilobytes(path, name):
    """A line of a file of /proc, or 0 when the process is gone."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def last_event(child, fd, limit_s, memory):
    """The last event of a child: done or failed; None when time is up or the child is gone."""
    deadline, text, is_warm = time.monotonic() + limit_s, b"", False
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            ready = selector.select(1.0 if is_warm else SAMPLE_S)
            if not ready:
                if not is_warm:
                    memory.sample()
                if child.process.poll() is None:
                    continue
                ready = selector.select(0)  # what it said at the very end
            got = os.read(fd, 65536) if ready else b""
            if not got:
                return None
            text += got
            *lines, text = text.split(b"\n")
            for event in map(json.loads, lines):
                is_warm = True
                if event["event"] != "warm":
                    return event
    return None


def run_peer(job_path, environment, limit_s, script="one.py"):
    """Runs a script on a job; returns its last event, with the memory that was seen."""
    here, there = os.pipe()
    start = time.monotonic()
    words = [sys.executable, os.path.join(HERE, script), repr(start), str(there), str(job_path)]
    child = Child(words, environment, stdout=subprocess.DEVNULL, pass_fds=(there,))
    os.close(there)
    try:
        memory = Memory(child.process.pid)
        event = last_event(child, here, limit_s, memory)
        if event is None:
            return {"failed": ending(child, limit_s)}
        if event.pop("event") == "failed":
            return {"failed": one_line(event["why"])}
        return with_memory(event, memory)
    finally:
        child.end()
        os.close(here)


def with_memory(event, memory):
    if "rss_mb" in event:
        event["rss_mb"] = max(event["rss_mb"], memory.tree_mb)
        event["anon_mb"] = max(event["anon_mb"], memory.anon_mb, memory.tree_anon_mb)
    return event


def one_line(text):
    return " ".join(text.split())[:300]


def ending(child, limit_s):
    """Why a child did not finish."""
    try:
        status = child.process.wait(1.0)
    except subprocess.TimeoutExpired:
        return f"took longer than {limit_s:.0f} s"
    return f"ended with status {status}: {child.last_words()}"


def run_program(words, environment, stretch_s, limit_s):
    """Runs a program that prints JSON as `stoker run --json` does."""
    try:
        child = Child(words, environment, stdout=subprocess.PIPE)
    except OSError as error:
        return {"failed": f"cannot be run: {error}"}
    try:
        printed, _ = child.process.communicate(timeout=limit_s)
        if child.process.returncode:
            return {"failed": ending(child, limit_s)}
        return program_reading(json.loads(printed), stretch_s)
    except ValueError:
        return {"failed": "printed no JSON"}
    except subprocess.TimeoutExpired:
        return {"failed": f"took longer than {limit_s:.0f} s"}
    finally:
        child.end()


def program_reading(answer, stretch_s):
    """Where epochs are shorter than a stretch the rate of all of them counts, else the best one."""
    n_epoch = answer["elements"] / answer["epochs"]
    is_long = n_epoch / answer["best_epoch_elements_per_s"] >= stretch_s
    reading = {
        "per_s": answer["best_epoch_elements_per_s" if is_long else "elements_per_s"],
        "first_s": answer["first_batch_s"],
        "rss_mb": answer["peak_rss_mb"],
        "cpu_s_per_1000": 1000 * answer["cpu_seconds"] / answer["elements"],
    }
    if "peak_anon_mb" in answer:
        reading["anon_mb"] = answer["peak_anon_mb"]
    return reading


def better(old, new):
    """The best of two readings. Rates high; times low; memory is the most that was seen."""
    if old is None or "failed" in old or "failed" in new:
        return new if old is None or "failed" in new else old
    pick = {"per_s": max, "rss_mb": max, "anon_mb": max, "grown_mb": max, "device": max, "differs": max, "tensor_mb": max, "activation_mb": max}
    return {key: pick.get(key, min)(old.get(key, new[key]), new[key]) for key in new}
