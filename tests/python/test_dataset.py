# SPDX-License-Identifier: Apache-2.0
"""Datasets as values: text, questions, elements, epochs."""

import copy
import inspect
import json
import pathlib
import pickle

import numpy as np
import pytest
import stoker


def all_x(batches):
    return [x for batch in batches for x in batch.x.tolist()]


def test_methods_make_text():
    ds = stoker.range(0, 10, 2)
    assert str(ds) == "range(0, 10, 2)"
    assert (
        str(ds.map("x + 1").shuffle(4, seed=3).batch(2, drop_remainder=True).prefetch())
        == "range(0, 10, 2).map('x + 1').shuffle(4, 3).batch(2, true).prefetch()"
    )
    assert str(ds.shuffle(seed=7).repeat(count=2)) == "range(0, 10, 2).shuffle(seed=7).repeat(2)"
    assert (
        str(stoker.range(5).rename({"x": "y"}).select("y")) == "range(5).rename({x: y}).select('y')"
    )
    assert (
        str(stoker.values({"a": [1, 2], "b": ["it's", "\n\\"]}))
        == "values({a: [1, 2], b: ['it\\'s', '\\n\\\\']})"
    )


@pytest.mark.parametrize(
    "given, shown",
    [
        (np.int64(3), "3"),
        (np.uint8(3), "3"),
        (True, None),
        (3.5, None),
        ("3", None),
        (None, None),
    ],
)
def test_whole_numbers(given, shown):
    if shown:
        assert str(stoker.range(9).take(given)) == f"range(9).take({shown})"
    else:
        with pytest.raises(stoker.Error):
            stoker.range(9).take(given)


def test_numbers_of_numpy():
    assert str(stoker.range(9).scale(np.float64(0.5))) == "range(9).scale(0.5)"
    assert stoker.range(9).scale(np.float32(0.5)) == stoker.range(9).scale(1 / 2)
    assert str(stoker.range(9).split(np.array([0.5, 0.5]), 1)) == "range(9).split([0.5, 0.5], 1)"


def test_dtypes_of_others():
    for dtype in ("float32", np.float32, np.dtype("float32")):
        assert str(stoker.range(9).cast(dtype)) == "range(9).cast(float32)"
    assert stoker.range(9).cast(np.bool_).spec["x"].dtype == "bool"


def test_paths(pictures):
    by_path = stoker.image_folder(pathlib.Path(pictures))
    assert by_path == stoker.image_folder(str(pictures))
    assert len(stoker.files([pictures / "cat" / "0.png", pictures / "dog" / "1.png"])) == 2
    assert len(stoker.files(pictures / "*/*.png", labels="parent")) == 6


def test_path_that_is_no_utf8(tmp_path):
    name = b"a\xffb.txt"
    (pathlib.Path(tmp_path) / name.decode("utf-8", "surrogateescape")).write_bytes(b"text")
    ds = stoker.files(f"{tmp_path}/*.txt")
    assert ds[0].path.endswith(name)
    assert (
        stoker.files(str(tmp_path) + "/" + name.decode("utf-8", "surrogateescape")).read()[0].bytes
        == b"text"
    )
    assert ds[0].origin(0).encode("utf-8", "surrogateescape").endswith(name)


def test_chains_as_arguments():
    a, b = stoker.range(3), stoker.range(10, 13).rename({"x": "y"})
    assert str(stoker.zip(a, b)) == "zip(range(3), range(10, 13).rename({x: y}))"
    assert [(int(e.x), int(e.y)) for e in a.zip(b)] == [(0, 10), (1, 11), (2, 12)]
    assert [int(e.x) for e in stoker.concatenate([a, a])] == [0, 1, 2, 0, 1, 2]


def test_chains_are_values():
    first = stoker.range(10)
    second = first.skip(5)
    third = first.take(2)
    assert (len(first), len(second), len(third)) == (10, 5, 2)
    assert [int(e.x) for e in first.take(1)] == [0]


