# SPDX-License-Identifier: Apache-2.0
"""Threads that only wait (bench/wait_loop.c): what this machine's clock allows."""

NAME = "waiting alone"
PLACE = 95
IS_PROGRAM = True
IS_APART = True
NOTES = {"reads": "as many threads as reads in flight, which only wait; nothing is opened or read"}


def reads(job):
    return [
        f"{job.build}/bench/wait_loop",
        *("--threads", str(job.depth), "--us", str(job.delay_us)),
        *("--count", str(job.count * job.epochs)),
    ]
