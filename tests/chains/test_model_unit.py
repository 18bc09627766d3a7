# SPDX-License-Identifier: Apache-2.0
"""The model on its own: published vectors and examples small enough to work out by hand."""

import pytest
from model import bits, expression, language
from model.bits import below, mix
from model.expression import Value
from model.model import run


def xs(text, **options):
    """Field x of every element or batch delivered."""
    return [element["fields"]["x"] for element in run(text, **options).delivered]


# ---- bits ----


@pytest.mark.parametrize(
    "counter, key, words",
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 4,
            [0xFFFFFFFF] * 2,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_vectors(counter, key, words):
    assert list(bits.philox(counter, key)) == words


def test_mix_is_a_step_of_splitmix():
    """With a = 0 mix is SplitMix64's output function, whose vectors are published: from seed 0 the
    first step leads to the golden ratio, and the first output is e220a8397b1dcdaf."""
    golden = 0x9E3779B97F4A7C15
    assert mix(0, golden - 0xD1B54A32D192ED03 & bits.MASK64) == 0xE220A8397B1DCDAF
    assert mix(1, 2) != mix(2, 1)


def test_the_numbers_that_chains_depend_on_never_change():
    assert mix(1, 2) == 0x272F6D14C9FCBA77
    assert bits.key_make(1, 2, 3) == (0xC95690843E6B4E35, 0x33030F7F8B6E3208)
    assert bits.hash_bytes(0, b"stoker") == 0x3DD2869D3AF1AB53
    assert bits.hash_bytes(7, bytes(range(45))) == 0x183C6022457DA4A9
    assert [bits.permute(100, 7, i) for i in range(8)] == [34, 15, 51, 60, 24, 75, 48, 5]


def test_keys_differ_by_source_path_and_index():
    keys = {bits.key_make(s, p, i) for s in range(4) for p in range(4) for i in range(4)}
    assert len(keys) == 64
    a, b = bits.key_make(0, 0, 0), bits.key_make(1, 0, 0)
    assert bits.key_join(a, b) == (mix(a[0], b[0]), mix(a[1], b[1]))


def test_hash_bytes_sees_every_byte_and_the_length():
    data = bytes(range(100))
    hashes = {bits.hash_bytes(0, data[:n]) for n in range(101)}
    flips = {
        bits.hash_bytes(0, data[:n] + b"?" + data[n + 1 :]) for n in range(100) if n != ord("?")
    }
    zeros = {bits.hash_bytes(0, bytes(n)) for n in range(70)}
    assert len(hashes) == 101 and len(flips) == 99 and len(zeros) == 70
    assert bits.hash_bytes(0, b"") == mix(mix(1, bits.lane(2, 0)), mix(mix(3, 4), 0))


def test_below_covers_its_range_evenly():
    counts = [0] * 7
    for i in range(7000):
        counts[below(mix(1, i), 7)] += 1
    assert min(counts) > 850 and max(counts) < 1150
    assert below(bits.MASK64, 7) == 6 and below(0, 7) == 0


def test_unit_float_stays_below_one():
    assert bits.unit_float(0) == 0.0
    assert bits.unit_float(0xFFFFFFFF) == 1 - 2.0**-24


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 100, 257, 1000])
def test_permute_is_a_permutation_that_depends_on_its_key(count):
    images = [bits.permute(count, 42, i) for i in range(count)]
    assert sorted(images) == list(range(count))
    if count >= 16:
        assert images != [bits.permute(count, 43, i) for i in range(count)]
        assert images != list(range(count))


# ---- language ----


@pytest.mark.parametrize(
    "text",
    [
        "range(10)",
        "range(0, 10, step=-1).shuffle(seed=7).batch(4, drop_remainder=true)",
        "values({a: [1, 2.5], b: ['p', 'it\\'s']}).map('y = a + 1')",
        "zip(range(3), range(4).map('y = x')).prefetch(auto)",
        "range(3).concatenate(range(4), range(5)).split([0.5, 0.25], 1, by='x')",
    ],
)
def test_show_is_the_inverse_of_parse(text):
    assert language.show(language.parse(text)) == text


def test_calls_are_numbered_as_they_are_read():
    chain = language.parse("zip(range(3), range(4).take(2)).batch(2)")
    zipped, batch = chain.calls
    assert zipped.ordinal == 0 and batch.ordinal == 4
    assert [call.ordinal for arg in zipped.args for call in arg.calls] == [1, 2, 3]


def test_numbers_may_be_arithmetic():
    (call,) = language.parse("scale(1/255, -2*(3 - 1) + 1)").calls
    assert call.args == [1 / 255, -3]


