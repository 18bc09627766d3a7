# SPDX-License-Identifier: Apache-2.0
"""Dataset.pack: the same files as the command's, from Python."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import stoker

from record_files import examples

NAME = "x-{shard:03d}-of-{shards:03d}.tfrecord"


def in_order(place):
    found = json.loads((place / "x.manifest.json").read_text())
    return [e for shard in found["shards"] for e in examples(place / shard["file"])]


def test_arrays(tmp_path):
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    image = np.arange(6 * 12, dtype=np.uint8).reshape(6, 2, 2, 3)
    names = ["one", "", "drei", "vier", "fünf", "six"]
    ds = stoker.from_arrays(x=x, image=image, name=names, y=[[1], [], [2, 3], [], [4], [5]])
    result = ds.pack(tmp_path / NAME, shards=2)
    assert result.elements == 6 and result.written == 2 and result.kept == 0
    assert result.manifest == str(tmp_path / "x.manifest.json")
    assert result.bytes == sum(path.stat().st_size for path in tmp_path.glob("*.tfrecord"))
    for i, element in enumerate(in_order(tmp_path)):
        assert element["x"] == x[i].tolist() and element["image"] == [image[i].tobytes()]
        assert element["name"] == [names[i].encode()]
        assert element["y"] == [[1], [], [2, 3], [], [4], [5]][i]


def test_every_dtype(tmp_path):
    arrays = {
        name: np.array([[1, 0, 1], [0, 1, 1]]).astype(name)
        for name in "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split()
    }
    scalars = {f"{name}_0": array[:, 0].copy() for name, array in arrays.items()}
    stoker.from_arrays({**arrays, **scalars}).pack(tmp_path / NAME)
    lists = {"uint32", "int32", "uint64", "int64", "float32"}
    for i, element in enumerate(in_order(tmp_path)):
        for name, array in arrays.items():
            expected = array[i].tolist() if name in lists else [array[i].tobytes()]
            assert element[name] == expected, name
        for name, array in scalars.items():
            expected = [array[i].tobytes()] if name == "float64_0" else [array[i]]
            assert element[name] == expected, name


def test_module_function_and_options(tmp_path):
    ds = stoker.range(100).shuffle(seed=1)
    stoker.pack(ds, str(tmp_path / "a" / NAME), shards=3, workers=2, seed=7)
    ds.options(seed=7).pack(str(tmp_path / "b" / NAME), 3, compression=None)
    first, second = (sorted((tmp_path / place).iterdir()) for place in "ab")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_objects_of_the_caller_are_never_taken_for_the_same(tmp_path):
    stoker.from_arrays(x=[1, 2]).pack(tmp_path / NAME)
    with pytest.raises(stoker.StateError, match="force"):
        stoker.from_arrays(x=[3, 4]).pack(tmp_path / NAME)
    stoker.from_arrays(x=[3, 4]).pack(tmp_path / NAME, force=True)
    assert in_order(tmp_path) == [{"x": [3]}, {"x": [4]}]


def test_wrong_calls(tmp_path):
    ds = stoker.range(3)
    with pytest.raises(ValueError, match="shards can be"):
        ds.pack(tmp_path / NAME, 0)
    with pytest.raises(TypeError, match="shards is a number"):
        ds.pack(tmp_path / NAME, "3")
    with pytest.raises(TypeError, match="variants"):
        ds.pack(tmp_path / NAME, epochs=3)
    with pytest.raises(stoker.ChainError, match="tfrecord, tar"):
        ds.pack(tmp_path / NAME, to="zip")
    with pytest.raises(TypeError, match="wrokers"):
        ds.pack(tmp_path / NAME, wrokers=3)
    with pytest.raises(OSError, match="no/such"):
        ds.pack(tmp_path / "no/such" / NAME)
    assert not list(tmp_path.iterdir())


def test_what_a_generator_raises(tmp_path):
    def samples():
        yield 1
        raise KeyError("lost")

    ds = stoker.from_generator(samples, {"x": "int64"})
    with pytest.raises(KeyError, match="lost"):
        ds.pack(tmp_path / NAME)
    assert not list(tmp_path.iterdir())


def test_progress(tmp_path, capfd):
    seen = []

    def samples():
        for i in range(3):
            if i == 1:
                assert go.wait(60)
            yield i

    def look(elements, total, size, errors, files_done, files):
        seen.append((elements, total, files))
        go.set()

    go = threading.Event()
    ds = stoker.from_generator(samples, {"x": "int64"})
    ds.pack(tmp_path / NAME, progress=look)
    assert seen and seen[0][1:] == (stoker.UNKNOWN, 1)
    stoker.range(1000).pack(tmp_path / "y.tfrecord", progress=True)
    assert "of 1,000 elements" in capfd.readouterr().err

    def fail(*progress):
        go.set()
        raise RuntimeError("enough")

    go.clear()
    with pytest.raises(RuntimeError, match="enough"):
        ds.pack(tmp_path / "z.tfrecord", progress=fail)
    assert not list(tmp_path.glob("z*"))


def test_control_c(tmp_path):
    code = f"""
import stoker
print("ready", flush=True)
stoker.range(100_000_000).pack({str(tmp_path / NAME)!r}, 20)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stdout.readline() == "ready\n"
    while not list(tmp_path.glob(".x-*")) and process.poll() is None:
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert not list(tmp_path.glob(".x*"))
