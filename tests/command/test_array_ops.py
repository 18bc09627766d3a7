# SPDX-License-Identifier: Apache-2.0
"""one_hot, pad, slice and concat_fields: shapes, rules at the borders, and what is refused."""

import itertools

import pytest
from model.language import show
from rows_of import elements, error, values

DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]


# ---- one_hot ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_hot_of_every_integer_dtype(stoker, dtype):
    chain = f"values({{x: [0, 2, 3, -1, 4000000000]}}).cast({dtype}).one_hot(3, dtype=int32)"
    last = {"uint8": 0, "int8": 0, "uint16": 10240, "int16": 10240}.get(dtype, 9)
    expected = [[int(k == x) for k in range(3)] for x in [0, 2, 3, -1, last]]
    assert values(stoker, chain, "x") == expected


@pytest.mark.parametrize("dtype", ["bool", "float16", "bfloat16", "float64", "uint64"])
def test_one_hot_in_every_dtype(stoker, dtype):
    got = values(stoker, f"values({{x: [1]}}).one_hot(2, dtype={dtype}).cast(int32)", "x")
    assert got == [[0, 1]]


def test_one_hot_keeps_shapes(stoker):
    chain = "values({m: [[[0, 1], [2, 9]]], l: [[1]]}).one_hot(2, m).one_hot(2, l, on=7, off=-7)"
    assert elements(stoker, chain) == [
        {"m": [[[1, 0], [0, 1]], [[0, 0], [0, 0]]], "l": [[-7, 7]]}
    ]
    plan = stoker("plan", "values({l: [[1], []]}).one_hot(3)").stdout
    assert "ragged float32[?, 3]" in plan


@pytest.mark.parametrize("call, why", [
    ("one_hot(3, on=2.5, dtype=int8)", "int8 cannot be 2.5"),
    ("one_hot(3, off=-1, dtype=uint8)", "uint8 cannot be -1"),
    ("one_hot(0)", "depth"),
    ("one_hot(3, y)", "there is no field 'y'"),
    ("cast(float32).one_hot(3)", "needs a field of integers"),
    ("batch(2).one_hot(2147483647).one_hot(2147483647, x)", "a field of integers is needed"),
    ("one_hot(3, into='')", "the name of the new field is empty"),
])
def test_one_hot_refuses(stoker, call, why):
    said = error(stoker, f"range(3).{call}")
    assert why in said and "^" in said


# ---- pad ----


def test_pad_of_every_kind(stoker):
    chain = "values({a: [[1, 2]], m: [[[1, 2], [3, 4]]], l: [[5]]})"
    chain += ".pad([3], field=a).pad([2, 3], value=9, field=m).pad([2], value=-1, field=l, into=p)"
    assert elements(stoker, chain) == [
        {"a": [1, 2, 0], "m": [[1, 2, 9], [3, 4, 9]], "l": [5], "p": [5, -1]}
    ]
    shaped = "range(5).batch(2).pad([3], value=8)"
    assert values(stoker, shaped, "x") == [[0, 1, 8], [2, 3, 8], [4, 8, 8]]


def test_pad_makes_lists_batchable(stoker):
    chain = "values({l: [[1, 2, 3], [], [4]]}).pad([3]).batch(3, drop_remainder=true)"
    assert "{l: int64[3]}" in stoker("plan", chain).stdout
    assert values(stoker, chain, "l") == [[[1, 2, 3], [0, 0, 0], [4, 0, 0]]]


def test_pad_larger_element_is_bad(stoker):
    chain = "values({l: [[1, 2], [1, 2, 3], []]}).pad([2])"
    said = error(stoker, chain)
    assert "pad: values, element 1" in said and "the field 'l' is [3], which is larger than [2]" in said
    assert [e["l"] for e in elements(stoker, chain, "--on-error", "skip")] == [[1, 2], [0, 0]]


@pytest.mark.parametrize("call, why", [
    ("pad([2, 2])", "has 1 dimensions, but the shape has 2"),
    ("pad([2])", "is [3], which is larger than the shape"),
    ("pad([0])", "whole numbers from 1"),
    ("pad([3.5])", "whole numbers from 1"),
    ("pad([3], value=0.5)", "int64 cannot be 0.5"),
    ("cast(uint8).pad([4], value=256)", "uint8 cannot be 256"),
])
def test_pad_refuses(stoker, call, why):
    said = error(stoker, f"values({{v: [[1, 2, 3]]}}).{call}")
    assert why in said and "^" in said


# ---- slice ----

ENDS = [None, -9, -4, -3, -1, 0, 1, 3, 4, 9]


def test_slice_is_pythons(stoker):
    """Every start, stop and step over lists of each length, in one run per step."""
    lists = [list(range(n)) for n in range(6)]
    table = f"values({{l: {show(lists)}}})"
    for step in [1, 2, 3, 9, -1, -2, -9, 2**63 - 1, -(2**63 - 2)]:
        cases = list(itertools.product(ENDS, ENDS))
        for some in [cases[i : i + 25] for i in range(0, len(cases), 25)]:
            calls = [
                f"slice({show_end(a)}, {show_end(b)}, {step}, field=l, into=f{i})"
                for i, (a, b) in enumerate(some)
            ]
            for n, fields in enumerate(elements(stoker, ".".join([table, *calls]))):
                for i, (a, b) in enumerate(some):
                    assert fields[f"f{i}"] == list(range(n))[a:b:step], (n, a, b, step)


