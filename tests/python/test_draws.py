# SPDX-License-Identifier: Apache-2.0
"""Random numbers in functions: the element's own, whoever calls the function and when."""

import functools
import math
import pickle
import random
import statistics
import threading
import time
import warnings

import numpy as np
import pytest
import stoker
from stoker import _draws

WORKERS = (0, 1, 2, 8)
N = 40


def from_both(element):
    return {"x": element["x"], "a": random.random(), "b": np.random.normal(size=2)}


def from_rng(element, rng):
    return {"x": element["x"], "a": rng.random(), "b": rng.normal(size=2)}


def slow(element):
    """Lets other threads in between two draws."""
    first = random.random()
    time.sleep(0.0002)
    return {"x": element["x"], "a": first + random.random(), "b": np.random.rand(2)}


def from_batch(batch):
    n = len(batch["x"])
    return {"x": batch["x"], "a": np.random.rand(n), "b": np.random.permutation(n)}


def rows(ds, **options):
    """Everything that a run gives, in order."""
    with ds.iterate(**{"epoch": 0, **options}) as batches:
        return rows_of(batches)


def rows_of(batches):
    return [repr({name: field.tolist() for name, field in b.items()}) for b in batches]


MAPS = [
    pytest.param(function, place, id=f"{function.__name__}-{place}")
    for function in (from_both, from_rng, slow)
    for place in ("thread", "process")
]


# ---- the same always ----


@pytest.mark.parametrize("function, place", MAPS)
def test_workers_resume_and_shards(function, place):
    more = {"processes": 3} if place == "process" else {}
    ds = stoker.range(N).shuffle().map(function, workers=place, **more)
    whole = rows(ds.batch(4))
    assert len(set(whole)) == N // 4
    for workers in WORKERS:
        assert rows(ds.batch(4), workers=workers) == whole
    it = ds.batch(4).iterate()
    first = [next(it) for _ in range(3)]
    rest = rows_of(ds.batch(4).resume(pickle.loads(pickle.dumps(first[-1].state_dict()))))
    assert rest == whole[3:]
    assert [repr(ds[i].a.tolist()) for i in (0, 7)] == [
        repr(row) for row in (ds.head(8)[0].a.tolist(), ds.head(8)[7].a.tolist())
    ]
    dealt = stoker.range(N).shuffle().shard().map(function, workers=place, **more)
    parts = [rows(dealt, rank=rank, world=3) for rank in range(3)]
    assert sorted(sum(parts, [])) == sorted(rows(dealt, rank=0, world=1))


@pytest.mark.parametrize("place", ("thread", "process"))
def test_functions_of_batches_and_conditions(place):
    ds = stoker.range(N).batch(8).map(from_batch, workers=place)
    kept = stoker.range(200).filter(lambda e: random.random() < 0.5, workers=place).batch(10)
    for chain in (ds, kept):
        whole = rows(chain)
        assert all(rows(chain, workers=n) == whole for n in WORKERS)
        assert rows(chain, epoch=1) != whole != rows(chain, seed=5)
    assert 50 < sum(batch.n_rows for batch in kept) < 150


@pytest.mark.parametrize("function, place", MAPS)
def test_epochs_seeds_and_calls_differ(function, place):
    ds = stoker.range(8).map(function, workers=place)
    seen = [rows(ds), rows(ds, epoch=1), rows(ds, seed=3)]
    assert len(set(sum(seen, []))) == 24
    assert rows(ds, epochs=2) == seen[0] + seen[1]
    twice = stoker.range(8).map(function, workers=place).map(
        lambda e, rng: {"a": e["a"], "c": rng.random()}
    )
    assert all(batch.a.item() != batch.c.item() for batch in twice)


