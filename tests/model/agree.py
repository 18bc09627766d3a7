# SPDX-License-Identifier: Apache-2.0
"""Whether what was delivered is what the model says."""

import math

from model.expression import round_float32


def is_same(expected, got):
    """Equal values; got may be a decimal that is exact only once rounded to float32."""
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(is_same(e, g) for e, g in zip(expected, got))
        )
    if isinstance(expected, bytes):
        return got == expected.decode()
    if isinstance(expected, float) and not math.isfinite(expected):
        return got == str(expected)
    if isinstance(expected, float):
        return isinstance(got, (int, float)) and expected in (got, round_float32(got))
    return isinstance(got, int) and got == expected


def difference(expected, got):
    """The first place where what was delivered differs, or None."""
    for i, (e, g) in enumerate(zip(expected, got)):
        for key in ("epoch", "batch", "rows", "origin"):
            if e[key] != g[key]:
                return f"element {i}: {key} should be {e[key]}, is {g[key]}"
        if list(e["fields"]) != list(g["fields"]):
            return f"element {i}: fields should be {list(e['fields'])}, are {list(g['fields'])}"
        for name, value in e["fields"].items():
            if not is_same(value, g["fields"][name]):
                return f"element {i}: {name} should be {value}, is {g['fields'][name]}"
    if len(expected) != len(got):
        return f"{len(expected)} elements should be delivered, {len(got)} are"
    return None
