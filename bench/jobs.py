# SPDX-License-Identifier: Apache-2.0
"""What one measurement is told to do: a job is made of the run's setup, a work and a peer."""

import math
import re
import string
from types import SimpleNamespace

EPOCH_IMAGES = 3000  # a short epoch would say more about its ends than about its middle
EPOCH_PHOTOS = 120
QUICK_SHARE = 20  # a quick run does this part of the numbers


class Setup(SimpleNamespace):
    """The run: what is run (build, command), on what (images, files, photos, photo_files, reads, own),
    where things are put (cache: to keep, place: until it ends), and how much is done (quick, rounds,
    workers, limit_s, stretch_s, n_stretches)."""

    def files_of(self, work):
        """The pictures that a work reads."""
        return {"images": self.files, "photos": self.photo_files}.get(work.DATA, [])

    def passes(self, work, is_check):
        """How often an epoch goes over the images."""
        most = EPOCH_PHOTOS if work.DATA == "photos" else EPOCH_IMAGES
        n_files = max(len(self.files_of(work)), 1)
        passes = work.PASSES or math.ceil(most / n_files)
        return 1 if self.quick or is_check else passes

    def count(self, work, peer, is_check):
        """Elements of an epoch."""
        if work.DATA in ("images", "photos"):
            return len(self.files_of(work)) * self.passes(work, is_check)
        count = work.COUNT_FOR.get(peer.stem, work.COUNT)
        return max(work.BATCH, count // QUICK_SHARE) if self.quick and not work.DATA else count

    def repeat(self, work, peer, is_check):
        """Epochs that are run in one go."""
        return work.EPOCHS if peer.IS_STOKER and not (self.quick or is_check) else 1


def escaped(path):
    """A path as a pattern that matches it alone."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", str(path))


def in_string(text):
    """A text as it stands in a chain's string."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


def quoted(path):
    """A path as the beginning of a pattern in a chain's string."""
    return in_string(escaped(path))


def filled(template, values):
    return string.Template(template).substitute(values)


def chain_of(setup, work, count, passes):
    places = {"images": setup.images, "photos": setup.photos, "reads": setup.reads}
    values = {name: quoted(place) for name, place in places.items()}
    values["own"] = quoted(setup.own.get(work.stem))
    values["place"] = in_string(str(setup.place))
    return filled(work.CHAIN, {**values, "count": count, "passes": passes, **work.PARAMETERS})


def environment(setup, work):
    """Variables for the processes of a work."""
    values = {"build": setup.build, "reads": setup.reads}
    return {name: filled(text, values) for name, text in work.ENVIRONMENT.items()}


def make(setup, work, peer, mode):
    """The job of a peer; mode is "check" or "measure"."""
    is_check = mode == "check"
    count, passes = setup.count(work, peer, is_check), setup.passes(work, is_check)
    repeat = setup.repeat(work, peer, is_check)
    own = hasattr(peer.module, work.does)
    return SimpleNamespace(
        mode=mode,
        peer=peer.stem,
        function=work.does if own else "chain",
        # what to do
        chain=chain_of(setup, work, count, passes) if work.CHAIN else None,
        field=work.FIELD,
        options=work.OPTIONS,
        batch=work.BATCH,
        workers=setup.workers,
        **work.PARAMETERS,
        # on what
        files=setup.files_of(work) * passes,
        list_file=str(setup.place / "images.txt"),
        n_files=len(setup.files_of(work)),
        passes=passes,
        images_name=setup.images.name if setup.images else None,
        count=count,
        own=str(setup.own.get(work.stem)),
        # for how long
        repeat=repeat,
        epochs=1 + setup.n_stretches,
        epoch_elements=int(count * repeat * work.KEPT),
        stretch_s=setup.stretch_s,
        n_stretches=setup.n_stretches,
        # what its first batch must be
        shape=[min(work.SHAPE[0], count), *work.SHAPE[1:]] if work.SHAPE else None,
        dtype=work.DTYPE,
        range=work.RANGE,
        reference=str(setup.place / f"first-{work.name}.npy") if work.IN_ORDER else None,
        is_reference=peer.IS_STOKER,
        # where things are
        command=str(setup.command),
        build=str(setup.build),
        cache=str(setup.cache),
    )
