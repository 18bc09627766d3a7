# SPDX-License-Identifier: Apache-2.0
"""Finds the works and the peers: every file of works/ and peers/ is one. There is no other list.

A work (works/NAME.py) says what is to be done:
    docstring    what it is, in one line
    PLACE        a number: where it comes in tables
    UNIT         what is counted: images, numbers, files
    CHAIN        how stoker does it; $images, $photos, $passes, $count, $reads, $own, $place (until the end) are
                 filled in
    FIELD        the field of a batch that is consumed
    BARS         what must hold (see bars.py)
    SHAPE, DTYPE of a full batch; checked on everybody's first one (SHAPE with channels last)
  and may say
    RANGE        (least, most) that values may be, checked too
    DATA         "images": a directory of JPEG files; "photos": large ones; "reads": small files;
                 "own": what make_own(setup) → path makes, in setup.cache
    PASSES       of an epoch over the pictures, where it is not to be as long as others
    COUNT        elements of an epoch where DATA does not say; COUNT_FOR = {peer: another number}
    KEPT         the share of them that comes out and is counted (1)
    BATCH        elements of a batch
    IN_ORDER     True: everybody's first batch has the same elements, and is compared with stoker's
    PARAMETERS   numbers that peers need, as attributes of the job
    EPOCHS       how many stoker runs in one go, where one is too short to be timed
    OPTIONS      run options of stoker; ENVIRONMENT: variables, filled in as CHAIN is
    VARIANTS     {name: {any of these: …}}: a work FILE-NAME for each, which differ in what is said here (TEXT: what
                 it is)
    DOES         the function of peers that does it, if not of its own name
    NOTE         a paragraph for docs/benchmarks.md
    measure(setup) → reading, for a work that is measured in its own way (then there is no CHAIN)
  A work without CHAIN and measure is done by those peers, stoker too, that have a function for it.

A peer (peers/NAME.py) says how somebody does them:
    docstring    how it is set up, in one line
    NAME, PLACE  how it is called, and where it comes in tables
    PACKAGES     what is installed for it (pinned in tools/requirements-peers.txt)
    VERSION_OF   those whose versions are shown, if not all
    NOTES        {work: where what it does is not the same}
    load()       imports; what it returns is handed to the functions below
    WORK(loaded, job) → epoch, for each work it can do; epoch() yields an array for each batch.
                 epoch.sizes() → more numbers of its reading, if it is there
    chain(loaded, job) → epoch: it can do every work that has a CHAIN
  and may say
    IS_STOKER    True for the ways to run stoker; ratios are taken to the first of them
    IS_APART     True: listed apart from the others
    IS_PROGRAM   True: its functions take (job) and return the words of a command that prints JSON
                 as `stoker run --json` does
    WITHOUT_DEPENDENCIES  packages installed without what they ask for
    install_environment(directory) → variables for the installation
    prepare(loaded, job): makes files of its own, before anything is measured
"""

import importlib.util
import inspect
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Names of a peer's file that are functions but no works.
RESERVED = {"load", "chain", "prepare", "install_environment"}


def load_file(path):
    spec = importlib.util.spec_from_file_location(f"bench_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Entry:
    """A file of works/ or peers/. Attributes are the file's, or the defaults."""

    DEFAULTS = {}

    def __init__(self, path, module, variant=None):
        self.stem = f"{path.stem}_{variant}" if variant else path.stem
        self.module = module
        self.own = module.VARIANTS[variant] if variant else {}
        self.text = " ".join(self.own.get("TEXT", module.__doc__ or "").split())

    def __getattr__(self, name):
        if name in ("module", "stem", "own"):
            raise AttributeError(name)
        if name in self.own:
            return self.own[name]
        return (
            getattr(self.module, name, self.DEFAULTS[name])
            if name in self.DEFAULTS
            else getattr(self.module, name)
        )


class Work(Entry):
    DEFAULTS = {
        "DATA": None,
        "PASSES": None,
        "COUNT": None,
        "COUNT_FOR": {},
        "KEPT": 1,
        "BATCH": None,
        "IN_ORDER": False,
        "PARAMETERS": {},
        "OPTIONS": {},
        "ENVIRONMENT": {},
        "NOTE": "",
        "DOES": None,
        "CHAIN": None,
        "BARS": [],
        "FIELD": None,
        "SHAPE": None,
        "RANGE": None,
        "DTYPE": None,
        "UNIT": "elements",
        "EPOCHS": 1,
        "measure": None,
        "make_own": None,
    }

    @property
    def name(self):
        return self.stem.replace("_", "-")

    @property
    def does(self):
        """The name of the function of peers that does it."""
        return self.DOES or self.stem


class Peer(Entry):
    DEFAULTS = {
        "PACKAGES": [],
        "VERSION_OF": None,
        "NOTES": {},
        "IS_APART": False,
        "IS_STOKER": False,
        "IS_PROGRAM": False,
        "WITHOUT_DEPENDENCIES": [],
        "install_environment": None,
        "prepare": None,
        "chain": None,
    }

    @property
    def name(self):
        return self.NAME

    def function(self, work):
        """How it does a work, or None."""
        return getattr(self.module, work.does, None) or (self.chain if work.CHAIN else None)

    def functions(self):
        """Names of the works that its file has a function for."""
        found = inspect.getmembers(self.module, inspect.isfunction)
        return [
            name
            for name, function in found
            if not name.startswith("_")
            and name not in RESERVED
            and function.__module__ == self.module.__name__
        ]


def entries(kind, folder):
    found = []
    for path in sorted((HERE / folder).glob("*.py")):
        if not path.name.startswith("_"):
            module = load_file(path)
            variants = getattr(module, "VARIANTS", [None])
            found += [kind(path, module, variant) for variant in variants]
    return sorted(found, key=lambda entry: (entry.PLACE, entry.stem))


def works():
    return entries(Work, "works")


def peers():
    return entries(Peer, "peers")
