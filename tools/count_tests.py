#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads JUnit reports as ctest and pytest write them. Skipped tests have neither passed nor failed.

    tools/count_tests.py REPORT               prints "PASSED FAILED"
    tools/count_tests.py --skips REPORT…      a line for each reason to skip: how often, which test, why
"""
import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

# What a cmocka program wrote between the beginning of a test and that it was skipped.
SKIPPED = re.compile(r"\[ RUN      \] (\w+)\n((?:(?!\[ ).*\n)*?)\[  SKIPPED \] \1$", re.MULTILINE)


def count(report):
    passed = failed = 0
    for case in tree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None:
            passed += 1
    return passed, failed


def skips(report):
    """(test, reason) of each."""
    for case in tree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            reason = (skipped.get("message") or "").removeprefix("Skipped: ")
            yield f"{case.get('classname')}.{case.get('name')}", reason
        for name, said in SKIPPED.findall(case.findtext("system-out") or ""):
            yield f"{case.get('name')}: {name}", " ".join(said.split())


def print_skips(reports):
    found = {}
    for report in reports:
        for test, reason in skips(report):
            found.setdefault((Path(report).stem, reason or "no reason is given"), []).append(test)
    for (suite, reason), tests in found.items():
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        print(f"skipped: {suite}: {tests[0]}{more}: {reason}")


if __name__ == "__main__":
    try:
        if sys.argv[1] == "--skips":
            print_skips(sys.argv[2:])
        else:
            print(*count(sys.argv[1]))
    except (OSError, tree.ParseError) as error:
        sys.exit(f"count_tests: {error}")