def test_calls_that_overlap(tmp_path):
    """Files to be read make calls of one function overlap."""
    for i in range(N):
        (tmp_path / f"{i:02}").write_bytes(b"x")
    ds = stoker.files(str(tmp_path / "*")).read()
    mapped = ds.map(lambda e: slow({"x": 0}), workers="thread")
    whole = rows(mapped, workers=1)
    assert all(rows(mapped, workers=8) == whole for _ in range(3))
    both = [[], []]
    threads = [
        threading.Thread(target=lambda to=to: to.extend(rows(mapped, workers=4))) for to in both
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert both == [whole, whole]


def test_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
    ds = stoker.range(8).map(lambda e: torch.rand(2).numpy())
    state = torch.get_rng_state()
    whole = rows(ds)
    assert torch.equal(state, torch.get_rng_state()) and len(set(whole)) == 8
    assert rows(ds, workers=3) == whole != rows(ds, epoch=1)
    assert rows(stoker.range(8).map(lambda e: torch.rand(2).numpy(), workers="process")) == whole


# ---- the program around it ----


def test_the_programs_own_generators_are_left_as_they_were():
    states = [repr(random.getstate()), repr(np.random.get_state())]
    rows(stoker.range(300).map(from_both).batch(7), workers=2)
    assert [repr(random.getstate()), repr(np.random.get_state())] == states

    def fails(element):
        random.random()
        raise LookupError("no")

    with pytest.raises(LookupError):
        rows(stoker.range(3).map(fails, output={"x": "int64"}))
    assert repr(random.getstate()) == states[0]


def test_a_function_that_reads_another_dataset():
    inner = stoker.range(5).map(from_both).batch(5)

    def outer(element):
        first = random.random()
        return {"a": first, "b": next(inner.iterate(epoch=0, workers=2)).a, "c": random.random()}

    ds = stoker.range(6).map(outer)
    whole = rows(ds)
    assert rows(ds, workers=2) == whole and len(set(whole)) == 6


def test_rng_is_a_generator():
    def check(element, *, rng=None):
        assert isinstance(rng, np.random.Generator)
        child = pickle.loads(pickle.dumps(rng)).spawn(1)[0]
        return {"a": child.random(), "b": rng.integers(1 << 40), "c": rng.random()}

    seen = rows(stoker.range(200).map(check))
    assert len(set(seen)) == 200
    means = [b.c.item() for b in stoker.range(2000).map(check)]
    assert abs(np.mean(means) - 0.5) < 0.03


def test_what_is_said():
    with pytest.raises(TypeError, match="parameter rng draws"):
        stoker.range(3).map(from_rng, random=False)
    with pytest.raises(TypeError, match="not 7"):
        stoker.range(3).map(from_both, random=7)
    with pytest.raises(TypeError, match="are for functions"):
        stoker.range(3).map("x + 1", random=True)
    state = repr(random.getstate())
    stoker.range(3).map(from_both, random=False).head(3)
    assert repr(random.getstate()) != state  # nobody put it aside

    own = np.random.default_rng(0)
    with pytest.warns(stoker.StokerWarning, match="generator of its own") as warned:
        stoker.range(3).map(lambda e: own.random())
    assert warned[0].filename == __file__


# ---- which functions draw ----


class Unknown:
    """An object whose methods might do anything."""

    def __init__(self, does):
        self.does = does

    def __call__(self, element):
        return {"x": element["x"], "a": self.does()}


def test_what_code_tells():
    table, unknown = {"a": 1}, Unknown(int)
    from numpy.random import rand

    def imports(element):
        import random as r

        return r.gauss(0, 1)

    never = [
        lambda e: e["x"] * 2,
        lambda e: np.clip(e["x"], 0, math.pi) + len(e) + table["a"],
        lambda e, rng: rng.random(),
        functools.partial(max, 3),
        np.sqrt,
        abs,
    ]
    surely = [
        from_both,
        imports,
        lambda e: np.random.rand(),
        lambda e: rand(),
        lambda e: from_both(e),
        lambda e: [np.random.rand() for _ in range(3)],
        lambda e: statistics.NormalDist().samples(1),
        random.choice,
        functools.partial(random.randint, 3),
    ]
    maybe = [unknown, lambda e: unknown(e), unknown.__call__]
    for level, functions in ((0, never), (2, surely), (1, maybe)):
        assert [_draws.looked_at(function) for function in functions] == [level] * len(functions)


def test_unknown_functions_are_tried():
    draws = stoker.range(8).map(Unknown(random.random))
    whole = rows(draws)
    assert len(set(whole)) == 8 and rows(draws, workers=2) == whole != rows(draws, epoch=1)
    helped = stoker.range(8).map(Unknown(random.random), workers="process")
    told = stoker.range(8).map(
        Unknown(random.random), output={"x": "int64", "a": "float32"}, random=True
    )
    assert rows(helped) == whole
    drawn = [row.a.item() for row in draws.iterate(epoch=0)]
    assert [row.a.item() for row in told] == pytest.approx(drawn)


# ---- caches, packs, scans ----


def test_caches():
    cached = stoker.range(8).map(from_both).cache()
    assert rows(cached, epoch=0) == rows(cached, epoch=1) != rows(cached, seed=9)
    moved = stoker.range(8).map(from_both).cache("auto")
    assert rows(moved, epoch=0) != rows(moved, epoch=1)
    assert moved.plan().chain.index("cache") < moved.plan().chain.index("map_function")
    for plain in (lambda e: e["x"] * 2, Unknown(int)):
        stays = stoker.range(8).map(plain).cache("auto").plan().chain
        assert stays.index("cache") > stays.index("map_function")


def test_packs_have_variants_of_what_draws(tmp_path):
    ds = stoker.range(4).map(from_both)
    ds.pack(str(tmp_path / "a.tfrecord"), variants=2)
    with pytest.raises(stoker.Error, match="no random op"):
        stoker.range(4).map(lambda e: e["x"] + 1).pack(str(tmp_path / "b.tfrecord"), variants=2)


def test_values_that_are_looked_at_before_a_run():
    known = stoker.range(12).map(Unknown(int), output={"x": "int64", "a": "int64"})
    assert len(known.split([0.5, 0.5], 0, by="x")) + len(known.split([0.5, 0.5], 1, by="x")) == 12
    with pytest.raises(stoker.Error, match="random"):
        stoker.range(12).map(from_both).split([0.5, 0.5], 0, by="x")


def test_parsed_and_pickled():
    ds = stoker.range(8).map(from_both)
    output = {"x": "int64", "a": "float64", "b": ("float64", (2,))}
    parsed = stoker.parse("range(8).map_function(@f)", f=(from_both, output))
    assert [b.b.tolist() for b in parsed] == [b.b.tolist() for b in ds]
    assert rows(pickle.loads(pickle.dumps(ds))) == rows(ds)


def test_no_warning_for_what_everybody_does():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stoker.range(3).map(from_both).map(from_rng).head(1)


def test_ctrl_c_arrives_and_leaves_the_generators_alone(run_python):
    """Also while states are put aside or back, which is done in Python on the thread that waits."""
    done = run_python(
        """
        import os, random, signal, threading
        import numpy as np
        import stoker

        def states():
            return repr(random.getstate()), repr(np.random.get_state())

        ds = stoker.range(10**9).map(lambda e: random.random() + np.random.rand()).batch(64)
        before, n = states(), 0
        for i in range(30):
            signal_us = threading.Timer(0.002 + 0.0007 * i, os.kill, (os.getpid(), signal.SIGINT))
            try:
                signal_us.start()
                with ds.iterate(workers=0) as batches:
                    for batch in batches:
                        pass
            except KeyboardInterrupt:
                n += 1
            assert states() == before, i
        print(n)
        """
    )
    assert done.stdout.split() == ["30"], done.stderr
