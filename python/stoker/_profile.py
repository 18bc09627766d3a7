# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: Dataset.profile and stoker.watch."""

import functools

from . import _dataset, _ranks, _text
from ._findings import _Findings


class Profile(_Findings):
    """What ds.profile() or stoker.watch found. A dict, which docs/profile.md explains, that prints
    as tables.
    """

    def __init__(self, data, text, page):
        super().__init__(data, text)
        self._page = page

    def report(self, path):
        """Writes one page for a browser, which needs nothing else: the verdict, advice, ops, what
        threads did over time, memory.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._page)

    @property
    def verdict(self):
        """What holds the run up, in a sentence."""
        return self._data["verdict"]["sentence"]

    @property
    def bound(self):
        """The same in a word: step, compute, workers, storage, memory, others, lock, serial, batches,
        order."""
        return self._data["verdict"]["bound"]

    @property
    def stall(self):
        """The share of its time, 0 to 1, that the step waited for its batches."""
        return self._data["wait_share"]

    @property
    def advice(self):
        """What would be faster, best first: dicts with text, gain, is_measured, chain, command,
        option and value.
        """
        return self._data["advice"]


def _profile_of(found):
    import json

    data, text, page = found
    return Profile(json.loads(data), text, page)


def profile(ds, seconds, consumer_ms, trials, options):
    for name, value in (("seconds", seconds), ("consumer_ms", consumer_ms)):
        if not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise ValueError(f"{name} is a number that is not negative, not {value!r}")
    settings = {"epoch": "0", **ds._settings, **_dataset.texts(options)}
    settings = _ranks.known(ds._chain, settings)
    elsewhere = _elsewhere(ds) if trials else None
    found = ds._chain.profile(settings, seconds, consumer_ms, loop_us(), trials, elsewhere)
    return _profile_of(found)


@functools.cache
def loop_us():
    """What a loop in Python that does nothing takes for a batch, in microseconds: trials run in C, where it
    would be forgotten."""
    n = 2000
    with _dataset.parse(f"range({n}).batch(1)").iterate(workers=0, rank=0, world=1) as run:
        for _ in run:
            pass
        return 1e6 * run.metrics()["consumer"]["outside"] / n


def _elsewhere(ds):
    """The Chain with its functions in helper processes, to try that out; None: it has none."""
    objects = ds._chain.objects
    if not objects:
        return None
    from . import _functions

    others = _functions.elsewhere(objects)
    return _dataset.Chain(_text.encode(str(ds)), others) if others else None


class Watch:
    """Watches the runs of a Dataset while a block of code is executed. Prints as its Profile."""

    def __init__(self, ds, trials):
        self._ds, self._trials = ds, trials
        self._current = None
        self._longest = None

    def __enter__(self):
        if self._ds._watch is not None:
            raise ValueError("this Dataset is being watched already")
        self._ds._watch = self
        return self

    def __exit__(self, kind, *_):
        self._ds._watch = None
        self._settle()
        if self._longest is None and kind is None:
            raise ValueError(
                "nothing was read from the Dataset while it was watched: the loop must go over this one, "
                "not over one that is built on it"
            )

    def _started(self, it):
        """Another run begins: the one before it is over, or nobody looks at it any more."""
        self._settle()
        self._current = it

    def _settle(self):
        it, self._current = self._current, None
        if it is None or it.closed or it.stats().batches == 0:
            return
        found = _profile_of(it._profile(False, None))
        if self._longest is None or found["seconds"] >= self._longest[0]["seconds"]:
            self._longest = found, it if self._trials else None

    @property
    def profile(self):
        """The Profile of the longest run that was watched."""
        if self._longest is None:
            raise ValueError("nothing was watched yet")
        found, it = self._longest
        if it is not None:
            self._longest = _profile_of(it._profile(True, _elsewhere(self._ds))), None
        return self._longest[0]

    @property
    def verdict(self):
        return self.profile.verdict

    @property
    def bound(self):
        return self.profile.bound

    @property
    def stall(self):
        return self.profile.stall

    @property
    def advice(self):
        return self.profile.advice

    def __repr__(self):
        return repr(self.profile) if self._longest else "<Watch: nothing was watched yet>"

    def _repr_html_(self):
        return self.profile._repr_html_()
