# SPDX-License-Identifier: Apache-2.0
"""Storing a dataset in record files."""

import os
import sys
import time

from . import _dataset, _ranks


def pack(ds, out, shards, to, compression, variants, keep_original, force, progress, options):
    if "epochs" in options:
        raise TypeError("pack stores one epoch; variants=n stores n of them")
    settings = _ranks.known(ds._chain, {**ds._settings, **_dataset.texts(options)})
    settings.pop("epochs", None)
    line = Line() if progress is True else None
    try:
        return ds._chain.pack(
            settings,
            os.fsencode(out),
            number("shards", shards),
            to,
            "none" if compression is None else compression,
            0 if variants is None else number("variants", variants),
            bool(keep_original),
            bool(force),
            line.show if line else progress if callable(progress) else None,
        )
    finally:
        if line:
            line.end()


def number(name, value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a number, not {value!r}")
    return value.__index__()


class Line:
    """Kept up to date on a terminal, printed once elsewhere."""

    def __init__(self):
        self.start, self.text = time.perf_counter(), ""
        self.is_terminal = bool(sys.stderr) and sys.stderr.isatty()

    def show(self, elements, total, size, errors, files_done, files):
        seconds = max(time.perf_counter() - self.start, 1e-9)
        whole = f" of {total:,}" if total >= 0 else ""
        self.text = (
            f"{elements:,}{whole} elements, {elements / seconds:,.0f}/s, "
            f"{files_done} of {files} files, {size / 2**20:,.1f} MB"
        )
        if self.is_terminal:
            self.write("\r" + self.text + "\033[K")

    def end(self):
        if self.text:
            self.write(("\r" + self.text + "\033[K" if self.is_terminal else self.text) + "\n")

    def write(self, text):
        if sys.stderr:
            sys.stderr.write(text)
            sys.stderr.flush()
