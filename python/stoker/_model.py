# SPDX-License-Identifier: Apache-2.0
"""Models: chains of layers."""

import json

from . import _core


class _Table(str):
    """A text that shows as it is printed."""

    def __repr__(self):
        return self.rstrip("\n")


class Model:
    """A model: a chain of layers that begins with input(...), a recipe that ends in one, or the name
    of a known model. docs/layers.md has the layers.

        model = stoker.Model('input(28, 28, 1).conv2d(32, 3, activation=relu).flatten().dense(10)')
        print(model)
        stoker.Model('resnet18(classes=10)').parameters

    Shapes and weights are known, and nothing is allocated for them.
    """

    def __init__(self, text):
        if not isinstance(text, str):
            raise TypeError(f"a model is text, not {type(text).__name__}")
        self._text, self._core = text, _core.Model(text)

    def __str__(self):
        return self.summary()

    def __repr__(self):
        return f"stoker.Model({self._text!r})"

    def __reduce__(self):
        return Model, (self._text,)

    def summary(self, batch=32):
        """The layers as a table: name, kind, output shape, weights, multiplications; below it the
        sums, and the memory of all outputs for a batch of that size.
        """
        return _Table(self._core.table(batch))

    def json(self, batch=32):
        """The same as a dict."""
        return json.loads(self._core.json(batch))

    @property
    def layers(self):
        """The layers, in the order in which they are computed: dicts with name, kind, layer, inputs,
        shape, weights, macs and what belongs to the kind.
        """
        return self.json()["layers"]

    @property
    def weights(self):
        """All weights: dicts with name, shape, values, trainable and initializer."""
        return [weight for layer in self.layers for weight in layer["weights"]]

    @property
    def parameters(self):
        """How many values training changes."""
        return self.json()["trainable"]

    @property
    def macs(self):
        """Multiplications of the forward pass, for one element."""
        return self.json()["macs"]

    @property
    def text(self):
        """The chain with every parameter: two models are the same if this is."""
        return self.json()["text"]
