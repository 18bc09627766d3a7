# SPDX-License-Identifier: Apache-2.0
"""stoker.Trainer and stoker.train."""

import gc
import threading
import weakref

import numpy as np
import pytest

import stoker

MODEL = "input(8, 8, 1).conv2d(4, 3, activation=relu).flatten().dense(3)"


def batch(rows=16, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    images = rng.normal(0, 0.3, (rows, 8, 8, 1)).astype(np.float32)
    images[np.arange(rows), labels * 2] += 1
    return images, labels


@pytest.fixture
def trainer():
    return stoker.Trainer(MODEL, "adam(0.01)", max_batch=16, deterministic=True, threads=2)


def test_learns(trainer):
    images, labels = batch()
    losses = [trainer.step(images, labels) for _ in range(60)]
    assert losses[-1] < losses[0] / 4
    assert trainer.steps == 60 and trainer.last.step == 59
    assert trainer.last.loss == losses[-1] and trainer.last.rows == 16
    result = trainer.eval_step(images, labels)
    assert result.accuracy == 1.0
    outputs = trainer.predict(images)
    assert outputs.shape == (16, 3) and outputs.dtype == np.float32
    assert (outputs.argmax(1) == labels).all()


def test_predicts_more_than_a_batch(trainer):
    images, _ = batch(50)
    whole = trainer.predict(images)
    assert np.array_equal(whole[:16], trainer.predict(images[:16]))
    assert np.array_equal(whole[48:], trainer.predict(images[48:]))


def test_takes_what_others_make(trainer):
    images, labels = batch()
    want = trainer.eval_step(images, labels).loss
    assert trainer.eval_step(images.astype(np.float64), labels.astype(np.int32)).loss == want
    assert trainer.eval_step(np.asfortranarray(images), labels.tolist()).loss == want
    ds = stoker.from_arrays(image=images, label=labels).batch(16)
    for element in ds:
        assert trainer.eval_step(element).loss == want
        assert trainer.eval_step(element.image, element.label).loss == want
    one_hot = np.eye(3, dtype=np.float32)[labels]
    assert trainer.eval_step(images, one_hot).loss == pytest.approx(want, rel=1e-6)


def test_uint8_with_a_scale(trainer):
    images, labels = batch()
    bytes_ = np.clip(images * 100 + 100, 0, 255).astype(np.uint8)
    want = trainer.eval_step(bytes_.astype(np.float32) * np.float32(0.5) + np.float32(-3), labels).loss
    trainer.affine(0.5, -3)
    assert trainer.eval_step(bytes_, labels).loss == pytest.approx(want, rel=1e-5)


def test_weights_are_views(trainer):
    images, labels = batch()
    kernel = trainer.weights["conv2d/kernel"]
    assert kernel.shape == (3, 3, 1, 4) and kernel.dtype == np.float32
    assert list(trainer.weights) == ["conv2d/kernel", "conv2d/bias", "dense/kernel", "dense/bias"]
    before = kernel.copy()
    trainer.step(images, labels)
    assert not np.array_equal(kernel, before), "the same memory"
    trainer.weights["dense/kernel"][...] = 0
    trainer.weights["dense/bias"][...] = [5, 0, 0]
    trainer.changed()
    assert np.array_equal(trainer.predict(images), np.tile(np.float32([5, 0, 0]), (16, 1)))
    with pytest.raises(KeyError):
        trainer.weights["nothing"]


def test_arrays_keep_the_trainer(trainer):
    kernel = trainer.weights["conv2d/kernel"]
    want = kernel.copy()
    del trainer
    gc.collect()
    assert np.array_equal(kernel, want)


def test_halves_of_a_step(trainer):
    images, labels = batch()
    other = stoker.Trainer(MODEL, "adam(0.01)", max_batch=16, deterministic=True, threads=2)
    for _ in range(3):
        trainer.step(images, labels)
        other.backward(images, labels)
        assert set(other.gradients) == set(other.weights)
        assert np.abs(other.gradients["dense/bias"]).max() > 0
        other.update()
    for name, weight in trainer.weights.items():
        assert np.array_equal(weight, other.weights[name])
    other.backward(images, labels)
    for gradient in other.gradients.values():
        gradient[...] = 0
    sgd = stoker.Trainer(MODEL, "sgd(0.1)", max_batch=16)
    before = {name: weight.copy() for name, weight in sgd.weights.items()}
    sgd.backward(images, labels)
    for gradient in sgd.gradients.values():
        gradient[...] = 0
    sgd.update()
    for name, weight in sgd.weights.items():
        assert np.array_equal(weight, before[name])


def test_state_goes_on(trainer, tmp_path):
    images, labels = batch()
    for _ in range(3):
        trainer.step(images, labels)
    state = trainer.state_dict()
    trainer.save(tmp_path / "x.safetensors")
    want = [trainer.step(images, labels) for _ in range(3)]
    for fill in (lambda t: t.load_state_dict(state), lambda t: t.load(tmp_path / "x.safetensors")):
        other = stoker.Trainer(MODEL, "adam(0.01)", max_batch=16, seed=9, deterministic=True, threads=2)
        fill(other)
        assert other.steps == 3
        assert [other.step(images, labels) for _ in range(3)] == want


def test_states_that_do_not_fit(trainer, tmp_path):
    state = trainer.state_dict()
    with pytest.raises(ValueError, match="conv2d/kernel is missing"):
        trainer.load_state_dict({k: v for k, v in state.items() if k != "conv2d/kernel"})
    with pytest.raises(ValueError, match="more is none of this trainer's"):
        trainer.load_state_dict({**state, "more": np.zeros(3)})
    with pytest.raises(ValueError, match=r"dense/bias is \(4,\), and here \(3,\)"):
        trainer.load_state_dict({**state, "dense/bias": np.zeros(4)})
    trainer.save(tmp_path / "x.safetensors")
    with pytest.raises(stoker.StateError, match="another model"):
        stoker.Trainer(MODEL.replace("dense(3)", "dense(4)")).load(tmp_path / "x.safetensors")
    with pytest.raises(stoker.StateError, match="another optimizer"):
        stoker.Trainer(MODEL).load(tmp_path / "x.safetensors")


def test_weights_alone(trainer, tmp_path):
    images, labels = batch()
    trainer.step(images, labels)
    trainer.save(tmp_path / "x.safetensors")
    other = stoker.Trainer(MODEL, "sgd(0.1)", forward_only=True)
    other.load_weights(tmp_path / "x.safetensors")
    assert np.array_equal(other.predict(images), trainer.predict(images))
    with pytest.raises(stoker.Error, match="the map says"):
        other.load_weights(tmp_path / "x.safetensors", {"nothing": "conv"})


def test_mixed_precision():
    images, labels = batch()
    trainer = stoker.Trainer(MODEL, "adam(0.01)", precision="mixed_float16", max_batch=16)
    assert trainer.loss_scale == 2**15
    losses = [trainer.step(images, labels) for _ in range(40)]
    assert losses[-1] < losses[0] / 2
    assert trainer.options["precision"] == "mixed_float16"


def test_faults(trainer):
    images, labels = batch()
    with pytest.raises(stoker.Error, match="7"):
        trainer.step(images, np.full(16, 7))
    with pytest.raises(stoker.Error, match="8×8×1"):
        trainer.step(images[:, :4], labels)
    with pytest.raises(stoker.Error, match="16"):
        trainer.step(*batch(17))
    with pytest.raises(TypeError, match="images and labels"):
        trainer.step(images)
    with pytest.raises(stoker.StateError, match="no gradient"):
        stoker.Trainer(MODEL).gradients["dense/bias"]
    with pytest.raises(stoker.ChainError, match="did you mean adam"):
        stoker.Trainer(MODEL, "adem()")
    with pytest.raises(ValueError, match="on_nonfinite"):
        stoker.Trainer(MODEL, on_nonfinite="hope")
    images[3] = np.nan
    with pytest.raises(stoker.DataError, match="input: the output is not finite"):
        trainer.step(images, labels)
    images[3] = 0
    trainer.weights["conv2d/kernel"][0, 0, 0, 2] = np.inf
    trainer.changed()
    images[...] = 1
    with pytest.raises(stoker.DataError, match="conv2d: "):
        trainer.step(images, labels)
    images[3] = np.nan
    skips = stoker.Trainer(MODEL, on_nonfinite="skip")
    skips.step(images, labels)
    assert skips.last.skipped and skips.steps == 0


@pytest.mark.parametrize(
    "images, labels",
    [
        (None, [0]), ("text", [0]), (np.zeros((2, 8, 8, 1), np.float32), "text"), (np.zeros((2, 8, 8, 1), np.float32), [0, None]),
        (np.zeros((0, 8, 8, 1), np.float32), np.zeros(0, np.int64)), (np.zeros((2, 8, 7), np.float32), [0, 1]),
        (np.float32(3), [0]), (np.zeros((2, 8, 8, 1), object), [0, 1]), (np.zeros((2, 8, 8, 1), complex), [0, 1]),
        (np.zeros((2, 8, 8, 1), np.float32), [0.5, 1]), (np.zeros((2, 8, 8, 1), np.float32), np.zeros((2, 4), np.float32)),
        (np.zeros((2, 8, 8, 1), np.float32), [0]), (np.zeros((2, 8, 8, 1), np.float32), [2**40, 0]),
    ],
)  # fmt: skip
def test_batches_of_every_kind_of_wrong(trainer, images, labels):
    """An exception that says something, and a trainer that goes on."""
    before = {name: weight.copy() for name, weight in trainer.weights.items()}
    with pytest.raises((stoker.Error, TypeError, ValueError, BufferError)) as told:
        trainer.step(images, labels)
    assert str(told.value)
    assert all(np.array_equal(weight, before[name]) for name, weight in trainer.weights.items())
    trainer.step(*batch())


@pytest.mark.parametrize("named", [
    {"max_batch": -1}, {"max_batch": 10**12}, {"threads": -2}, {"threads": 10**6}, {"precision": "float8"},
    {"loss": "none"}, {"loss_scale": "much"}, {"optimizer": "adam(-1)"}, {"model": "dense(3)"}, {"model": ""}, {"model": 3},
])  # fmt: skip
def test_trainers_that_cannot_be(named):
    with pytest.raises((stoker.Error, TypeError, ValueError, OverflowError)) as told:
        stoker.Trainer(**{"model": MODEL, **named})
    assert str(told.value)


@pytest.mark.parametrize("named, error, says", [
    ({"seed": -1}, ValueError, "seed is from 0 to 18446744073709551615, not -1"),
    ({"seed": 2**64}, ValueError, "seed is from 0 to"),
    ({"seed": 1.5}, TypeError, "seed is a whole number, not 1.5"),
    ({"seed": True}, TypeError, "seed is a whole number, not True"),
    ({"max_batch": 0}, ValueError, "max_batch is from 1 to 16777216, not 0"),
    ({"max_batch": 2**70}, ValueError, "max_batch is from 1 to"),
    ({"max_batch": "8"}, TypeError, "max_batch is a whole number, not '8'"),
    ({"threads": 0}, ValueError, "threads is from 1 to 256, not 0"),
    ({"threads": 2**32 + 1}, ValueError, "threads is from 1 to 256"),
    ({"threads": ""}, TypeError, "threads is a whole number, not ''"),
    ({"optimizer": 0.1}, TypeError, "optimizer is text such as 'adam"),
    ({"optimizer": ""}, stoker.Error, "optimizer: the text is empty"),
    ({"optimizer": "adam(nan)"}, stoker.Error, "a learning rate is a number"),
    ({"optimizer": "adam(1e300)"}, stoker.Error, "no larger than a float32 holds"),
    ({"loss": ""}, stoker.Error, "loss: the text is empty"),
    ({"loss": "cross_entropy(class_weights=[1, 2])"}, stoker.Error, "2 class weights, and the model has 3 outputs"),
    ({"precision": 16}, TypeError, "precision is text"),
    ({"loss_scale": float("nan")}, ValueError, "loss_scale is above 0 and finite, not nan"),
    ({"loss_scale": 0}, ValueError, "loss_scale is above 0"),
    ({"loss_scale": True}, TypeError, "loss_scale is a number"),
    ({"loss_scale": ""}, stoker.Error, "loss_scale: the text is empty"),
    ({"deterministic": "no"}, TypeError, "deterministic is True or False, not 'no'"),
    ({"forward_only": None}, TypeError, "forward_only is True or False"),
    ({"model": " "}, stoker.Error, "the model is empty; it is a chain of layers"),
])  # fmt: skip
def test_arguments_are_named(named, error, says):
    """Nothing wraps, is cut off, or stands for a default."""
    with pytest.raises(error) as told:
        stoker.Trainer(**{"model": MODEL, **named})
    assert says in str(told.value)


def test_arguments_of_every_kind():
    seeded = stoker.Trainer(MODEL, seed=np.uint64(2**64 - 1), max_batch=np.int32(4), threads=np.int64(1),
                            deterministic=np.bool_(True), loss_scale=np.float32(1024))  # fmt: skip
    assert seeded.options["seed"] == 2**64 - 1 and seeded.options["max_batch"] == 4
    assert seeded.options["deterministic"] and seeded.loss_scale == 1024


def test_lists_of_images(trainer):
    images, labels = batch()
    twin = stoker.Trainer(MODEL, "adam(0.01)", max_batch=16, deterministic=True, threads=2)
    assert trainer.step(images.tolist(), labels.tolist()) == twin.step(images, labels)


def test_other_calls(trainer):
    for call in (trainer.save, trainer.load, trainer.load_weights, trainer.export):
        with pytest.raises(ValueError, match="the path is empty"):
            call("")
    with pytest.raises(stoker.Error, match="of channel 0 is not finite"):
        trainer.affine(float("nan"), 0)
    state = trainer.state_dict()
    counts = state["counts"]
    before = {name: weight.copy() for name, weight in trainer.weights.items()}
    other = {name: value + 1 if name != "counts" else counts for name, value in state.items()}
    for wrong, says in (
        ({name: value for name, value in other.items() if name != "counts"}, r"counts\['step'\] is missing"),
        ({**other, "counts": {**counts, "seed": -1}}, r"counts\['seed'\] is from 0 to"),
        ({**other, "counts": {**counts, "step": -1}}, "cannot be below 0"),
        ({**other, "dense/bias": np.zeros(3, complex)}, "dense/bias is of type complex128"),
        ({**other, "dense/bias": np.array(["a", "b", "c"])}, "dense/bias is of type <U1"),
    ):
        with pytest.raises(ValueError, match=says):
            trainer.load_state_dict(wrong)
        assert all(np.array_equal(weight, before[name]) for name, weight in trainer.weights.items())


def test_plan_and_memory(trainer):
    assert "conv2d" in trainer.plan()
    memory = trainer.memory
    assert memory["total"] == sum(v for k, v in memory.items() if k != "total")


def test_one_thread_at_a_time():
    """Calls from several threads are either done or refused, never mixed."""
    trainer = stoker.Trainer("m2()", max_batch=32)
    images, labels = np.zeros((32, 32, 32, 3), np.float32), np.zeros(32, np.int64)
    done, refused = [], []

    def work():
        for _ in range(3):
            try:
                done.append(trainer.step(images, labels))
            except stoker.StateError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(refused) == 9 and trainer.steps == len(done)


def test_is_freed():
    trainer = stoker.Trainer(MODEL)
    gone = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is None


# ---- stoker.train ----


def dataset(rows=96, seed=0):
    images, labels = batch(rows, seed)
    return stoker.from_arrays(image=images, label=labels)


def test_train(tmp_path, capsys):
    done = stoker.train(
        train=dataset().shuffle().batch(16), valid=dataset(32, 1).batch(16), model=MODEL,
        optimizer="adam(0.01)", epochs=8, checkpoint=tmp_path / "run", deterministic=True,
    )  # fmt: skip
    assert len(done.history) == 8 and done.history[0].epoch == 0
    assert done.best.valid["accuracy"] == 1.0
    assert done.history[-1].train["loss"] < done.history[0].train["loss"]
    assert done.trainer.steps == 48
    assert done.trainer.predict(batch(4)[0]).shape == (4, 3)
    assert (tmp_path / "run" / "best.safetensors").exists()
    assert "epoch 8 of 8" in capsys.readouterr().err
    assert done.verdict


def test_train_by_text(tmp_path):
    np.savez(tmp_path / "data.npz", **dict(zip(("image", "label"), batch(64))))
    recipe = tmp_path / "recipe.stk"
    recipe.write_text(f"train = npz('{tmp_path}/data.npz').batch(16)\nmodel = {MODEL}\n")
    seen = []
    done = stoker.train(recipe, epochs=5, progress=False, callbacks=[seen.append])
    assert [epoch["epoch"] for epoch in seen] == [0, 1, 2, 3, 4]
    assert done.trainer.steps == 20
    ended = stoker.train(recipe, epochs=5, progress=False, callbacks=[lambda epoch: epoch.epoch == 1])
    assert len(ended.history) == 2


def test_train_with_a_function(tmp_path):
    ds = dataset().map(lambda e: {"image": e["image"] * np.float32(0.5), "label": e["label"]}).batch(16)
    done = stoker.train(train=ds, model=MODEL, epochs=2, progress=False)
    assert len(done.history) == 2

    def fails(element):
        raise RuntimeError("no such day")

    with pytest.raises(RuntimeError, match="no such day"):
        stoker.train(train=dataset().map(fails, output=dataset().spec).batch(16), model=MODEL, progress=False)


def test_train_goes_on(tmp_path):
    common = {"model": MODEL, "optimizer": "adam(0.01)", "deterministic": True, "threads": 2, "progress": False}
    train = dataset().shuffle().batch(16)
    whole = stoker.train(train=train, epochs=4, **common)
    stoker.train(train=train, epochs=2, checkpoint=tmp_path / "run", **common)
    with pytest.raises(stoker.Error, match="restart"):
        stoker.train(train=train, epochs=4, checkpoint=tmp_path / "run", **common)
    rest = stoker.train(train=train, epochs=4, checkpoint=tmp_path / "run", resume=True, **common)
    assert [epoch.epoch for epoch in rest.history] == [2, 3]
    for name, weight in whole.trainer.weights.items():
        assert np.array_equal(weight, rest.trainer.weights[name])


def test_wrong_lines():
    with pytest.raises(TypeError, match="a recipe has no epoks"):
        stoker.train(train=dataset().batch(16), model=MODEL, epoks=3)
    with pytest.raises(stoker.Error, match="8×9×1"):
        stoker.train(train=dataset().batch(16), model=MODEL.replace("8, 8", "8, 9"), progress=False)


def test_lines_that_cannot_be_meant(tmp_path):
    common = {"train": dataset().batch(16), "model": MODEL, "progress": False}
    for named, says in (
        ({"seed": -1}, "seed=-1 is below 0"),
        ({"optimizer": ""}, "optimizer is empty; None leaves it out"),
        ({"train": ""}, "train is empty"),
        ({"checkpoint": ""}, "checkpoint is empty; it takes a directory"),
        ({"keep": 2}, "keep does nothing without checkpoint"),
        ({"weights_map": {"conv2d": "x"}}, "weights_map does nothing without weights"),
        ({"classes": ("a", "b")}, "names of 2 classes"),
        ({"monitor": "valid_accuracy"}, "the recipe has no valid"),
        ({"threads": 300}, r"threads=300 is outside \[1, 256\]"),
    ):
        with pytest.raises(ValueError, match=says):
            stoker.train(**{**common, **named})
    with pytest.raises(TypeError, match="a callback is a function of an Epoch, not 3"):
        stoker.train(**common, callbacks=[3])
    stoker.train(**common, classes=("a", "b", "c"), checkpoint=tmp_path / "run")


def test_labels_that_are_floats():
    """Said before anything runs, with what makes labels of them; values for each output may be floats."""
    images, labels = batch(32)
    data = stoker.values({"image": images, "label": labels.astype(np.float32)}).batch(16)
    with pytest.raises(stoker.TypeMismatchError, match=r"gives one float32 .* cast\(int64, field=label\)"):
        stoker.train(train=data, model=MODEL, progress=False)
    stoker.train(train=data.cast("int64", field="label"), model=MODEL, progress=False)
    soft = np.eye(3, dtype=np.float32)[labels]
    stoker.train(train=stoker.values({"image": images, "label": soft}).batch(16), model=MODEL, progress=False)
    half = stoker.values({"image": images, "label": soft}).cast("float16", field="label").batch(16)
    with pytest.raises(stoker.TypeMismatchError, match="gives float16"):
        stoker.train(train=half, model=MODEL, progress=False)
