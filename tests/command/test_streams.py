# SPDX-License-Identifier: Apache-2.0
"""Rows out of compressed files, standard input and named pipes, as the command reads them."""

import gzip
import io
import json
import os
import random
import signal
import struct
import subprocess
import tarfile
import threading
import time
import zlib

import pytest
from places import GOLDEN, STOKER
from record_files import masked

PATIENCE = 60


def texts(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"]["text"] for line in done.stdout.splitlines()]


def read(stoker, chain, **options):
    return texts(stoker("run", chain, "--dump", "--quiet", **options))


def some_lines(n=3000):
    rng = random.Random(n)
    return [f"line {i} " + "ab" * rng.randrange(60) for i in range(n)]


PACKED = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "members.gz": lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:]),
    "zlib": zlib.compress,
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("workers", [0, 2])
def test_compressed_files(stoker, tmp_path, kind, workers):
    lines = some_lines()
    for name, part in (("a", lines[:1000]), ("b", lines[1000:])):
        text = "".join(line + "\n" for line in part)
        (tmp_path / f"{name}.{kind}").write_bytes(PACKED[kind](text.encode()))
    done = stoker("run", f"lines('{tmp_path}/*').repeat(2)", "--dump", "--quiet", "--workers", workers)
    assert texts(done) == lines + lines


def test_golden_files(stoker):
    """All of them hold one text, whatever wrote them."""
    folder = GOLDEN / "streams"
    expected = (folder / "text.txt").read_bytes().decode().split("\n")
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) >= 14
    for name in names:
        assert read(stoker, f"lines('{folder / name}')") == expected, name


def test_compression_by_name(stoker, tmp_path):
    """zlib of a level whose first bytes could be text has to be named."""
    path = tmp_path / "fast"
    path.write_bytes(zlib.compress(b"one\ntwo\n", 2))
    assert path.read_bytes()[:2] == b"x^"
    assert read(stoker, f"lines('{path}', compression=zlib)") == ["one", "two"]
    done = stoker("run", f"lines('{path}', compression=gzip)")
    assert done.returncode == 1 and "'" + str(path) in done.stderr and "gzip" in done.stderr
    path.write_bytes(gzip.compress(b"one\n"))
    assert len(read(stoker, f"lines('{path}', compression=none)")) >= 1


@pytest.mark.parametrize("cut", [4, 11, 200, -9, -1])
def test_truncated(stoker, tmp_path, cut):
    """What comes before the cut is delivered; then the run fails with file and place."""
    lines = some_lines(20000)
    whole = gzip.compress("\n".join(lines).encode())
    (tmp_path / "cut.gz").write_bytes(whole[:cut])
    done = stoker("run", f"lines('{tmp_path}/cut.gz')", "--dump", "--quiet")
    assert done.returncode == 1
    place = len(whole[:cut])
    assert f"cut.gz' ends at byte {place}, within its gzip data" in done.stderr
    got = [json.loads(line)["fields"]["text"] for line in done.stdout.splitlines()]
    assert got == lines[: len(got)] and (cut > 0 or got)


