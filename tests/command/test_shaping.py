# SPDX-License-Identifier: Apache-2.0
"""unbatch, batches of uneven rows, windows, buckets: what is refused and how, what skip leaves, what
`plan` says, and what waits counts in the budget. What they yield is in the model's tests."""

import json

import pytest

LISTS = "values({t: [[1, 2, 3], [4], [], [5, 6], [7]], n: [1, 2, 3, 4, 5]})"


def fields(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def run(stoker, chain, *words):
    return stoker("run", chain, "--dump", "--quiet", *words)


REFUSED = [
    ("range(3).unbatch()", "field 'x' has no first dimension", "unbatch"),
    ("values({s: ['a', 'b']}).rebatch(2)", "field 's' has no first dimension", "rebatch"),
    ("values({a: [[1, 2]], b: [[1, 2, 3]]}).unbatch()", "'a' has 2 entries, 'b' 3", "unbatch"),
    (LISTS + ".padded_batch(2, {u: [3]})", "no field 'u'", "u"),
    (LISTS + ".padded_batch(2, {t: [3, 4]})", "padded shape of field 't' is a list of 1", "[3, 4]"),
    (LISTS + ".padded_batch(2, [3])", "2 fields can be padded, so say which", "[3]"),
    (LISTS + ".padded_batch(2, {t: [-2]})", "whole numbers, and none", "-2"),
    (LISTS + ".padded_batch(2, {t: ['x']})", "whole numbers, and none", "'x'"),
    (LISTS + ".padded_batch(2, 'wide')", "padded_shapes is {field: [...]}", "'wide'"),
    (LISTS + ".padded_batch(2, none, 'a')", "padding value of field 't' is a number", "'a'"),
    (LISTS + ".padded_batch(2, none, {t: 0.5})", "int64, which cannot hold this", "0.5"),
    ("values({v: [[1]]}).cast(uint8).padded_batch(2, none, -1)", "uint8, which cannot", "-1"),
    ("values({v: [[1, 2]]}).padded_batch(2, [1])", "have 2 entries there", "1"),
    ("values({s: ['a']}).padded_batch(2, {s: []})", "'s' is text, which is not padded", "s"),
    (LISTS + ".batch(2).padded_batch(2)", "lists of lists, which are not padded", "padded_batch"),
    (LISTS + ".batch(2).batch(2).batch(2)", "lists of lists already", "batch"),
    ("values({s: [['a']]}).padded_batch(2, none, 1)", "padding value of field 's' is a string", "1"),
    ("values({s: [['a', 'b']]}).padded_batch(2, [1])", "have 2 entries there", "1"),
    (LISTS + ".padded_batch(2).ragged_batch(2)", "differ along dimension 1", "ragged_batch"),
    ("range(3).window(0)", "size", "0"),
    ("range(3).window(2, by=y)", "no field 'y'", "window"),
    (LISTS + ".window(2, by=t)", "a whole number or a text", "window"),
    ("range(3).window(2147483647, stride=2)", "at most 2147483647 elements", "window"),
    ("range(3).scale(1).group_by_window(x, 2)", "a whole number or a text", "group_by_window"),
    ("values({s: ['a']}).group_by_window(s, 2)", "a whole number is wanted", "group_by_window"),
    ("range(3).group_by_window(k, 2)", "no field 'k'", "group_by_window"),
    ("range(3).group_by_window('x / 2', 2)", "a whole number or a text", "group_by_window"),
    ("range(3).group_by_window('y % 2', 2)", "'y'", "group_by_window"),
    (LISTS + ".bucket_by_length(n, [2], [1, 1])", "'n' has no length", "bucket_by_length"),
    (LISTS + ".bucket_by_length(t, [2], [1, 1, 1])", "one number more", "bucket_by_length"),
    (LISTS + ".bucket_by_length(t, [2, 2], [1, 1, 1])", "ascending", "bucket_by_length"),
    (LISTS + ".bucket_by_length(t, [2.5], [1, 1])", "whole numbers", "bucket_by_length"),
    (LISTS + ".bucket_by_length(t, [2], [1, 0])", "whole numbers above 0", "bucket_by_length"),
    (
        LISTS + ".bucket_by_length(t, [2], [1, 1], pad_to_bucket_boundary=true, no_padding=true)",
        "exclude each other",
        "bucket_by_length",
    ),
]


@pytest.mark.parametrize("chain, says, at", REFUSED, ids=[chain for chain, _, _ in REFUSED])
def test_what_is_wrong_is_said_at_its_place(stoker, chain, says, at):
    done = run(stoker, chain)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    text, caret = done.stderr.splitlines()[1:3]
    width = len(caret.strip())
    assert text[caret.index("^") :][:width] == at, done.stderr


@pytest.mark.parametrize("tail", ["", ".shuffle(1)"])
def test_an_element_above_its_padded_shape_is_bad_and_skip_fills_the_batch(stoker, tail):
    chain = LISTS + ".padded_batch(2, {t: [2]}, {t: -1})" + tail
    done = run(stoker, chain)
    assert done.returncode == 1
    assert "padded_batch: values, element 0" in done.stderr
    assert "field 't' has 3 entries along dimension 0, and rows are padded to 2" in done.stderr
    assert fields(run(stoker, chain, "--on-error", "skip")) == [
        {"t": [[4, -1], [-1, -1]], "n": [2, 3]},
        {"t": [[5, 6], [7, -1]], "n": [4, 5]},
    ]


def test_replace_does_not_take_another_large_element(stoker):
    chain = LISTS + ".padded_batch(5, {t: [2]}, {t: -1})"
    (batch,) = fields(run(stoker, chain, "--on-error", "replace"))
    assert len(batch["n"]) == 5 and 1 not in batch["n"]


def test_one_padding_value_is_for_what_is_padded(stoker):
    (got,) = fields(run(stoker, LISTS + ".cast(uint8, n).padded_batch(5, none, -1)"))
    assert got["t"][:2] == [[1, 2, 3], [4, -1, -1]] and got["n"] == [1, 2, 3, 4, 5]


def test_lengths_that_differ_make_one_bad_element(stoker):
    chain = "values({a: [[1, 2], [3], [4]], b: [[1, 2], [3, 4], [5]]}).unbatch()"
    done = run(stoker, chain)
    assert done.returncode == 1 and "unbatch: values, element 1" in done.stderr
    assert "'a' has 1 entries, 'b' 2" in done.stderr
    got = fields(run(stoker, chain, "--on-error", "skip"))
    assert got == [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 4, "b": 5}]


