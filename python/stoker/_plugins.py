# SPDX-License-Identifier: Apache-2.0
"""Ops of plug-ins: methods of datasets that are made when they are asked for."""

import os

from . import _core, _ops

# Of the ops that were loaded, by name: their rows, as _ops.ROWS has them, and their texts.
_rows = {}
_texts = {}


def load(path):
    """Adds the ops of a plug-in; says which are new."""
    _core.load_plugin(os.fsencode(path))
    return _learn()


def load_all(paths):
    """STOKER_PLUGINS: files with ':' between them."""
    for path in filter(None, paths.split(":")):
        load(path)


def _learn():
    import json

    new = []
    for op in json.loads(_core.ops_json()):
        name = op["name"]
        if not op["plugin"] or name in _rows:
            continue
        _rows[name] = tuple(
            (row["name"], row["type"], ... if row["required"] else row["default"], row["variadic"])
            for row in op["params"]
        )
        helps = [f"{row['name']}: {row['help']}" for row in op["params"]]
        _texts[name] = "\n\n".join(
            part for part in (op["summary"], op["doc"], "\n".join(helps)) if part
        )
        new.append(name)
    return new


def rows(name):
    """The rows of an op that was loaded, or of one that was always there."""
    return _rows[name] if name in _rows else _ops.ROWS[name]


def names():
    return list(_rows)


def method(dataset, name):
    """The op as a method of a dataset, or None if no plug-in has it."""
    if name not in _rows:
        return None
    import inspect

    signature = inspect.Signature(
        inspect.Parameter(
            row,
            inspect.Parameter.VAR_POSITIONAL
            if is_variadic
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if default is ... or is_variadic else default,
        )
        for row, _, default, is_variadic in _rows[name]
    )

    def call(*values, **named):
        bound = signature.bind(*values, **named)
        bound.apply_defaults()
        return dataset._then(name, tuple(bound.arguments.values()))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _texts[name]
    call.__signature__ = signature
    return call
