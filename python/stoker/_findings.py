# SPDX-License-Identifier: Apache-2.0
"""What is in files and in datasets: stoker.inspect and Dataset.stats."""

import os
from collections.abc import Mapping

from . import _core, _dataset, _ranks


class _Findings(Mapping):
    """A dict that prints as a table."""

    def __init__(self, data, text):
        self._data, self._text = data, text

    def __getitem__(self, key):
        return self._data[key]

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __str__(self):
        return self._text

    def __repr__(self):
        return self._text.rstrip("\n")

    def _repr_html_(self):
        import html

        return f"<pre>{html.escape(self._text)}</pre>"


class Inspection(_Findings):
    """What stoker.inspect found. A dict; docs/inspect.md says what is in it."""

    @property
    def chain(self):
        """The chain that reads it, as text for stoker.parse; None if there is none."""
        return self._data.get("chain")


class Statistics(_Findings):
    """What ds.stats() found: a dict from field names to dicts, which docs/stats.md explains."""

    def __init__(self, everything, text):
        super().__init__(everything["fields"], text)
        self._everything = everything

    @property
    def elements(self):
        """How many elements were looked at."""
        return self._everything["elements"]

    @property
    def batches(self):
        """In how many batches they came."""
        return self._everything["batches"]

    @property
    def json(self):
        """Everything as one dict: what save writes."""
        return self._everything

    def save(self, path):
        """Writes a JSON file, the same as `stoker stats --save`."""
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._everything, file)
            file.write("\n")


def inspect(path):
    import json

    path = os.fsencode(path)
    return Inspection(json.loads(_core.inspect(path, True)), _core.inspect(path, False))


def from_json(text):
    import json

    return json.loads(text)


def stats(ds, batches, options):
    import json

    if batches is not None and (not hasattr(batches, "__index__") or batches.__index__() < 1):
        raise ValueError(f"batches is a number of batches or None, not {batches!r}")
    settings = {"epoch": "0", **ds._settings, **_dataset.texts(options)}
    settings = _ranks.known(ds._chain, settings)
    settings.setdefault("epochs", "1")
    data, text = ds._chain.statistics(settings, 0 if batches is None else batches.__index__())
    return Statistics(json.loads(data), text)
