#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include goes in the allowed direction between rooms. Prints file:line for each that does not."""
import re
import sys
from pathlib import Path

# A room may include its own headers, those of the rooms named here, and include/stoker.
ALLOWED = {
    "base": [],
    "lang": ["base"],
    "kernel": ["base"],
    "io": ["base", "lang", "kernel"],
    "codec": ["base", "lang", "kernel"],
    "op": ["base", "lang", "kernel", "io", "codec"],
    "graph": ["base", "lang", "kernel", "io", "codec", "op"],
    "rewrite": ["base", "lang", "kernel", "io", "codec", "op", "graph"],
    "exec": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite"],
    "tune": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite", "exec"],
    "api": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite", "exec", "tune"],
    # Clients of api.
    "pack": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite", "exec", "tune", "api"],
    "look": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite", "exec", "tune", "api"],
    "report": ["base", "lang", "kernel", "io", "codec", "op", "graph", "rewrite", "exec", "tune", "api", "look"],
    # Beside src: pipelines it sees through stoker.h, as every other client.
    "train": ["base", "lang", "kernel", "io", "codec"],
}
# Rooms of which others see one header alone.
FRONTS = {"exec": "exec/exec.h"}
# What clients compile for themselves.
COPIED = {"cli": ["base/json_out.h"]}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


def resolve(path, target, source):
    """The project file meant by an include, or None for a header of the system."""
    top = source.parent
    for candidate in (path.parent / target, source / target, top / "include" / target, top / target, top / "cli" / target):
        if candidate.exists():
            return candidate.resolve()
    return None


def room_of(path, source):
    """The room that a file is in, or None."""
    if path.is_relative_to(source):
        return path.relative_to(source).parts[0]
    return "train" if path.is_relative_to(source.parent / "train") else None


def fault_in_room(path, bracket, target, source):
    """Why a file of a room may not include this, or None."""
    room = room_of(path, source)
    found = resolve(path, target, source)
    if found is None:
        return f'"{target}" does not exist' if bracket == '"' else None
    other = room_of(found, source)
    if other is None:
        public = source.parent / "include" / "stoker"
        return None if found.is_relative_to(public) else f"{target} is in no room"
    if other == room:
        return None
    if other in ALLOWED.get(room, []):
        is_hidden = target != FRONTS.get(other, target)
        return f"{room} may include {FRONTS[other]} of {other} only, not {target}" if is_hidden else None
    return f"{room} may not include {target} of {other}"


def fault_in_client(path, bracket, target, source):
    """The command and the Python extension are clients: their own headers and the public one, and what they have a copy of."""
    found = resolve(path, target, source)
    if found is None:
        return f'"{target}" does not exist' if bracket == '"' else None
    client = source.parent / path.relative_to(source.parent).parts[0]
    if found.is_relative_to(client) or found == source.parent / "include/stoker/stoker.h":
        return None
    if target in COPIED.get(client.name, []):
        return None
    return f"{client.name} may include stoker/stoker.h only, not {target}"


def faults(top):
    source = top / "src"
    clients = [(top / name, fault_in_client) for name in ("cli", "python")]
    rooms = [(source, fault_in_room), (top / "train", fault_in_room)]
    for folder, judge in [*rooms, *clients]:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h", ".def")):
            if folder == source and path.relative_to(source).parts[0] not in ALLOWED:
                yield f"{path.relative_to(top)}:1: this room is not in the list of tools/check_includes.py"
                continue
            for number, bracket, target in includes(path):
                fault = judge(path, bracket, target, source)
                if fault:
                    yield f"{path.relative_to(top)}:{number}: {fault}"


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = list(faults(top))
    print("\n".join(found) if found else "every include goes the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
