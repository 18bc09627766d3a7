# SPDX-License-Identifier: Apache-2.0
"""What to say about names that do not exist."""

from . import _ops


def near(name, known):
    """'; did you mean x?', or nothing."""
    import difflib

    found = difflib.get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def missing_method(name, known):
    if name in _ops.ROOTS:
        return f"{name} begins a chain: write stoker.{name}(…)"
    return (
        f"a Dataset has no op or attribute {name!r}{near(name, [n for n in known if n[0] != '_'])}"
    )


def missing_function(name, known):
    if name in _ops.METHODS:
        return f"{name} works on a chain: write ds.{name}(…)"
    return f"stoker has no {name!r}{near(name, known)}"
