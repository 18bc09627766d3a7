# SPDX-License-Identifier: Apache-2.0
"""stoker.Trainer against PyTorch and Keras, from the same weights: outputs, gradients, steps of optimizers, and
the losses of 50 steps.

Tolerances. Both sides compute in float32 and add in another order, so outputs and gradients differ by at most
2e-5 of the largest value of their array. A step of an optimizer is compared from the same gradients, at 1e-6. Over
50 steps differences grow: losses are within 2 % of each other, weights within 5 % of how far they came."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stoker
import torch_model

CLOSE = 2e-5
MODELS = {
    "plain": "input(12, 10, 3).conv2d(8, 3, activation=relu).maxpool(2).conv2d(16, 3, activation=relu).flatten().dense(5)",
    "asymmetric": "input(11, 9, 3).conv2d(6, [3, 2], 2, same).activation(leaky_relu(0.1)).avgpool(2, padding=same).flatten().dense(5)",
    "separable": "input(12, 12, 3).conv2d(8, 3, 2, same, activation=relu6).depthwise_conv2d(3, padding=same, activation=swish)"
    ".conv2d(12, 1, activation=gelu).separable_conv2d(10, 3, depth_multiplier=2).global_avgpool().dense(5)",
    "grouped": "input(9, 9, 4).conv2d(8, 3, groups=2, dilation_rate=2).activation(tanh).maxpool(3, 2, same).flatten().dense(5)",
    "normalised": "input(10, 10, 3).conv2d(8, 3, use_bias=false).batchnorm().activation(relu)"
    ".residual(conv2d(8, 3, padding=same, use_bias=false).batchnorm(), activation=relu).global_avgpool().dense(5)",
    "joined": "input(8, 8, 3).concat([conv2d(4, 3, padding=same, activation=relu), maxpool(3, 1, same), identity()])"
    ".residual(conv2d(12, 1), shortcut=conv2d(12, 1)).flatten().dense(16, activation=sigmoid).dense(5)",
    "features": "input(20).dense(16, activation=relu).batchnorm().dense(5)",
}


def data(trainer, rows=12, seed=0):
    rng = np.random.default_rng(seed)
    shape = trainer.model.layers[0]["shape"]
    return rng.normal(0, 1, (rows, *shape)).astype(np.float32), rng.integers(0, 5, rows)


def stirred(trainer, seed=3):
    """Biases and statistics that are not those of a fresh model."""
    rng = np.random.default_rng(seed)
    for name, weight in trainer.weights.items():
        if name.endswith("moving_variance"):
            weight[...] = rng.uniform(0.5, 1.5, weight.shape)
        elif name.endswith(("bias", "beta", "moving_mean")):
            weight[...] = rng.normal(0, 0.1, weight.shape)
        elif name.endswith("gamma"):
            weight[...] = rng.uniform(0.5, 1.5, weight.shape)
    trainer.changed()
    return trainer


def torch_weights(trainer):
    return {name: torch.tensor(np.array(w), requires_grad="moving" not in name) for name, w in trainer.weights.items()}


def close(got, want, tolerance=CLOSE):
    want = np.asarray(want)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * max(np.abs(want).max(), 1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_outputs(name):
    trainer = stirred(stoker.Trainer(MODELS[name]))
    images, labels = data(trainer)
    weights = torch_weights(trainer)
    want = torch_model.run(trainer.model.json(), weights, torch.tensor(images))
    close(trainer.predict(images), want.detach().numpy())
    loss = torch.nn.functional.cross_entropy(want, torch.tensor(labels))
    result = trainer.eval_step(images, labels)
    assert result.loss == pytest.approx(loss.item(), rel=CLOSE)
    assert result.top1 == (want.argmax(1).numpy() == labels).sum()


@pytest.mark.parametrize("name", MODELS)
def test_gradients(name):
    trainer = stirred(stoker.Trainer(MODELS[name]))
    images, labels = data(trainer)
    weights = torch_weights(trainer)
    out = torch_model.run(trainer.model.json(), weights, torch.tensor(images), is_training=True)
    loss = torch.nn.functional.cross_entropy(out, torch.tensor(labels), label_smoothing=0)
    loss.backward()
    assert trainer.backward(images, labels) == pytest.approx(loss.item(), rel=CLOSE)
    for weight, gradient in trainer.gradients.items():
        close(gradient, weights[weight].grad.numpy())


OPTIMIZERS = {
    "sgd(0.1)": lambda p: torch.optim.SGD(p, 0.1),
    "sgd(0.05, momentum=0.9, form=pytorch)": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
    "sgd(0.05, momentum=0.9, nesterov=true, form=pytorch)": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
    "adam(0.002, form=pytorch)": lambda p: torch.optim.Adam(p, 0.002),
    "adamw(0.002, weight_decay=0.05, form=pytorch)": lambda p: torch.optim.AdamW(p, 0.002, weight_decay=0.05),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_of_optimizers(optimizer):
    """From the trainer's own gradients, so that nothing else differs."""
    trainer = stoker.Trainer(MODELS["plain"], optimizer)
    weights = torch_weights(trainer)
    theirs = OPTIMIZERS[optimizer](list(weights.values()))
    for step in range(5):
        images, labels = data(trainer, seed=step)
        trainer.backward(images, labels)
        for name, gradient in trainer.gradients.items():
            weights[name].grad = torch.tensor(np.array(gradient))
        trainer.update()
        theirs.step()
        for name, weight in trainer.weights.items():
            close(weight, weights[name].detach().numpy(), 1e-6)


