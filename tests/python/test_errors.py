# SPDX-License-Identifier: Apache-2.0
"""Exceptions: their types, texts and places."""

import pickle

import pytest
import stoker


@pytest.fixture
def bad_pictures(pictures, tmp_path):
    """Four good images and two bad ones."""
    for number, path in enumerate(sorted(pictures.glob("*/*.png"))):
        target = tmp_path / "all" / f"{number}.png"
        target.parent.mkdir(exist_ok=True)
        raw = path.read_bytes()
        target.write_bytes(raw[:20] if number in (1, 4) else raw)
    return tmp_path / "all"


@pytest.mark.parametrize(
    "make, kind, natural, code",
    [
        (lambda: stoker.parse("range(10"), stoker.ChainError, ValueError, "syntax"),
        (lambda: stoker.parse("rang(10)"), stoker.ChainError, ValueError, "name"),
        (lambda: stoker.range(10).map("y + 1"), stoker.ChainError, ValueError, "name"),
        (lambda: stoker.range(10).batch(0), stoker.ChainError, ValueError, "value"),
        (lambda: stoker.range(10).batch("four"), stoker.TypeMismatchError, TypeError, "type"),
        (lambda: stoker.range(10).decode(), stoker.TypeMismatchError, TypeError, "type"),
        (lambda: stoker.files("/nothing/here/*.jpg"), stoker.StorageError, OSError, "io"),
        (lambda: stoker.lines("/nothing/here.txt"), stoker.StorageError, OSError, "io"),
        (
            lambda: next(stoker.files("/nothing.jpg").read().iterate()),
            stoker.StorageError,
            OSError,
            "io",
        ),
        (
            lambda: list(stoker.values({"x": [1, 0]}).map("10 // x").batch(2)),
            stoker.DataError,
            ValueError,
            "data",
        ),
        (
            lambda: stoker.range(10).batch(4).iterate(memory=1000),
            stoker.BudgetError,
            RuntimeError,
            "budget",
        ),
    ],
)
def test_kinds(make, kind, natural, code):
    with pytest.raises(kind) as caught:
        make()
    assert (
        isinstance(caught.value, natural)
        and isinstance(caught.value, stoker.Error)
        and caught.value.code == code
    )


def test_place():
    with pytest.raises(stoker.ChainError) as caught:
        stoker.range(10).shuffle().batch(0, drop_remainder=True).batch(3)
    error = caught.value
    assert str(error) == (
        "batch: batch_size=0 is outside [1, 2147483647]\n"
        "  range(10).shuffle().batch(0, true)\n"
        "                            ^"
    )
    assert error.chain[error.at : error.at + error.len] == "0"


def test_place_behind_other_letters():
    with pytest.raises(stoker.ChainError) as caught:
        stoker.values({"größe": [1, 2]}).rename({"größe": "b"}).map("größe + 1").batch(2)
    error = caught.value
    text, line, mark = str(error).split("\n")
    assert error.chain[error.at : error.at + error.len] == "map" and mark.index("^") == line.index(
        "map("
    )


def test_place_in_a_long_chain():
    ds = stoker.range(10)
    for _ in range(100):
        ds = ds.skip(1)
    with pytest.raises(stoker.ChainError) as caught:
        ds.take(1).map("z")
    _, line, mark = str(caught.value).split("\n")
    assert len(line) < 120 and line[mark.index("^") :].startswith("map(") and mark.count("~") == 2


def test_place_in_a_recipe():
    with pytest.raises(stoker.ChainError) as caught:
        stoker.parse("n = 3\nrange(@n).bach(2)\n")
    assert str(caught.value).split("\n")[1:] == ["  range(@n).bach(2)", "            ^~~~"]


def test_nothing_is_read_before():
    with pytest.raises(stoker.TypeMismatchError, match="needs picture bytes"):
        stoker.range(10).decode()


def test_unknown_methods():
    with pytest.raises(AttributeError, match="did you mean 'shuffle'"):
        stoker.range(10).shufle()
    with pytest.raises(AttributeError, match="did you mean 'batch'"):
        stoker.range(10).bach
    with pytest.raises(AttributeError, match=r"stoker.range\("):
        stoker.range(10).range(3)
    with pytest.raises(AttributeError, match=r"ds.decode\("):
        stoker.decode()
    with pytest.raises(AttributeError, match="did you mean 'image_folder'"):
        stoker.image_foldr("x")
    with pytest.raises(AttributeError):
        stoker.range(10)._nothing
    assert not hasattr(stoker.range(3), "__dlpack__") and not hasattr(stoker, "nothing_like_it")


def test_arguments_that_cannot_be():
    with pytest.raises(TypeError, match="from_generator"):
        stoker.range(10).batch(lambda x: x + 1)
    with pytest.raises(TypeError, match="batch_size cannot be object"):
        stoker.range(10).batch(object())
    with pytest.raises(TypeError, match="a name is a str"):
        stoker.range(10).rename({3: "y"})
    with pytest.raises(TypeError, match="a chain is a str"):
        stoker.parse(3)
    with pytest.raises(stoker.Error):
        stoker.range(float("nan"))
    with pytest.raises(stoker.Error):
        stoker.range(10**30)
    with pytest.raises(stoker.Error):
        stoker.zip(stoker.range(3), 4)
    with pytest.raises(ValueError):
        stoker.parse("range(3)\0.batch(2)")


