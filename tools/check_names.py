#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a name means one thing: no two files of a name, no two types, no function or variable that two headers declare,
or that is named as a type of another file is. Prints what is there twice."""
import collections
import re
import subprocess
import sys
from pathlib import Path

CODE = ("src", "train", "include", "cli", "python", "tests", "bench", "fuzz", "tools", "examples")
FIXED = {"CMakeLists.txt", "README.md", "__init__.py", "conftest.py"}  # names that tools look for
OWN = ("src", "train", "include", "cli", "python")
# A function's or an extern variable's name at the start of a line of a header: what comes before it are words and stars.
DECLARED = re.compile(r"^(?:extern |STK_API )?(?:[a-z_]\w* +)+\**((?:stk|cli)_\w+)\(|^extern .*?\b((?:stk|cli)_\w+)[;\[]", re.MULTILINE)
TYPE = re.compile(r"^ *(struct|enum|union) ((?:stk|cli)_\w+) \{", re.MULTILINE)


def listed(top):
    found = subprocess.run(["git", "ls-files", *CODE], cwd=top, capture_output=True, text=True, check=True)
    return [Path(name) for name in found.stdout.splitlines() if not name.startswith("tests/golden/")]


def twice(pairs):
    """What has several places: name → places."""
    places = collections.defaultdict(list)
    for name, place in pairs:
        places[name].append(str(place))
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def matches(pattern, top, files, *suffixes):
    """(match, file) of every place in our own code, of files that end so."""
    for path in files:
        if path.suffix in suffixes and path.parts[0] in OWN:
            for match in pattern.finditer((top / path).read_text(encoding="utf-8")):
                yield match, path


def types(top, files):
    for match, path in matches(TYPE, top, files, ".c", ".h"):
        yield f"{match[1]} {match[2]}", path


def declared(top, files):
    """Functions and variables that other files may use."""
    yield from {(match[1] or match[2], path): None for match, path in matches(DECLARED, top, files, ".h")}


def named_as_a_type(top, files):
    """Functions and variables of one file that are named as a type of another one is."""
    typed = {name.split()[1]: path for name, path in types(top, files)}
    for name, path in declared(top, files):
        if typed.get(name, path) != path:
            yield from ((name, path), (name, typed[name]))


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    files = listed(top)
    found = twice((path.name, path.parent) for path in files if path.name not in FIXED)
    found |= twice(types(top, files)) | twice(declared(top, files)) | twice(named_as_a_type(top, files))
    for name, places in found.items():
        print(f"{name} is there {len(places)} times: {', '.join(places)}")
    if not found:
        print(f"{len(files)} files, each with a name of its own; so has every type, function and variable")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
