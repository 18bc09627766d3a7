# SPDX-License-Identifier: Apache-2.0
"""stoker model and stoker layers: models against Keras and torchvision (golden/make_models.py), tables,
JSON and messages."""

import json

import pytest
from places import GOLDEN

MODELS = json.loads((GOLDEN / "models.json").read_text())


@pytest.fixture(scope="session")
def model(stoker):
    def read(text, *options):
        done = stoker("model", text, "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return read


def weights_of(found):
    return [weight for layer in found["layers"] for weight in layer["weights"]]


@pytest.mark.parametrize("wanted", MODELS["models"], ids=lambda wanted: wanted["text"])
def test_as_keras(model, wanted):
    found = model(wanted["text"])
    # The last node of a layer has its output.
    shapes = {layer["name"].split("/")[0]: layer["shape"] for layer in found["layers"]}
    assert {name: shapes[name] for name in wanted["layers"]} == wanted["layers"]
    assert {w["name"]: [w["shape"], w["trainable"]] for w in weights_of(found)} == wanted["weights"]
    assert found["trainable"] == wanted["trainable"]
    assert found["statistics"] == wanted["statistics"]


def cells(size, layer, axis):
    """Cells of the image in the first and in the last window along an axis."""
    kernel, stride, dilation = (layer[key][axis] for key in ("kernel", "strides", "dilation"))
    before = layer["padding"][axis * 2]
    starts = [-before, (layer["shape"][axis] - 1) * stride - before]
    if "pool" not in layer["kind"] and layer["kind"] != "conv":
        assert layer["kind"] == "depthwise"
    return [sum(0 <= start + k * dilation < size for k in range(kernel)) for start in starts]


@pytest.mark.parametrize("text, wanted", MODELS["corners"], ids=lambda value: value if isinstance(value, str) else "")
def test_padding_is_divided_as_by_tensorflow(model, text, wanted):
    image, layer = model(text)["layers"][:2]
    rows, columns = (cells(image["shape"][axis], layer, axis) for axis in (0, 1))
    assert [y * x for y in rows for x in columns] == wanted


@pytest.mark.parametrize("name", MODELS["torchvision"])
def test_as_torchvision(model, name):
    found = model(name)
    assert [w["shape"] for w in weights_of(found)] == MODELS["torchvision"][name]


def test_torchvision_padding(model):
    layers = model("resnet18")["layers"]
    assert layers[1]["padding"] == [3, 3, 3, 3]
    assert [layer["padding"] for layer in layers if layer["kind"] == "maxpool"] == [[1, 1, 1, 1]]


def test_known_sizes(model):
    assert model("resnet18")["trainable"] == 11_689_512
    assert model("resnet18")["macs"] == 1_814_073_344
    assert model("mobilenet_v2")["trainable"] == 3_504_872
    assert model("mobilenet_v2")["statistics"] == 34_112
    assert model("mobilenet_v2")["macs"] == 300_774_272
    small = model("mobilenet_v2(classes=5, height=96, width=128, channels=1)")
    assert small["layers"][0]["shape"] == [96, 128, 1]
    assert small["layers"][-1]["shape"] == [5]


def test_multiplications(model):
    layers = model("input(8, 8, 4).conv2d(6, 3, groups=2).depthwise_conv2d(3, depth_multiplier=2).flatten().dense(5)")
    macs = {layer["name"]: layer["macs"] for layer in layers["layers"]}
    assert macs["conv2d"] == 6 * 6 * 3 * 3 * 2 * 6
    assert macs["depthwise_conv2d"] == 4 * 4 * 3 * 3 * 12
    assert macs["dense"] == 4 * 4 * 12 * 5
    assert layers["macs"] == sum(macs.values())


def test_memory_of_activations(model):
    text = "input(8, 8, 4).conv2d(6, 3, activation=relu).flatten().dense(5)"
    values = 8 * 8 * 4 + 2 * 6 * 6 * 6 + 5  # flatten takes none
    assert model(text)["activation_bytes"] == values * 4 * 32
    assert model(text, "--batch", "3")["activation_bytes"] == values * 4 * 3


def test_table(stoker):
    table = stoker("model", "input(28, 28, 1).conv2d(8, 3, activation=leaky_relu(0.1)).batchnorm().flatten().dense(10)").stdout
    lines = table.splitlines()
    assert lines[0].split() == ["layer", "kind", "output", "weights", "MACs"]
    assert lines[3].split() == ["conv2d/activation", "activation", "leaky_relu(0.1)", "26×26×8"]
    assert lines[6].split() == ["dense", "dense", "10", "features", "54,090", "54.1", "K"]
    assert "54,186 trainable, 16 statistics: 212 KiB" in table
    assert "for a batch of 32" in table
    assert all(line == line.rstrip() for line in lines)


def test_from_a_file(stoker, tmp_path):
    path = tmp_path / "net.stk"
    path.write_text("n = 8 # filters\nblock = conv2d(@n, 3, padding=same, activation=relu)\n"
                    "input(16, 16, @n).residual(@block).residual(@block).flatten().dense(2)\n")
    found = json.loads(stoker("model", path, "--json").stdout)
    assert [layer["name"] for layer in found["layers"] if layer["kind"] == "conv"] == ["conv2d", "conv2d_1"]
    piped = stoker("model", "-", input="m2")
    assert piped.returncode == 0 and "conv2d_2" in piped.stdout
    done = stoker("model", tmp_path / "none.stk")
    assert done.returncode == 1 and "none.stk" in done.stderr


def test_messages(stoker):
    done = stoker("model", "input(8, 8, 3).flatten().conv2d(8, 3)")
    assert done.returncode == 2
    assert "conv2d: it takes an image, but flatten gives 192 features" in done.stderr
    assert done.stderr.splitlines()[2].index("^") == done.stderr.splitlines()[1].index("conv2d")
    assert "did you mean resnet18?" in stoker("model", "resnet8").stderr
    assert stoker("model").returncode == 2
    assert "--batch" in stoker("model", "m1", "--batch", "0").stderr
    assert "did you mean conv2d, " in stoker("layers", "conv").stderr


def test_lists(stoker):
    listed = stoker("model", "--list").stdout
    names = [line.split()[0] for line in listed.splitlines()]
    assert names == ["m1", "m2", "m3", "m4", "mobilenet_v2", "resnet18"]
    models = json.loads(stoker("model", "--list", "--json").stdout)
    assert [one["name"] for one in models] == names
    assert all(one["chain"].startswith("input(@height, @width, @channels).") for one in models)
    assert "classes=1000" in stoker("model", "--list", "resnet18").stdout
    layers = json.loads(stoker("layers", "--json").stdout)
    assert {"conv2d", "input", "concat"} <= {one["name"] for one in layers}
    assert not set(names) & {one["name"] for one in layers}
    assert "depth_multiplier" in stoker("layers", "separable_conv2d").stdout
    assert "As keras.layers.Dense." in stoker("help", "dense").stdout
