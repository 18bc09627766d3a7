# SPDX-License-Identifier: Apache-2.0
"""Signals, the end of the interpreter, and forks, each in an interpreter of its own."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import stoker

HANG_SECONDS = 60


def interrupt(path, text, delay):
    """Starts a script, waits until it says it is ready, sends SIGINT after a moment; (exit code,
    output, seconds).
    """
    script = path / "script.py"
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, "-u", script],
        cwd=path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        time.sleep(delay)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=HANG_SECONDS)
        return child.returncode, out, err, time.monotonic() - sent
    finally:
        child.kill()
        child.wait()


ENDLESS = {
    "a loop": "for batch in stoker.range(1000).repeat().batch(2): pass",
    "one long call": "collections.deque(stoker.range(1000).repeat().batch(2), 0)",
    "several epochs": "for batch in stoker.range(10).iterate(epochs=None): pass",
    "a slow batch": "next(iter(stoker.range(10**12).map('exp(sin(float64(x)))')"
    ".filter('x < 0').batch(5)))",
    "a generator that waits": "next(stoker.from_generator(lambda: map(time.sleep, [1000]), 'int8')"
    ".iterate(workers=2))",
    "a generator that works": "for e in stoker.from_generator(lambda: iter(int, 1), 'int8'): pass",
    "building": "stoker.range(4 * 10**8).split([0.5, 0.5], 0, by='x')",
    "lines of a fifo": "next(stoker.lines('fifo').iterate())",
    "JSON of a fifo": "next(stoker.jsonl('fifo', {'a': 'int64'}).iterate(workers=0))",
    "no workers": "for b in stoker.range(1000).repeat().batch(2).iterate(workers=0): pass",
}


@pytest.mark.parametrize("ask", [list, lambda ds: ds[0]], ids=["a loop", "an element"])
def test_a_named_pipe_among_files_is_not_waited_for(ask, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(stoker.Error, match="a named pipe"):
        ask(stoker.files(tmp_path / "fifo").read())


@pytest.mark.parametrize("what", ENDLESS)
def test_interrupt(what, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    code, _, err, seconds = interrupt(
        tmp_path,
        f"""
        import collections, time
        import stoker
        print("ready")
        try:
            {ENDLESS[what]}
        except KeyboardInterrupt:
            print("interrupted")
            raise
        """,
        0.3,
    )
    assert code == -signal.SIGINT and err.rstrip().endswith("KeyboardInterrupt"), (code, err)


@pytest.mark.parametrize("delay", [0, 0.003, 0.03])
def test_interrupt_early(delay, tmp_path):
    code, _, err, _ = interrupt(
        tmp_path,
        """
        import sys
        print("ready")
        import stoker
        for batch in stoker.range(1000).shuffle().repeat().batch(2):
            pass
        """,
        delay,
    )
    assert code in (1, -signal.SIGINT) and "KeyboardInterrupt" in err


def test_interrupted_iterator_goes_on(run_python):
    """Signals at random moments of next: every batch comes, once, and a state taken after a signal
    is that before the batch that was on its way."""
    done = run_python("""
        import random, signal, threading, time
        import stoker

        def interrupt(*_):
            global is_armed
            if is_armed:
                is_armed = False
                raise KeyboardInterrupt

        def disturb():
            for _ in range(300):
                time.sleep(random.random() * 0.003)
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            done.append(True)

        random.seed(4)
        is_armed, done, interrupts = False, [], 0
        signal.signal(signal.SIGINT, interrupt)
        endless = stoker.range(10**9)
        chains = [endless.batch(7), endless.map("sqrt(float64(x))").batch(20000)]
        iterators = [chain.iterate() for chain in chains]
        numbers = [0, 0]
        thread = threading.Thread(target=disturb)
        thread.start()
        which = 0
        while not done:
            which = 1 - which
            try:
                is_armed = True
                batch = next(iterators[which])
                is_armed = False
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts % 16 == 0:
                    with chains[which].resume(iterators[which].state_dict()) as again:
                        assert next(again).position.batch == numbers[which]
                continue
            assert batch.position.batch == numbers[which], (batch.position, numbers)
            numbers[which] += 1
        thread.join()
        assert [it.stats().batches for it in iterators] == numbers
        assert interrupts > 5, interrupts
        print("fine", next(iterators[0]).n_rows, next(iterators[1]).n_rows)
        """)
    assert done.stdout == "fine 7 20000\n" and done.returncode == 0, done.stderr


def test_interrupt_in_close(tmp_path):
    """close() waits for a generator, and can be left."""
    code, out, err, _ = interrupt(
        tmp_path,
        """
        import threading, time
        import stoker

        def numbers():
            yield 1
            inside.set()
            while True:
                time.sleep(0.5)
                if gone:
                    yield 2

        gone, inside = [], threading.Event()
        it = stoker.from_generator(numbers, "int64").batch(1).iterate(workers=2)
        next(it)
        inside.wait(30)
        print("ready")
        try:
            it.close()
        except KeyboardInterrupt:
            print("left")
        gone.append(True)
        """,
        0.3,
    )
    assert (code, out) == (0, "left\n"), err


EXITS = {
    "an iterator in a global": "it = stoker.range(10**9).batch(2).iterate(workers=2); next(it)",
    "many iterators": "its = [stoker.range(10**9).batch(2).iterate(workers=2) for _ in range(20)]",
    "a daemon thread": """
