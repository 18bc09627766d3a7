# SPDX-License-Identifier: Apache-2.0
"""A line on standard error that says how far a run is, and how fast."""

import sys
import time

from . import _dataset

_EVERY = 0.1  # seconds between two looks of the line


def progress(batches, options):
    is_dataset = isinstance(batches, _dataset.Dataset)
    if options and not is_dataset:
        raise TypeError("options are for a Dataset; an Iterator has its own already")
    total = expected(batches, options) if is_dataset else None
    return run(batches.iterate(**options) if is_dataset else iter(batches), total)


def expected(ds, options):
    """Batches of the whole run, or None."""
    epochs = {**ds._settings, **_dataset.texts(options)}.get("epochs", "1")
    return ds.cardinality * int(epochs) if ds.cardinality >= 0 and epochs.isdigit() else None


def run(batches, total):
    show = Line(total)
    try:
        for batch in batches:
            yield batch
            show.add(getattr(batch, "n_rows", 1))
    finally:
        show.end()


class Line:
    """Kept up to date on a terminal, printed once elsewhere."""

    def __init__(self, total):
        self.total, self.batches, self.rows = total, 0, 0
        self.start = self.shown = time.perf_counter()
        self.is_terminal = bool(sys.stderr) and sys.stderr.isatty()

    def add(self, rows):
        self.batches += 1
        self.rows += rows
        if self.is_terminal and time.perf_counter() - self.shown >= _EVERY:
            self.shown = time.perf_counter()
            self.write("\r" + self.text() + "\033[K")

    def text(self):
        seconds = max(time.perf_counter() - self.start, 1e-9)
        whole = f" of {self.total:,}" if self.total is not None else ""
        pace = f"{self.rows / seconds:,.0f}/s, {seconds:.1f} s"
        return f"{self.batches:,}{whole} batches, {self.rows:,} elements, {pace}"

    def end(self):
        self.write(
            ("\r" if self.is_terminal else "")
            + self.text()
            + ("\033[K\n" if self.is_terminal else "\n")
        )

    def write(self, text):
        if sys.stderr:
            sys.stderr.write(text)
            sys.stderr.flush()
