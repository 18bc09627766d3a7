#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED" from a JUnit report as ctest and pytest write it. Skipped tests are neither."""
import sys
import xml.etree.ElementTree as tree


def main():
    passed = failed = 0
    for case in tree.parse(sys.argv[1]).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None:
            passed += 1
    print(passed, failed)


if __name__ == "__main__":
    try:
        main()
    except (OSError, tree.ParseError) as error:
        sys.exit(f"count_tests: {error}")
