#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what `make test` has no time for and enters when it was done, and how it ended, into docs/verified.md.

    tools/test_all.py [PART…]     parity, mutants, fuzz, soak; all of them without a part

$FUZZ_SECONDS is the time for each fuzzer (600), $MINUTES that of the soak (60), $BUILD the build directory.
"""

import datetime
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "verified.md"
SECONDS = os.environ.get("FUZZ_SECONDS", "600")
MINUTES = os.environ.get("MINUTES", "60")
PARTS = {
    "parity": ["make", "parity"],
    "mutants": ["make", "mutants"],
    "fuzz": ["make", "fuzz", f"FUZZ_SECONDS={SECONDS}"],
    "soak": ["make", "soak", f"MINUTES={MINUTES}"],
}
EFFORT = {"fuzz": f"{SECONDS} s each: ", "soak": f"{MINUTES} min: "}


def tree_text():
    """The commit, and whether the tree is it."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False
    ).stdout.strip()
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/verified.md"],
        cwd=TOP, capture_output=True, text=True, check=False,
    ).stdout.strip()
    return (commit or "no commit") + (" and changes" if changed else "")


def run(part):
    """(whether it held, its last line); what it prints is shown and kept in BUILD/test-all."""
    log = Path(os.environ.get("BUILD", TOP / "build")) / "test-all" / f"{part}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    last = ""
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            PARTS[part], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in process.stdout:
            print(line, end="", flush=True)
            file.write(line)
            if line.strip() and not line.startswith("make"):
                last = line.strip(" =\n")
    return process.wait() == 0, last


def enter(page, part, cells):
    """The page with the row of this part replaced."""
    row = f"| {part} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    found = re.compile(rf"^\| {part} \|.*$", re.MULTILINE)
    if not found.search(page):
        raise ValueError(f"{PAGE} has no row for {part}")
    return found.sub(lambda _: row, page)


def main(parts):
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        sys.exit(f"{unknown[0]} is none of {', '.join(PARTS)}")
    all_held = True
    for part in parts or PARTS:
        print(f"== {part}", flush=True)
        today, tree, begun = datetime.date.today().isoformat(), tree_text(), time.monotonic()
        held, last = run(part)
        minutes = round((time.monotonic() - begun) / 60)
        result = f"{'held' if held else 'FAILED'}, {minutes} min; {EFFORT.get(part, '')}{last}"
        PAGE.write_text(enter(PAGE.read_text(encoding="utf-8"), part, [today, tree, result]), encoding="utf-8")
        all_held &= held
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