def test_a_bomb_is_only_long(stoker, tmp_path):
    """64 MB of short lines in 64 KB: counted, never held."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(tmp_path / "bomb.gz", "wb") as file:
        for _ in range(64):
            file.write(packer.compress(b"abcdefg\n" * (1 << 17)))
        file.write(packer.flush())
    assert (tmp_path / "bomb.gz").stat().st_size < 400_000
    done = stoker("run", f"lines('{tmp_path}/bomb.gz').batch(65536)", "--json")
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got["elements"] == 64 << 17 and got["peak_anon_mb"] < 50


def test_a_bomb_without_lines(stoker, tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(200 << 20)))
    done = stoker("run", f"lines('{tmp_path}/bomb.gz')")
    assert done.returncode == 1 and "line 1 (at byte 0) is longer than 16 MiB" in done.stderr


def test_rows_of_a_stream_that_are_too_long(stoker, tmp_path):
    """16 MiB are a row, and one byte more is not, as in a file that is not compressed."""
    path, most = tmp_path / "long.csv.gz", 16 << 20
    path.write_bytes(gzip.compress(b"text\naa\n" + bytes(most) + b"\n", 1))
    done = stoker("run", f"csv('{path}', {{text: text}}).batch(2)", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["elements"] == 2, done.stderr
    path.write_bytes(gzip.compress(b"text\naa\n" + bytes(most + 3) + b"\n", 1))
    done = stoker("run", f"csv('{path}', {{text: text}}).batch(2)")
    assert done.returncode == 1
    assert f"'{path}', row 1 (at byte 8) is longer than 16 MiB" in done.stderr


@pytest.mark.parametrize("filling", [b"\n", b"\r\n", b"# nothing\r\n"])
def test_much_between_rows_of_a_stream(stoker, tmp_path, filling):
    """Empty lines and comments are no part of a row, however many there are; lines are counted."""
    path, n = tmp_path / "empty.csv.gz", (70 << 20) // len(filling)
    path.write_bytes(gzip.compress(b"a\n1\n" + filling * n + b"2\nx\n", 1))
    chain = f"csv('{path}', {{a: int64}}, comment='#')"
    done = stoker("run", chain + ".take(2)", "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["fields"]["a"] for line in done.stdout.splitlines()] == [1, 2]
    done = stoker("run", chain)
    assert done.returncode == 1 and f"line {n + 4}: " in done.stderr, done.stderr


# ---- data that comes while we wait ----


def start(*words, **options):
    return subprocess.Popen(
        [STOKER, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **options,
    )


def test_standard_input(stoker):
    lines = some_lines()
    text = "".join(line + "\n" for line in lines)
    assert read(stoker, "lines('-')", input=text) == lines
    packed = gzip.compress(text.encode())
    done = stoker("run", "lines('-')", "--dump", "--quiet", input=packed, encoding=None)
    assert [json.loads(line)["fields"]["text"] for line in done.stdout.splitlines()] == lines


def tfrecord_of(*texts):
    """Records with their frames."""
    frames = b""
    for text in texts:
        length = struct.pack("<Q", len(text))
        frames += length + struct.pack("<I", masked(length)) + text + struct.pack("<I", masked(text))
    return frames


def tar_of(*texts):
    """Samples 0, 1, … with a member .txt each."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for i, text in enumerate(texts):
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return file.getvalue()