@pytest.mark.parametrize(
    "op", ["window(2, 1)", "window(2, by=k)", "group_by_window(k, 2)", "batch(2)", "padded_batch(2)"]
)
def test_no_row_is_lost_or_doubled_under_skip(stoker, op):
    """With shift and size equal every good row is in one element; windows overlap by one."""
    chain = f"range(30).map('y = 10 // (x % 5); k = x % 3').{op}.unbatch()"
    got = [f["x"] for f in fields(run(stoker, chain, "--on-error", "skip"))]
    good = [x for x in range(30) if x % 5]
    times = [got.count(x) for x in good]
    assert sorted(set(got)) == good
    assert times == ([1] + [2] * (len(good) - 1) if op == "window(2, 1)" else [1] * len(good))


@pytest.mark.parametrize("chain, at, why", [
    ("range(9).batch(2).unbatch()", "unbatch", "how many rows an element makes is known once it is there"),
    ("range(9).batch(2).rebatch(3).take(1).map('x + 1')", "rebatch", "its rows are known once bad ones are judged"),
    ("range(9).window(2).map('x + 1')", "window", "its rows are known once bad ones are judged"),
    (LISTS + ".padded_batch(2).shuffle(2)", "padded_batch", "its rows are known once bad ones are judged"),
])
def test_plan_says_why_it_is_a_stream(stoker, chain, at, why):
    plan = json.loads(stoker("plan", chain, "--json").stdout)
    nodes = {node["op"]: node for stage in plan["stages"] for node in stage["nodes"]}
    assert nodes[at]["class"] == "stream" and nodes[at]["why"] == why


