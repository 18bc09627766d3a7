# SPDX-License-Identifier: Apache-2.0
"""How `stoker run` shows its progress: a view on a terminal, which is a pseudo-terminal here with a small
emulator behind it; lines elsewhere."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from places import STOKER


# Runs until it is told to stop.
ENDLESS = "range(10000000000).map('y = sin(float32(x)); z = exp(y) * y').shuffle(1000).batch(32)"


class Screen:
    """What a terminal shows: as much of one as the view makes use of. Anything else is an error."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.row, self.column = [""], 0, 0

    def put(self, character):
        assert self.column < self.columns, f"a line wraps: {self.lines[self.row]!r}"
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def control(self, number, letter):
        if letter == "A":
            self.row -= int(number)
            assert self.row >= 0, "above what was written"
            assert len(self.lines) - self.row <= self.rows, "above the top of the terminal"
        elif letter in "KJ":
            self.lines[self.row] = self.lines[self.row][: self.column]
            if letter == "J":
                del self.lines[self.row + 1 :]
        else:
            assert letter == "m", f"unknown: {number}{letter}"

    def feed(self, text):
        for match in re.finditer(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|(.)", text, re.S):
            number, letter, back, new_line, character = match.groups()
            if letter:
                self.control(number or "1", letter)
            elif back:
                self.column = 0
            elif new_line:
                self.down()
            else:
                assert character.isprintable(), repr(character)
                self.put(character)

    def shown(self):
        return [line.rstrip() for line in self.lines if line.strip()]


class Terminal:
    def __init__(self, words, columns=100, rows=30, **environment):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.screen, self.frames, self.rest = Screen(columns, rows), [], b""
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}
        self.process = subprocess.Popen(
            [STOKER, "run", *words], stdin=self.slave, stdout=self.slave, stderr=self.slave, env=environment)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Shows what is written in that time; each write of a frame ends in clearing the rest."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                continue
            data = self.rest + os.read(self.master, 65536)
            text = data.decode("utf-8", "ignore")
            self.rest = data[len(text.encode()) :]
            cut = text.rfind("\x1b")  # half a sequence waits for its end
            if cut >= 0 and not re.match(r"\x1b\[[0-9;?]*[A-Za-z]", text[cut:]):
                text, self.rest = text[:cut], text[cut:].encode() + self.rest
            for part in re.split(r"(?<=\x1b\[J)", text):
                self.screen.feed(part)
                if part.endswith("\x1b[J"):
                    self.frames.append(self.screen.shown())
        return self.frames

    def wait_for_frames(self, n):
        for _ in range(100):
            if len(self.read(0.1)) >= n:
                return
        pytest.fail(f"{len(self.frames)} frames")

    def end(self):
        self.screen.columns = 1000  # the summary may wrap
        code = self.process.wait(timeout=30)
        self.read(0.2)
        assert termios.tcgetattr(self.slave) == self.before
        os.close(self.slave)
        os.close(self.master)
        return code


@pytest.fixture
def terminal():
    """Starts runs on terminals of their own; none of them outlives its test, however that ends."""
    started = []

    def start(words, *size, **environment):
        started.append(Terminal(words, *size, **environment))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_a_view_that_goes_away_at_the_end(terminal):
    shown = terminal([ENDLESS, "--workers", "2"])
    shown.wait_for_frames(4)
    frame = shown.frames[-1]
    words = [line.split()[0] for line in frame]
    assert words[:5] == ["batches", "rate", "waiting", "ready", "memory"]
    assert words[-1] == "batch" and {"map", "shuffle"} < set(words[5:])
    assert re.fullmatch(r"batches +\d+ of \d+, epoch 1, 0:\d\d, ETA [0-9:]+", frame[0])
    assert re.fullmatch(r"rate +\S+ elements/s, 0.0 MB/s read, 0 errors", frame[1])
    assert re.fullmatch(r"waiting [█▏▎▍▌▋▊▉ ]+\d+ % of the consumer's time", frame[2])
    assert re.fullmatch(r"ready [█▏▎▍▌▋▊▉ ]+\d+ of \d+ batches", frame[3])
    assert all(re.fullmatch(r"\w+ [█▏▎▍▌▋▊▉ ]+\d+\.\d\d of \d threads?", line) for line in frame[5:])
    assert len({tuple(f) for f in shown.frames}) > 1
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 130
    assert [line.split()[0] for line in shown.screen.shown()][:3] == ["elements", "ended", "rate"]
    assert not any("waiting" in line for line in shown.screen.shown())


def test_an_end_that_is_known(terminal):
    shown = terminal(["range(100000000).batch(10).map('x = x + 1')", "--take", "4000000"])
    shown.wait_for_frames(3)
    assert re.search(r" of 4000000, epoch 1, 0:\d\d, ETA \d+:\d\d", shown.frames[-1][0])
    shown.process.send_signal(signal.SIGTERM)
    assert shown.end() == 143


@pytest.mark.parametrize("columns, rows", [(40, 30), (20, 30), (9, 30), (80, 6), (200, 60)])
def test_terminals_of_any_size(terminal, columns, rows):
    shown = terminal([ENDLESS], columns, rows)
    shown.wait_for_frames(3)
    assert all(len(frame) < rows for frame in shown.frames)
    assert all(len(line) < columns for frame in shown.frames for line in frame)
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 130


def test_without_utf8_bars_are_plain(terminal):
    shown = terminal([ENDLESS], LC_ALL="C")
    shown.wait_for_frames(2)
    assert all(line.isascii() for line in shown.frames[-1])
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 130


def test_a_cache_is_shown(terminal):
    shown = terminal(["range(1000).map('y = sin(float32(x))').cache().repeat().batch(8)"])
    shown.wait_for_frames(4)
    [line] = [line for line in shown.frames[-1] if "of the elements are there" in line]
    assert line.startswith("cache ")
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 130


@pytest.mark.parametrize("words, environment", [
    (["--progress", "none"], {}), (["--quiet"], {}), (["--progress=lines"], {}), ([], {"TERM": "dumb"})])
def test_no_view(terminal, words, environment):
    shown = terminal([ENDLESS, *words], **environment)
    shown.read(0.8)
    assert shown.frames == [] and shown.screen.shown() == []
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 130


def run_for(seconds, *words, **options):
    with subprocess.Popen([STOKER, "run", ENDLESS, *words], stdout=-1, stderr=-1, **options) as process:
        try:
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            return [out.decode() for out in process.communicate(timeout=30)]
        finally:
            process.kill()


def test_lines_where_there_is_no_terminal():
    _, lines = run_for(6)
    [line] = lines.splitlines()
    assert re.fullmatch(r"\d+:\d\d  \d+ of \d+ batches, \S+ elements, \S+/s; the consumer waits \d+ % of the time; \d+ MB, 0 errors",
                        line), line


def test_a_view_that_is_asked_for():
    _, text = run_for(1, "--progress", "live")
    screen = Screen(80, 24)
    screen.feed(text.replace("\n", "\n\r"))
    assert text.count("\x1b[J") >= 2 and screen.shown() == []


def test_what_is_no_kind():
    done = subprocess.run([STOKER, "run", "range(3)", "--progress", "much"], capture_output=True, text=True)
    assert done.returncode == 2 and "--progress is auto, live, lines or none, not 'much'" in done.stderr
