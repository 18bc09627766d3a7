# SPDX-License-Identifier: Apache-2.0
"""The same in float32, to show what half precision brings."""

from peers import stoker

NAME = "stoker, float32"
PLACE = 4
IS_STOKER = True


def load():
    return stoker.load()


def train_half(loaded, job):
    job.precision = "float32"
    return stoker.train(loaded, job)
