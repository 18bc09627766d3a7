# SPDX-License-Identifier: Apache-2.0
"""A plain loop in C on libjpeg-turbo, a thread per core (bench/c_loop.c); no loader."""

NAME = "plain C loop"
PLACE = 90
IS_PROGRAM = True
IS_APART = True
NOTES = {
    "seed": "no Python; files and their order are known beforehand, a bad file ends it",
    "center_crop": "no Python; files and their order are known beforehand, a bad file ends it",
}


def seed(job):
    return _words(job, job.size, "--shuffle")


def center_crop(job):
    return _words(job, job.resized, "--crop", str(job.size), "--normalize")


def _words(job, side, *more):
    return [
        f"{job.build}/bench/c_loop",
        *("--list", job.list_file, "--side", str(side), "--batch", str(job.batch)),
        *("--threads", str(job.workers), "--epochs", str(job.epochs), *more),
    ]
