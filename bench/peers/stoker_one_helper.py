# SPDX-License-Identifier: Apache-2.0
"""From Python, with one helper process, to show what the second one brings."""

from peers import stoker as both

NAME = "stoker, one helper"
PLACE = 3
IS_STOKER = True
load = both.load


def python_processes(stoker, job):
    return both.python_processes(stoker, job, processes=1)
