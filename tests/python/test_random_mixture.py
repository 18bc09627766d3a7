# SPDX-License-Identifier: Apache-2.0
"""Random trees of combiners over every source: what the model says = with any number of workers, any
way to read, any budget that is enough = cut and resumed behind any batch = sharded and merged.

STOKER_CHAINS sets how many are tried, STOKER_SEED where they begin; so one that fails is found again by
its number. It is made as small as it can be while it still fails.
"""

import faulthandler
import json
import os
import random
import re
import shlex

import pytest
import stoker
from model import model
from model.agree import difference
from model.random_chain import write_files
from model.random_mixture import MixtureMaker
from model.shrink import shrink
from test_random_chains import check_sharded, deliver, has_bad, without_states

N_CHAINS = int(os.environ.get("STOKER_CHAINS", "200"))
SEED = int(os.environ.get("STOKER_SEED", "0"))
PER_TEST = 25
N_WAYS = 3  # beside two workers
MOST_CUTS = 3
WORKERS = [0, 1, 2, 3, 4, 5, 8, 16, 32]
HANG_SECONDS = 120
TOO_MANY_VALUES = re.compile("there is no room for another value|rows that wait for each value take more")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixtures")
    write_files(path)
    return path


def ways(ds, options, chance):
    """Options that what is delivered must not depend on."""
    given = {"workers": chance.choice(WORKERS), "io": chance.choice(["auto", "threads", "uring"])}
    given |= chance.choice([{}, {}, {"window": 1}, {"window": 3}])
    if chance.random() < 0.7:
        least = ds.plan(**given, **options).json["minimum_bytes"]
        given["memory"] = int(least * chance.choice([1, 1, 1.1, 2, 8]))
    return given


def compare(whole, found, how):
    """Fails where two runs differ. One may have too little memory for values that it cannot know before."""
    batches, error = without_states(found)
    expected, expected_error = without_states(whole)
    if error != expected_error and error and TOO_MANY_VALUES.search(error):
        return
    assert error == expected_error, f"{how}: {error} should be {expected_error}"
    for i, (a, b) in enumerate(zip(batches, expected)):
        assert a == b, f"{how}: batch {i} is {a}, should be {b}"
    assert len(batches) == len(expected), f"{how}: {len(batches)} batches, should be {len(expected)}"


def check_resumed(ds, options, whole, chance):
    batches, error = whole
    options = {name: value for name, value in options.items() if name != "epochs"}
    cuts = range(len(batches))
    for i in cuts if len(batches) <= MOST_CUTS else chance.sample(cuts, MOST_CUTS):
        state, way = json.loads(json.dumps(batches[i][2])), ways(ds, options, chance)
        rest = deliver(ds.resume(state, **way, **options))
        compare((batches[i + 1 :], error), rest, f"resumed behind batch {i} with {way}")


def check(text, objects, options, has_model, chance):
    try:
        ds = stoker.parse(text, **objects)
    except stoker.Error:
        if has_model:
            raise
        return  # a file is damaged where its type is told
    given = {name: value for name, value in vars(options).items() if value is not None}
    whole = deliver(ds.iterate(epoch=0, workers=2, **given))
    if has_model:
        truth = model.run(text, objects=objects, **vars(options))
        wrong = difference(truth.delivered, [batch for batch, *_ in whole[0]])
        assert wrong is None, wrong
        assert (truth.error is None) == (whole[1] is None), whole[1] or truth.error
    for _ in range(N_WAYS):
        way = ways(ds, given, chance)
        compare(whole, deliver(ds.iterate(epoch=0, **way, **given)), f"with {way}")
    check_resumed(ds, given, whole, chance)
    if whole[1] is None and not objects and not has_bad(ds, given):
        check_sharded(text, given, whole)


def failure_of(text, maker, options):
    """What is wrong with a chain, None if nothing is."""
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    try:
        check(text, maker.objects, options, maker.has_model, random.Random(maker.seed))
    except stoker.Error as error:
        if "needs more than 48 stages" in str(error):
            return None
        return f"{type(error).__name__}: {error}"
    except AssertionError as error:
        return f"AssertionError: {error}"
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None


def kind(failure):
    return failure and failure.split(":")[0]


def report(maker, text, options, failure):
    small = shrink(text, lambda t: kind(failure_of(t, maker, options)) == kind(failure))
    words = ["stoker", "run", small, "--dump", "--quiet", *map(str, options.words())]
    return (f"chain {maker.seed}: {text}\nwith {options}\n{failure}\n\nsmallest: {shlex.join(words)}\n"
            f"{failure_of(small, maker, options)}")


@pytest.mark.parametrize("first", range(SEED, SEED + N_CHAINS, PER_TEST))
def test_random_mixtures(folder, monkeypatch, first):
    monkeypatch.chdir(folder)
    for number in range(first, min(first + PER_TEST, SEED + N_CHAINS)):
        maker = MixtureMaker(number, folder, may_call=True)
        text, options = maker.make()
        failure = failure_of(text, maker, options)
        assert not failure, report(maker, text, options, failure)
