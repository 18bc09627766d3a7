# SPDX-License-Identifier: Apache-2.0
"""Every documented example of a tf.data op yields what tf.data's documents say."""

import json

import pytest
from tfdata_examples import EXAMPLES


def elements(lines):
    """What was dumped; elements with one field as their value."""
    found = [json.loads(line)["fields"] for line in lines]
    return [next(iter(f.values())) if len(f) == 1 else f for f in found]


@pytest.mark.parametrize(
    "chain, expected", [example[1:] for example in EXAMPLES], ids=[e[1] for e in EXAMPLES]
)
def test_example_of_tf_data(stoker, chain, expected):
    done = stoker("run", chain, "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    assert elements(done.stdout.splitlines()) == expected


def test_examples_are_sorted_by_op():
    ops = [example[0] for example in EXAMPLES]
    assert ops == sorted(ops)
