# SPDX-License-Identifier: Apache-2.0
"""Helper processes, for functions that hold the lock of the interpreter: workers='process'.

A helper is a fork of this process that waits for elements. Messages are pickles through a socket;
the arrays in them lie in memory that both share (a memfd, so no limit of /dev/shm counts) and are
copied out of it. One message at a time is under way: a request, then its answer.

    thread of stoker ── element ──▶ helper          a helper that dies: its element is given to
                     ◀── result ───                 another one, once; then the element is bad
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


class Channel:
    """One end of the connection between this process and a helper."""

    def __init__(self, end, memory, process=None):
        self.end, self.memory, self.process = end, memory, process
        self.shared = mmap.mmap(memory, _FIRST_BYTES)

    def send(self, thing):
        buffers = []
        text = pickle.dumps(thing, 5, buffer_callback=buffers.append)
        parts = [buffer.raw() for buffer in buffers]
        self._make_room(sum(_padded(part.nbytes) for part in parts))
        at = 0
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
        parts, at = [], 0
        for size in sizes:
            parts.append(bytearray(self.shared[at : at + size]))
            at += _padded(size)
        return pickle.loads(text, buffers=parts)

    def _make_room(self, n_bytes):
        if n_bytes <= len(self.shared):
            return
        n_bytes = max(n_bytes, 2 * len(self.shared), os.fstat(self.memory).st_size)
        os.ftruncate(self.memory, n_bytes)
        self.shared.close()
        self.shared = mmap.mmap(self.memory, n_bytes)

    def _read(self, n_bytes):
        read = bytearray()
        while len(read) < n_bytes:
            self._wait()
            part = self.end.recv(n_bytes - len(read))
            if not part:
                raise EOFError
            read += part
        return bytes(read)

    def _wait(self):
        """Until there is something to read, or the process is gone, which the socket may not tell:
        other processes may have been forked meanwhile, and hold it open.
        """
        if self.process is None:
            return
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        poll.register(self.process, select.POLLIN)
        if not any(fd == self.end.fileno() for fd, _ in poll.poll()):
            raise EOFError


def _padded(n_bytes):
    return -(-n_bytes // _ALIGN) * _ALIGN


# ---- in a helper ----


def _serve(channel, function):
    """Never returns: the process ends with the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            element = channel.receive()
        except (EOFError, OSError):
            os._exit(0)
        try:
            answer = True, function(element)
        except BaseException as error:
            answer = False, _packed(error)
        try:
            channel.send(answer)
        except OSError:
            os._exit(0)
        except Exception as error:  # a result that cannot be pickled
            channel.send((False, _packed(error)))


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
    """One process with a function, and the connection to it."""

    def __init__(self, function):
        memory = os.memfd_create("stoker-helper", os.MFD_CLOEXEC)
        os.ftruncate(memory, _FIRST_BYTES)
        with _starting:
            ours, theirs = socket.socketpair()
            self.pid = os.fork()
            if not self.pid:
                try:
                    for end in [ours, *_our_ends]:
                        end.close()
                    _serve(Channel(theirs, memory), function)
                finally:
                    os._exit(1)
            _our_ends.add(ours)
            theirs.close()
        self.process = os.pidfd_open(self.pid)
        self.channel = Channel(ours, memory, self.process)

    def ask(self, element):
        self.channel.send(element)
        return self.channel.receive()

    def end(self):
        """Ends the process, at once if it is at work for long. Says how it ended."""
        self.channel.end.close()
        poll = select.poll()
        poll.register(self.process, select.POLLIN)
        if not poll.poll(int(_PARTING_SECONDS * 1000)):
            os.kill(self.pid, signal.SIGKILL)
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:  # somebody else has waited for it
            code = None
        self.channel.shared.close()
        os.close(self.process)
        os.close(self.channel.memory)
        return code


class Crew:
    """The helpers of a function: at most n, started when they are needed."""

    def __init__(self, function, n):
        self.function, self.n = function, n
        self.pid = os.getpid()
        self.changed = threading.Condition()
        self.idle, self.n_started, self.is_over = [], 0, False

    def take(self):
        with self.changed:
            while not self.idle and self.n_started >= self.n and not self.is_over:
                self.changed.wait()
            if self.is_over:
                raise StateError("the interpreter is on its way out")
            if self.idle:
                return self.idle.pop()
            self.n_started += 1
        try:
            return Helper(self.function)
        except BaseException:
            self.forget()
            raise

    def give(self, helper):
        with self.changed:
            self.idle.append(helper)
            self.changed.notify()

    def forget(self):
        with self.changed:
            self.n_started -= 1
            self.changed.notify()

    def end(self):
        if self.pid != os.getpid():  # they are those of the process that was forked
            return
        with self.changed:
            self.is_over = True
            idle, self.idle = self.idle, []
            self.changed.notify_all()
        for helper in idle:
            helper.end()


class Remote:
    """A function that is carried out by helper processes."""

    def __init__(self, function, n):
        self.function, self.n = function, n
        self.__name__ = getattr(function, "__name__", "function")
        self._begin()

    def _begin(self):
        self.crew = Crew(self.function, self.n)
        self._finalizer = weakref.finalize(self, self.crew.end)

    def __reduce__(self):
        return Remote, (self.function, self.n)

    def __call__(self, element):
        if self.crew.pid != os.getpid():
            self._begin()
        how = None
        for _ in range(2):
            helper = self.crew.take()
            try:
                is_good, result = helper.ask(element)
            except (EOFError, OSError):
                self.crew.forget()
                how = helper.end()
                continue
            except BaseException:
                self.crew.forget()
                helper.end()
                raise
            self.crew.give(helper)
            if is_good:
                return result
            error, text = result
            raise error from RemoteTraceback(text)
        signal_text = f", the last by signal {-how}" if how is not None and how < 0 else ""
        lost = DataError(f"two helper processes ended while they had this element{signal_text}")
        lost.code = "data"
        raise lost