def test_a_computed_key_is_not_delivered(stoker):
    chain = "range(7).group_by_window('2 - x % 3', 2)"
    nodes = json.loads(stoker("plan", chain, "--json").stdout)["stages"][0]["nodes"]
    assert [n["op"] for n in nodes] == ["map", "range"] and nodes[0]["inserted"]
    for tail in ("", ".map('x + 0')", ".batch(1).unbatch()"):
        got = fields(run(stoker, chain + tail))
        assert got == [{"x": [0, 3]}, {"x": [1, 4]}, {"x": [2, 5]}, {"x": [6]}]


def test_plan_shows_what_is_put_in_and_what_is_kept(stoker):
    plan = json.loads(stoker("plan", "range(9).batch(2).rebatch(3)", "--json").stdout)
    nodes = {node["op"]: node for stage in plan["stages"] for node in stage["nodes"]}
    assert nodes["unbatch"]["inserted"] and plan["batch_rows"] == 3
    plan = json.loads(stoker("plan", "range(10000).window(1000, 1).map('x + 1')", "--json").stdout)
    held = {stage["kind"]: stage["held_bytes"] for stage in plan["stages"]}
    assert 8 * 1000 <= held["batching stage"] <= 100 * 1000


def test_counts_are_known_where_they_can_be(stoker):
    for chain, count in [
        ("range(10).window(3)", 4),
        ("range(10).window(3, 1)", 10),
        ("range(10).window(3, 1, 2, drop_remainder=true)", 6),
        ("range(3).window(4, 2, drop_remainder=true)", 0),
        ("range(10).padded_batch(4)", 3),
        ("range(10).batch(4, drop_remainder=true).unbatch()", 8),
    ]:
        plan = json.loads(stoker("plan", chain + ".prefetch().map('x')", "--json").stdout)
        counts = [node["count"] for stage in plan["stages"] for node in stage["nodes"]]
        assert counts[-1] == count, chain


def test_a_window_too_large_for_the_budget_is_said_when_it_is_built(stoker):
    done = run(stoker, "range(1000000000).window(100000000, 1)", "--memory", "100000000")
    assert done.returncode != 0 and "budget is 100000000" in done.stderr
    assert "window keeps" in done.stderr and "^~~~~~" in done.stderr


@pytest.mark.parametrize("op", ["window(5, by=x)", "group_by_window(x, 5)"])
def test_values_that_wait_count_in_the_budget(stoker, op):
    """Every element has a value of its own, so all of them wait."""
    done = run(stoker, f"range(1000000).{op}", "--memory", "4000000")
    assert done.returncode == 1 and not done.stdout
    assert "the rows that wait for each value take more than the memory budget" in done.stderr


def test_many_values_within_the_budget(stoker):
    got = fields(run(stoker, "range(40000).map('k = x // 2').window(2, by=k)", "--memory", "100000000"))
    assert [f["x"] for f in got] == [[2 * i, 2 * i + 1] for i in range(20000)]


@pytest.mark.parametrize("chain, stored", [
    ("range(4).window(3, 1, drop_remainder=true)", [[0, 1, 2], [1, 2, 3]]),
    ("range(4).window(3, 1, drop_remainder=true).shuffle(1)", [[0, 1, 2], [1, 2, 3]]),
    ("range(4).window(3, 1, drop_remainder=true).batch(2)", [[0, 1, 2], [1, 2, 3]]),
    ("range(4).group_by_window('x % 2', 2)", [[0], [2], [1], [3]]),
    ("values({x: [[1], [2, 3]]}).padded_batch(2)", [[1, 0], [2, 3]]),
    ("range(4).batch(2).unbatch()", [[0], [1], [2], [3]]),
])
def test_windows_are_packed_as_elements_and_batches_row_by_row(stoker, tmp_path, chain, stored):
    done = stoker("pack", chain, "--out", tmp_path / "a.tfrecord")
    assert done.returncode == 0, done.stderr
    read = f"tfrecord('{tmp_path / 'a.tfrecord'}').parse_example({{x: varlen(int64)}})"
    assert [f["x"] for f in fields(run(stoker, read))] == stored


