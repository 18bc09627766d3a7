# SPDX-License-Identifier: Apache-2.0
"""Which process of how many this is, where PyTorch knows it: what shard() deals out."""

import os
import sys

from ._errors import StokerWarning, outside

_has_warned = False


def found():
    """{'rank': …, 'world': …} of an initialised process group, as options; else nothing, and the
    library looks at the variables of launchers. PyTorch is not imported for it.
    """
    group = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return {}
    return {"rank": str(group.get_rank()), "world": str(group.get_world_size())}


def settled(chain, settings):
    """Options with rank and world in them, for a chain that has a shard() of its own choice."""
    if "rank" in settings and "world" in settings:
        return settings
    if is_dealt_out(chain):
        return {**found(), **settings}
    _warn_once(settings)
    return settings


def is_dealt_out(chain):
    """Whether shard() stands in the chain and takes rank and world from the run."""
    return "(num_shards=none" in chain.text(True)


def _warn_once(settings):
    """A program that trains with others, on data that nobody deals out."""
    global _has_warned
    if _has_warned or "rank" in settings or "world" in settings:
        return
    world = int(found().get("world") or _launched_world())
    if world > 1:
        import warnings

        _has_warned = True
        warnings.warn(
            f"this is one of {world} processes, and its dataset has no shard(): each of them gets "
            "all of the data. Put shard() into the chain, before batch; or give rank and world as "
            "options if that is meant",
            StokerWarning,
            stacklevel=outside(),
        )


def _launched_world():
    """What Lightning and torchrun tell the processes they start; 1 without them."""
    world = os.environ.get("WORLD_SIZE", "")
    return int(world) if "LOCAL_RANK" in os.environ and world.isdigit() else 1
