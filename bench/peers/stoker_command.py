# SPDX-License-Identifier: Apache-2.0
"""`stoker run CHAIN --json`: the same without Python, to show what Python costs."""

NAME = "stoker command"
PLACE = 1
IS_STOKER = True
IS_PROGRAM = True


def chain(job):
    options = {"epochs": job.epochs * job.repeat, **job.options}
    words = [job.command, "run", job.chain, "--json"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words
