# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own in map and filter."""

import gc
import pickle
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest
import stoker

WORKERS = (0, 1, 3)


def numbers(ds, field="x", **options):
    with ds.iterate(**options) as batches:
        return [value for batch in batches for value in np.atleast_1d(batch[field].numpy())]


def twice(element):
    return element["x"] * 2


# ---- what goes in and out ----


def test_elements():
    ds = stoker.range(10).map(twice)
    assert str(ds) == "range(10).map_function(@twice)"
    assert len(ds) == 10 and repr(ds.spec["x"]) == "int64[]" and ds[3].x == 6
    assert numbers(ds) == list(range(0, 20, 2))
    assert numbers(stoker.range(10).filter(lambda e: e["x"] % 3 == 0)) == [0, 3, 6, 9]
    assert numbers(stoker.range(4).map("x + 1").filter("x > 2")) == [3, 4]


@pytest.mark.parametrize("workers", WORKERS)
def test_order_is_kept_and_each_is_called_once(workers):
    seen = []

    def note(element):
        seen.append(int(element["x"]))
        return element

    ds = stoker.range(5000).map(note, output={"x": "int64"})
    assert numbers(ds.batch(64), workers=workers) == list(range(5000))
    assert sorted(seen) == list(range(5000))
    seen.clear()
    kept = stoker.range(5000).filter(lambda e: note(e)["x"] % 7 == 0).shuffle(50, seed=1).batch(9)
    assert sorted(numbers(kept, workers=workers)) == list(range(0, 5000, 7))
    assert sorted(seen) == list(range(5000))


def test_kinds_of_fields():
    rows = [
        {"i": np.full((n + 1, 2), n, np.uint8), "t": "é" * n, "r": list(range(n)), "f": n / 2}
        for n in range(5)
    ]
    spec = {"i": ("uint8", (None, 2)), "t": str, "r": ("int64", "ragged"), "f": "float64"}
    source = stoker.from_generator(lambda: iter(rows), spec)
    got = []

    def look(element):
        assert isinstance(element, dict) and list(element) == ["i", "t", "r", "f"]
        assert type(element["f"]) is np.float64 and type(element["t"]) is bytes
        got.append({name: element[name] for name in element})
        return {**element, "i": element["i"] + 1, "o": element["f"] > 1}

    out = {**spec, "o": bool}
    for n, made in enumerate(source.map(look, output=out)):
        assert made.i.tolist() == [[n + 1] * 2] * (n + 1) and made.t.decode() == "é" * n
        assert made.r.tolist() == list(range(n)) and made.f == n / 2 and made.o == (n / 2 > 1)
    for n, element in enumerate(got):  # what a function keeps is its own
        assert element["i"].tolist() == [[n] * 2] * (n + 1)
        assert element["r"].tolist() == list(range(n)) and element["f"] == n / 2


def test_all_dtypes():
    for dtype in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
                  "float16", "float32", "float64"):
        x = np.arange(12).reshape(6, 2).astype(dtype)
        ds = stoker.from_arrays(x=x).map(lambda e: {"x": e["x"], "one": e["x"][0]})
        assert ds.spec["x"].dtype == dtype and ds.spec["one"].shape == ()
        got = ds.batch(6).head(1)[0]
        assert (got.x.numpy() == x).all() and (got.one.numpy() == x[:, 0]).all()


def test_arrays_are_the_functions_own():
    x = np.arange(8, dtype=np.float32).reshape(4, 2)

    def change(element):
        element["x"] *= 10
        return element

    ds = stoker.from_arrays(x=x).map(change, output={"x": ("float32", (2,))})
    assert ds.batch(4).head(1)[0].x.tolist() == (np.arange(8).reshape(4, 2) * 10).tolist()
    assert x.tolist() == np.arange(8).reshape(4, 2).tolist()
    kept = []
    list(stoker.from_arrays(x=x).filter(lambda e: kept.append(e["x"][:1]) or True))
    assert [part.tolist() for part in kept] == [[0], [2], [4], [6]]


def test_batches():
    ds = stoker.range(10).batch(4)
    assert [b.x.tolist() for b in ds.map(lambda b: b["x"] + 1)] == [
        [1, 2, 3, 4], [5, 6, 7, 8], [9, 10],
    ]  # fmt: skip
    assert repr(ds.map(lambda b: b["x"] + 1).spec["x"]) == "int64[?]"
    assert [b.x.tolist() for b in ds.filter(lambda b: len(b["x"]) == 4)] == [
        [0, 1, 2, 3], [4, 5, 6, 7],
    ]  # fmt: skip
    sums = ds.map(lambda b: {"sum": b["x"].sum()})
    assert sums.spec["sum"].shape == () and numbers(sums, "sum") == [6, 22, 17]


