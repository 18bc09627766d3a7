# SPDX-License-Identifier: Apache-2.0
"""Chains as text: an independent reader and printer of the grammar in src/lang/value.h.

Values become Python's own: int, float, str, list, dict; a bare word becomes Word, a chain Chain.
Calls are numbered in reading order, nested chains included: the number takes part in the seeds.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*(?:
        (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<mark>[()\[\]{}.,:=*/+@-])
    )""",
    re.VERBOSE,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Word(str):
    """A name without quotes: none, auto, true, bilinear."""


@dataclass
class Call:
    name: str
    args: list = field(default_factory=list)
    kwargs: dict = field(default_factory=dict)
    ordinal: int = 0


@dataclass
class Chain:
    calls: list


class Reader:
    def __init__(self, text):
        self.tokens = []
        at, text = 0, text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise SyntaxError(f"cannot read {text[at:]!r}")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at = 0
        self.n_calls = 0

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else (None, None)

    def take(self, text=None):
        kind, got = self.peek()
        if kind is None or text is not None and got != text:
            raise SyntaxError(f"expected {text or 'more'}, found {got}")
        self.at += 1
        return got

    def chain(self):
        calls = [self.call()]
        while self.peek()[1] == ".":
            self.take(".")
            calls.append(self.call())
        return Chain(calls)

    def call(self):
        call = Call(self.take(), ordinal=self.n_calls)
        self.n_calls += 1
        self.take("(")
        while self.peek()[1] != ")":
            if self.peek()[0] == "name" and self.peek(1)[1] == "=":
                name = self.take()
                self.take("=")
                call.kwargs[name] = self.value()
            else:
                call.args.append(self.value())
            if self.peek()[1] != ")":
                self.take(",")
        self.take(")")
        return call

    def value(self):
        """A value; sums and products of numbers are numbers."""
        left = self.product()
        while self.peek()[1] in ("+", "-"):
            left = left + self.product() if self.take() == "+" else left - self.product()
        return left

    def product(self):
        left = self.single()
        while self.peek()[1] in ("*", "/"):
            left = left * self.single() if self.take() == "*" else left / self.single()
        return left

    def single(self):
        kind, text = self.peek()
        if text == "-":
            self.take()
            return -self.single()
        if text == "(":
            self.take()
            number = self.value()
            self.take(")")
            return number
        if kind == "number":
            self.take()
            return int(text) if text.isdigit() else float(text)
        if kind == "string":
            self.take()
            return re.sub(r"\\(x..|.)", lambda m: unescape(m[1]), text[1:-1], flags=re.S)
        if kind == "name":
            return self.chain() if self.peek(1)[1] == "(" else Word(self.take())
        if text == "@":
            self.take()
            return Word("@" + self.take())
        if text == "[":
            return self.items("[", "]", self.value)
        if text == "{":
            return dict(self.items("{", "}", self.pair))
        raise SyntaxError(f"expected a value, found {text}")

    def pair(self):
        """Calls in a map are no ops, and not counted as such."""
        key, n_calls = self.single(), self.n_calls
        self.take(":")
        value = self.value()
        self.n_calls = n_calls
        return str(key), value

    def items(self, opening, closing, item):
        self.take(opening)
        out = []
        while self.peek()[1] != closing:
            out.append(item())
            if self.peek()[1] != closing:
                self.take(",")
        self.take(closing)
        return out


def unescape(text):
    """What stands for a backslash and this."""
    return chr(int(text[1:], 16)) if len(text) > 1 else ESCAPES.get(text, text)


def parse(text):
    reader = Reader(text)
    chain = reader.chain()
    if reader.peek() != (None, None):
        raise SyntaxError(f"text after the chain: {reader.peek()[1]}")
    return chain


def show(value):
    """The text of a value; parse(show(chain)) is the same chain."""
    if isinstance(value, Chain):
        return ".".join(show(call) for call in value.calls)
    if isinstance(value, Call):
        words = [show(arg) for arg in value.args]
        words += [f"{name}={show(arg)}" for name, arg in value.kwargs.items()]
        return f"{value.name}({', '.join(words)})"
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return "'" + re.sub(r"[\0-\x1f\x7f]", lambda m: f"\\x{ord(m[0]):02x}", quoted) + "'"
    if isinstance(value, list):
        return f"[{', '.join(show(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {show(item)}' for key, item in value.items())}}}"
    return repr(value)