def test_parse():
    ds = stoker.parse("a = 3\nrange(@a).batch(2)")
    assert str(ds) == "range(3).batch(2)" and stoker.Dataset("range(3).batch(2)") == ds
    assert str(stoker.parse(str(ds))) == str(ds)
    assert stoker.parse("range(@n).map(@what)", n=3, what="x + 1") == stoker.range(3).map("x + 1")
    assert len(stoker.parse("@base.batch(2)", base=stoker.range(5))) == 3


def test_parse_with_objects():
    x, y = np.arange(4), np.arange(4) * 2
    ds = stoker.parse("zip(values({a: @x}), @other)", x=x, other=stoker.from_arrays(x=y))
    assert [(int(e.a), int(e.x)) for e in ds] == [(0, 0), (1, 2), (2, 4), (3, 6)]
    ds = stoker.parse("generator(@g).batch(2)", g=(lambda: iter([1, 2, 3]), "int8"))
    assert all_x(ds) == [1, 2, 3]


def test_length():
    assert len(stoker.range(10).batch(4)) == 3
    assert stoker.range(10).cardinality == 10
    assert stoker.range(10).repeat().cardinality == stoker.INFINITE
    assert stoker.range(10).filter("x > 3").cardinality == stoker.UNKNOWN
    with pytest.raises(TypeError, match="endless"):
        len(stoker.range(10).repeat())
    with pytest.raises(TypeError, match="before it is read"):
        len(stoker.range(10).filter("x > 3"))
    assert bool(stoker.range(0)) and bool(stoker.range(3).repeat())
    assert len(list(stoker.range(10).filter("x > 3"))) == 6


def test_spec(pictures):
    ds = stoker.image_folder(pictures).decode()
    image = ds.spec["image"]
    assert (image.name, image.kind, image.dtype, image.shape) == (
        "image",
        "shaped",
        "uint8",
        (None, None, 3),
    )
    assert repr(image) == "uint8[?, ?, 3]"
    batched = ds.resize(8, 9).batch(2, drop_remainder=True).spec
    assert list(batched) == ["image", "label"] and batched["image"].shape == (2, 8, 9, 3)
    assert stoker.image_folder(pictures).spec["path"].dtype == "bytes"
    assert stoker.values({"w": [[1, 2], [3]]}).spec["w"].kind == "ragged"
    assert image == pickle.loads(pickle.dumps(image)) and hash(image) == hash(copy.copy(image))


def test_class_names(pictures):
    ds = stoker.image_folder(pictures).shuffle().decode().resize(4, 4).batch(2)
    assert ds.class_names() == ["cat", "dog"]
    assert ds.class_names("image") == []
    with pytest.raises(KeyError, match="there is no field 'label'"):
        stoker.range(3).class_names()


def test_element_by_number(numbers):
    assert numbers[0].x.tolist() == [0, 1, 2, 3] and numbers[-1].x.tolist() == [8, 9]
    assert numbers[np.int64(1)].x.tolist() == [4, 5, 6, 7]
    assert stoker.range(10)[3].x == 3
    for wrong in (3, -4, 10**30):
        with pytest.raises(IndexError):
            numbers[wrong]
    for wrong in ("x", 1.0, None):
        with pytest.raises(TypeError):
            numbers[wrong]


def test_element_as_iterating_gives(pictures):
    ds = stoker.image_folder(pictures).shuffle(seed=5).decode().resize(8, 8)
    for index, element in enumerate(ds.iterate(epoch=0)):
        assert ds[index].image.tolist() == element.image.tolist()
        assert ds[index].origins == element.origins
    later = ds.options(epoch=2)
    assert [later[i].origin(0) for i in range(6)] == [e.origin(0) for e in ds.iterate(epoch=2)]


def test_element_of_a_stream():
    with pytest.raises(stoker.Error):
        stoker.range(10).filter("x > 3")[0]
    with pytest.raises(TypeError):
        stoker.range(10).filter("x > 3")[-1]


def test_slices():
    ds = stoker.range(10)
    for part in (
        slice(2, 5),
        slice(None, 3),
        slice(7, None),
        slice(-3, None),
        slice(None, -8),
        slice(4, 2),
        slice(1, 9, 3),
        slice(None, None, 4),
        slice(0, 100),
        slice(None),
    ):
        assert [int(e.x) for e in ds[part]] == list(range(10))[part], part
    assert isinstance(ds[1:3], stoker.Dataset)
    with pytest.raises(ValueError, match="backwards"):
        ds[::-1]
    with pytest.raises(TypeError):
        ds.filter("x > 2")[-3:]
    assert [int(e.x) for e in ds.filter("x > 2")[1:3]] == [4, 5]


