# SPDX-License-Identifier: Apache-2.0
"""from_generator: elements, specs, epochs, exceptions."""

import array
import gc
import itertools
import threading
import traceback
import weakref

import numpy as np
import pytest
import stoker


def make(elements, spec):
    return stoker.from_generator(lambda: iter(elements), spec)


def test_forms_of_elements():
    spec = {"x": "int64", "y": ("float32", (2,))}
    for element in (
        {"x": 1, "y": [2, 3]},
        {"y": (2, 3), "x": 1},
        (1, [2, 3]),
        [1, np.array([2, 3], np.float32)],
    ):
        got = make([element], spec).head(1)[0]
        assert got.keys() == ["x", "y"] and got.x == 1 and got.y.tolist() == [2, 3]
    for element in (5, (5,), {"x": 5}, np.int64(5), np.array(5)):
        assert make([element], "int32").head(1)[0].x == 5
    for element in (
        [1, 2],
        (1, 2),
        np.array([1, 2], np.int16),
        (np.array([1, 2], np.int16),),
        array.array("h", [1, 2]),
    ):
        assert make([element], ("int16", (2,))).head(1)[0].x.tolist() == [1, 2]


def test_kinds_of_fields():
    rows = [
        {
            "i": np.full((n + 1, 2, 3), n, np.uint8),
            "t": "é" * n,
            "b": bytes(n),
            "r": list(range(n)),
            "m": [[n, n]] * n,
            "f": n / 2,
            "o": n % 2 == 0,
        }
        for n in range(4)
    ]
    spec = {
        "i": ("uint8", (None, 2, 3)),
        "t": str,
        "b": bytes,
        "r": ("int64", "ragged"),
        "m": ("float32", "ragged", (2,)),
        "f": float,
        "o": bool,
    }
    ds = make(rows, spec)
    assert [repr(field) for field in ds.spec.values()] == [
        "uint8[?, 2, 3]",
        "bytes",
        "bytes",
        "ragged int64[?]",
        "ragged float32[?, 2]",
        "float64[]",
        "bool[]",
    ]
    for n, got in enumerate(ds):
        assert got.i.shape == (n + 1, 2, 3) and got.t.decode() == "é" * n and got.b == bytes(n)
        assert (
            got.r.tolist() == list(range(n))
            and got.m.shape == (n, 2)
            and got.f == n / 2
            and got.o == (n % 2 == 0)
        )
    batch = ds.select("t", "r", "m", "f").batch(4).head(1)[0]
    assert batch.r == [[], [0], [0, 1], [0, 1, 2]] and batch.m.splits.tolist() == [0, 0, 1, 3, 6]


def test_spec_of_another_dataset():
    other = stoker.values({"x": [1, 2], "t": ["a", "b"], "r": [[1], [2, 3]]})
    ds = make([(5, b"q", [7, 8])], other.spec)
    assert ds.spec == other.spec and ds.head(1)[0].r.tolist() == [7, 8]


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "uint32",
        "int32",
        "uint64",
        "int64",
        "float16",
        "float32",
        "float64",
        np.float32,
        np.dtype("int8"),
        int,
        float,
        bool,
    ],
)
def test_dtypes(dtype):
    assert make([0, 1], dtype).batch(2).head(1)[0].x.tolist() == [0, 1]


def test_extremes():
    for dtype in ("int8", "uint8", "int64", "uint64"):
        info = np.iinfo(dtype)
        assert make([info.min, info.max], dtype).batch(2).head(1)[0].x.tolist() == [
            info.min,
            info.max,
        ]


def test_epochs_call_again():
    calls = []

    def numbers():
        calls.append(len(calls))
        return range(len(calls) * 2)

    ds = stoker.from_generator(numbers, "int64").batch(10)
    assert [b.x.tolist() for b in ds] == [[0, 1]] and [b.x.tolist() for b in ds] == [[0, 1, 2, 3]]
    assert len(list(ds.iterate(epochs=2))) == 2 and calls == [0, 1, 2, 3]


def test_chains_over_generators():
    ds = make(range(100), "int64").filter("x % 2 == 0").shuffle(10).map("x * 2").batch(10)
    assert sorted(x for b in ds for x in b.x.tolist()) == list(range(0, 200, 4))
    zipped = make(range(3), "int64").zip(make("abc", {"t": str}))
    assert [(int(e.x), e.t) for e in zipped] == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert [int(e.x) for e in make(range(3), int).concatenate(make(range(2), int))] == [
        0,
        1,
        2,
        0,
        1,
    ]