def curves(name, optimizer, make):
    trainer = stoker.Trainer(MODELS[name], optimizer, deterministic=True)
    weights = torch_weights(trainer)
    began = {k: w.detach().numpy().copy() for k, w in weights.items()}
    trained = [w for w in weights.values() if w.requires_grad]
    theirs = make(trained)
    ours, want = [], []
    for step in range(50):
        images, labels = data(trainer, 16, seed=step % 4)
        ours.append(trainer.step(images, labels))
        theirs.zero_grad()
        out = torch_model.run(trainer.model.json(), weights, torch.tensor(images), is_training=True)
        loss = torch.nn.functional.cross_entropy(out, torch.tensor(labels))
        loss.backward()
        theirs.step()
        want.append(loss.item())
    return ours, want, trainer, weights, began


@pytest.mark.parametrize("name", ["plain", "separable", "normalised", "joined"])
def test_fifty_steps(name):
    ours, want, trainer, weights, began = curves(name, "adam(0.002, form=pytorch)", lambda p: torch.optim.Adam(p, 0.002))
    np.testing.assert_allclose(ours, want, rtol=0.02)
    assert want[-1] < want[0], "nothing was learnt, so nothing is shown"
    for key, weight in trainer.weights.items():
        if weights[key].requires_grad:
            moved = np.abs(weights[key].detach().numpy() - began[key]).max()
            assert np.abs(weight - weights[key].detach().numpy()).max() <= 0.05 * moved + 1e-6


# ---- Keras ----


def keras_model(calls):
    import keras
    import make_models

    keras.utils.clear_session()
    return make_models.sequence(calls)


def keras_calls():
    import make_models as m

    return {
        "plain": [
            m.call("input", 16, 16, 3), m.call("conv2d", 8, 3, activation="relu"), m.call("maxpool", 2),
            m.call("conv2d", 16, 3, 2, "same", activation="relu"), m.call("flatten"), m.call("dense", 5),
        ],
        "separable": [
            m.call("input", 15, 13, 3), m.call("conv2d", 8, 3, 2, "same"), m.call("batchnorm"), m.call("activation", "relu"),
            m.call("depthwise_conv2d", 3, padding="same"), m.call("separable_conv2d", 12, 3, padding="same", activation="swish"),
            m.call("global_avgpool"), m.call("dense", 5),
        ],
    }  # fmt: skip


KERAS_OPTIMIZERS = {
    "sgd(0.01)": ("SGD", {"learning_rate": 0.01}),
    "sgd(0.01, momentum=0.9, nesterov=true)": ("SGD", {"learning_rate": 0.01, "momentum": 0.9, "nesterov": True}),
    "adam(0.002)": ("Adam", {"learning_rate": 0.002}),
    "adamw(0.002, weight_decay=0.05)": ("AdamW", {"learning_rate": 0.002, "weight_decay": 0.05}),
}


