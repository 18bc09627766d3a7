# SPDX-License-Identifier: Apache-2.0
"""State dicts of torchvision in stoker's models: saved as safetensors, imported, and what the model then
puts out against what torchvision's does. 1e-4 of the largest output: sums are in another order."""

import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
files = pytest.importorskip("safetensors.torch")

import stoker
import torch_model

TOLERANCE = 1e-4
PROGRAM = pathlib.Path(os.environ.get("STOKER", "build/stoker")).resolve().parent / "tests" / "test_import"


def stirred(model):
    """With statistics and biases that are not those of a fresh model."""
    torch.manual_seed(1)
    for name, tensor in model.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 2)
        elif name.endswith(("running_mean", "bias")):
            tensor.normal_(0, 0.1)
    return model.eval()


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_torchvision(name, tmp_path):
    theirs = stirred(torchvision.models.get_model(name, weights=None, num_classes=10))
    state, ours = tmp_path / "state.safetensors", tmp_path / "ours.safetensors"
    files.save_file(theirs.state_dict(), state)
    chain = f"{name}(classes=10, height=96, width=96)"
    subprocess.run([PROGRAM, "--convert", chain, state, ours], check=True)
    images = torch.rand(2, 96, 96, 3)
    with torch.no_grad():
        want = theirs(images.permute(0, 3, 1, 2))
        got = torch_model.run(stoker.Model(chain).json(), files.load_file(ours), images)
    assert (got - want).abs().max() <= TOLERANCE * want.abs().max()
    assert want.std() > 1e-3, "outputs that are all alike show nothing"


def test_a_plain_net_with_features_of_an_image(tmp_path):
    nn = torch.nn
    theirs = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.BatchNorm1d(4 * 5 * 3),
        nn.Dropout(0.5), nn.Linear(60, 8), nn.Tanh(), nn.Linear(8, 3),
    )
    theirs = stirred(theirs)
    state, ours = tmp_path / "state.safetensors", tmp_path / "ours.safetensors"
    files.save_file(theirs.state_dict(), state)
    chain = (
        "input(12, 8, 3).conv2d(4, 3, activation=relu).maxpool(2).flatten().batchnorm(0.9, 1e-5)"
        ".dropout(0.5).dense(8, activation=tanh).dense(3)"
    )
    subprocess.run([PROGRAM, "--convert", chain, state, ours], check=True)
    images = torch.rand(5, 12, 8, 3)
    with torch.no_grad():
        want = theirs(images.permute(0, 3, 1, 2))
        got = torch_model.run(stoker.Model(chain).json(), files.load_file(ours), images)
    assert (got - want).abs().max() <= TOLERANCE * want.abs().max()