def test_bad_elements(bad_pictures):
    ds = stoker.files(f"{bad_pictures}/*.png").decode().resize(4, 4).batch(2)
    with pytest.raises(stoker.DataError, match=r"decode: .*1\.png \(element 1 of epoch 0\)"):
        list(ds)
    it = ds.iterate(on_error="skip")
    assert [b.n_rows for b in it] == [2, 2] and it.stats().errors == 2
    errors = it.errors()
    assert [type(error) for error in errors] == [stoker.DataError] * 2 and "4.png" in str(errors[1])
    assert sum(b.n_rows for b in ds.iterate(on_error="replace")) == 6
    with pytest.raises(stoker.DataError, match="too many bad elements"):
        list(ds.iterate(on_error="skip", max_errors=1))
    with pytest.raises(stoker.DataError, match="1.png"):
        ds[0]


def test_errors_last():
    it = stoker.values({"x": [1, 0, 2]}).map("10 // x").iterate()
    assert next(it).x == 10
    for _ in range(3):
        with pytest.raises(stoker.DataError, match="division by zero"):
            next(it)


def test_errors_pickle():
    with pytest.raises(stoker.ChainError) as caught:
        stoker.range(10).batch(0)
    back = pickle.loads(pickle.dumps(caught.value))
    assert (
        type(back) is stoker.ChainError
        and str(back) == str(caught.value)
        and back.code == "value"
        and back.len == 1
    )


def test_a_failure_without_a_place_shows_none():
    with pytest.raises(stoker.TypeMismatchError, match="cannot be reached by number") as raised:
        stoker.range(3).filter("x > 0")[1]
    assert "^" not in str(raised.value)
    assert (raised.value.at, raised.value.len, raised.value.chain) == (0, 0, "")


def test_exceptions_are_named_as_users_find_them():
    for name in stoker._public:
        kind = getattr(stoker, name)
        if isinstance(kind, type) and issubclass(kind, stoker.Error):
            assert f"{kind.__module__}.{kind.__qualname__}" == f"stoker.{name}"


# ---- keywords that do not exist ----


@pytest.mark.parametrize(
    "call, cause",
    [
        (lambda ds: ds.iterate(num_workers=2), "iterate.. has no argument 'num_workers'; here it is called 'workers'"),
        (lambda ds: ds.options(num_workers=2), "options.. has no argument 'num_workers'; here it is called 'workers'"),
        (lambda ds: ds.plan(prefetch_factor=2), "called 'window'"),
        (lambda ds: ds.iterate(pin_memory=True), "need no pinning"),
        (lambda ds: ds.iterate(batch_size=3), "ds.batch"),
        (lambda ds: ds.iterate(worker=3), "did you mean 'workers'"),
        (lambda ds: ds.batch(3, drop_last=True), "called 'drop_remainder'"),
        (lambda ds: ds.batch(3, drop_remaind=True), "did you mean 'drop_remainder'"),
        (lambda ds: ds.shuffle(buffer=3), "called 'buffer_size'"),
        (lambda ds: ds.map(str, num_proc=3), "called 'processes'"),
        (lambda ds: ds.map(str, num_parallel_calls=3), "called 'workers'"),
        (lambda ds: ds.stats(num_workers=3), "a run has no argument 'num_workers'; here it is called 'workers'"),
        (lambda ds: ds.resume({}, seeed=3), "did you mean 'seed'"),
        (lambda ds: stoker.files("*.jpg", lables="parent"), "files.. has no argument 'lables'; did you mean 'labels'"),
        (lambda ds: ds.head(z=3), r"it takes n\)"),
    ],
)
def test_unknown_keywords_say_what_is_meant(call, cause):
    with pytest.raises(TypeError, match=cause):
        call(stoker.range(10))


def test_keywords_elsewhere_lead_somewhere():
    """Every name that is given for another one exists."""
    from stoker import _dataset, _keywords, _ops

    known = {row[0] for rows in _ops.ROWS.values() for row in rows} | set(_dataset._OPTIONS)
    known |= {"output", "processes", "spec"}
    assert {other for others in _keywords._ELSEWHERE.values() for other in others} <= known


def test_signatures_are_those_of_the_ops():
    import inspect

    assert list(inspect.signature(stoker.Dataset.batch).parameters)[:2] == ["self", "batch_size"]
    assert "workers" in inspect.signature(stoker.Dataset.iterate).parameters
    assert inspect.signature(stoker.files).parameters["pattern"].default is inspect.Parameter.empty


@pytest.mark.parametrize(
    "options, cause",
    [
        ({"workers": "a"}, "workers"),
        ({"memory": "much"}, "memory"),
        ({"on_error": "shrug"}, "on_error"),
        ({"seed": -1}, "seed"),
        ({"workers": 1.5}, "workers"),
    ],
)
def test_options_fail_where_they_are_written(options, cause):
    with pytest.raises((stoker.Error, TypeError), match=cause):
        stoker.range(3).options(**options)