def test_texts_of_a_batch():
    names = ["ann", "", "bob", "é"]
    ds = stoker.from_arrays(name=names, x=[1, 2, 3, 4]).batch(3)
    seen = []

    def upper(batch):
        seen.append(batch["name"])
        return {"name": [name.upper() for name in batch["name"]], "x": batch["x"]}

    output = {"name": (str, (None,)), "x": ("int64", (None,))}
    for made in (ds.map(upper), ds.map(upper, output=output)):
        got = [(b.name.tolist(), b.x.tolist()) for b in made]
        assert got == [([b"ANN", b"", b"BOB"], [1, 2, 3]), (["é".encode()], [4])]
    assert seen[0] == [b"ann", b"", b"bob"]
    with pytest.raises(TypeError, match="bytes or str"):
        list(ds.map(lambda b: {"name": [1]}, output={"name": (str, (None,))}))


# ---- what it makes: found or said ----


def test_output_is_found():
    array = np.ones((2, 3), "f2")
    made = stoker.range(3).map(
        lambda e: {"b": True, "i": 1, "f": 1.5, "t": "x", "l": [1.0, 2.0], "a": array}
    )
    assert [repr(field) for field in made.spec.values()] == [
        "bool[]", "int64[]", "float64[]", "bytes", "float64[2]", "float16[2, 3]",
    ]  # fmt: skip
    images = stoker.from_generator(
        lambda: (np.zeros((n, 2 * n, 3), np.uint8) for n in (1, 2)), ("uint8", (None, None, 3))
    )
    same = images.map(lambda e: {"x": 255 - e["x"], "n": len(e["x"])})
    assert repr(same.spec["x"]) == "uint8[?, ?, 3]"
    assert [batch.x.shape for batch in same] == [(1, 2, 3), (2, 4, 3)]


@pytest.mark.parametrize("result", [None, {}, {"x": None}, {3: 1}, object(), {"x": {1}}])
def test_results_that_cannot_be(result):
    with pytest.raises((TypeError, ValueError)):
        stoker.range(3).map(lambda e: result)


def test_output_that_cannot_be():
    ds = stoker.range(3)
    with pytest.raises(ValueError, match="no element to try"):
        ds.take(0).map(twice)
    assert numbers(ds.take(0).map(twice, output="int64")) == []
    with pytest.raises(TypeError, match="returns a dict"):
        stoker.from_arrays(x=[1], y=[2]).map(lambda e: e["x"])
    with pytest.raises(TypeError, match="output"):
        ds.map("x + 1", output="int64")
    with pytest.raises(TypeError, match="no dtype"):
        ds.map(twice, output={"x": "int3"})
    with pytest.raises(ValueError, match="no fields"):
        ds.map(twice, output={})
    for wrong, words in (
        ({"y": ("int64", (2,))}, "shape is"),
        ({"y": "int64", "z": "int64"}, "the element has the fields"),
        ({"z": "int64"}, "no field 'z'"),
        ({"y": ("float32", (3,))}, "the array is int64"),
    ):
        with pytest.raises((TypeError, ValueError, KeyError), match=words):
            list(ds.map(lambda e: {"y": np.arange(3)}, output=wrong))


# ---- failures ----


def fail_at(*bad):
    def function(element):
        if element["x"] in bad:
            raise ArithmeticError(f"no {element['x']}")
        return element

    return function


@pytest.mark.parametrize("workers", WORKERS)
def test_exceptions_arrive_as_themselves(workers):
    ds = stoker.range(300).map(fail_at(77, 90), output={"x": "int64"}).batch(10)
    got = []
    with pytest.raises(ArithmeticError, match="no 77") as caught:
        for batch in ds.iterate(workers=workers):
            got += batch.x.tolist()
    assert got == list(range(70))
    lines = "".join(traceback.format_exception(caught.value))
    assert "raise ArithmeticError" in lines and "range, element 77 (element 77 of epoch 0)" in lines
    assert len(caught.value.__notes__) == 1
    with pytest.raises(ArithmeticError):
        stoker.range(300).map(fail_at(5), output={"x": "int64"})[5]
    with pytest.raises(ArithmeticError):
        list(stoker.range(9).filter(lambda e: bool(fail_at(5)(e))))


