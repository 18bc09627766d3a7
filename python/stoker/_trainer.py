# SPDX-License-Identifier: Apache-2.0
"""The training step of a model: stoker.Trainer."""

import operator
import os
from collections.abc import Mapping
from typing import NamedTuple

from . import _convert, _core
from ._model import Model


class Step(NamedTuple):
    """What came out of a batch. `loss` is the mean, not scaled; `top1` and `top5` count rows, -1 where the loss knows no right and wrong."""

    loss: float
    rows: int
    top1: int
    top5: int
    step: int
    learning_rate: float
    loss_scale: float
    gradient_norm: float
    skipped: bool

    @property
    def accuracy(self):
        """The share of rows whose label is the model's first answer."""
        return self.top1 / self.rows if self.rows and self.top1 >= 0 else float("nan")


def _show(array):
    """The same memory as a NumPy array, or as it is where there is no NumPy."""
    return array.numpy() if _convert._import_numpy() else array


def _memory(value, what):
    """Memory of the library over an array of anybody's; lists become arrays first."""
    if isinstance(value, (list, tuple)):
        np = _convert._need_numpy(f"a list of {what}")
        value = np.asarray(value)
    if type(value).__module__.startswith("tensorflow"):
        value = value.numpy()
    return _core.Memory(value)


def _images(value):
    np = _convert._import_numpy()
    if isinstance(value, (list, tuple)):
        np = _convert._need_numpy("a list of images")
        value = np.asarray(value)
    if np is not None and isinstance(value, np.ndarray) and value.dtype == np.float64:
        value = value.astype(np.float32)
    return _memory(value, "images")


# ---- arguments ----

_MOST_SEED = 2**64 - 1
_COUNTS = ("step", "batches", "loss_scale", "good_steps", "seed")  # of a state_dict


def _whole(name, value, low, high):
    """An integer of any kind within bounds; bools and floats are none."""
    try:
        number = operator.index(value) if not isinstance(value, bool) else None
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if not low <= number <= high:
        raise ValueError(f"{name} is from {low} to {high}, not {value!r}")
    return number


def _text(name, value, example):
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is text such as {example!r}, not {value!r}")
    return value


def _flag(name, value):
    """True or False, NumPy's too; other values that Python takes for true are mistakes."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise TypeError(f"{name} is True or False, not {value!r}")


def _scale(value):
    """A loss scale: text, or a number that is one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"loss_scale is a number, or text such as 'dynamic()', not {value!r}")
    if not 0 < float(value) < float("inf"):
        raise ValueError(f"loss_scale is above 0 and finite, not {value!r}")
    return str(value)


def _path(value):
    path = os.fsencode(value)
    if not path:
        raise ValueError("the path is empty")
    return path


class _Named(Mapping):
    """Arrays by name, in the order of the layers."""

    def __init__(self, names, find):
        self._names, self._find = names, find

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._find(self._names[name])

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return f"<{len(self)} arrays: {', '.join(list(self)[:4])}{', …' if len(self) > 4 else ''}>"