def show_end(end):
    return "none" if end is None else end


def test_slice_of_bytes_and_arrays(stoker):
    chain = "values({t: ['hello', ''], m: [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 1, 2]]]})"
    chain += ".slice(1, -1, field=t, into=a).slice(none, none, -2, field=t, into=b)"
    chain += ".slice(step=2, axis=1, field=m, into=c).slice(-1, axis=-2, field=m, into=d)"
    assert [list(e.values())[2:] for e in elements(stoker, chain)] == [
        ["ell", "olh", [[1, 3], [4, 6]], [[4, 5, 6]]],
        ["", "", [[7, 9], [0, 2]], [[0, 1, 2]]],
    ]


def test_slice_of_batches(stoker):
    got = values(stoker, "range(5).batch(2).slice(1)", "x")
    assert got == [[1], [3], []]


@pytest.mark.parametrize("call, why", [
    ("slice(step=0)", "the step cannot be 0"),
    ("slice(axis=1)", "the axis 1 is not one of the 1"),
    ("slice(axis=-2)", "the axis -2 is not one of the 1"),
    ("slice(2, 1)", "takes nothing of the 3"),
    ("slice(3)", "takes nothing of the 3"),
    ("map('v = sum(v)').slice(1)", "needs a field with arrays, lists or bytes"),
])
def test_slice_refuses(stoker, call, why):
    said = error(stoker, f"values({{v: [[1, 2, 3]]}}).{call}")
    assert why in said and "^" in said


# ---- concat_fields ----

TABLE = "values({a: [1], v: [[2, 3]], m: [[[1, 2], [3, 4]]], n: [[[5], [6]]], l: [[7]], k: [[]], t: ['x']})"


@pytest.mark.parametrize("call, expected, kind", [
    ("[a, a, a]", [1, 1, 1], "int64[3]"),
    ("[v, a]", [2, 3, 1], "int64[3]"),
    ("[m, n], axis=1", [[1, 2, 5], [3, 4, 6]], "int64[2, 3]"),
    ("[m, m]", [[1, 2], [3, 4], [1, 2], [3, 4]], "int64[4, 2]"),
    ("[m, n], axis=-1", [[1, 2, 5], [3, 4, 6]], "int64[2, 3]"),
    ("[m]", [[1, 2], [3, 4]], "int64[2, 2]"),
])
def test_concat_fields(stoker, call, expected, kind):
    chain = f"{TABLE}.concat_fields({call}, into=c)"
    assert values(stoker, chain, "c") == [expected]
    assert f"c: {kind}" in stoker("plan", chain).stdout


def test_concat_fields_of_lists(stoker):
    chain = "values({a: [1, 2], l: [[7], []], k: [[], [8, 9]]}).concat_fields([l, a, k], into=c)"
    assert values(stoker, chain, "c") == [[7, 1], [2, 8, 9]]
    assert "c: ragged int64[?]" in stoker("plan", chain).stdout


def test_concat_fields_of_batches(stoker):
    """Of shaped fields: the first dimension of a batch may differ, and must not."""
    chain = "range(5).map('y = x * 10').batch(2).concat_fields([x, y], into=c)"
    assert values(stoker, chain, "c") == [[0, 1, 0, 10], [2, 3, 20, 30], [4, 40]]
    zipped = "zip(range(5).batch(2).one_hot(2), range(5).rename({x: y}).batch(3).one_hot(3))"
    said = error(stoker, f"{zipped}.concat_fields([x, y], into=c, axis=1)")
    assert "'x' is [2, 2] and 'y' is [3, 3]" in said


@pytest.mark.parametrize("call, why", [
    ("[v, m], into=c", "they do not fit together"),
    ("[m, n], into=c", "'m' is int64[2, 2] and 'n' is int64[2, 1]"),
    ("[a, t], into=c", "text_join is for texts"),
    ("[a, z], into=c", "there is no field 'z'"),
    ("[a, v], axis=1, into=c", "the axis 1 is not one of the 1"),
    ("[], into=c", "fields"),
    ("[a], into=''", "the name of the new field is empty"),
])
def test_concat_fields_refuses(stoker, call, why):
    said = error(stoker, f"{TABLE}.concat_fields({call})")
    assert why in said and "^" in said


def test_dtypes_must_agree(stoker):
    said = error(stoker, "values({a: [1], b: [1.5]}).concat_fields([a, b], into=c)")
    assert "'a' is int64[1] and 'b' is float32[1]" in said


def test_results_take_the_place_of_fields(stoker):
    """Without a name that of the input; a name that is there is replaced where it stands."""
    table = "values({a: [1], b: [[2, 3]], c: [4]})"
    assert list(elements(stoker, f"{table}.slice(0, 1)")[0].items())[1] == ("b", [2])
    got = elements(stoker, f"{table}.one_hot(2, b, into=a)")[0]
    assert list(got) == ["a", "b", "c"] and got["a"] == [[0, 0], [0, 0]]
    assert list(elements(stoker, f"{table}.pad([3], into=d)")[0]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("call", [
    "one_hot(3, x)", "pad([3], field=l)", "slice(0, 2, field=l)", "concat_fields([x, l], into=c)",
])
def test_rows_keep_their_class(stoker, call):
    plan = stoker("plan", f"values({{x: [1, 2], l: [[1], []]}}).{call}.shuffle()").stdout
    assert "stream" not in plan