@pytest.mark.parametrize("text", ["", "range(", "range(3).", "range(3) 4", "range(3))", "range(?)"])
def test_text_that_is_no_chain_is_refused(text):
    with pytest.raises(SyntaxError):
        language.parse(text)


# ---- expressions ----


@pytest.mark.parametrize(
    "text, dtype, data",
    [
        ("x + 1", "int64", 8),
        ("x - 9", "int64", -2),
        ("-x // 2", "int64", -4),
        ("-x % 4", "int64", 1),
        ("x * 9223372036854775807", "int64", 9223372036854775801),
        ("x / 2", "float32", 3.5),
        ("x / 3", "float32", 2.3333332538604736),
        ("u + 250", "uint8", 1),
        ("f + 1", "float32", 1.5),
        ("f * 0.1", "float32", 0.05000000074505806),
        ("f / 0", "float32", float("inf")),
        ("x > 6", "bool", True),
        ("where(x == 7, x, 0)", "int64", 7),
        ("where(f < 0.5, f, 2)", "float32", 2.0),
        ("float32(x) * f", "float32", 3.5),
        ("int32(f * 5)", "int32", 2),
        ("uint8(f * 1000)", "uint8", 255),
        ("uint8(x - 8)", "uint8", 255),
        ("uint8(f - 9)", "uint8", 0),
        ("float32(x * 0 + 9007199791611905)", "float32", 2.0**53 + 2.0**30),
        ("v + 1", "int64", [2, 3]),
        ("max(v, 2) & 6 | 8", "int64", [10, 10]),
        ("abs(u - 9)", "uint8", 254),
        ("x > 3 and not f > 1 or x == 0", "bool", True),
    ],
)
def test_expression(text, dtype, data):
    fields = {
        "x": Value("int64", 7),
        "u": Value("uint8", 7),
        "f": Value("float32", 0.5),
        "v": Value("int64", [1, 2]),
    }
    assert expression.assign("y = " + text, fields)["y"] == Value(dtype, data)


def test_statements_see_the_ones_before():
    fields = expression.assign("y = x * 2; x = y + 1;", {"x": Value("int64", 3)})
    assert fields == {"x": Value("int64", 7), "y": Value("int64", 6)}


@pytest.mark.parametrize("text", ["x + f", "x + 0.5", "b + 1", "where(b, x, f)"])
def test_kinds_do_not_mix_without_a_cast(text):
    fields = {"x": Value("int64", 1), "f": Value("float32", 1.0), "b": Value("bool", True)}
    with pytest.raises(TypeError):
        expression.assign("y = " + text, fields)


@pytest.mark.parametrize("text", ["x // z", "x % z", "where(z > 0, x // z, 0)"])
def test_an_integer_division_by_zero_makes_the_row_bad(text):
    with pytest.raises(expression.RowError):
        expression.assign("y = " + text, {"x": Value("int64", 1), "z": Value("int64", 0)})


# ---- ops ----


@pytest.mark.parametrize(
    "chain, expected",
    [
        ("range(3)", [0, 1, 2]),
        ("range(5, 1, -2)", [5, 3]),
        ("range(1, 5, -2)", []),
        ("range(5).take(2)", [0, 1]),
        ("range(3).take(-1)", [0, 1, 2]),
        ("range(3).take(0)", []),
        ("range(5).skip(3)", [3, 4]),
        ("range(5).skip(-1)", []),
        ("range(7).shard(3, 1)", [1, 4]),
        ("range(7).shard()", [0, 1, 2, 3, 4, 5, 6]),
        ("range(7).shard(3, 0)", [0, 3, 6]),
        ("range(7).shard(3, 0, remainder=drop)", [0, 3]),
        ("range(7).shard(3, 0, remainder=pad)", [0, 3, 6]),
        ("range(7).shard(3, 2, remainder=pad)", [2, 5, 1]),
        ("range(2).shard(5, 4, remainder=pad)", [0]),
        ("range(0).shard(5, 4, remainder=pad)", []),
        ("concatenate(range(2), range(1))", [0, 1, 0]),
        ("range(2).concatenate(range(3), range(1))", [0, 1, 0, 1, 2, 0]),
        ("range(2).repeat(2)", [0, 1, 0, 1]),
        ("range(2).repeat().take(5)", [0, 1, 0, 1, 0]),
        ("range(0).repeat()", []),
        ("range(6).filter('x % 2 == 0')", [0, 2, 4]),
        ("range(4).map('x * x')", [0, 1, 4, 9]),
        ("range(3).prefetch(2)", [0, 1, 2]),
        ("range(5).batch(2)", [[0, 1], [2, 3], [4]]),
        ("range(5).batch(2, drop_remainder=true)", [[0, 1], [2, 3]]),
        ("range(3).batch(2).repeat(2)", [[0, 1], [2], [0, 1], [2]]),
        ("range(5).batch(2).skip(1).take(1)", [[2, 3]]),
        ("range(4).batch(2).map('x + 1')", [[1, 2], [3, 4]]),
        ("range(4).batch(2).batch(2)", [[[0, 1], [2, 3]]]),
        ("range(5).batch(3).ragged_batch(2)", [[[0, 1, 2], [3, 4]]]),
        ("range(5).batch(3).padded_batch(2)", [[[0, 1, 2], [3, 4, 0]]]),
        ("range(5).batch(3).padded_batch(2, {x: [4]}, -1)", [[[0, 1, 2, -1], [3, 4, -1, -1]]]),
        ("range(5).window(3, 2)", [[0, 1, 2], [2, 3, 4], [4]]),
        ("range(5).window(2, 1, 3)", [[0, 3], [1, 4], [2], [3], [4]]),
        ("range(5).window(2, 3, drop_remainder=true)", [[0, 1], [3, 4]]),
        ("range(5).window(2, 4)", [[0, 1], [4]]),
        ("range(5).batch(3).unbatch()", [0, 1, 2, 3, 4]),
        ("range(5).batch(3).rebatch(2)", [[0, 1], [2, 3], [4]]),
        ("range(3).cast(uint8).map('x - 1')", [255, 0, 1]),
        ("range(3).scale(0.5, 1)", [1.0, 1.5, 2.0]),
        ("range(3).shuffle(1)", [0, 1, 2]),
    ],
)
def test_op(chain, expected):
    assert xs(chain) == expected