def test_head():
    assert [int(e.x) for e in stoker.range(10).head()] == [0, 1, 2, 3, 4]
    assert all_x(stoker.range(10).batch(4).head(2)) == list(range(8))
    ds = stoker.range(100).shuffle()
    first = [int(e.x) for e in ds.head(9)]
    assert first == [int(e.x) for e in ds.head(9)] == [int(e.x) for e in ds.iterate(epoch=0)][:9]
    assert len(stoker.range(3).filter("x > 0").head(9)) == 2 and stoker.range(3).head(0) == []
    assert len(stoker.range(3).options(epochs=None).head()) == 3


def test_each_for_is_an_epoch():
    ds = stoker.range(50).shuffle().batch(10)
    first, second, third = all_x(ds), all_x(ds), all_x(ds.iterate(epoch=7))
    assert sorted(first) == sorted(second) == sorted(third) == list(range(50))
    assert first != second and third not in (first, second)
    assert [batch.position.epoch for batch in ds][:1] == [2]
    assert all_x(ds.iterate(epoch=1)) == second
    fresh = stoker.range(50).shuffle().batch(10)
    assert all_x(fresh) == first and all_x(fresh.iterate(epochs=2)) == second + all_x(
        ds.iterate(epoch=2)
    )
    assert [batch.position.epoch for batch in fresh][:1] == [3]


def test_options():
    ds = stoker.range(30).shuffle().batch(10)
    seeded = ds.options(seed=9, workers=1)
    assert all_x(seeded) == all_x(ds.iterate(seed=9, epoch=0)) != all_x(ds.iterate(seed=8, epoch=0))
    assert "1 worker" in str(seeded.plan()) and "seed 9" in str(seeded.batch(2).plan())
    assert seeded != ds and seeded.options(seed=9) == seeded
    assert len(list(ds.iterate(epochs=2))) == 6
    assert seeded.iterate(memory="64M").stats().budget_bytes == 64 << 20
    assert seeded.iterate(memory=1 << 26).stats().budget_bytes == 64 << 20
    assert seeded.iterate(workers=np.int32(2)).stats().workers == 2


def test_shard_options():
    parts = [all_x(stoker.range(10).shard().batch(4).iterate(rank=i, world=3)) for i in range(3)]
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize(
    "options, kind, words",
    [
        ({"workers": -1}, ValueError, "workers"),
        ({"workers": 2.5}, TypeError, "workers"),
        ({"workers": "many"}, TypeError, "workers"),
        ({"workers": True}, TypeError, "workers"),
        ({"seed": [1]}, TypeError, "seed"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"memory": "lots"}, TypeError, "memory"),
        ({"memory": 10}, RuntimeError, "memory"),
        ({"epoch": -1}, ValueError, "epoch"),
        ({"epochs": 0}, ValueError, "epochs"),
        ({"seed": "1, workers=3"}, ValueError, "seed"),
        ({"speed": 3}, TypeError, "speed"),
    ],
)
def test_wrong_options(numbers, options, kind, words):
    with pytest.raises(kind, match=words):
        numbers.iterate(**options)


def test_plan(numbers):
    plan = numbers.shuffle(5).plan(workers=2)
    assert "2 workers" in str(plan) and "shuffle(5)" in str(plan)
    assert isinstance(plan.json, dict) and json.dumps(plan.json)
    assert repr(plan) in plan._repr_html_().replace("&#x27;", "'").replace("&gt;", ">")


def test_equality():
    assert stoker.range(10) == stoker.range(start=10, stop=None) == stoker.parse("range(2*5)")
    assert stoker.range(10) != stoker.range(11) and stoker.range(10) != "range(10)"
    assert len({stoker.range(10), stoker.range(0 + 10), stoker.range(11)}) == 2
    a = np.arange(3)
    one, other = stoker.from_arrays(a=a), stoker.from_arrays(a=a)
    assert one != other and one == one and one.batch(2) == one.batch(2) and hash(one) == hash(other)


