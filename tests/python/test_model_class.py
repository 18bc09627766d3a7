# SPDX-License-Identifier: Apache-2.0
"""stoker.Model: what a model is and costs, and what is said of wrong ones."""

import gc
import pickle

import pytest

import stoker

TEXT = "input(8, 8, 3).conv2d(4, 3, activation=relu).batchnorm().flatten().dense(2)"


def test_model():
    model = stoker.Model(TEXT)
    assert [layer["name"] for layer in model.layers] == [
        "input", "conv2d", "conv2d/activation", "batchnorm", "flatten", "dense",
    ]  # fmt: skip
    assert model.layers[1]["shape"] == [6, 6, 4]
    assert model.layers[2]["inputs"] == ["conv2d"]
    assert model.parameters == 3 * 3 * 3 * 4 + 4 + 2 * 4 + 144 * 2 + 2
    assert model.macs == 36 * 108 + 288
    assert [w["name"] for w in model.weights if not w["trainable"]] == [
        "batchnorm/moving_mean",
        "batchnorm/moving_variance",
    ]
    assert model.json(batch=2)["activation_bytes"] * 2 == model.json(batch=4)["activation_bytes"]


def test_shown():
    model = stoker.Model(TEXT)
    assert str(model) == model.summary() == model.summary(batch=32)
    assert "batch of 7" in model.summary(7)
    assert repr(model.summary()).startswith("layer ")
    assert repr(model) == f"stoker.Model({TEXT!r})"
    assert stoker.Model(model.text).text == model.text
    assert pickle.loads(pickle.dumps(model)).text == model.text


def test_known():
    assert stoker.Model("resnet18").parameters == 11_689_512
    assert stoker.Model("mobilenet_v2(classes=2)").layers[-1]["shape"] == [2]


def test_wrong():
    with pytest.raises(stoker.TypeMismatchError, match="put flatten") as caught:
        stoker.Model("input(8, 8, 3).dense(2)")
    assert "^~~~~" in str(caught.value)
    with pytest.raises(TypeError, match="a model is text, not int"):
        stoker.Model(3)
    with pytest.raises(ValueError, match="at least one"):
        stoker.Model(TEXT).summary(0)
    with pytest.raises(TypeError):
        stoker.Model(TEXT).summary("all")


def models():
    gc.collect()
    return sum(isinstance(thing, stoker.Model) for thing in gc.get_objects())


def test_nothing_is_left():
    before = models()  # other tests may hold some
    for _ in range(3):
        stoker.Model("mobilenet_v2").json()
    assert models() <= before
