# SPDX-License-Identifier: Apache-2.0
"""A record or a member of an archive that is larger than the budget is refused before memory is taken for it.

The files are sparse: they take a few KB of storage.
"""

import gzip
import os
import re
import struct
import subprocess
import sys
import tarfile

import pytest
from record_files import masked

BUDGET = 16 << 20
LARGE = 64 << 20


def write_records(path):
    def head(n_bytes):
        length = struct.pack("<Q", n_bytes)
        return length + struct.pack("<I", masked(length))

    def record(data):
        return head(len(data)) + data + struct.pack("<I", masked(data))

    with path.open("wb") as file:
        file.write(record(b"one") + record(b"two") + head(LARGE))
        file.seek(LARGE, 1)
        file.write(bytes(4) + record(b"last"))
    return f"tfrecord('{path}').map('n = len(record)')", [3, 3, 4]


def write_archive(path):
    with path.open("wb") as file:
        for name, n_bytes in (("a", 5), ("b", 6), ("large", LARGE), ("c", 7)):
            member = tarfile.TarInfo(f"{name}.txt")
            member.size = n_bytes
            file.write(member.tobuf(tarfile.USTAR_FORMAT))
            file.seek(-(-n_bytes // 512) * 512, 1)
        file.write(bytes(1024))
    return f"tar('{path}', {{t: 'txt'}}).map('n = len(t)')", [5, 6, 7]


@pytest.fixture(params=["large.tfrecord", "large.tar"])
def large(request, tmp_path):
    path = tmp_path / request.param
    chain, lengths = (write_records if path.suffix == ".tfrecord" else write_archive)(path)
    return path, chain, lengths


@pytest.mark.parametrize("io", ["auto", "threads"])
def test_it_is_refused(stoker, large, io):
    path, chain, _ = large
    done = stoker("run", chain, "--memory", BUDGET, "--io", io)
    assert done.returncode != 0
    assert path.name in done.stderr and "element 2 of epoch 0" in done.stderr
    found = re.search(r"has (\d+) bytes, which can never fit into the memory budget of (\d+); memory=", done.stderr)
    assert found and LARGE <= int(found[1]) < LARGE + 2048 and int(found[2]) == BUDGET


@pytest.mark.parametrize("io", ["auto", "threads"])
@pytest.mark.parametrize("end", ["", ".batch(4)"])
def test_skip_leaves_it_out(stoker, large, io, end):
    _, chain, lengths = large
    done = stoker("run", chain + end, "--memory", BUDGET, "--io", io, "--on-error", "skip", "--dump")
    assert done.returncode == 0, done.stderr
    found = [int(n) for part in re.findall(r'"n":\[?([\d,]+)', done.stdout) for n in part.strip(",").split(",")]
    assert found == lengths


# Runs a command, prints the most memory it had.
PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
sys.stderr.write(done.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(done.returncode)
"""


def pack_large(large, tmp_path):
    """The same file in gzip, and the chain that reads it."""
    path, chain, _ = large
    packed = tmp_path / f"{path.name}.gz"
    with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as file:
        while block := plain.read(1 << 20):
            file.write(block)
    return packed, chain.replace(str(path), str(packed))


def test_packed_ones_are_refused_before_they_are_read(large, tmp_path):
    """In a stream the length is not known, or not to be trusted: it is refused when half of the budget is full."""
    packed, chain = pack_large(large, tmp_path)
    words = [os.environ.get("STOKER", "build/stoker"), "run", chain, "--memory", str(BUDGET)]
    done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert packed.name in done.stderr
    assert f"is longer than {BUDGET // 2} bytes, which can never fit into the memory budget; memory=" in done.stderr
    program = 12 << 20  # the command and its libraries
    assert int(done.stdout) <= 1.05 * BUDGET + program