def test_endless_generator():
    def count():
        n = 0
        while True:
            yield n
            n += 1

    ds = stoker.from_generator(count, "int64")
    assert [int(e.x) for e in ds.take(5)] == [0, 1, 2, 3, 4]
    it = iter(ds.batch(100))
    assert next(it).x[99] == 99
    it.close()


def test_arrays_that_are_reused():
    def frames():
        frame = np.zeros(1000, np.int32)
        for n in range(200):
            frame[:] = n
            yield frame

    for n, got in enumerate(stoker.from_generator(frames, ("int32", (1000,)))):
        assert got.x.tolist() == [n] * 1000


def test_layouts():
    values = np.arange(24, dtype=np.int64).reshape(4, 6)
    for view in (values.T, values[::2, ::3], values[::-1]):
        assert make([view], ("int64", view.shape)).head(1)[0].x.tolist() == view.tolist()

    class Tensor:
        def __dlpack__(self, **options):
            return values.T.__dlpack__(**options)

    assert make([Tensor()], ("int64", (6, 4))).head(1)[0].x.tolist() == values.T.tolist()


# ---- exceptions ----


class Trouble(Exception):
    pass


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_exception_arrives_as_it_was(workers):
    thrown = Trouble("in the middle", 7)

    def numbers():
        yield 1
        yield 2
        raise thrown

    it = stoker.from_generator(numbers, "int64").iterate(workers=workers)
    assert [int(next(it).x), int(next(it).x)] == [1, 2]
    with pytest.raises(Trouble) as caught:
        next(it)
    assert caught.value is thrown
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "numbers" and "test_exception_arrives_as_it_was" in frames
    with pytest.raises(stoker.Error, match="in the middle"):
        next(it)


def test_batches_before_an_exception():
    def numbers():
        yield from range(10)
        raise Trouble

    got = []
    with pytest.raises(Trouble):
        for batch in stoker.from_generator(numbers, "int64").batch(4):
            got.append(batch.x.tolist())
    assert got == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_exception_before_the_first_element():
    def fails():
        raise Trouble("at once")

    with pytest.raises(Trouble, match="at once"):
        list(stoker.from_generator(fails, "int64"))
    with pytest.raises(TypeError, match="not iterable"):
        list(stoker.from_generator(lambda: 3, "int64"))


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, StopAsyncIteration]
)
def test_other_exceptions(kind):
    def numbers():
        yield 1
        raise kind("stop")

    with pytest.raises(kind):
        list(stoker.from_generator(numbers, "int64"))


def test_exceptions_of_several_iterators():
    def numbers():
        yield 1
        raise Trouble(threading.get_ident())

    ds = stoker.from_generator(numbers, "int64")
    iterators = [ds.iterate() for _ in range(8)]
    for it in iterators:
        next(it)
    caught = []  # all of them: the id of one that is gone may be given again
    for it in reversed(iterators):
        with pytest.raises(Trouble) as info:
            next(it)
        caught.append(info.value)
    assert len({id(error) for error in caught}) == 8


@pytest.mark.parametrize(
    "element, spec, kind, words",
    [
        ("a", "int64", TypeError, "field 'x'"),
        (1.5, "int64", TypeError, "field 'x'"),
        (300, "uint8", OverflowError, "uint8"),
        (-1, "uint64", OverflowError, "uint64"),
        (2**63, "int64", OverflowError, "int64"),
        (None, "float32", TypeError, "'x'"),
        ([1, 2, 3], ("int64", (2,)), ValueError, r"\(3\).*\(2\)"),
        (5, ("int64", (2,)), TypeError, "field 'x'"),
        ([[1, 2], [3]], ("int64", (2, 2)), ValueError, "do not make an array"),
        (np.zeros(2, np.float64), ("float32", (2,)), TypeError, "float64.*float32"),
        (np.zeros((2, 2), np.float32), ("float32", (2,)), ValueError, r"\(2, 2\).*\(2\)"),
        (np.zeros((2, 4), np.uint8), ("uint8", (None, 3)), ValueError, r"\(None, 3\)"),
        (5, str, TypeError, "bytes or str"),
        ("\udcff", str, UnicodeEncodeError, "surrogate"),
        ((1, 2), {"x": int}, TypeError, "field 'x'"),
        (1, {"x": int, "y": int}, TypeError, "dict or a tuple"),
        ((1, 2, 3), {"x": int, "y": int}, ValueError, "3 values"),
        ({"x": 1}, {"x": int, "y": int}, ValueError, "spec says"),
        ({"x": 1, "z": 2}, {"x": int, "y": int}, KeyError, "no field 'y'"),
        ({"x": 1, "y": 2, "z": 3}, {"x": int, "y": int}, ValueError, "'z'"),
    ],
)
def test_elements_that_do_not_fit(element, spec, kind, words):
    with pytest.raises(kind, match=words):
        list(make([element], spec))


