# SPDX-License-Identifier: Apache-2.0
"""Becomes the command that the package carries, so that exit codes and signals are its own."""

import os
import sys


def path():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "stoker")


def main():
    program = path()
    try:
        os.execv(program, ["stoker", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"stoker: cannot run {program}: {error.strerror}")
