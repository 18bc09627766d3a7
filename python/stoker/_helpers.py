# SPDX-License-Identifier: Apache-2.0
"""Helper processes, for functions that hold the lock of the interpreter: workers='process'.

A helper is a fork of this process that waits for elements. It is reached by two lanes, so that the
next element is there when it has done one. Messages are pickles through a socket; the arrays in
them lie in memory that both share (a memfd, so no limit of /dev/shm counts) and are copied out of
it. On a lane one message at a time is under way: a request, then its answer.

    thread of stoker ══ element ══▶ helper          a helper that dies: its elements are given to
                     ◀══ result ═══                 another one, once; then they are bad
"""

import mmap
import os
import pickle
import select
import signal
import socket
import struct
import threading
import traceback
import weakref

from ._errors import DataError, StateError

_ALIGN = 64
_FIRST_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_LANES = 2
_MOST_TRIES = 100  # for an element that no helper gets to
_PARTING_SECONDS = 1.0

_starting = threading.Lock()  # one helper is started at a time
_our_ends = weakref.WeakSet()  # of all helpers: another helper must not hold them open


def _renew_lock():
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class RemoteTraceback(Exception):
    """The traceback of an exception in a helper, as text."""

    def __str__(self):
        return "\n" + self.args[0]


# ---- messages ----


class Lane:
    """One end of a connection between this process and a helper."""

    def __init__(self, end, memory, process=None):
        self.end, self.memory = end, memory
        self.shared = mmap.mmap(memory, _FIRST_BYTES)
        self.unread = b""
        self.poll = None
        if process is not None:
            self.poll = select.poll()
            self.poll.register(end, select.POLLIN)
            self.poll.register(process, select.POLLIN)

    def send(self, thing):
        buffers = []
        text = pickle.dumps(thing, 5, buffer_callback=buffers.append)
        parts = [buffer.raw() for buffer in buffers]
        self._make_room(sum(_padded(part.nbytes) for part in parts))
        at = _ALIGN
        for part in parts:
            self.shared[at : at + part.nbytes] = part
            at += _padded(part.nbytes)
        sizes = [len(text), len(parts), *(part.nbytes for part in parts)]
        self.end.sendall(struct.pack(f"<{len(sizes)}Q", *sizes) + text)

    def receive(self):
        n_text, n_parts = struct.unpack("<2Q", self._read(16))
        sizes = struct.unpack(f"<{n_parts}Q", self._read(8 * n_parts))
        text = self._read(n_text)
        self._make_room(sum(map(_padded, sizes)))
        parts, at = [], _ALIGN
        for size in sizes:
            parts.append(bytearray(self.shared[at : at + size]))
            at += _padded(size)
        return pickle.loads(text, buffers=parts)

    def ask(self, arguments):
        self.mark(False)
        self.send(arguments)
        return self.receive()

    def mark(self, has_begun):
        """The first byte says whether the helper has begun with the element."""
        self.shared[0] = has_begun

    def has_begun(self):
        return bool(self.shared[0])

    def close(self):
        self.end.close()
        self.shared.close()
        os.close(self.memory)

    def _make_room(self, n_bytes):
        n_bytes += _ALIGN
        if n_bytes <= len(self.shared):
            return
        n_bytes = max(n_bytes, 2 * len(self.shared), os.fstat(self.memory).st_size)
        os.ftruncate(self.memory, n_bytes)
        self.shared.close()
        self.shared = mmap.mmap(self.memory, n_bytes)

    def _read(self, n_bytes):
        """A small message comes at once; of a large one, what is there."""
        while len(self.unread) < n_bytes:
            self._wait()
            more = self.end.recv(max(_READ_BYTES, n_bytes - len(self.unread)))
            if not more:
                raise EOFError
            self.unread += more
        read, self.unread = self.unread[:n_bytes], self.unread[n_bytes:]
        return read

    def _wait(self):
        """Until there is something to read, or the process is gone, which the socket may not tell:
        other processes may have been forked meanwhile, and hold it open.
        """
        if self.poll and not any(fd == self.end.fileno() for fd, _ in self.poll.poll()):
            raise EOFError


