# SPDX-License-Identifier: Apache-2.0
"""Storage that is far away is asked seldom: rows that lie side by side come with one read, and a file is
opened once.

libinterpose.so slows the files down and counts how often they are opened or read.
"""

import json
import os
import pathlib

import numpy
import pytest

ROWS, BATCH = 25_600, 256
SLOW = {"STOKER_DELAY_READ_US": "2000", "STOKER_DELAY_OPEN_US": "2000"}


@pytest.fixture(scope="session")
def count_reads(stoker, tmp_path_factory):
    """count_reads(folder, chain) → opens and reads of files in the folder, slow ones, by one run."""
    command = pathlib.Path(stoker("version").args[0])
    interposer = command.parent / "libinterpose.so"
    if not interposer.exists():
        pytest.skip(f"there is no {interposer}: a sanitizer has its own malloc")
    counts = tmp_path_factory.mktemp("counts") / "counts.json"

    def run(folder, chain):
        environment = {
            **os.environ,
            **SLOW,
            "LD_PRELOAD": str(interposer),
            "STOKER_FAIL_PREFIX": str(folder),
            "STOKER_COUNT_FILE": str(counts),
        }
        done = stoker("run", chain, "--json", env=environment)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["elements"] == ROWS
        return json.loads(counts.read_text())["reads"]

    return run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("far")
    rows = numpy.arange(ROWS * 20, dtype="float32").reshape(ROWS, 20)
    rows.tofile(folder / "rows.bin")
    numpy.savez(folder / "rows.npz", x=rows, y=numpy.arange(ROWS))
    return folder


# A read per batch and array, and some for the header and before it is known that storage is slow.
@pytest.mark.parametrize(
    ("source", "arrays"), [("fixed_length('{}/rows.bin', 80)", 1), ("npz('{}/rows.npz')", 2)]
)
def test_neighbours_come_with_one_read(count_reads, folder, source, arrays):
    chain = source.format(folder) + f".batch({BATCH})"
    assert count_reads(folder, chain) <= arrays * ROWS // BATCH + 64