def test_shard_takes_its_part_from_the_run():
    assert xs("range(7).shard()", rank=1, world=3) == [1, 4]


def test_fields_keep_their_order():
    chain = "values({a: [1], b: ['p'], c: [2.5]})"
    assert list(run(chain).delivered[0]["fields"].items()) == [("a", 1), ("b", b"p"), ("c", 2.5)]
    renamed = run(chain + ".rename({a: z}).select('c', 'z')").delivered[0]["fields"]
    assert list(renamed.items()) == [("c", 2.5), ("z", 1)]


def test_zip_stops_at_the_shortest_and_joins_fields():
    out = run("zip(range(9), range(2).rename({x: y}))").delivered
    assert [element["fields"] for element in out] == [{"x": 0, "y": 0}, {"x": 1, "y": 1}]


def test_global_shuffle_follows_seed_and_epoch():
    first, second = (xs("range(33).shuffle()", epochs=2)[k : k + 33] for k in (0, 33))
    assert sorted(first) == sorted(second) == list(range(33)) and first != second
    assert first != xs("range(33).shuffle()", seed=1)
    assert first != xs("range(33).shuffle(seed=1)")
    fixed = xs("range(33).shuffle(reshuffle_each_iteration=false)", epochs=2)
    assert fixed[:33] == fixed[33:]


def test_global_shuffle_by_hand():
    """shuffle is call 1, the run's seed 5, the epoch 0: every step of its key is spelt out."""
    key = mix(mix(mix(5, 1), 0), mix(0, 0))
    assert xs("range(10).shuffle()", seed=5) == [bits.permute(10, key, i) for i in range(10)]


def test_buffer_shuffle_by_hand():
    """A buffer of 2 over 0, 1, 2: the first draw is made when 2 arrives, two more at the end."""
    key = mix(mix(mix(0, 1), 0), mix(0, 0))
    held, expected = [0, 1], []
    first = below(mix(key, 0), 2)
    expected.append(held[first])
    held[first] = 2
    second = below(mix(key, 1), 2)
    expected += [held[second], held[1 - second]]
    assert xs("range(3).shuffle(2)") == expected


def test_shuffle_inside_repeat_differs_per_pass_and_outside_mixes_passes():
    inside = xs("range(33).shuffle().repeat(2)")
    assert sorted(inside[:33]) == sorted(inside[33:]) == list(range(33))
    assert inside[:33] != inside[33:]
    outside = xs("range(33).repeat(2).shuffle()")
    assert sorted(outside) == sorted(inside) and sorted(outside[:33]) != list(range(33))


def test_split_parts_are_disjoint_and_complete():
    parts = [xs(f"range(101).split([0.7, 0.2, 0.1], {p})") for p in range(3)]
    assert [len(part) for part in parts] == [71, 20, 10]
    assert sorted(sum(parts, [])) == list(range(101))
    assert parts[0] == xs("range(101).split([0.7, 0.2, 0.1], 0)", seed=9)


