#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no object uses what a room above its own defines: the directions of check_includes.py, as the linker sees them.

Clients of api may use whatever stoker.h and the headers in it declare, wherever it is defined.

    tools/check_calls.py [BUILD]
"""
import re
import subprocess
import sys
from pathlib import Path

from check_includes import ALLOWED

CLIENTS = {"train", *(room for room, below in ALLOWED.items() if "api" in below)}

# …/stoker_core.dir/src/op/source/tar.c.o and …/stoker_train.dir/step/plan.c.o, with the room as a group.
OBJECT = re.compile(r"(?:stoker_core\.dir/src/(?P<room>\w+)|(?P<train>train)/CMakeFiles/stoker_train\.dir)/(?P<source>.*)\.o$")
TOP = Path(__file__).resolve().parent.parent
DEFINED = frozenset("TDRBVWGSC")
PUBLIC = re.compile(r"^STK_API [^;{]*?\b(stk_[a-z0-9]\w*)\(", re.MULTILINE)


def objects(build):
    """The objects of the library, each with its room; not those that are left of files that went."""
    for path in sorted(build.rglob("*.o")):
        match = OBJECT.search(path.as_posix())
        if not match:
            continue
        room = match["room"] or match["train"]
        folder = TOP / "train" if room == "train" else TOP / "src" / room
        if (folder / match["source"]).exists():
            yield path, room


def symbols(path):
    """What an object defines for others, and what it needs of them."""
    listing = subprocess.run(["nm", "--extern-only", "--format=posix", path], capture_output=True, text=True, check=True)
    kinds = [line.split()[:2] for line in listing.stdout.splitlines()]
    return [name for name, kind in kinds if kind in DEFINED], [name for name, kind in kinds if kind in "Uw"]


def public_names(top):
    headers = [path for path in (top / "include/stoker").glob("*.h") if path.name != "op.h"]
    return {name for path in headers for name in PUBLIC.findall(path.read_text(encoding="utf-8"))}


def faults(found, public):
    """found: (object, room, defined names, needed names) of every object."""
    room_of = {name: room for _, room, defined, _ in found for name in defined}
    for path, room, _, needed in found:
        for name in needed:
            other = room_of.get(name, room)
            if room in CLIENTS and name in public:
                continue
            if other != room and other not in ALLOWED.get(room, []):
                yield f"{path}: {room} may not use {name} of {other}"


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    found = [(path, room, *symbols(path)) for path, room in objects(build)]
    public = public_names(TOP)
    wrong = list(faults([(path.name, *rest) for path, *rest in found], public))
    if not found:
        print(f"{build} has no objects of the library")
    elif wrong:
        print("\n".join(wrong))
    else:
        print(f"{len(found)} objects, none of which uses what is above it")
    return 0 if found and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