def test_lists_of_a_window_cannot_be_packed(stoker, tmp_path):
    done = stoker("pack", LISTS + ".window(2)", "--out", tmp_path / "a.tfrecord")
    assert done.returncode != 0 and "'t' has several lists per element" in done.stderr


def test_texts_of_a_window_are_packed_as_a_list(stoker, tmp_path):
    chain = "values({x: [1, 2], s: ['a', 'b']}).window(2)"
    done = stoker("pack", chain, "--out", tmp_path / "a.tfrecord")
    assert done.returncode == 0, done.stderr
    read = f"tfrecord('{tmp_path / 'a.tfrecord'}').parse_example({{s: varlen(bytes)}})"
    assert [f["s"] for f in fields(run(stoker, read))] == [["a", "b"]]


def test_windows_of_an_endless_input(stoker):
    got = fields(run(stoker, "range(3).repeat().window(4, 2).take(3)"))
    assert [f["x"] for f in got] == [[0, 1, 2, 0], [2, 0, 1, 2], [1, 2, 0, 1]]


def test_buckets_without_padding(stoker):
    chain = LISTS + ".bucket_by_length(t, [2], [2, 1], no_padding=true)"
    got = [f["t"] for f in fields(run(stoker, chain))]
    assert got == [[[1, 2, 3]], [[4], []], [[5, 6]], [[7]]]


def test_a_bucket_pads_other_fields_to_its_boundary_too(stoker):
    chain = "values({a: [[1], [2, 2]], b: [[5, 5], [6]]})"
    words = "a, [4], [2, 1], pad_to_bucket_boundary=true"
    (got,) = fields(run(stoker, f"{chain}.bucket_by_length({words})"))
    assert got == {"a": [[1, 0, 0], [2, 2, 0]], "b": [[5, 5, 0], [6, 0, 0]]}
    done = run(stoker, f"{chain}.bucket_by_length({words.replace('4', '2')})")
    assert done.returncode == 1 and "along dimension 0, and rows are padded to 1" in done.stderr


@pytest.mark.parametrize("chain, shape", [
    ("range(12).batch(6, true).rebatch(3)", "3"),
    ("range(12).batch(6, true).rebatch(6)", "6"),
    ("range(12).batch(6, true).rebatch([3, 3])", "3"),
    ("range(12).batch(6, true).rebatch([3, 1])", "?"),
    ("range(12).batch(6, true).rebatch(4)", "?"),
    ("range(12).batch(6, true).rebatch(4, true)", "4"),
    ("range(12).batch(6).rebatch(3)", "?"),
])
def test_rebatch_keeps_shapes_that_are_known(stoker, chain, shape):
    """The rule of TensorFlow's element_spec, which tests/parity asks for the same chains."""
    assert f"{{x: int64[{shape}]}}" in stoker("plan", f"{chain}.map('x + 0')").stdout.splitlines()[3]


@pytest.mark.parametrize("policy", ["skip", "fail"])
def test_rebatch_beside_a_bad_batch_has_whole_batches(stoker, policy):
    """A batch that is bad as a whole is left out, so that the others stay whole."""
    chain = "range(16).batch(4, true).map('y = 100 // (x - 5)').rebatch(2).map('z = x').select(z)"
    chain += ".ignore_errors()" if policy == "fail" else ""
    done = stoker("run", chain, "--dump", "--quiet", "--on-error", policy)
    rows = [json.loads(line)["fields"]["z"] for line in done.stdout.splitlines()]
    assert rows == [[0, 1], [2, 3], [8, 9], [10, 11], [12, 13], [14, 15]], done.stderr