class Trainer:
    """The training step of a model, compiled for it once: forward, loss, backward and update.

        trainer = stoker.Trainer('m2(classes=10)', 'adam(0.001)')
        for batch in dataset:
            loss = trainer.step(batch.image, batch.label)
        trainer.predict(images)

    model         text of a chain of layers, or a stoker.Model
    optimizer     'adam()', 'sgd(0.1, momentum=0.9)', 'adamw(cosine(0.001, steps=1000))', …
    loss          'cross_entropy()', 'binary_cross_entropy()', 'mse()'
    precision     'float32', 'mixed_float16' or 'mixed_bfloat16'
    loss_scale    'dynamic()', 'fixed(1024)', …; by default dynamic() for mixed_float16, else none
    max_batch     rows of the largest batch
    threads       that compute; by default one per core
    seed          of weights and dropout
    deterministic kernels by rule and not by measuring: the same bits in every process
    on_nonfinite  'fail', or 'skip', which leaves such steps out
    forward_only  eval_step and predict alone, in much less memory

    Images are [rows, height, width, channels] of float32 or uint8, labels integers [rows] or targets
    [rows, outputs]: NumPy arrays, fields of batches, tensors of PyTorch or TensorFlow. Arrays that are
    contiguous are not copied. One thread at a time may use a trainer.
    """

    def __init__(
        self,
        model,
        optimizer=None,
        loss=None,
        precision=None,
        *,
        loss_scale=None,
        max_batch=32,
        threads=None,
        seed=0,
        deterministic=False,
        on_nonfinite="fail",
        forward_only=False,
    ):
        if on_nonfinite not in ("fail", "skip"):
            raise ValueError(f"on_nonfinite is 'fail' or 'skip', not {on_nonfinite!r}")
        given = (
            _text("optimizer", optimizer, "adam(0.001)"),
            _text("loss", loss, "cross_entropy()"),
            _scale(loss_scale),
            _text("precision", precision, "mixed_float16"),
            _whole("max_batch", max_batch, 1, 1 << 24),
            _whole("threads", threads, 1, 256) if threads is not None else 0,
            _whole("seed", seed, 0, _MOST_SEED),
            _flag("deterministic", deterministic),
            _flag("forward_only", forward_only),
            on_nonfinite == "skip",
        )
        self.model = model if isinstance(model, Model) else Model(model)
        self._take(_core.Trainer(self.model._core, *given))

    def _take(self, core):
        self._core = core
        self._numbers = {name: i for i, (name, _, _) in enumerate(core.weights())}
        self._trainable = {name: self._numbers[name] for name, _, is_trainable in core.weights() if is_trainable}
        self.last = None  # the Step of the last batch
        return self

    @classmethod
    def _of(cls, core, model):
        self = cls.__new__(cls)
        self.model = model
        return self._take(core)

    def _batch(self, images, labels):
        if labels is None and isinstance(images, _core.Batch):
            images, labels = images["image"], images["label"]
        if labels is None:
            raise TypeError("a step needs images and labels, or a batch with the fields image and label")
        return _images(images), _memory(labels, "labels")

    # ---- steps ----

    def step(self, images, labels=None):
        """One step; gives the loss. `last` then has everything that came out of it."""
        self.last = Step(*self._core.step(*self._batch(images, labels)))
        return self.last.loss

    def backward(self, images, labels=None):
        """The first half of a step: gradients of the loss, which may be looked at and changed before
        `update`. Gives the loss."""
        self.last = Step(*self._core.gradients(*self._batch(images, labels)))
        return self.last.loss

    def update(self):
        """The second half: weights change by the gradients, unless they are not finite. Gives a Step."""
        self.last = Step(*self._core.update())
        return self.last

    def eval_step(self, images, labels=None):
        """Loss and hits of a batch as in use, without dropout and with moving statistics: a Step."""
        return Step(*self._core.eval(*self._batch(images, labels)))

    def predict(self, images):
        """What the model puts out, [rows, outputs] in float32."""
        if isinstance(images, _core.Batch):
            images = images["image"]
        memory = _images(images)
        height, width, channels, outputs = self._core.shapes()
        rows = len(images)
        most = self._core.options()["max_batch"]
        np = _convert._need_numpy("predict")
        out = np.empty((rows, outputs), np.float32)
        if rows <= most:
            self._core.predict(memory, out)
            return out
        whole = np.asarray(images)
        for at in range(0, rows, most):
            self._core.predict(_images(np.ascontiguousarray(whole[at : at + most])), out[at : at + most])
        return out

    # ---- what it holds ----

    @property
    def weights(self):
        """Weights by name, as NumPy arrays over the trainer's own memory. After one was written,
        call `changed()`."""
        arrays = [array for _, array, _ in self._core.weights()]
        return _Named(self._numbers, lambda i: _show(arrays[i]))

    @property
    def gradients(self):
        """Gradients of the last batch by name of the weight, with the loss scale undone; the same
        memory that `update` reads. `step` uses those of wide dense layers up while they are in cache, until one
        was asked for: the first time is a RuntimeError."""
        return _Named(self._trainable, lambda i: _show(self._core.gradient(i)))

    def changed(self):
        """Says that weights were written."""
        self._core.changed()

    @property
    def loss_scale(self):
        """Of the next step; 1 where there is none."""
        return self._core.counts()[2]

    @property
    def steps(self):
        """Steps that changed weights."""
        return self._core.counts()[0]

    @property
    def options(self):
        """What is in force: optimizer, loss, loss_scale, precision, max_batch, threads, seed."""
        return self._core.options()

    @property
    def memory(self):
        """Bytes by what they are for."""
        return self._core.memory()

    def plan(self):
        """What a step does, in which memory, and why, as text."""
        from ._model import _Table

        return _Table(self._core.plan())

    def affine(self, scale, offset):
        """What uint8 images mean: value · scale + offset, a number for all channels or one for each."""
        channels = self._core.shapes()[2]
        pair = [
            tuple(map(float, part)) if hasattr(part, "__iter__") else (float(part),) * channels
            for part in (scale, offset)
        ]
        self._core.affine(*pair)

    # ---- keeping it ----

    def state_dict(self):
        """Everything that training needs to go on: copies of weights and of the optimizer's state by name, and
        counts under 'counts'."""
        np = _convert._need_numpy("state_dict")
        state = {name: np.array(array.numpy()) for name, array in self._core.state()}
        state["counts"] = dict(zip(_COUNTS, self._core.counts()))
        return state

    def load_state_dict(self, state):
        """Goes on from what state_dict gave, of a trainer of the same model and optimizer."""
        np = _convert._need_numpy("load_state_dict")
        mine = dict(self._core.state())
        given = {name: np.asarray(value) for name, value in state.items() if name != "counts"}
        faults = [f"{name} is missing" for name in mine if name not in given]
        faults += [f"{name} is none of this trainer's" for name in given if name not in mine]
        faults += [
            f"{name} is {given[name].shape}, and here {mine[name].shape}"
            for name in mine
            if name in given and tuple(given[name].shape) != tuple(mine[name].shape)
        ]
        faults += [
            f"{name} is of type {given[name].dtype}"
            for name in mine
            if name in given and not np.can_cast(given[name].dtype, np.float32, "same_kind")
        ]
        counts = state.get("counts", {})
        faults += [f"counts[{name!r}] is missing" for name in _COUNTS if name not in counts]
        if faults:
            more = f"; and {len(faults) - 4} more" if len(faults) > 4 else ""
            raise ValueError("the state does not fit: " + "; ".join(faults[:4]) + more)
        _whole("counts['seed']", counts["seed"], 0, _MOST_SEED)
        self._core.set_counts(*(counts[name] for name in _COUNTS))
        for name, array in mine.items():
            array.numpy()[...] = given[name]
        self.changed()

    def save(self, path):
        """Writes a checkpoint, a file of safetensors: there is the one before or the new one, whenever a process
        ends."""
        self._core.save(_path(path))

    def load(self, path):
        """Reads a checkpoint. The model, optimizer, loss and precision must be the same."""
        self._core.load(_path(path))

    def load_weights(self, path, map=None):
        """Reads weights alone: of a checkpoint, or of a state dict of PyTorch that was saved as safetensors.
        `map` says which module is which layer, {'conv2d': 'features.0'}, where the order of names does not.
        """
        pairs = tuple((str(name), str(value)) for name, value in (map or {}).items())
        self._core.load_weights(_path(path), pairs)

    def export(self, path, *, nchw=False, softmax=False):
        """Writes the model as an ONNX file, for any size of batch. nchw: images come as [N, C, H, W];
        softmax: the output is probabilities; it is added unless the model ends in it."""
        self._core.export(_path(path), nchw, softmax)