@pytest.mark.parametrize("workers", WORKERS)
def test_bad_elements_are_skipped(workers):
    bad = [0, 3, 4, 63, 64, 65, 199]
    good = [n for n in range(200) if n not in bad]
    ds = stoker.range(200).map(fail_at(*bad), output={"x": "int64"}).batch(7)
    with ds.iterate(workers=workers, on_error="skip") as batches:
        assert [n for batch in batches for n in batch.x.tolist()] == good
        assert batches.stats().errors == len(bad)
        assert "ArithmeticError: no 0" in str(batches.errors()[0])
    with pytest.raises(ArithmeticError, match="no 4"):
        list(ds.iterate(workers=workers, on_error="skip", max_errors=2))
    kept = stoker.range(200).filter(lambda e: fail_at(*bad)(e)["x"] % 2 == 0)
    assert numbers(kept, workers=workers, on_error="skip") == [n for n in good if n % 2 == 0]


def test_the_first_of_many_failures_is_the_one():
    def fail(element):
        raise ValueError(int(element["x"]))

    for workers in WORKERS:
        with pytest.raises(ValueError, match=r"^0\s"):
            list(stoker.range(4000).map(fail, output="int64").batch(1000).iterate(workers=workers))


def test_answers_that_are_none():
    for answer in (None, "no", [], {}):
        with pytest.raises(TypeError, match="not True or False"):
            list(stoker.range(3).filter(lambda e: answer))
    with pytest.raises(ValueError, match="ambiguous"):
        list(stoker.range(3).filter(lambda e: np.ones(2)))
    assert len(list(stoker.range(3).filter(lambda e: np.bool_(True)))) == 3
    assert not list(stoker.range(3).filter(lambda e: 0))


def test_exits_are_no_bad_elements():
    def leave(element):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        list(stoker.range(3).map(leave, output="int64").iterate(on_error="skip"))


# ---- runs ----


def test_passes_threads_and_states():
    ds = stoker.range(20).shuffle(seed=4).map(twice).batch(3)
    plain = stoker.range(20).shuffle(seed=4).map("x * 2").batch(3)
    for _ in range(3):
        assert [b.x.tolist() for b in ds] == [b.x.tolist() for b in plain]
    it = ds.iterate(epoch=0)
    next(it), next(it)
    rest = ds.resume(it.state_dict())
    assert [b.x.tolist() for b in rest] == [b.x.tolist() for b in it]
    results = {}

    def read(number):
        results[number] = numbers(ds, workers=number % 3, epoch=number % 2)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 6
    assert all(results[n] == results[n % 2] for n in range(6))


def test_two_functions_in_one_chain():
    def add(element):
        return element["x"] + 1

    ds = stoker.range(100).map(twice).shuffle(10, seed=2).map(add).map(twice).batch(10)
    assert sorted(numbers(ds, workers=3)) == [(2 * n + 1) * 2 for n in range(100)]


def test_plan():
    text = str(stoker.range(100).map(twice).batch(10).plan())
    assert "one worker at a time" in text and "map_function(@twice)  [indexed" in text
    text = str(stoker.range(100).filter(twice).batch(10).plan())
    assert "[stream: drops rows" in text


def test_pickle():
    ds = pickle.loads(pickle.dumps(stoker.range(5).map(twice)))
    assert numbers(ds) == [0, 2, 4, 6, 8]


def test_nothing_is_leaked():
    class Witness:
        def __call__(self, element):
            return element["x"]

    for _ in range(3):
        function = Witness()
        ref = weakref.ref(function)
        ds = stoker.range(1000).map(function).batch(10)
        function.ds = ds  # a cycle that the garbage collector must see
        it = iter(ds)
        next(it)
        del function, ds, it
        gc.collect()
        gc.collect()
        assert ref() is None


def test_references_are_balanced():
    value, text = np.arange(3), b"some text"
    ds = stoker.range(200).map(lambda e: {"v": value, "t": text}).batch(7)
    list(ds)
    before = sys.getrefcount(value), sys.getrefcount(text)
    for _ in range(3):
        list(ds.iterate(workers=2))
    gc.collect()
    assert (sys.getrefcount(value), sys.getrefcount(text)) == before


def test_failures_do_not_pile_up():
    alive = weakref.WeakSet()

    class Large:
        pass

    def fail(element):
        large = Large()
        alive.add(large)
        raise ValueError

    ds = stoker.range(3000).map(fail, output="int64").batch(100)
    assert list(ds.iterate(on_error="skip")) == []
    gc.collect()
    assert len(alive) <= 16


