# SPDX-License-Identifier: Apache-2.0
"""The format of train_*.bin, which tests/golden_cases.h reads: "STKT", uint32 number of cases, and for each

    uint32 bytes of its text; the text, filled up with NUL to a multiple of 4
    uint32 number of arrays; for each uint32 number of values and the values as float32

All numbers little-endian."""

import concurrent.futures
import multiprocessing
import pathlib
import struct

import numpy as np


def write(name, cases):
    """cases: (text, [arrays])."""
    parts = [b"STKT", struct.pack("<I", len(cases))]
    for text, arrays in cases:
        data = text.encode()
        parts += [struct.pack("<I", len(data)), data, b"\0" * (-len(data) % 4)]
        parts.append(struct.pack("<I", len(arrays)))
        for array in arrays:
            values = np.asarray(array, dtype="<f4").ravel()
            parts += [struct.pack("<I", values.size), values.tobytes()]
    path = pathlib.Path(__file__).with_name(name)
    path.write_bytes(b"".join(parts))
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size} bytes")


def apart(function, *args):
    """The function's result, computed in a process of its own: TensorFlow and PyTorch do not always
    bear each other in one."""
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        return pool.submit(function, *args).result()
