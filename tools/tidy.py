#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the library and the command; what .clang-tidy finds is an error.

    tools/tidy.py BUILD [--deep] [--jobs N] [FILE…]

A file whose text after preprocessing is that of its last good run is not looked at again: BUILD/tidy has a mark for
each. The analyzer looks at functions alone, in a fifth of the time, and leaves out what it cannot say so: whether a
pointer can be NULL or a value unset. --deep follows calls, too, and says all of it; much of that is no mistake.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("src", "train", "cli")
SHALLOW = [
    f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")
] + [
    "--checks="
    + ",".join(
        f"-clang-analyzer-core.{name}"
        for name in (
            "DivideZero",
            "NonNullParamChecker",
            "NullDereference",
            "UndefinedBinaryOperatorResult",
            "uninitialized.*",
        )
    )
]


def compile_commands(build):
    """{file of the tree: (folder, command)}, each file once."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        is_ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS
        if is_ours and path.suffix == ".c":
            found.setdefault(str(path.relative_to(ROOT)), (entry["directory"], entry["command"]))
    return found


def preprocessed(folder, command):
    words = shlex.split(command)
    del words[words.index("-o") : words.index("-o") + 2]
    words[words.index("-c")] = "-E"
    return subprocess.run(words, cwd=folder, capture_output=True, check=True).stdout


class Tidy:
    """Looks at files with one set of rules."""

    def __init__(self, build, is_deep):
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True)
        rules = (ROOT / ".clang-tidy").read_bytes() + version.stdout
        self.rules = rules + (b"deep" if is_deep else b"shallow")
        self.build, self.options = build, [] if is_deep else SHALLOW
        self.marks = build / "tidy"
        self.marks.mkdir(exist_ok=True)

    def __call__(self, job):
        """(was looked at, what was found) of one file."""
        name, (folder, command) = job
        try:
            text = preprocessed(folder, command)
        except subprocess.CalledProcessError as error:
            return True, f"{name} does not compile: {error.stderr.decode().strip()}"
        mark = self.marks / name.replace("/", ":")
        good = hashlib.sha256(self.rules + command.encode() + text).hexdigest()
        if mark.exists() and mark.read_text() == good:
            return False, ""
        words = ["clang-tidy", "-p", self.build, "--quiet", "--warnings-as-errors=*"]
        done = subprocess.run(
            [*words, *self.options, ROOT / name], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            mark.write_text(good)
            return True, ""
        return True, done.stdout.strip() or done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--deep", action="store_true", help="all paths of the analyzer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    commands = compile_commands(args.build)
    chosen = {name: commands[name] for name in args.files} if args.files else commands
    n_looked_at = n_bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for was_looked_at, found in pool.map(Tidy(args.build, args.deep), sorted(chosen.items())):
            n_looked_at += was_looked_at
            n_bad += bool(found)
            if found:
                print(found, flush=True)
    print(f"{len(chosen)} files, {n_looked_at} of them new to clang-tidy, {n_bad} with findings")
    return 1 if n_bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
