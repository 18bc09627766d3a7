# SPDX-License-Identifier: Apache-2.0
"""Random chains, with bad rows: what the model says = with any number of workers = cut and resumed
behind any batch = sharded and merged.

STOKER_CHAINS sets how many are tried, STOKER_SEED where they begin (printed; random if it is "any").
A chain that fails is made as small as it can be while it still fails.
"""

import json
import math
import os
import random

import pytest
import stoker
from model import model
from model.agree import difference
from model.random_chain import Maker, write_files
from model.shrink import shrink

N_CHAINS = int(os.environ.get("STOKER_CHAINS", "600"))
SEED = os.environ.get("STOKER_SEED", "0")
SEED = random.SystemRandom().randrange(2**32) if SEED == "any" else int(SEED)
PER_TEST = 50
MOST_CUTS = 6


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("chains")
    write_files(path)
    return path


def plain(value):
    """A field as the command dumps it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).decode(errors="backslashreplace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


def content(batch):
    place = batch.position
    return {
        "epoch": place.epoch,
        "batch": place.batch,
        "rows": batch.n_rows,
        "fields": {name: plain(value) for name, value in batch.items()},
        "origin": batch.origins,
    }, (place.rows, place.errors)


def deliver(iterator):
    """What comes, with states; and the error that ends it."""
    found = []
    try:
        for batch in iterator:
            found.append((*content(batch), batch.state_dict()))
    except stoker.Error as error:
        return found, str(error)
    return found, None


def has_bad(ds, options):
    """True if elements are left out, those behind the last batch too. How many may be is a share of what a process
    sees, so shards of a chain may end where the whole does not."""
    iterator = ds.iterate(epoch=0, workers=2, **options)
    deliver(iterator)
    return bool(iterator.stats().errors)


def run(ds, options, workers):
    return deliver(ds.iterate(epoch=0, workers=workers, **options))


def without_states(found):
    return [batch[:2] for batch in found[0]], found[1]


def check_resumed(ds, options, whole, chance):
    batches, error = whole
    options = {name: value for name, value in options.items() if name != "epochs"}
    cuts = range(len(batches))
    for i in cuts if len(batches) <= MOST_CUTS else chance.sample(cuts, MOST_CUTS):
        state = json.loads(json.dumps(batches[i][2]))
        rest = without_states(deliver(ds.resume(state, workers=chance.randrange(4), **options)))
        assert rest == without_states((batches[i + 1 :], error)), f"resumed behind batch {i}"


def check_sharded(text, options, whole):
    batches, _ = whole
    for n in (1, 2, 3):
        parts = [run(stoker.parse(text).shard(n, i), options, 2) for i in range(n)]
        assert all(error is None for _, error in parts)
        for epoch in range(options["epochs"]):
            merged = [batch["fields"] for batch, *_ in batches if batch["epoch"] == epoch]
            dealt = [[b["fields"] for b, *_ in part if b["epoch"] == epoch] for part, _ in parts]
            assert [merged[i::n] for i in range(n)] == dealt, f"{n} shards, epoch {epoch}"


def check(text, options, chance):
    ds = stoker.parse(text)
    given = {name: value for name, value in vars(options).items() if value is not None}
    whole = run(ds, given, 2)
    truth = model.run(text, **vars(options))
    assert difference(truth.delivered, [batch for batch, *_ in whole[0]]) is None
    assert (truth.error is None) == (whole[1] is None), whole[1]
    for workers in (0, 1, 3):
        assert without_states(run(ds, given, workers)) == without_states(whole), f"{workers} workers"
    check_resumed(ds, given, whole, chance)
    if whole[1] is None and not has_bad(ds, given):
        check_sharded(text, given, whole)


def failure_of(text, options, number):
    """What is wrong with a chain, None if nothing is."""
    try:
        check(text, options, random.Random(number))
    except stoker.Error as error:
        return f"{type(error).__name__}: {error}"
    except AssertionError as error:
        return f"AssertionError: {error}"
    return None


def kind(failure):
    return failure and failure.split(":")[0]


@pytest.mark.parametrize("first", range(SEED, SEED + N_CHAINS, PER_TEST))
def test_random_chains(folder, monkeypatch, first):
    monkeypatch.chdir(folder)
    for number in range(first, min(first + PER_TEST, SEED + N_CHAINS)):
        text, options = Maker(number, folder).make()
        failure = failure_of(text, options, number)
        if failure:
            small = shrink(text, lambda t: kind(failure_of(t, options, number)) == kind(failure))
            pytest.fail(
                f"chain {number}: {text}\nwith {options}\n{failure}\n\n"
                f"smallest: {small}\n{failure_of(small, options, number)}"
            )