# What each source of rows is called with to read `text`, and the bytes that hold three of them.
SOURCES = {
    "lines": ("lines('-'{})", b"aa\nbb\ncc\n"),
    "fixed_length": ("fixed_length('-', 2{}).rename({{record: text}})", b"aabbcc"),
    "tfrecord": ("tfrecord('-'{}).rename({{record: text}})", tfrecord_of(b"aa", b"bb", b"cc")),
    "tar": ("tar('-', {{text: 'txt'}}{})", tar_of(b"aa", b"bb", b"cc")),
    "csv": ("csv('-', {{text: text}}, header=['text']{})", b"aa\nbb\ncc\n"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_standard_input_of_every_source(stoker, source):
    chain, data = SOURCES[source]
    for compression in ("none", "auto", "gzip"):
        packed = gzip.compress(data) if compression == "gzip" else data
        call = chain.format(f", compression={compression}")
        if source != "fixed_length" or compression != "auto":
            done = stoker("run", call, "--dump", "--quiet", input=packed, encoding=None)
            assert done.returncode == 0, done.stderr
            got = [json.loads(line)["fields"]["text"] for line in done.stdout.splitlines()]
            assert got == ["aa", "bb", "cc"], (source, compression)


@pytest.mark.parametrize("source", SOURCES)
def test_standard_input_once(stoker, source):
    """A second pass would find nothing, and say nothing."""
    chain, data = SOURCES[source]
    for words in ([chain.format("") + ".repeat(2)"], [chain.format("") + ".batch(2)", "--epochs", "2"]):
        done = stoker("run", *words, input=data, encoding=None)
        assert done.returncode == 2, words
        assert b"standard input can be read only once" in done.stderr


@pytest.mark.parametrize("source", ["tfrecord", "tar", "csv"])
def test_bad_rows_of_standard_input(stoker, source):
    chain, data = SOURCES[source]
    wrong = {"tfrecord": data[:-1], "tar": data[:1024] + b"?" + data[1025:], "csv": data + b"d,d\n"}[source]
    done = stoker("run", chain.format(""), input=wrong, encoding=None)
    assert done.returncode == 1 and b"standard input, " in done.stderr, done.stderr
    assert b"'-'" not in done.stderr.replace(chain.format("").encode(), b"")


def test_closed_standard_input():
    done = subprocess.run(
        ["sh", "-c", f"'{STOKER}' run \"lines('-')\" <&-"],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1 and "cannot read standard input" in done.stderr


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_flow_as_they_come(workers):
    """Each answer is waited for before more is written: nothing is held back."""
    child = start("run", "lines('-').batch(2)", "--dump", "--quiet", "--workers", workers, stdin=subprocess.PIPE)
    guard = threading.Timer(PATIENCE, child.kill)
    guard.start()
    for i in range(5):
        child.stdin.write(f"{i}\n")
        child.stdin.flush()
        if i % 2:
            assert json.loads(child.stdout.readline())["fields"]["text"] == [f"{i - 1}", f"{i}"]
    child.stdin.close()
    assert json.loads(child.stdout.readline())["fields"]["text"] == ["4"]
    assert child.wait(PATIENCE) == 0
    guard.cancel()


def test_named_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = start("run", f"lines('{pipe}')", "--dump", "--quiet")
    time.sleep(0.1)  # nobody has opened it: that is not its end
    assert child.poll() is None
    with open(pipe, "w", encoding="utf-8") as writer:
        writer.write("one\n")
        writer.flush()
        time.sleep(0.1)
        writer.write("two\nthree")
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, err
    assert [json.loads(line)["fields"]["text"] for line in out.splitlines()] == ["one", "two", "three"]


@pytest.mark.parametrize("source", ["pipe", "input", "half a gzip"])
@pytest.mark.parametrize("workers", [0, 2])
def test_interrupted_while_waiting(tmp_path, source, workers):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    chain = f"lines('{pipe if source == 'pipe' else '-'}').batch(3)"
    child = start("run", chain, "--workers", workers, stdin=subprocess.PIPE)
    if source == "half a gzip":
        child.stdin.buffer.write(gzip.compress(os.urandom(9999))[:5000])
        child.stdin.flush()
    time.sleep(0.3)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 130
    child.communicate()


# ---- records of one length ----


def records(stoker, chain, *more, **options):
    done = stoker("run", chain, "--dump", "--quiet", *more, **options)
    got = [json.loads(line)["fields"]["record"] for line in done.stdout.splitlines()]
    return done, got


def write_records(folder, counts, record_bytes, header, footer):
    """Files of so many records each; the letters of all of them, in order."""
    rng, all_of_them = random.Random(9), []
    for i, n in enumerate(counts):
        some = ["".join(rng.choice("abcdefgh") for _ in range(record_bytes)) for _ in range(n)]
        (folder / f"{i}.bin").write_text("H" * header + "".join(some) + "F" * footer)
        all_of_them += some
    return all_of_them


@pytest.mark.parametrize("shape", [(1, 0, 0), (7, 0, 0), (5, 3, 0), (4, 0, 9), (100, 17, 250)])
def test_fixed_length(stoker, tmp_path, shape):
    record_bytes, header, footer = shape
    expected = write_records(tmp_path, [5, 0, 1000, 3], *shape)
    chain = f"fixed_length('{tmp_path}/*.bin', {record_bytes}, {header}, footer={footer}"
    done, got = records(stoker, chain + ")")
    assert done.returncode == 0 and got == expected, done.stderr
    done, got = records(stoker, chain + ").shuffle()")
    assert sorted(got) == sorted(expected) and got != expected
    done = stoker("plan", chain + ")")
    assert "indexed" in done.stdout and "1008" in done.stdout
    for path in tmp_path.glob("*.bin"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    for compression in ("gzip", "auto"):
        done, got = records(stoker, chain + f", compression={compression})")
        assert done.returncode == 0 and got == expected, done.stderr


def test_fixed_length_over_blocks(stoker, tmp_path):
    """Headers, records and footers that are longer than what is read at once."""
    expected = write_records(tmp_path, [3, 2], 300_000, 400_000, 500_000)
    chain = f"fixed_length('{tmp_path}/*.bin', 300000, 400000, 500000"
    assert records(stoker, chain + ")")[1] == expected
    for path in tmp_path.glob("*.bin"):
        path.write_bytes(zlib.compress(path.read_bytes()))
    assert records(stoker, chain + ", compression=zlib)")[1] == expected


def test_fixed_length_of_standard_input(stoker):
    done, got = records(stoker, "fixed_length('-', 2, 1, 1)", input="HaabbccF")
    assert done.returncode == 0 and got == ["aa", "bb", "cc"]


@pytest.mark.parametrize("size", [0, 1, 4, 5, 6, 8, 11])
def test_fixed_length_that_does_not_fit(stoker, tmp_path, size):
    """A header of 2, records of 3, a footer of 2."""
    path = tmp_path / "odd.bin"
    path.write_bytes(b"HHaaabbbccc"[:size])
    fits = size >= 4 and (size - 4) % 3 == 0
    done, got = records(stoker, f"fixed_length('{path}', 3, header=2, footer=2)")
    assert (done.returncode == 0) == fits, done.stderr
    message = f"{path}' has {size} bytes" + (
        f": {(size - 4) // 3} records of 3 bytes and a remainder of {(size - 4) % 3}" if size >= 4 else ", fewer"
    )
    assert fits or message in done.stderr
    path.write_bytes(gzip.compress(path.read_bytes()))
    done, packed = records(stoker, f"fixed_length('{path}', 3, header=2, footer=2, compression=gzip)")
    assert (done.returncode == 0) == fits and (fits or message in done.stderr), done.stderr
    assert len(packed) == max(0, size - 4) // 3


def test_an_index_is_of_one_file_as_it_was(stoker, tmp_path):
    """Size and mtime alone are set by programs that copy: other rows under both are found."""
    path, home = tmp_path / "a.csv", tmp_path / "home"
    chain = f"csv('{path}', {{x: text}}, index='{home}')"

    def rows():
        lines = stoker("run", chain, "--dump", "--quiet").stdout.splitlines()
        return [json.loads(line)["fields"]["x"] for line in lines]

    def put(into, text):
        into.write_text(text)
        os.utime(into, ns=(10**18, 10**18))

    put(path, "x\n" + "a\n" * 400 + "bbbb\n" * 400)
    assert rows() == ["a"] * 400 + ["bbbb"] * 400
    put(path, "x\n" + "bbbb\n" * 400 + "a\n" * 400)  # the same inode
    assert rows() == ["bbbb"] * 400 + ["a"] * 400
    put(tmp_path / "new", "x\n" + "a\n" * 400 + "bbbb\n" * 400)
    (tmp_path / "new").rename(path)  # another one
    assert rows() == ["a"] * 400 + ["bbbb"] * 400


def test_the_directory_of_indices_is_made(stoker, tmp_path):
    """If the one above it is there; an index is never required."""
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    for home, is_made in [(tmp_path / "home", True), (tmp_path / "none" / "home", False)]:
        chain = f"csv('{tmp_path / 'a.csv'}', index='{home}')"
        for _ in range(2):
            done = stoker("run", chain, "--json")
            assert done.returncode == 0 and json.loads(done.stdout)["elements"] == 2
        assert len(list(home.glob("*.stkidx"))) == is_made
