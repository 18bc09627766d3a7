# SPDX-License-Identifier: Apache-2.0
"""Files of the training step, opened by those they are for: onnx and onnxruntime, TensorBoard, the
safetensors package. The tests in C write them (--write)."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

TESTS = pathlib.Path(os.environ.get("STOKER", "build/stoker")).resolve().parent / "tests"


def write(program, path):
    subprocess.run([TESTS / program, "--write", path], check=True)
    return path


def test_onnx(tmp_path):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    torch = pytest.importorskip("torch")
    import make_onnx

    path = write("test_onnx_writer", tmp_path / "net.onnx")
    onnx.checker.check_model(path, full_check=True)
    w = {name: torch.tensor(make_onnx.weight(shape)) for name, shape in make_onnx.WEIGHTS.items()}
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    F = torch.nn.functional
    for rows in (1, 3):
        x = np.random.default_rng(rows).normal(0, 1, (rows, 3, 8, 8)).astype(np.float32)
        y = F.relu(F.conv2d(torch.tensor(x), w["conv/kernel"], w["conv/bias"], padding=1))
        y = F.conv2d(F.max_pool2d(y, 2), w["depthwise/kernel"], padding=1, groups=8)
        y = F.leaky_relu(y, 0.25).flatten(1) @ w["dense/kernel"].T + w["dense/bias"]
        want = F.softmax(y, dim=-1).numpy()
        (got,) = session.run(["y"], {"x": x})
        assert got.shape == want.shape
        assert np.abs(got - want).max() < 1e-6


def test_events(tmp_path):
    accumulators = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="TensorBoard is not installed",
    )
    import make_events

    write("test_events", tmp_path)
    seen = accumulators.EventAccumulator(str(tmp_path)).Reload()
    assert seen.file_version == 2.0
    want = {}
    for step, time, scalars in make_events.SCALARS:
        for tag, value in scalars:
            want.setdefault(tag, []).append((time, step, float(np.float32(value))))
    tags = seen.Tags()["scalars"]
    assert sorted(tags) == sorted(want)
    for tag in tags:
        assert [(e.wall_time, e.step, e.value) for e in seen.Scalars(tag)] == want[tag]


def test_safetensors(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    from safetensors import safe_open

    import make_safetensors

    path = write("test_safetensors", tmp_path / "x.safetensors")
    loaded = numpy.load_file(path)
    assert len(loaded) == len(make_safetensors.SHAPES) + 1
    for dtype, shape in make_safetensors.SHAPES.items():
        want = make_safetensors.tensor(dtype, shape)
        got = loaded[f"layer/{dtype}"]
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes()
    with safe_open(path, "np") as file:
        assert file.metadata() == {"step": "7", "chain": "range(3).batch(2) # 'ü' \"\n"}
