# SPDX-License-Identifier: Apache-2.0
"""Compares lines and fixed_length with TensorFlow's TextLineDataset and FixedLengthRecordDataset, on
random files, plain and compressed."""
import base64
import gzip
import json
import os
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pytest
import tensorflow as tf

PACK = {"": lambda data: data, "GZIP": gzip.compress, "ZLIB": zlib.compress}
WORD = {"": "none", "GZIP": "gzip", "ZLIB": "zlib"}


def delivered(stoker, chain, field):
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"][field] for line in done.stdout.splitlines()]


def as_bytes(values):
    """Dumps write bytes that are not text in another way."""
    return [base64.b64decode(v["base64"]) if isinstance(v, dict) else v.encode() for v in values]


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("seed", range(3))
def test_lines(stoker, tmp_path, kind, seed):
    rng = np.random.default_rng(seed)
    names = []
    for i in range(3):
        alphabet = np.array(list("ab é€\n\n\n"))
        text = "".join(rng.choice(alphabet, rng.integers(0, 5000)))
        text = text.replace("\n", "\r\n") if i == 1 else text
        names.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_bytes(PACK[kind](text.encode()))
    expected = [v.numpy() for v in tf.data.TextLineDataset(names, compression_type=kind)]
    for compression in ("auto", WORD[kind]):
        got = delivered(stoker, f"lines({names}, compression={compression})", "text")
        assert as_bytes(got) == expected


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("shape", [(1, 0, 0), (12, 5, 0), (100, 0, 7), (3073, 10, 20)])
def test_fixed_length(stoker, tmp_path, kind, shape):
    record, header, footer = shape
    rng = np.random.default_rng(record)
    names = []
    for i, n in enumerate([3, 0, 50]):
        data = rng.integers(97, 123, header + n * record + footer).astype(np.uint8).tobytes()
        names.append(str(tmp_path / f"{i}.bin"))
        (tmp_path / f"{i}.bin").write_bytes(PACK[kind](data))
    dataset = tf.data.FixedLengthRecordDataset(names, record, header, footer, compression_type=kind)
    expected = [v.numpy() for v in dataset]
    got = delivered(stoker, f"fixed_length({names}, {record}, {header}, {footer}, {WORD[kind]})", "record")
    assert as_bytes(got) == expected and len(got) == 53