def consume():
    for batch in stoker.range(10**12).batch(3): pass
threading.Thread(target=consume, daemon=True).start()
time.sleep(0.1)""",
    "daemon threads with generators": """
def numbers():
    while True: yield 1
def consume():
    for batch in stoker.from_generator(numbers, 'int8').batch(3): pass
for _ in range(4): threading.Thread(target=consume, daemon=True).start()
time.sleep(0.1)""",
    "a generator that works": """
def numbers():
    n = 0
    while True:
        n += 1
        yield n
it = stoker.from_generator(numbers, 'int64').batch(10**7).iterate(workers=2)
threading.Thread(target=lambda: next(it), daemon=True).start()
time.sleep(0.1)""",
    "a generator that waits": """
def numbers():
    yield 1
    time.sleep(1000)
it = stoker.from_generator(numbers, 'int64').iterate(workers=2)
next(it)
time.sleep(0.1)""",
    "threads that make and drop iterators": """
def churn():
    while True: next(stoker.range(10**6).batch(3).iterate(workers=1))
for _ in range(4): threading.Thread(target=churn, daemon=True).start()
time.sleep(0.2)""",
    "a batch in a global": "x = stoker.range(10).batch(2).head(1)[0].x; v = memoryview(x)",
    "an array of ours": "ds = stoker.from_arrays(x=bytearray(100)); it = ds.iterate(); next(it)",
    "in the middle of a loop": "\\nfor b in stoker.range(10**9).batch(3): sys.exit(0)",
    "in a thread at exit": """
def late():
    time.sleep(0.05)
    try:
        for _ in range(3): list(stoker.range(1000).batch(2))
    except Exception as error:
        pass
threading.Thread(target=late).start()""",
}


@pytest.mark.parametrize("what", EXITS)
def test_exit(what, run_python):
    done = run_python(
        "import sys, threading, time\nimport stoker\n" + EXITS[what].replace("\\n", "\n")
    )
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)


def test_exit_by_an_exception(run_python):
    done = run_python("""
        import stoker
        it = stoker.range(10**9).batch(2).iterate()
        next(it)
        raise RuntimeError("on purpose")
        """)
    assert (
        done.returncode == 1 and done.stderr.count("Traceback") == 1 and "on purpose" in done.stderr
    )


FORK = """
import gc, os, sys, warnings
import stoker

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads

def in_child(work, leave):
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 7, status
        return
    try:
        work()
        code = 7
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        code = 8
    if leave == "now":
        os._exit(code)
    sys.exit(code)
"""


@pytest.mark.parametrize("leave", ["now", "properly"])
def test_fork(leave, run_python):
    done = run_python(
        FORK
        + f"""
ds = stoker.range(10000).shuffle().batch(10)
it = ds.iterate(workers=2)
first = next(it)
held = [next(it) for _ in range(5)]

def work():
    global it
    for use in (lambda: next(it), lambda: it.close()):
        try:
            use()
        except RuntimeError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError("no error")
    assert sum(len(b.x) for b in ds.iterate(workers=2)) == 10000
    assert len(list(ds.take(3))) == 3 and ds[0].x.tolist() == first.x.tolist()
    assert len(stoker.files(sys.executable).read()[0].bytes) > 0
    del held[:], it
    gc.collect()

for _ in range(10):
    in_child(work, {leave!r})
assert sum(1 for _ in it) == 994
print("fine")
"""
    )
    assert done.stdout == "fine\n" and done.returncode == 0 and not done.stderr, done.stderr


def test_fork_while_iterating_in_threads(run_python):
    done = run_python(
        FORK
        + """
import threading
stop = threading.Event()

def consume():
    while not stop.is_set():
        for batch in stoker.range(1000).shuffle().batch(3):
            pass

threads = [threading.Thread(target=consume) for _ in range(3)]
[thread.start() for thread in threads]

def work():
    for _ in range(3):
        assert sum(len(b.x) for b in stoker.range(1000).shuffle().batch(3)) == 1000

for _ in range(20):
    in_child(work, "now")
stop.set()
[thread.join(30) for thread in threads]
print("fine")
"""
    )
    assert done.stdout == "fine\n" and done.returncode == 0, done.stderr


def test_fork_with_generators(run_python):
    done = run_python(
        FORK
        + """
ds = stoker.from_generator(lambda: iter(range(1000)), 'int64').batch(10)
it = ds.iterate(workers=2)
next(it)

def work():
    assert sum(len(b.x) for b in ds) == 1000
    try:
        next(it)
    except RuntimeError:
        return
    raise AssertionError

for leave in ("now", "properly"):
    in_child(work, leave)
assert sum(1 for _ in it) == 99
print("fine")
"""
    )
    assert done.stdout == "fine\n" and done.returncode == 0, done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, run_python):
    done = run_python(
        """
        import multiprocessing, sys
        import stoker

        def total(ds, rank):
            return sum(x for batch in ds.iterate(rank=rank, world=3) for x in batch.x.tolist())

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            ds = stoker.from_arrays(x=list(range(1000))).shuffle().shard().batch(7)
            running = iter(ds)
            next(running)
            with context.Pool(2) as pool:
                parts = pool.starmap(total, [(ds, rank) for rank in range(3)])
            assert sum(parts) == sum(range(1000)), parts
            assert sum(1 for _ in running) == 142
            print("fine")
        """,
        method,
    )
    assert done.stdout == "fine\n" and done.returncode == 0, done.stderr
