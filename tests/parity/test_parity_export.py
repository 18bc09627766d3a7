# SPDX-License-Identifier: Apache-2.0
"""Models as ONNX files: checked by onnx, and run by onnxruntime against PyTorch, from the same weights.

Outputs differ by at most 2e-5 of the largest: both compute in float32, in another order."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")
numpy_files = pytest.importorskip("safetensors.numpy")

import make_models
import stoker
import torch_model

TOLERANCE = 2e-5
PROGRAM = pathlib.Path(os.environ.get("STOKER", "build/stoker")).resolve().parent / "tests" / "test_export"
HEAD = f"input({', '.join(map(str, make_models.SIDES))})"
CHAINS = [
    "every_kind",
    *(f"{HEAD}.{make_models.chain_text([one])}" for one in make_models.CONVS),
    *(make_models.chain_text(calls) for calls in make_models.MODELS),
    "m2",
    "resnet18(classes=10)",
    "mobilenet_v2(classes=10)",
]


def write(chain, form, folder):
    path, weights = folder / "model.onnx", folder / "model.safetensors"
    subprocess.run([PROGRAM, "--write", chain, form, path, weights], check=True)
    onnx.checker.check_model(path, full_check=True)
    return path, {name: torch.tensor(w) for name, w in numpy_files.load_file(weights).items()}


def ends_in_softmax(model):
    return model["layers"][-1].get("activation") == "softmax"


def compare(path, weights, form):
    made = onnx.load(path)
    model = stoker.Model(next(entry.value for entry in made.metadata_props if entry.key == "model")).json()
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in (1, 3):
        shape = (rows, *model["layers"][0]["shape"])
        images = np.random.default_rng(rows).normal(0, 1, shape).astype(np.float32)
        want = torch_model.run(model, weights, torch.tensor(images))
        if form == "softmax" and not ends_in_softmax(model):
            want = torch.softmax(want, -1)
        given = np.ascontiguousarray(images.transpose(0, 3, 1, 2)) if form == "nchw" and images.ndim == 4 else images
        (got,) = session.run(None, {session.get_inputs()[0].name: given})
        if form == "nchw" and got.ndim == 4:
            got = got.transpose(0, 2, 3, 1)
        want = want.numpy()
        assert got.shape == want.shape
        assert np.abs(got - want).max() <= TOLERANCE * max(1, np.abs(want).max())


@pytest.mark.parametrize("chain", CHAINS)
def test_as_torch(chain, tmp_path):
    path, weights = write(chain, "nhwc", tmp_path)
    compare(path, weights, "nhwc")


@pytest.mark.parametrize("form", ["nchw", "softmax"])
@pytest.mark.parametrize("chain", ["every_kind", "m2", "input(6, 5, 4).conv2d(3, 3, activation=softmax)", "input(6, 5, 4).conv2d(3, 3)", "input(7).dense(3)"])
def test_forms(chain, form, tmp_path):
    path, weights = write(chain, form, tmp_path)
    compare(path, weights, form)


def test_the_golden_file_is_such_a_model(tmp_path):
    """What the test in C compares with byte by byte."""
    path, weights = write("every_kind", "nhwc", tmp_path)
    golden = pathlib.Path(__file__).parents[1] / "golden" / "export.onnx"
    compare(golden, weights, "nhwc")
    assert path.read_bytes() == golden.read_bytes()
