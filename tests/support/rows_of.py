# SPDX-License-Identifier: Apache-2.0
"""What chains deliver, for tests of single ops."""

import json


def elements(stoker, chain, *words):
    """The fields of every element."""
    done = stoker("run", chain, "--dump", "--quiet", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def values(stoker, chain, field, *words):
    """One field of every element."""
    return [fields[field] for fields in elements(stoker, chain, *words)]


def origins(stoker, chain):
    """Where every element comes from."""
    done = stoker("run", chain, "--dump", "--quiet")
    return [json.loads(line)["origin"] for line in done.stdout.splitlines()]


def error(stoker, chain, *words):
    """What the command says of a chain that fails."""
    done = stoker("run", chain, "--dump", "--quiet", *words)
    assert done.returncode not in (0, -11), done.stdout
    return done.stderr