# ---- closing, leaving, forking ----


def test_close_does_not_wait_for_all_rows():
    began, calls = threading.Event(), []

    def slow(element):
        calls.append(1)
        began.set()
        threading.Event().wait(0.05)
        return element

    it = stoker.range(100000).map(slow, output={"x": "int64"}).shuffle(1000).iterate(workers=2)
    threading.Thread(target=lambda: pytest.raises(stoker.StateError, next, it)).start()
    assert began.wait(30)
    it.close()
    assert len(calls) < 64  # less than a ticket
    del it


def test_exit_in_the_middle(run_python):
    for how in ("", "import os; sys.exit(0)", "raise SystemExit(0)"):
        result = run_python(
            f"""
            import stoker, sys, time
            def slow(element):
                time.sleep(0.001)
                return element
            ds = stoker.range(10**6).map(slow, output={{'x': 'int64'}}).batch(10)
            it = ds.iterate(workers=2)
            next(it)
            print('ok', flush=True)
            {how}
            """
        )
        assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


def test_interrupt(run_python):
    result = run_python(
        """
        import os, signal, stoker, threading, time
        def stop(element):
            if element['x'] == 50:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
            return element
        for workers in (0, 2):
            try:
                list(stoker.range(10**5).map(stop, output={'x': 'int64'}).batch(10)
                     .iterate(workers=workers, on_error='skip'))
            except KeyboardInterrupt:
                print('interrupted')
        """
    )
    assert result.stdout == "interrupted\n" * 2 and result.returncode == 0, result.stderr


def test_fork(run_python):
    result = run_python(
        """
        import os, stoker
        ds = stoker.range(1000).map(lambda e: e['x'] + 1).batch(10)
        it = ds.iterate(workers=2)
        next(it)
        if os.fork() == 0:
            total = sum(batch.x.numpy().sum() for batch in ds.iterate(workers=2))
            os._exit(0 if total == 500500 else 1)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        assert sum(batch.x.numpy().sum() for batch in it) == 500500 - 55
        print('ok')
        """
    )
    assert result.stdout == "ok\n" and result.returncode == 0, result.stderr


def test_without_numpy(run_python):
    result = run_python(
        """
        import sys
        sys.modules['numpy'] = None
        import stoker
        try:
            stoker.range(3).map(lambda e: e)
        except ImportError as error:
            print(error)
        """
    )
    assert "need NumPy" in result.stdout, result.stderr


# ---- with other ops ----


def test_functions_in_chains_of_chains():
    def plus(n):
        return lambda element: element["x"] + n

    low, high = stoker.range(5).map(plus(100)), stoker.range(5).map(plus(200))
    assert numbers(low.concatenate(high)) == [*range(100, 105), *range(200, 205)]
    pairs = low.zip(high.rename({"x": "y"}))
    assert numbers(pairs, "y", workers=2) == list(range(200, 205))
    classes = stoker.range(30).map(lambda e: {"x": e["x"], "k": int(e["x"]) % 3})
    assert len(classes.split([0.5, 0.5], by="k")) in (10, 20)  # calls it while it is built


def test_parse():
    ds = stoker.parse(
        "range(6).filter_function(@odd).map_function(@double)",
        odd=lambda e: e["x"] % 2,
        double=(lambda e: {"y": e["x"] * 2}, {"y": "int64"}),
    )
    assert numbers(ds, "y") == [2, 6, 10]
    with pytest.raises(stoker.Error, match="is a condition"):
        stoker.parse("range(6).map_function(@odd)", odd=lambda e: True)
    with pytest.raises(TypeError, match="a dict of names"):
        stoker.parse("range(6).map_function(@odd)", odd=(lambda e: True, "int64"))


def test_replaced_elements():
    ds = stoker.range(40).map(fail_at(0, 5, 39), output={"x": "int64"}).batch(8)
    first = numbers(ds, workers=0, on_error="replace", epoch=0)
    assert len(first) == 40 and not {0, 5, 39} & set(first)
    for workers in WORKERS:
        assert numbers(ds, workers=workers, on_error="replace", epoch=0) == first