def test_pickle(pictures):
    ds = stoker.image_folder(pictures).shuffle().decode().resize(4, 4).batch(2).options(seed=3)
    back = pickle.loads(pickle.dumps(ds))
    assert back == ds and [b.origins for b in back] == [b.origins for b in ds]
    assert copy.deepcopy(ds) == ds and copy.copy(ds) == ds


def test_pickle_arrays():
    ds = stoker.from_arrays(
        x=np.arange(6, dtype=np.int16).reshape(3, 2), t=["a", "", "ccc"], r=[[1], [2, 3], []]
    )
    back = pickle.loads(pickle.dumps(ds.batch(3)))
    batch = back.head(1)[0]
    assert batch.x.tolist() == [[0, 1], [2, 3], [4, 5]] and batch.x.dtype == "int16"
    assert batch.t == [b"a", b"", b"ccc"] and batch.r == [[1], [2, 3], []]


def some_numbers():
    yield from range(3)


def test_pickle_generators():
    ds = stoker.from_generator(some_numbers, "int64").batch(2)
    assert all_x(pickle.loads(pickle.dumps(ds))) == [0, 1, 2]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(stoker.from_generator(lambda: [], "int64"))


def test_signatures_are_real():
    signature = inspect.signature(stoker.Dataset.resize)
    assert list(signature.parameters)[:4] == ["self", "height", "width", "method"]
    assert signature.parameters["method"].default == "bilinear"
    assert inspect.signature(stoker.range).parameters["step"].default == 1
    assert "height: rows of the result" in stoker.Dataset.resize.__doc__
    assert "workers:" in stoker.Dataset.iterate.__doc__
    with pytest.raises(TypeError):
        stoker.range(10).batch()
    with pytest.raises(TypeError):
        stoker.range(10).batch(4, drop=True)


def test_devices_and_cpu():
    assert stoker.devices()["cores"]["usable"] >= 1
    stoker.cpu_limit("auto")
    with pytest.raises(ValueError):
        stoker.cpu_limit("mmx")


# ---- elements by lists of numbers ----


def test_lists_of_numbers():
    ds = stoker.range(10).map("x * x")
    assert str(ds[[3, 1, 3]]) == "range(10).map('x * x').pick([3, 1, 3])"
    assert [one.x for one in ds[[3, 1, -1, 3]]] == [9, 1, 81, 9]
    assert [one.x for one in ds[np.array([2, -10])]] == [4, 0]
    assert [one.x for one in ds[np.arange(10) % 4 == 1]] == [1, 25, 81]
    assert [one.x for one in ds[[np.int64(2), 1]]] == [4, 1] and len(ds[range(2, 5)]) == 3
    assert len(ds[[]]) == 0 and ds[[4, 2]][1].x == 4
    assert ds[(5, 6)].batch(2).head(1)[0].x.tolist() == [25, 36]
    many = [number % 10 for number in range(1000)]
    assert [one.x for one in ds[many]] == [number**2 for number in many]
    shuffled = stoker.range(10).shuffle()
    assert [one.x for one in shuffled[[4, 4]]] == [shuffled[4].x] * 2


def test_lists_of_numbers_that_are_wrong():
    ds = stoker.range(10)
    for key in ([10], [0, -11], np.array([3, 99])):
        with pytest.raises(IndexError, match="there are 10 elements, so there is no element"):
            ds[key]
    with pytest.raises(IndexError, match="a mask of 2"):
        ds[[True, False]]
    for key in (["a"], [1.5], [1, True]):
        with pytest.raises(TypeError, match="asked for by its number"):
            ds[key]
    with pytest.raises(stoker.Error, match="needs an input that can be read at random"):
        ds.filter("x > 3")[[1]]
    for text, cause in (
        ("range(3).pick([3])", "there are 3 elements, so there is no element 3"),
        ("range(3).pick([-1])", "there is no element -1"),
        ("range(3).pick([0.5])", "wants whole numbers"),
        ("range(3).pick([[1], [2]])", "wants whole numbers"),
    ):
        with pytest.raises(stoker.Error, match=cause):
            stoker.parse(text)