def test_split_by_keeps_groups_together_and_order():
    chain = "range(300).map('g = x % 10').split([0.5, 0.5], {}, by='g')"
    parts = [run(chain.format(p)).delivered for p in range(2)]
    groups = [{e["fields"]["g"] for e in part} for part in parts]
    assert groups[0].isdisjoint(groups[1]) and len(groups[0] | groups[1]) == 10
    order = [e["fields"]["x"] for e in parts[0]]
    assert order == sorted(order)


# ---- bad rows ----

BAD_AT_3 = "range(8).map('y = 10 // (x - 3)')"


def test_fail_delivers_what_came_before():
    out = run(BAD_AT_3 + ".batch(2)")
    assert [e["fields"]["x"] for e in out.delivered] == [[0, 1]]
    assert "zero" in out.error
    assert xs(BAD_AT_3) == [0, 1, 2]


def test_skip_closes_the_gap():
    assert xs(BAD_AT_3 + ".batch(2)", on_error="skip") == [[0, 1], [2, 4], [5, 6], [7]]
    assert xs(BAD_AT_3 + ".batch(3, drop_remainder=true)", on_error="skip") == [
        [0, 1, 2],
        [4, 5, 6],
    ]


def test_a_bad_row_is_a_row_for_order_ops_and_passes_filters():
    assert xs(BAD_AT_3 + ".take(5)", on_error="skip") == [0, 1, 2, 4]
    assert xs(BAD_AT_3 + ".skip(2)", on_error="skip") == [2, 4, 5, 6, 7]
    assert xs(BAD_AT_3 + ".shard(2, 0)", on_error="skip") == [0, 2, 4, 6]
    assert run(BAD_AT_3 + ".filter('x < 3')").error is not None


def test_take_after_batch_never_sees_a_later_bad_row():
    out = run(BAD_AT_3 + ".batch(3).take(1)")
    assert out.error is None and len(out.delivered) == 1


def test_replace_redraws_by_key():
    key = bits.key_make(0, mix(0, 0), 3)
    redrawn = next(x for x in (below(mix(mix(*key), t), 8) for t in range(1, 17)) if x != 3)
    assert xs(BAD_AT_3, on_error="replace") == [0, 1, 2, redrawn, 4, 5, 6, 7]


def test_replace_gives_up_when_every_row_is_bad():
    out = run("range(4).map('y = x // (x - x)')", on_error="replace")
    assert out.delivered == [] and out.error is not None


def test_max_errors_counts_in_each_epoch():
    assert run(BAD_AT_3, on_error="skip", max_errors=1, epochs=2).error is None
    out = run(BAD_AT_3, on_error="skip", max_errors=0, epochs=2)
    assert out.error is not None and len(out.delivered) == 3


def test_max_errors_as_a_fraction():
    chain = "range({}).map('y = 10 // (x % 10)')"
    assert run(chain.format(50), on_error="skip", max_errors=0.1).error is None
    late = run(chain.format(50), on_error="skip", max_errors=0.05)
    assert late.error is not None and len(late.delivered) == 45
    early = run(chain.format(500), on_error="skip", max_errors=0.05)
    assert early.error is not None and len(early.delivered) == 90


def test_files_are_sorted_and_a_missing_one_is_a_bad_row(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).write_bytes(name.encode() * 3)
    names = language.show([f"{tmp_path}/{name}" for name in ("b", "none", "a", "b")])
    chain = f"files({names}, labels=[1, 2, 3, 1]).read()"
    out = run(chain, on_error="skip").delivered
    assert [e["fields"] for e in out] == [
        {"bytes": b"aaa", "label": 3},
        {"bytes": b"bbb", "label": 1},
    ]
    assert out[0]["origin"] == [f"{tmp_path}/a"]
    assert "No such file" in run(chain).error


def test_lines(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"a\r\n\nb\r")
    two.write_bytes(b"c\n")
    out = run(f"lines(['{one}', '{two}'])").delivered
    assert [e["fields"]["text"] for e in out] == [b"a", b"", b"b\r", b"c"]
    assert [e["origin"] for e in out[2:]] == [[f"{one}, line 3"], [f"{two}, line 1"]]


def test_values_of_every_kind():
    chain = "values({i: [1, 2], r: [1, 0.1], t: [true, false], v: [[1, 2], [3, 4]], g: [[], [5]]})"
    first, second = (e["fields"] for e in run(chain).delivered)
    assert first == {"i": 1, "r": 1.0, "t": True, "v": [1, 2], "g": []}
    assert second == {"i": 2, "r": expression.round_float32(0.1), "t": False, "v": [3, 4], "g": [5]}
    assert run(chain + ".batch(2)").delivered[0]["fields"]["g"] == [[], [5]]
