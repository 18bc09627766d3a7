# SPDX-License-Identifier: Apache-2.0
"""Trainings: stoker.train, which carries out a recipe."""

import json
import os
import sys
import time

from . import _core
from ._dataset import Dataset
from ._model import Model
from ._trainer import Trainer

_QUOTED = ("text",)


def _rows():
    return {row["name"]: row for row in json.loads(_core.recipe_json())[0]["params"]}


def _line(name, row, value):
    """A line of a recipe. Texts are quoted, calls and numbers stand as they are."""
    if isinstance(value, bool):
        value = str(value).lower()
    elif value is None:
        value = "none"
    elif isinstance(value, Model):
        value = value._text
    elif isinstance(value, dict):
        value = "{" + ", ".join(f"{key!r}: {one!r}" for key, one in value.items()) + "}"
    elif row["type"] in _QUOTED:
        value = repr(os.fspath(value))
    elif isinstance(value, tuple):
        value = list(value)
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} is empty; None leaves it out")
    return f"{name} = {value}"


def _recipe(recipe, lines):
    rows = _rows()
    unknown = [name for name in lines if name not in rows]
    if unknown:
        raise TypeError(f"a recipe has no {unknown[0]}; it has {', '.join(rows)}")
    text = ""
    if recipe is not None:
        text = os.fspath(recipe)
        if "=" not in text:
            with open(text, encoding="utf-8") as file:
                text = file.read()
    return "\n".join([text, *(_line(name, rows[name], value) for name, value in lines.items())])


def _data(lines, name):
    """A Dataset with objects of Python in it has no text: it is handed over as it is."""
    data = lines.get(name)
    if not isinstance(data, Dataset):
        return None
    if data._chain.objects:
        del lines[name]
        return data._chain
    lines[name] = str(data)
    return None


class Epoch(dict):
    """What is known after an epoch: epoch, train and valid with loss and accuracy, seconds, …"""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Training:
    """What came of a training: `history`, an Epoch for each; `best`, the best of them; `trainer`, with the
    weights of the last step; `verdict`, what held it up, as text."""

    def __init__(self, fit, model, history, seconds):
        self.history, self.seconds = history, seconds
        self.verdict = fit.verdict()
        core = fit.trainer()
        self.trainer = Trainer._of(core, model) if core is not None else None

    @property
    def best(self):
        best = [epoch for epoch in self.history if epoch["is_best"]]
        return best[-1] if best else None

    def __repr__(self):
        if not self.history:
            return "<Training without epochs>"
        last = self.history[-1]
        return f"<Training of {len(self.history)} epochs: loss {last['train']['loss']:.4g}>"


def _show(event, began):
    train, valid = event["train"], event["valid"]
    parts = [f"epoch {event['epoch'] + 1} of {event['epochs']}  loss {train['loss']:.4g}"]
    if train["accuracy"] == train["accuracy"]:
        parts.append(f"accuracy {train['accuracy'] * 100:.2f} %")
    if valid["rows"]:
        parts.append(f"valid loss {valid['loss']:.4g}")
        if valid["accuracy"] == valid["accuracy"]:
            parts.append(f"accuracy {valid['accuracy'] * 100:.2f} %")
    waits = event["waited_seconds"] / event["seconds"] * 100 if event["seconds"] else 0
    if event["epoch_bad"]:
        parts.append(f"{event['epoch_bad']} bad elements")
    parts.append(f"{time.monotonic() - began:.1f} s  waits {waits:.0f} %")
    print("  ".join(parts) + ("  best" if event["is_best"] else ""), file=sys.stderr)


def train(recipe=None, *, resume=False, resume_older=False, restart=False, callbacks=(), progress=True, **lines):
    """As stoker.train says."""
    callbacks = list(callbacks)
    wrong = [callback for callback in callbacks if not callable(callback)]
    if wrong:
        raise TypeError(f"a callback is a function of an Epoch, not {wrong[0]!r}")
    chains = {name: _data(lines, name) for name in ("train", "valid")}
    text = _recipe(recipe, lines)
    fit = _core.Fit(text, chains["train"], chains["valid"], resume, resume_older, restart)
    model = Model(fit.model())
    history, began, is_over = [], time.monotonic(), False
    try:
        while not is_over and (event := fit.next()) is not None:
            if event["message"] and progress:
                print(event["message"], file=sys.stderr)
            if event["kind"] != "epoch":
                continue
            if progress:
                _show(event, began)
            history.append(Epoch(event))
            is_over = any([callback(history[-1]) is True for callback in callbacks])
    except KeyboardInterrupt:
        fit.save()
        raise
    return Training(fit, model, history, time.monotonic() - began)
