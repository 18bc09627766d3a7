# SPDX-License-Identifier: Apache-2.0
"""What must hold: each bar takes one number out of a work's readings and compares it with a limit.

A bar's `value(readings)` gets {peer: reading}; it gives None where somebody that it needs was not
measured."""

from typing import Callable, NamedTuple


class Bar(NamedTuple):
    text: str  # what the number is
    value: Callable
    unit: str  # × for a ratio; else ms, MB, µs, %
    limit: float
    is_most: bool = False  # the limit is the most there may be, not the least

    def holds(self, value):
        return value <= self.limit if self.is_most else value >= self.limit


def taken(function, *names):
    """A bar's value: the function of these peers' readings, or None if one of them is missing."""

    def value(readings):
        found = [readings.get(name) for name in names]
        if any(reading is None or "failed" in reading for reading in found):
            return None
        try:
            return function(*found)
        except KeyError:
            return None

    value.names = names
    return value


def faster_than(peer, limit):
    return Bar(
        f"times as fast as {peer}",
        taken(lambda mine, other: mine["per_s"] / other["per_s"], "stoker", peer),
        "×",
        limit,
    )


def less_than(peer, key, text, limit):
    """A number of stoker's reading, as a share of somebody else's."""
    return Bar(
        f"{text}, as a share of {peer}'s",
        taken(lambda mine, other: mine[key] / other[key], "stoker", peer),
        "×",
        limit,
        is_most=True,
    )


def less_memory_than(peer, limit):
    return less_than(peer, "rss_mb", "peak memory", limit)


def at_most(key, text, limit, unit, factor=1, who="stoker"):
    """A number of one reading, times a factor, has a limit."""
    return Bar(text, taken(lambda mine: mine[key] * factor, who), unit, limit, is_most=True)


def at_least(key, text, limit, unit, factor=1, who="stoker"):
    return Bar(text, taken(lambda mine: mine[key] * factor, who), unit, limit)


def costs_per_batch_over(peer, batch, limit):
    """Microseconds that a batch takes longer from Python than it does for somebody else."""
    return costs_over(f"time per batch over {peer}'s", peer, batch, limit)


def costs_per_call_over(peer, n, limit):
    """The same for a call of a function that gets n elements."""
    return costs_over(f"time per call over {peer}'s", peer, n, limit)


def costs_over(text, peer, n, limit):
    return Bar(
        text,
        taken(
            lambda mine, other: 1e6 * n * (1 / mine["per_s"] - 1 / other["per_s"]),
            "stoker",
            peer,
        ),
        "µs",
        limit,
        is_most=True,
    )