def test_pack_and_stats(tmp_path):
    ds = stoker.range(40).map(lambda e: {"x": e["x"], "t": "a"})
    assert ds.pack(tmp_path / "a.tfrecord").elements == 40
    assert "classes" in ds.stats()["x"]
    bad = stoker.range(40).map(fail_at(7), output={"x": "int64"})
    for use in (bad.stats, lambda: bad.pack(tmp_path / "b.tfrecord")):
        with pytest.raises(ArithmeticError) as caught:
            use()
        assert "element 7" in caught.value.__notes__[0]


# ---- dicts in dicts ----


def test_dicts_in_what_goes_in_and_out():
    def make(element):
        x = int(element["x"])
        return {"a": {"b": x, "c": {"d": [x, 2 * x]}}, "t": "é" * x}

    ds = stoker.range(4).map(make)
    assert list(ds.spec) == ["a/b", "a/c/d", "t"]
    assert ds[3]["a/c/d"].tolist() == ds[3]["a"]["c"]["d"].tolist() == [3, 6]
    assert list(ds.batch(2).head(1)[0]["a"]) == ["b", "c/d"]
    with pytest.raises(KeyError, match="no field 'z'; it has"):
        ds[3]["z"]

    def use(element):
        assert element["a/b"] == element["a"]["b"]
        assert element["a"]["c"]["d"] is element["a/c/d"]
        assert "a" not in element and element.get("z") is None
        with pytest.raises(KeyError):
            element["z"]
        return {"sum": element["a"]["c"]["d"].sum(), "a": element["a"]}

    for place in ("thread", "process"):
        used = ds.map(use, workers=place)
        assert list(used.spec) == ["sum", "a/b", "a/c/d"]
        assert [int(one.sum) for one in used] == [0, 3, 6, 9]
    output = {"a": {"b": int, "c": {"d": ("int64", (2,))}}, "t": str}
    said = stoker.range(4).map(make, output=output)
    assert [one["a/b"].item() for one in said] == [0, 1, 2, 3]


def test_dicts_in_arrays_and_generators():
    ds = stoker.from_arrays({"a": {"x": [1, 2], "y": [3, 4]}, "z": [5, 6]})
    assert list(ds.spec) == ["a/x", "a/y", "z"] and ds[1]["a/y"] == 4
    spec = {"a": {"x": "int64", "b": {"y": "float64"}}}
    made = stoker.from_generator(lambda: [{"a": {"x": 1, "b": {"y": 0.1}}}], spec)
    assert made.head(1)[0]["a/b/y"].tolist() == 0.1


@pytest.mark.parametrize(
    "result, cause",
    [
        ({"a": {"b": {}}}, "the dict a/b has no fields"),
        ({"a": {"b": 1}, "a/b": 2}, "two fields 'a/b'"),
        ({"a": {3: 1}}, "is a text, not 3"),
    ],
)
def test_dicts_that_are_no_fields(result, cause):
    with pytest.raises((TypeError, ValueError), match=cause):
        stoker.range(3).map(lambda element: result)


def test_elements_with_other_dicts_than_the_first():
    def make(element):
        return {"a": {"b": 1}} if element["x"] < 2 else {"a": {"c": 1}}

    with pytest.raises(KeyError, match="no field 'a/b'"):
        list(stoker.range(4).map(make))
    with pytest.raises(ValueError, match="but the spec says"):
        list(stoker.range(4).map(lambda e: {"a": {k: 1 for k in "bc"[: 1 + (e["x"] > 1)]}}))


def test_floats_keep_their_bits():
    ds = stoker.range(3).map(lambda e: {"a": 0.1, "b": [0.1, 0.2], "c": np.float32(0.1)})
    assert [repr(field) for field in ds.spec.values()] == ["float64[]", "float64[2]", "float32[]"]
    assert ds[0].a.item() == 0.1 and ds[0].b.tolist() == [0.1, 0.2]
    assert stoker.from_arrays(x=[0.1], r=[[0.1]])[0].x.item() == 0.1
    assert stoker.from_arrays(r=[[0.1], []])[0].r.tolist() == [0.1]
    assert next(iter(stoker.from_generator(lambda: [0.1], float))).x.item() == 0.1


@pytest.mark.parametrize("op", ["map", "filter"])
def test_messages_call_the_op_as_it_was_written(op):
    def bad(element):
        raise ValueError("no")

    ds = stoker.range(4)
    ds = ds.map(bad, {"x": "int64"}) if op == "map" else ds.filter(bad)
    with pytest.warns(UserWarning) as seen:
        list(ds.batch(2).options(on_error="skip"))
    said = str(seen[0].message)
    assert f"{op}: " in said and f"{op}_function" not in said
