#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a name means one thing: no two files of a name, no two types of a name between files. Prints what is there twice."""
import collections
import re
import subprocess
import sys
from pathlib import Path

CODE = ("src", "train", "include", "cli", "python", "tests", "bench", "fuzz", "tools", "examples")
FIXED = {"CMakeLists.txt", "README.md", "__init__.py", "conftest.py"}  # names that tools look for
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


def types(top, files):
    for path in files:
        if path.suffix in (".c", ".h") and path.parts[0] in ("src", "train", "include", "cli", "python"):
            for match in TYPE.finditer((top / path).read_text(encoding="utf-8")):
                yield f"{match[1]} {match[2]}", path


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    files = listed(top)
    found = twice((path.name, path.parent) for path in files if path.name not in FIXED)
    found |= twice(types(top, files))
    for name, places in found.items():
        print(f"{name} is there {len(places)} times: {', '.join(places)}")
    if not found:
        print(f"{len(files)} files, each with a name of its own; so has every type")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