def _padded(n_bytes):
    return -(-n_bytes // _ALIGN) * _ALIGN


# ---- in a helper ----


def _serve(lanes, function):
    """Never returns: the process ends with the connections."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            for lane in _ready(lanes):
                _answer(lane, function)
    except (EOFError, OSError):
        os._exit(0)


def _ready(lanes):
    poll = select.poll()
    for lane in lanes:
        poll.register(lane.end, select.POLLIN)
    ready = {fd for fd, _ in poll.poll()}
    return [lane for lane in lanes if lane.end.fileno() in ready]


def _answer(lane, function):
    lane.mark(True)
    arguments = lane.receive()
    try:
        answer = True, function(*arguments)
    except BaseException as error:
        answer = False, _packed(error)
    try:
        lane.send(answer)
    except OSError:
        raise
    except Exception as error:  # a result that cannot be pickled
        lane.send((False, _packed(error)))


def _packed(error):
    """An exception that can be sent, and its traceback as text."""
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return error, text


# ---- in this process ----


class Helper:
    """One process with a function, and the lanes to it."""

    def __init__(self, function):
        memory = [_new_memory() for _ in range(_LANES)]
        with _starting:
            ends = [socket.socketpair() for _ in range(_LANES)]
            self.pid = os.fork()
            if not self.pid:
                try:
                    for end in [*(ours for ours, _ in ends), *_our_ends]:
                        end.close()
                    _serve([Lane(end, fd) for (_, end), fd in zip(ends, memory)], function)
                finally:
                    os._exit(1)
            for ours, theirs in ends:
                _our_ends.add(ours)
                theirs.close()
        self.process = os.pidfd_open(self.pid)
        self.lanes = [Lane(end, fd, self.process) for (end, _), fd in zip(ends, memory)]
        self.free = list(self.lanes)
        self.was_ended = False  # by us

    def n_free(self):
        return len(self.free)

    def wait(self):
        """Until the process has ended, which is seen to if it is at work for long. Says how."""
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        if not poll.poll(int(_PARTING_SECONDS * 1000)):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        try:
            end = os.waitid(os.P_PIDFD, self.process, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # somebody else has waited for it
            return None
        return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status

    def end(self):
        """Nobody has a lane any more."""
        for lane in self.lanes:
            lane.close()
        self.wait()
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass
        os.close(self.process)


def _new_memory():
    memory = os.memfd_create("stoker-helper", os.MFD_CLOEXEC)
    os.ftruncate(memory, _FIRST_BYTES)
    return memory


class Crew:
    """The helpers of a function: at most n, started when they are needed."""

    def __init__(self, function, n):
        self.function, self.n = function, n
        self.pid = os.getpid()
        self.changed = threading.Condition()
        self.helpers, self.n_starting, self.is_over = [], 0, False

    def take(self):
        """A helper and a lane to it: one that has nothing to do, a new one, or the next place."""
        with self.changed:
            while not self.is_over:
                helper = max(self.helpers, key=Helper.n_free, default=None)
                can_start = len(self.helpers) + self.n_starting < self.n
                if helper and len(helper.free) > (_LANES - 1 if can_start else 0):
                    return helper, helper.free.pop()
                if can_start:
                    break
                self.changed.wait()
            if self.is_over:
                raise StateError("the interpreter is on its way out")
            self.n_starting += 1
        return self._start()

    def _start(self):
        helper = None
        try:
            helper = Helper(self.function)
        finally:
            with self.changed:
                self.n_starting -= 1
                if helper:
                    self.helpers.append(helper)
                    lane = helper.free.pop()
                self.changed.notify_all()
        return helper, lane

    def give(self, helper, lane):
        """Who gives back the last lane to a helper that is not of the crew any more ends it."""
        with self.changed:
            helper.free.append(lane)
            is_last = helper not in self.helpers and len(helper.free) == _LANES
            self.changed.notify()
        if is_last:
            helper.end()

    def forget(self, helper):
        with self.changed:
            if helper in self.helpers:
                self.helpers.remove(helper)
            self.changed.notify()

    def end(self):
        if self.pid != os.getpid():  # they are those of the process that was forked
            return
        with self.changed:
            self.is_over = True
            idle = [helper for helper in self.helpers if len(helper.free) == _LANES]
            self.helpers = []
            self.changed.notify_all()
        for helper in idle:
            helper.end()


class Remote:
    """A function that is carried out by helper processes."""

    def __init__(self, function, n):
        self.function, self.n = function, n
        self.n_waiting = n * _LANES
        self.__name__ = getattr(function, "__name__", "function")
        self._begin()

    def _begin(self):
        self.crew = Crew(self.function, self.n)
        self._finalizer = weakref.finalize(self, self.crew.end)

    def __reduce__(self):
        return Remote, (self.function, self.n)

    def __call__(self, *arguments):
        if self.crew.pid != os.getpid():
            self._begin()
        n_lost, how = 0, None
        for _ in range(_MOST_TRIES):
            helper, lane = self.crew.take()
            try:
                is_good, result = lane.ask(arguments)
            except (EOFError, OSError):
                self.crew.forget(helper)
                how = helper.wait()
                n_lost += lane.has_begun() and not helper.was_ended
                if n_lost == 2:
                    break
                continue
            except BaseException:  # nobody knows what is still under way
                helper.was_ended = True
                self.crew.forget(helper)
                signal.pidfd_send_signal(helper.process, signal.SIGKILL)
                raise
            finally:
                self.crew.give(helper, lane)
            if is_good:
                return result
            error, text = result
            raise error from RemoteTraceback(text)
        signal_text = f", the last by signal {-how}" if how is not None and how < 0 else ""
        what = "two helper processes ended while they had this element"
        if n_lost < 2:
            what = f"{_MOST_TRIES} helper processes ended before they got to this element"
        lost = DataError(f"{what}{signal_text}")
        lost.code = "data"
        raise lost
