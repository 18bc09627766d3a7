# SPDX-License-Identifier: Apache-2.0
"""Random chains: the command must deliver exactly what the model says, for any number of workers.

STOKER_CHAINS sets how many chains are tried; a failing one is found again by its number.
"""

import json
import os
import shlex

import pytest
from model import model
from model.agree import difference
from model.random_chain import WORKERS, Maker, Options, write_files

N_CHAINS = int(os.environ.get("STOKER_CHAINS", "200"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("chains")
    write_files(path)
    return path


def check(stoker, text, options):
    """Runs a chain with every number of workers and compares with the model."""
    truth = model.run(text, **vars(options))
    outputs = {}
    for workers in WORKERS:
        words = ["run", text, "--dump", "--quiet", "--workers", workers, *options.words()]
        done = stoker(*words)
        again = "stoker " + shlex.join(map(str, words))
        assert done.returncode >= 0, f"{again}\ncrashes with signal {-done.returncode}"
        got = [json.loads(line) for line in done.stdout.splitlines()]
        assert difference(truth.delivered, got) is None, again
        if truth.error is None:
            assert done.returncode == 0, f"{again}\nshould succeed but says: {done.stderr}"
        else:
            assert done.returncode == 1, f"{again}\nshould fail: {truth.error}"
            assert done.stderr.strip(), again
        outputs[workers] = done.stdout, done.stderr
    assert len(set(outputs.values())) == 1, f"{again}\ndiffers by number of workers"


@pytest.mark.parametrize("number", range(N_CHAINS))
def test_chain(stoker, folder, number):
    check(stoker, *Maker(number, folder).make())


@pytest.mark.parametrize("text", [
    "zip(range(4).filter('x > 1')).batch(2)",  # a join of one input
    "concatenate(range(4).filter('x > 1')).take(1).repeat(2)",
    "values({a: [[1, 2], [3], [], [4]], b: [[1, 2], [3, 4], [], [5]]}).unbatch().batch(2)",
    "values({a: [[1, 2], [3], [], [4, 5, 6]], s: ['a', '', 'c', 'd']}).padded_batch(2, {a: [2]}, 7)",
    "values({a: [[1, 2], [3], [], [4, 5, 6]]}).padded_batch(3, {a: [2]}, {a: 7}).shuffle(2)",
    "values({a: [[1, 2], [3], [], [4, 5, 6]]}).repeat(3).padded_batch(2).padded_batch(3)",
    "values({v: [[1, 2], [3, 4]], a: [[], [7]]}).padded_batch(3, {v: [4]}, {v: 1}).map('v = v + 1')",
    "range(40).map('y = 10 // (x % 5)').batch(3).ragged_batch(2).shuffle(3)",
    "range(14).batch(2).batch(2).padded_batch(3, padding_values=-1)",
    "values({a: [[1, 2], [3], [], [4, 5, 6]]}).bucket_by_length(a, [2, 3], [1, 2, 1])",
    "values({a: [[1, 2], [3], [], [4, 5, 6], [7]]}).repeat(3)"
    ".bucket_by_length(a, [2, 3], [2, 2, 1], pad_to_bucket_boundary=true).shuffle(2)",
    "values({who: ['a', 'b', 'a', '', 'b', 'a'], x: [1, 2, 3, 4, 5, 6]}).window(2, 1, by=who)",
    "range(40).map('y = 10 // (x % 5); k = x % 3').window(3, 1, by=k).take(7)",
    "range(40).map('y = 10 // (x % 5); k = x % 3').group_by_window(k, 3).repeat(2).batch(1)",
    "range(50).map('k = 20 - x % 7').group_by_window(k, 3, drop_remainder=true).unbatch()",
    "range(900).window(300, 2, 2).map('x = x + 1').skip(100).take(20)",
    "range(900).window(5, 1, drop_remainder=true).window(3, 2).skip(440)",
    "range(300).map('y = 10 // (x % 50)').window(4, 1, drop_remainder=true).batch(5)",
    "values({v: [[1, 2, 3], [4, 5, 6]]}).repeat(2).unbatch().shuffle(4).batch(5)",
    "range(40).map('y = 10 // (x % 5)').batch(3).rebatch(4).take(5).rebatch(2)",
    "range(40).map('y = 10 // (x % 5)').batch(2).shuffle(3).take(2).repeat(3)",  # judged, then cut
])
def test_rare_chain(stoker, text):
    for on_error, max_errors in [("fail", None), ("skip", 2), ("skip", 0.05)]:
        check(stoker, text, Options(seed=7, epochs=3, on_error=on_error, max_errors=max_errors))
