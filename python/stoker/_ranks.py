# SPDX-License-Identifier: Apache-2.0
"""Which process of how many this is, where PyTorch knows it: what shard() deals out."""

import os
import sys

from ._errors import warn

_has_warned = False
_chains_seen = set()  # whose steps were compared

_DEALT_OUT = "(num_shards=none"
_UNEVEN = "(num_shards=none, index=none, remainder=uneven)"
_PADDED = "(num_shards=none, index=none, remainder=pad)"


def found():
    """{'rank': …, 'world': …} of an initialised process group, as options; else nothing, and the
    library looks at the variables of launchers. PyTorch is not imported for it.
    """
    group = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return {}
    return {"rank": str(group.get_rank()), "world": str(group.get_world_size())}


def known(chain, settings):
    """Options with rank and world in them, for a chain whose shard() takes them from the run."""
    return {**found(), **settings} if is_dealt_out(chain) else settings


def settled(chain, settings):
    """The same for a loop, which may train: with a warning where that would go wrong."""
    if "rank" in settings and "world" in settings:
        return settings
    if not is_dealt_out(chain):
        _warn_once(settings)
        return settings
    settings = {**found(), **settings}
    _compare_steps(chain, settings)
    return settings


def is_dealt_out(chain):
    """Whether shard() stands in the chain and takes rank and world from the run."""
    return _DEALT_OUT in chain.text(True)


# ---- as many steps in every process ----


def padded(text):
    """The canonical text of a chain, with shard() giving every process as many elements."""
    return text.replace(_UNEVEN, _PADDED)


def steps(chain, settings):
    """Batches of the first process and of the last one, which has the fewest; negative: unknown."""
    import json

    world = int(settings["world"])
    return [
        json.loads(chain.plan({**settings, "rank": str(rank)}, True))["count"]
        for rank in (0, world - 1)
    ]


def _compare_steps(chain, settings):
    """A process group waits for all of its processes in every step of a training."""
    text = chain.text(True)
    if int(settings.get("world", 1)) < 2 or _UNEVEN not in text or text in _chains_seen:
        return
    _chains_seen.add(text)
    most, fewest = steps(chain, settings)
    if most != fewest:
        warn(
            f"rank 0 takes {most} steps over this dataset and the last rank {fewest}: training that "
            "waits for all ranks in each step would wait for ever. shard(remainder='pad') or "
            "shard(remainder='drop') makes them equal, and stoker.Feed pads"
        )


def _warn_once(settings):
    """A program that trains with others, on data that nobody deals out."""
    global _has_warned
    if _has_warned or "rank" in settings or "world" in settings:
        return
    world = int(found().get("world") or _launched_world())
    if world > 1:
        _has_warned = True
        warn(
            f"this is one of {world} processes, and its dataset has no shard(): each of them gets "
            "all of the data. Put shard() into the chain, before batch; or give rank and world as "
            "options if that is meant"
        )


def _launched_world():
    """What Lightning and torchrun tell the processes they start; 1 without them."""
    world = os.environ.get("WORLD_SIZE", "")
    return int(world) if "LOCAL_RANK" in os.environ and world.isdigit() else 1