@pytest.mark.parametrize(
    "spec, kind",
    [
        ({}, ValueError),
        (None, TypeError),
        ("float31", TypeError),
        ({"x": object}, TypeError),
        ({3: "int8"}, TypeError),
        ({"": "int8"}, TypeError),
        (("int8", (0,)), ValueError),
        (("int8", (-1,)), ValueError),
        (("int8", "wide"), ValueError),
        (("int8", (1,) * 9), ValueError),
        ((str, (3, 3)), ValueError),
        (("int8", (2,), (3,)), TypeError),
        ({f"f{i}": "int8" for i in range(40)}, ValueError),
        (("int8", (2.5,)), ValueError),
    ],
)
def test_wrong_specs(spec, kind):
    with pytest.raises(kind):
        stoker.from_generator(lambda: [], spec)


def test_wrong_functions():
    for wrong in (None, 3, [1, 2], iter([1])):
        with pytest.raises(TypeError, match="function"):
            stoker.from_generator(wrong, "int64")


# ---- lifetimes ----


def test_generators_are_closed():
    closed = []

    def numbers():
        try:
            yield from range(1000000)
        finally:
            closed.append(True)

    with stoker.from_generator(numbers, "int64").iterate() as it:
        next(it)
    assert closed == [True]


def test_generator_of_its_own_object_is_collected():
    class Loader:
        def __init__(self):
            self.ds = stoker.from_generator(self.samples, "int64").batch(2)

        def samples(self):
            return range(10)

    loader = Loader()
    alive = weakref.ref(loader)
    assert len(list(loader.ds)) == 5
    del loader
    gc.collect()
    assert alive() is None


def test_iterator_in_the_same_cycle_is_collected():
    class Loader:
        def __init__(self):
            self.it = stoker.from_generator(self.samples, "int64").iterate()
            next(self.it)

        def samples(self):
            return range(10)

    alive = weakref.ref(Loader())
    for _ in range(50):
        gc.collect()
        if alive() is None:
            break
        threading.Event().wait(0.02)
    assert alive() is None


def test_exception_is_let_go():
    class Heavy(Exception):
        pass

    def numbers():
        raise Heavy
        yield

    ds = stoker.from_generator(numbers, "int64")
    try:
        list(ds)
    except Heavy as error:
        alive = weakref.ref(error)
    gc.collect()
    assert alive() is None


def test_own_iterator_inside():
    box = {}

    def numbers():
        yield 1
        for use in (lambda: next(box["it"]), lambda: box["it"].close()):
            try:
                use()
            except stoker.StateError:
                yield 2
        yield 3

    box["it"] = stoker.from_generator(numbers, "int64").iterate(workers=0)
    assert [int(e.x) for e in box["it"]] == [1, 2, 2, 3]


@pytest.mark.parametrize("workers", [0, 1, 8])
@pytest.mark.parametrize("rest", ["map('x + 1')", "batch(2)", "map('x * 2').batch(2)"])
def test_take_while_asks_for_no_more_once_it_has_ended(workers, rest):
    """Beside what was read ahead by then; an endless source shows that the rest is not read."""
    asked = []

    def numbers():
        for i in itertools.count():
            asked.append(i)
            yield i

    ds = stoker.parse(f"generator(@g).take_while('x < 5').{rest}", g=(numbers, {"x": "int64"}))
    n = sum(1 for _ in ds.iterate(workers=workers))
    assert n in (3, 5) and 6 <= len(asked) < 10_000
