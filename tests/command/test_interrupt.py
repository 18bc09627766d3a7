# SPDX-License-Identifier: Apache-2.0
"""Runs that would never end, or never begin, end with the first signal, and say so."""

import json
import os
import signal
import subprocess
import time
import zlib

import pytest
from PIL import Image

WAITS_SECONDS = 20  # for a run that hangs; those that end do so at once

ENDLESS = [
    "tfrecord('/dev/zero').batch(1)",
    "tfrecord('{fifo}').batch(1)",
    "fixed_length('/dev/zero', 100).filter('false').batch(1)",
    "range(10).filter('x > 100').repeat(1000000000000).batch(4)",
    "range(10).filter('x > 100').repeat(1000000).repeat(1000000).shuffle(9).batch(4)",
    "range(10).batch(4).filter('sum(x) > 100').repeat(1000000000000)",
    "range(10).flat_map(range(10).filter('x < 0').repeat(1000000000000)).batch(4)",
]


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "pipe.jpg"
    os.mkfifo(path)
    return path


def interrupt(process, by=signal.SIGINT):
    """One signal, once it is under way; returns its output."""
    try:
        process.communicate(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(by)
    try:
        return process.communicate(timeout=WAITS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("it does not end")


@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("chain", ENDLESS)
def test_one_signal_ends_a_run(stoker, fifo, chain, workers):
    process = stoker("run", chain.replace("{fifo}", str(fifo)), "--workers", workers, start=True,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    out, _ = interrupt(process)
    assert process.returncode == 128 + signal.SIGINT
    assert "ended        interrupted (SIGINT); what was delivered" in out


def test_the_summary_names_the_signal(stoker):
    process = stoker("run", "range(10).repeat().batch(4)", start=True, stdout=subprocess.PIPE, encoding="utf-8")
    out, _ = interrupt(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert "ended        interrupted (SIGTERM); what was delivered" in out


def test_the_summary_as_json_says_interrupted(stoker):
    process = stoker("run", "range(10).repeat().batch(4)", "--json", start=True,
                     stdout=subprocess.PIPE, encoding="utf-8")
    out, _ = interrupt(process)
    assert json.loads(out)["interrupted"] == signal.SIGINT


@pytest.mark.parametrize("io", ["threads", "uring"])
def test_a_named_pipe_among_files_is_a_bad_element(stoker, fifo, io):
    chain = f"files('{fifo}').decode().resize(8, 8).batch(1)"
    done = stoker("run", chain, "--io", io)
    assert done.returncode == 1
    assert "pipe.jpg" in done.stderr and "a named pipe, not a regular file" in done.stderr
    assert stoker("run", chain, "--io", io, "--on-error", "skip").returncode == 0


def test_a_stream_reads_a_pipe(stoker, tmp_path):
    chain = "lines('/dev/fd/0').batch(2)"
    done = stoker("run", chain, "--json", input="a\nb\nc\n")
    assert json.loads(done.stdout)["elements"] == 3


def huge(path, head=b""):
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(10 << 30)


def test_a_huge_file_that_is_no_picture_is_not_read(stoker, tmp_path):
    huge(tmp_path / "zeros.jpg")
    done = stoker("run", f"files('{tmp_path}/*').decode().resize(8, 8).batch(1)", "--memory", "64M",
                  "--on-error", "skip", "--json", "--errors")
    summary = json.loads(done.stdout)
    assert "not a JPEG" in summary["error_list"][0]
    assert summary["bytes_read"] <= 4096


def test_a_header_that_promises_too_much_is_enough(stoker, tmp_path):
    header = b"IHDR" + b"\0\1\0\0" * 2 + b"\x08\2\0\0\0"
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\r" + header + zlib.crc32(header).to_bytes(4, "big")
    huge(tmp_path / "large.png", head + b"\x7f\xff\xff\xffIDAT")
    done = stoker("run", f"files('{tmp_path}/*').decode().resize(8, 8).batch(1)", "--memory", "64M")
    assert done.returncode == 1 and "max_pixels" in done.stderr


@pytest.mark.parametrize("io", ["threads", "uring"])
def test_what_can_never_fit_is_refused_with_both_numbers(stoker, tmp_path, io):
    huge(tmp_path / "large.bin")
    done = stoker("run", f"files('{tmp_path}/*').read().batch(1)", "--memory", "64M", "--io", io)
    assert done.returncode == 1
    assert str(10 << 30) in done.stderr and str(64 << 20) in done.stderr and "memory=" in done.stderr


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_pipe_that_nobody_reads_holds_nothing_up(stoker, by):
    """Writing waits for a reader, and no cancelling reaches it there."""
    process = stoker("run", "range(100000000).batch(1000)", "--dump", start=True,
                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(by)
    try:
        assert process.wait(timeout=WAITS_SECONDS) == 128 + by
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_pack_that_was_ended_leaves_nothing_and_is_done_again(stoker, tmp_path, by):
    out = ["--out", str(tmp_path / "x-{shard}.tfrecord"), "--shards", "2"]
    process = stoker("pack", "range(100000000000)", *out, start=True, stderr=subprocess.PIPE,
                     encoding="utf-8")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.send_signal(by)
    _, said = process.communicate(timeout=WAITS_SECONDS)
    assert process.returncode == 128 + by
    assert "packing was stopped; the same call goes on with it" in said
    assert not list(tmp_path.glob("*.tfrecord"))
    assert stoker("pack", "range(10)", *out, "--force").returncode == 0
    assert len(list(tmp_path.glob("*.tfrecord"))) == 2


def test_statistics_without_workers_end(stoker, tmp_path):
    """The thread that looks for signals is the one at work."""
    process = stoker("stats", "range(10).filter('x > 100').repeat(1000000000000).batch(4)",
                     "--workers", 0, start=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     encoding="utf-8")
    interrupt(process)
    assert process.returncode == 128 + signal.SIGINT


@pytest.mark.parametrize("end", ["", ".resize(3000, 3000)"])
def test_what_was_left_half_done_is_not_in_the_cache(stoker, tmp_path, end):
    """A signal ends decoding and resizing within a picture; the next run makes it again."""
    Image.effect_noise((900, 900), 90).save(tmp_path / "0.jpg", quality=95, progressive=True)
    for i in range(1, 40):
        os.link(tmp_path / "0.jpg", tmp_path / f"{i}.jpg")
    chain = f"files('{tmp_path}/*.jpg').decode(){end}"
    cached = f"{chain}.cache('{tmp_path}/kept')"
    for _ in range(3):
        interrupt(stoker("run", cached, "--workers", 1, start=True, stdout=subprocess.PIPE))
    done = stoker("run", cached, "--digest", "--json")
    assert done.returncode == 0, done.stderr
    whole = stoker("run", chain, "--digest", "--json")
    assert json.loads(done.stdout)["digest"] == json.loads(whole.stdout)["digest"]


def of_many_frames(path, n):
    """A picture as an animation: its only frame, or its last one, n times."""
    data = path.read_bytes()
    if path.suffix == ".gif":
        begin = 13 + 3 * 2 ** ((data[10] & 7) + 1)
        path.write_bytes(data[:begin] + data[begin:-1] * n + data[-1:])
        return
    last = data.rindex(b"ANMF")
    data = data[:last] + data[last:] * n
    path.write_bytes(data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:])


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_a_signal_ends_an_animation(stoker, tmp_path, ending):
    """Frames that are done at once each are thousands."""
    path = tmp_path / f"a.{ending}"
    frames = [Image.new("L", (1000, 1000), colour) for colour in (0, 255)]
    frames[0].save(path, save_all=True, append_images=frames[1:] if ending == "webp" else [])
    of_many_frames(path, 1500)
    process = stoker("run", f"files('{path}').decode(channels=1, frames=all, max_pixels=2000000000).batch(1)",
                     "--memory", "2500M", start=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    began = time.monotonic()
    interrupt(process)
    assert process.returncode == 128 + signal.SIGINT
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("call", [
    "encode_png()",
    "encode_webp()",
    "encode_jpeg(progressive=true)",
    "gaussian_blur(101, 20)",
])
def test_a_signal_ends_work_on_a_large_picture(stoker, tmp_path, call):
    Image.frombytes("L", (7000, 7000), os.urandom(7000 * 7000)).save(tmp_path / "large.bmp")
    process = stoker("run", f"files('{tmp_path}/large.bmp').decode(channels=3).{call}.batch(1)",
                     "--memory", "3G", start=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    began = time.monotonic()
    interrupt(process)
    assert process.returncode == 128 + signal.SIGINT
    assert time.monotonic() - began < 2.5
