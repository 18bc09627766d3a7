# SPDX-License-Identifier: Apache-2.0
"""The exceptions. Each is also one of Python's own, so that code which knows nothing of stoker
handles it.
"""

import sys

_WINDOW = 96
_LEAD = 32


class Error(Exception):
    """Something went wrong. `code` names what ('data', 'io', …); `at` and `len` are the place in
    `chain`, the text that was built, in characters (len is 0 where there is none).
    """

    code = "state"
    at = 0
    len = 0
    chain = ""

    def __reduce__(self):
        return _restore, (type(self), self.args, dict(self.__dict__))


class ChainError(Error, ValueError):
    """A chain or an option that is wrong: syntax, an unknown name, a value out of bounds."""


class TypeMismatchError(Error, TypeError):
    """An op or an option gets what it cannot take."""


class StorageError(Error, OSError):
    """Storage said no: a file that is missing or cannot be read."""


class DataError(Error, ValueError):
    """A bad element under on_error='fail', or too many of them."""


class OutOfMemoryError(Error, MemoryError):
    """The system has no more memory."""


class BudgetError(Error, RuntimeError):
    """The option `memory` is too small; the message names what is needed."""


class StateError(Error, RuntimeError):
    """Something is used that cannot be used any more: a closed iterator, one from before a fork."""


class CancelledError(StateError):
    """The run was ended by somebody else."""


class StokerWarning(UserWarning):
    """What a program should know though nothing failed, such as data that nobody deals out."""


_CLASSES = {
    "SYNTAX": ChainError,
    "NAME": ChainError,
    "VALUE": ChainError,
    "TYPE": TypeMismatchError,
    "IO": StorageError,
    "DATA": DataError,
    "MEMORY": OutOfMemoryError,
    "BUDGET": BudgetError,
    "CANCELLED": CancelledError,
}


for _kind in (Error, StateError, StokerWarning, *_CLASSES.values()):
    _kind.__module__ = "stoker"  # where users find them


def _restore(kind, args, state):
    error = kind(*args)
    error.__dict__.update(state)
    return error


def make(code, message, at, length, chain):
    """The exception for a failure of the library; the place is in bytes of `chain`."""
    where = ""
    if at < len(chain) and length:
        start = len(chain[:at].decode("utf-8", "replace"))
        length = max(1, len(chain[at : at + length].decode("utf-8", "replace")))
        at, chain = start, chain.decode("utf-8", "replace")
        where = "\n" + caret(chain, at, length)
    else:
        at, length, chain = 0, 0, ""
    error = _CLASSES.get(code, StateError)(message + where)
    error.code, error.at, error.len, error.chain = code.lower(), at, length, chain
    return error


def caret(text, at, length):
    """The line of the place, and a mark under it; a long line is cut around the place."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[begin : len(text) if end < 0 else end]
    column = at - begin
    before = after = ""
    if len(line) > _WINDOW:
        drop = max(0, min(column - _LEAD, len(line) - _WINDOW))
        before, line, column = "…" if drop else "", line[drop:], column - drop
        if len(line) > _WINDOW:
            line, after = line[:_WINDOW], "…"
    length = max(1, min(length, len(line) - column))
    return f"  {before}{line}{after}\n  {' ' * (len(before) + column)}^{'~' * (length - 1)}"


# ---- warnings ----


def warn(text):
    import warnings

    warnings.warn(text, StokerWarning, stacklevel=outside())


def outside():
    """How far up the caller is who is not of this package, for warnings.warn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def warn_of_errors(n, first):
    """What a loop has left out or replaced, where an epoch ends. Workers of a DataLoader see the same
    elements, so one of them tells.
    """
    from . import _workers

    worker = _workers.info()
    if worker and worker.id:
        return
    what = "1 bad element was" if n == 1 else f"{n} bad elements were"
    warn(
        f"{what} skipped or replaced (on_error), the first: {first}\n"
        "errors() of the iterator has them, and whoever asks for them gets no warning"
    )