@pytest.mark.parametrize("optimizer", KERAS_OPTIMIZERS)
@pytest.mark.parametrize("name", ["plain", "separable"])
def test_keras_from_the_same_weights(name, optimizer):
    """50 steps: losses within 2 %; moving statistics, too."""
    keras = pytest.importorskip("keras")
    import make_models

    calls = keras_calls()[name]
    theirs = keras_model(calls)
    trainer = stoker.Trainer(make_models.chain_text(calls), optimizer, deterministic=True)
    ours = list(trainer.weights)
    names = make_models_names(theirs)
    assert sorted(names) == sorted(ours)
    for variable, key in zip(theirs.weights, names):
        trainer.weights[key][...] = variable.numpy()
    trainer.changed()
    kind, arguments = KERAS_OPTIMIZERS[optimizer]
    made = getattr(keras.optimizers, kind)(**arguments)
    theirs.compile(made, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images, labels = data(trainer, 16)
    close(trainer.predict(images), theirs.predict(images, verbose=0), 1e-4)
    got, want = [], []
    for step in range(50):
        images, labels = data(trainer, 16, seed=step % 4)
        got.append(trainer.step(images, labels))
        want.append(float(theirs.train_on_batch(images, labels)))
    np.testing.assert_allclose(got, want, rtol=0.02, atol=2e-3)
    for variable, key in zip(theirs.weights, names):
        if "moving" in key:
            close(trainer.weights[key], variable.numpy(), 0.02)


EXAMPLES = {
    "mixed precision": [("conv2d", 32, 3, {"activation": "relu"}), ("maxpool", 2, {}), ("flatten", {})],
    "depthwise separable": [
        ("conv2d", 32, 3, {"padding": "same", "activation": "relu"}), ("maxpool", 2, {}),
        ("depthwise_conv2d", 3, {"padding": "same", "activation": "relu"}),
        ("conv2d", 64, 1, {"padding": "same", "activation": "relu"}), ("maxpool", 2, {}), ("flatten", {}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_document(name, precision):
    """The two models of docs/from-tensorflow.md, as they are there: softmax inside, one-hot labels, 50 steps."""
    keras = pytest.importorskip("keras")
    import make_models as m

    calls = [m.call("input", 64, 64, 3), *(m.call(*one[:-1], **one[-1]) for one in EXAMPLES[name])]
    calls.append(m.call("dense", 10, activation="softmax"))
    keras.config.set_dtype_policy(precision)
    try:
        theirs = keras_model(calls)
    finally:
        keras.config.set_dtype_policy("float32")
    trainer = stoker.Trainer(m.chain_text(calls), "adam()", "cross_entropy()", precision, deterministic=True)
    for variable, key in zip(theirs.weights, make_models_names(theirs)):
        trainer.weights[key][...] = variable.numpy()
    trainer.changed()
    theirs.compile("adam", "categorical_crossentropy")
    rng = np.random.default_rng(0)
    images, labels = rng.random((2, 8, 64, 64, 3), np.float32), np.eye(10, dtype=np.float32)[np.arange(16) % 10].reshape(2, 8, 10)
    got, want = [], []
    for step in range(50):
        got.append(trainer.step(images[step % 2], labels[step % 2]))
        theirs.reset_metrics()
        want.append(float(theirs.train_on_batch(images[step % 2], labels[step % 2])))
    assert want[-1] < want[0] / 2
    np.testing.assert_allclose(got, want, rtol=0.02 if precision == "float32" else 0.03, atol=1e-3)


def make_models_names(model):
    """stoker's names of a Keras model's weights, in its order."""
    import make_models

    names = []
    for layer in model.layers:
        base, _, number = layer.name.rpartition("_")
        stem, suffix = (base, f"_{number}") if number.isdigit() else (layer.name, "")
        ours = make_models.NAMES.get(stem, stem) + suffix
        names += [f"{ours}/{variable.name}" for variable in layer.weights]
    return names


def test_digits_as_keras():
    """sklearn's digits, 5 seeds: the mean accuracy is within half a point of Keras's with the same net, optimizer, batches
    and weights to begin with. bench/accuracy.py has more."""
    keras = pytest.importorskip("keras")
    datasets = pytest.importorskip("sklearn.datasets")
    found = datasets.load_digits()
    images = (found.images[..., None] / 16).astype(np.float32)
    labels = found.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1400], order[1400:]
    chain = "input(8, 8, 1).conv2d(16, 3, padding=same, activation=relu).maxpool(2).conv2d(32, 3, padding=same, activation=relu).flatten().dense(10)"
    ours, theirs = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        batches = [train[rng.permutation(1400)[i : i + 35]] for _ in range(12) for i in range(0, 1400, 35)]
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed)
        L = keras.layers
        model = keras.Sequential([
            keras.Input((8, 8, 1)), L.Conv2D(16, 3, padding="same", activation="relu"), L.MaxPooling2D(),
            L.Conv2D(32, 3, padding="same", activation="relu"), L.Flatten(), L.Dense(10),
        ])  # fmt: skip
        model.compile(keras.optimizers.Adam(0.002), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        trainer = stoker.Trainer(chain, "adam(0.002)", max_batch=35)
        for variable, key in zip(model.weights, make_models_names(model)):
            trainer.weights[key][...] = variable.numpy()
        trainer.changed()
        for batch in batches:
            trainer.step(images[batch], labels[batch])
        ours.append((trainer.predict(images[test]).argmax(1) == labels[test]).mean())
        for batch in batches:
            model.train_on_batch(images[batch], labels[batch])
        theirs.append((model.predict(images[test], verbose=0).argmax(1) == labels[test]).mean())
    assert np.mean(ours) >= np.mean(theirs) - 0.005, (ours, theirs)
    assert np.mean(ours) > 0.97


# ---- files ----


def test_torchvision_resnet18(tmp_path):
    """Random weights of torchvision's resnet18, saved, imported, and predicted with."""
    torchvision = pytest.importorskip("torchvision")
    files = pytest.importorskip("safetensors.torch")
    from test_import import stirred as stirred_module

    theirs = stirred_module(torchvision.models.resnet18(weights=None, num_classes=10))
    files.save_file(theirs.state_dict(), tmp_path / "state.safetensors")
    trainer = stoker.Trainer("resnet18(classes=10, height=96, width=96)", forward_only=True, max_batch=2)
    trainer.load_weights(tmp_path / "state.safetensors")
    images = torch.rand(2, 96, 96, 3)
    with torch.no_grad():
        want = theirs(images.permute(0, 3, 1, 2)).numpy()
    close(trainer.predict(images), want, 1e-4)


def test_goes_on_with_pytorchs_statistics(tmp_path):
    """A net of torch.nn with its own batch normalisation, trained a little, imported, and trained on side by side: moving
    variances, too, which PyTorch corrects by one."""
    files = pytest.importorskip("safetensors.torch")
    nn = torch.nn
    torch.manual_seed(3)
    theirs = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                           nn.Linear(8, 5))  # fmt: skip
    trainer = stoker.Trainer(
        "input(8, 7, 3).conv2d(8, 3, use_bias=false).batchnorm(0.9, 1e-5, unbiased=true).activation(relu).global_avgpool().dense(5)",
        "sgd(0.05, form=pytorch)", deterministic=True,
    )  # fmt: skip
    optimizer = torch.optim.SGD(theirs.parameters(), 0.05)

    def step(seed):
        images, labels = data(trainer, 6, seed)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(theirs(torch.tensor(images).permute(0, 3, 1, 2)), torch.tensor(labels))
        loss.backward()
        optimizer.step()
        return images, labels, loss.item()

    for seed in range(5):
        step(seed)
    files.save_file(theirs.state_dict(), tmp_path / "state.safetensors")
    trainer.load_weights(tmp_path / "state.safetensors")
    for seed in range(20):
        images, labels, want = step(seed)
        assert trainer.step(images, labels) == pytest.approx(want, rel=1e-4)
    close(trainer.weights["batchnorm/moving_variance"], theirs[1].running_var.numpy(), 1e-4)
    close(trainer.weights["batchnorm/moving_mean"], theirs[1].running_mean.numpy(), 1e-4)


KNOWN = ("m1(height=64, width=64)", "m2()", "m3(height=64, width=64)", "m4(height=64, width=64)",
         "resnet18(classes=10, height=64, width=64)", "mobilenet_v2(classes=10, height=64, width=64)")  # fmt: skip


@pytest.mark.parametrize("chain", KNOWN)
def test_known_models_exported(chain, tmp_path):
    """After a step, so that statistics are not those of a fresh model: onnxruntime gives what predict does."""
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    trainer = stoker.Trainer(chain, "sgd(0.01)", max_batch=4)
    images, labels = data(trainer, 4)
    trainer.step(images, labels)
    trainer.export(tmp_path / "model.onnx")
    onnx.checker.check_model(tmp_path / "model.onnx", full_check=True)
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {session.get_inputs()[0].name: images})
    close(got, trainer.predict(images), 1e-4)


def test_events_of_a_training(tmp_path):
    """What stoker.train writes opens in TensorBoard, and says what the history says."""
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    rng = np.random.default_rng(0)
    rows = stoker.from_arrays(image=rng.normal(0, 1, (64, 6)).astype(np.float32), label=rng.integers(0, 3, 64))
    done = stoker.train(train=rows.batch(16), valid=rows.batch(16), model="input(6).dense(3)", epochs=3, log_every=1,
                        tensorboard=str(tmp_path), progress=False)  # fmt: skip
    seen = accumulators.EventAccumulator(str(tmp_path)).Reload()
    tags = seen.Tags()["scalars"]
    assert tags
    of_valid = [tag for tag in tags if "valid" in tag and "loss" in tag]
    assert len(of_valid) == 1
    assert [e.value for e in seen.Scalars(of_valid[0])] == pytest.approx([epoch.valid["loss"] for epoch in done.history], rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_exported(name, tmp_path):
    """onnxruntime gives what predict does."""
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    trainer = stirred(stoker.Trainer(MODELS[name]))
    trainer.export(tmp_path / "model.onnx")
    onnx.checker.check_model(tmp_path / "model.onnx", full_check=True)
    images, _ = data(trainer)
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {session.get_inputs()[0].name: images})
    close(got, trainer.predict(images))
