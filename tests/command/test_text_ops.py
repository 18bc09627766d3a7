# SPDX-License-Identifier: Apache-2.0
"""The ops on texts and lookup: rules at the borders, and what is refused."""

import gzip
import json
import random
import sys
import unicodedata

import pytest
from model.language import show
from model.text_ops import fingerprint
from rows_of import elements, error, values


def texts(*items):
    return f"values({{t: {show(list(items))}}})"


# ---- case ----

ASCII = "".join(map(chr, range(1, 128)))


def test_case_without_an_encoding_is_ascii(stoker):
    """Letters, and what lies beside them, at every place of a word of eight bytes."""
    items = [ASCII, *(ASCII[at : at + 11] for at in range(50, 127)), "ÄÖÜßéñ", ""]
    lower = [item.lower() if item.isascii() else item for item in items]
    upper = [item.upper() if item.isascii() else item for item in items]
    assert values(stoker, f"{texts(*items)}.text_lower()", "t") == lower
    assert values(stoker, f"{texts(*items)}.text_upper()", "t") == upper


def test_case_of_unicode(stoker):
    """Every character, as far as this Python knows the same version of Unicode."""
    known = range(1, 0x110000) if unicodedata.unidata_version == "14.0.0" else range(1, 0x530)
    letters = [chr(c) for c in known if not 0xD800 <= c < 0xE000]
    changed = [c for c in letters if c.lower() != c or c.upper() != c]
    for items in (["".join(changed[i : i + 200]) for i in range(0, len(changed), 200)], changed[:50]):
        lower = ["".join(map(str.lower, item)) for item in items]
        upper = ["".join(map(str.upper, item)) for item in items]
        chain = f"{texts(*items)}.text_lower(encoding='utf-8', into=l).text_upper(t, 'utf-8', u)"
        got = elements(stoker, chain)
        assert [fields["l"] for fields in got] == lower
        assert [fields["u"] for fields in got] == upper


def test_case_keeps_what_is_no_utf8(stoker, tmp_path):
    (tmp_path / "odd").write_bytes(b"A\xff\xc3B\xe2\x82")
    chain = f"files(['{tmp_path}/odd']).read().text_lower(encoding='utf-8').decode_raw(uint8)"
    assert values(stoker, chain, "bytes") == [list(b"a\xff\xc3b\xe2\x82")]


def test_case_refuses(stoker):
    assert "the encoding is '' or 'utf-8', not 'latin'" in error(
        stoker, f"{texts('a')}.text_lower(encoding=latin)"
    )
    assert "needs a field of bytes" in error(stoker, "range(3).text_lower()")
    said = error(stoker, f"{texts('a')}.batch(1).batch(1).text_lower()")
    assert "needs a field of bytes" in said and "^" in said


# ---- strip, split, join ----


def test_strip(stoker):
    items = [" a b\t\n\v\f\r", "\u00a0x\u00a0", "", "   ", "xax", "^-]"]
    assert values(stoker, f"{texts(*items)}.text_strip()", "t") == [
        item.encode().strip(b" \t\n\v\f\r").decode() for item in items
    ]
    for chars in ["x", "", "a x", "]^-"]:
        chain = f"{texts(*items)}.text_strip({show(chars)})"
        assert values(stoker, chain, "t") == [item.strip(chars) if chars else item for item in items]


SPLIT = ["a,b", "a", "", ",", "a,,b", " a  b c ", "  ", "aXYbXYX", "XY", "aXbYXY,c"]


@pytest.mark.parametrize("sep", [",", "", "XY", "a"])
@pytest.mark.parametrize("maxsplit", [-1, 0, 1, 2])
def test_split_is_pythons(stoker, sep, maxsplit):
    names = "[p0, p1, p2, p3, p4]"
    call = f"text_split({show(sep)}, {names}, maxsplit={maxsplit}, missing='<none>')"
    for item, fields in zip(SPLIT, elements(stoker, f"{texts(*SPLIT)}.{call}"), strict=True):
        pieces = item.split(sep or None, maxsplit)
        expected = pieces + ["<none>"] * (5 - len(pieces))
        assert [fields[f"p{i}"] for i in range(5)] == expected, item


@pytest.mark.parametrize("sep", [",", "", "XY", "a"])
@pytest.mark.parametrize("maxsplit", [-1, 0, 1])
def test_split_into_a_list(stoker, sep, maxsplit):
    for after in ["", ".shuffle().take(-1)", ".shuffle(3)", ".filter('i >= 0')"]:
        table = f"values({{t: {show(SPLIT)}, i: {show(list(range(len(SPLIT))))}}})"
        chain = f"{table}.text_split({show(sep)}, maxsplit={maxsplit}){after}"
        got = {fields["i"]: fields["t"] for fields in elements(stoker, chain)}
        assert got == {i: item.split(sep or None, maxsplit) for i, item in enumerate(SPLIT)}


@pytest.mark.parametrize("call, why", [
    ("batch(2).batch(2)", "rows of the field 't' are lists of lists already"),
    ("map('n = t == 1')", "lists of texts only len()"),
    ("filter('t == \\'a\\'')", "lists of texts only len()"),
    ("lookup([a], sep=' ')", "sep cuts texts, and the field 't' has lists of them"),
    ("padded_batch(2, padding_values={t: 1})", "the padding value of field 't' is a string"),
    ("padded_batch(2, {t: [1, 2]})", "the padded shape of field 't' is a list of 1"),
    ("text_split(',')", "needs a field of bytes, but gets {t: list of text}"),
    ("batch(2).text_join([t])", "field 't' is list of list of text, but a field of texts is needed"),
    ("batch(2).text_lower()", "needs a field of bytes, but gets {t: list of list of text}"),
    ("concatenate(values({t: ['a']}))", "input 2 has {t: text}, but the first has {t: list of text}"),
])
def test_list_of_texts_is_no_text(stoker, call, why):
    said = error(stoker, f"{texts('a b', 'c')}.text_split(' ').{call}")
    assert why in said and "^" in said


def test_lists_of_known_and_unknown_length_follow_each_other(stoker):
    split = f"{texts('a b', 'c')}.text_split(' ')"
    assert values(stoker, f"{split}.concatenate(values({{t: [['a']]}}))", "t") == [["a", "b"], ["c"], ["a"]]
    batched = f"{split}.batch(1).concatenate(values({{t: [['a']]}}).batch(1))"
    assert [row["t"] for row in elements(stoker, batched)] == [[["a", "b"]], [["c"]], [["a"]]]


@pytest.mark.parametrize("behind", ["", ".batch(2)", ".padded_batch(1)"])
def test_lists_of_texts_are_packed(stoker, tmp_path, behind):
    path = tmp_path / "x.tfrecord"
    done = stoker("pack", f"{texts('a b', '', 'c')}.text_split(''){behind}", "--out", path)
    assert done.returncode == 0, done.stderr
    assert values(stoker, f"tfrecord('{path}').parse_example({{t: varlen(bytes)}})", "t") == [["a", "b"], [], ["c"]]


def test_list_of_texts_is_no_member_of_a_tar_archive(stoker, tmp_path):
    done = stoker("pack", f"{texts('a b')}.text_split(' ')", "--to", "tar", "--out", tmp_path / "x.tar")
    assert done.returncode != 0 and "'t' has several texts per element" in done.stderr
    assert not list(tmp_path.glob("*.tar"))


LISTS = "values({t: [['a', 'bb', ''], [], ['a'], ['c', 'd']], n: [1, 2, 3, 4]})"


@pytest.mark.parametrize("calls, wanted", [
    ("batch(3)", [[["a", "bb", ""], [], ["a"]], [["c", "d"]]]),
    ("ragged_batch(3)", [[["a", "bb", ""], [], ["a"]], [["c", "d"]]]),
    ("padded_batch(3)", [[["a", "bb", ""], ["", "", ""], ["a", "", ""]], [["c", "d"]]]),
    ("padded_batch(2, {t: [4]}, {t: '-'})",
     [[["a", "bb", "", "-"], ["-"] * 4], [["a", "-", "-", "-"], ["c", "d", "-", "-"]]]),
    ("padded_batch(4, padding_values='x')", [[["a", "bb", ""], ["x"] * 3, ["a", "x", "x"], ["c", "d", "x"]]]),
    ("window(2)", [[["a", "bb", ""], []], [["a"], ["c", "d"]]]),
    ("batch(3).unbatch()", [["a", "bb", ""], [], ["a"], ["c", "d"]]),
    ("padded_batch(3).unbatch().batch(4)", [[["a", "bb", ""], ["", "", ""], ["a", "", ""], ["c", "d"]]]),
    ("rebatch(4)", "no first dimension"),
    ("batch(3).rebatch(2)", [[["a", "bb", ""], []], [["a"], ["c", "d"]]]),
    ("batch(3).filter('len(t) == 1')", [[["c", "d"]]]),
    ("filter('len(t) == 1').batch(2)", [[["a"]]]),
    ("shuffle(3, seed=1).batch(9).map('m = len(t)').select([t])", None),
    ("bucket_by_length(t, [2], [2, 2])", [[["", ], ["a"]], [["a", "bb", ""], ["c", "d", ""]]]),
    ("bucket_by_length(t, [2], [2, 2], no_padding=true)", [[[], ["a"]], [["a", "bb", ""], ["c", "d"]]]),
    ("bucket_by_length(t, [2, 5], [2, 2, 2], pad_to_bucket_boundary=true)",
     [[[""], ["a"]], [["a", "bb", "", ""], ["c", "d", "", ""]]]),
    ("group_by_window('len(t) % 2', 2)", [[["a", "bb", ""], ["a"]], [[], ["c", "d"]]]),
    ("concatenate(values({t: [[], ['z']], n: [5, 6]})).skip(3).batch(3)", [[["c", "d"], [], ["z"]]]),
    ("take(2).repeat(2).batch(4)", [[["a", "bb", ""], [], ["a", "bb", ""], []]]),
    ("zip(values({u: [['x'], [], [], ['y', 'z']]})).select([u]).rename({u: t}).batch(4)", [[["x"], [], [], ["y", "z"]]]),
    ("unique(t).batch(4)", [[["a", "bb", ""], [], ["a"], ["c", "d"]]]),
    ("lookup([d, c, a], t, default=9).batch(4)", [[[2, 9, 9], [], [2], [1, 0]]]),
    ("skip(3).text_to_hash_bucket(1).batch(1)", [[[0, 0]]]),
    ("text_upper(t).batch(4)", [[["A", "BB", ""], [], ["A"], ["C", "D"]]]),
    ("text_lower(t, 'utf-8').batch(3)", [[["a", "bb", ""], [], ["a"]], [["c", "d"]]]),
    ("text_strip('ad', t).padded_batch(4)", [[["", "bb", ""], [""] * 3, [""] * 3, ["c", "", ""]]]),
    ("text_regex_replace('^.', '<\\\\0>', field=t).filter('n != 2').batch(3)",
     [[["<a>", "<b>b", ""], ["<a>"], ["<c>", "<d>"]]]),
    ("text_upper(t, into=u).filter('n > 3').select([u]).rename({u: t})", [["C", "D"]]),
    ("text_regex_full_match('a|b+', t).batch(4)", [[[True, True, False], [], [True], [False, False]]]),
    ("skip(3).zip(values({u: [['x', 'yy']]})).text_regex_full_match('.', u, t)", [[True, False]]),
])
def test_lists_of_texts_are_elements_like_others(stoker, calls, wanted):
    if isinstance(wanted, str):
        assert wanted in error(stoker, f"{LISTS}.{calls}")
        return
    got = values(stoker, f"{LISTS}.{calls}", "t")
    if wanted is None:
        assert sorted(got[0]) == [[], ["a"], ["a", "bb", ""], ["c", "d"]]
    else:
        assert got == wanted


def test_numbers_of_lists_of_texts(stoker):
    assert values(stoker, "values({t: [['1', ' 2'], ['3.5']]}).text_to_number()", "t") == [[1.0, 2.0], [3.5]]
    even = "values({t: [['1', '2'], ['3', '4']]}).text_to_number(int64).map('t = t * 2').batch(2)"
    assert values(stoker, even, "t") == [[[2, 4], [6, 8]]]
    assert "'x' in the field 't' is no int64" in error(stoker, "values({t: [['1', 'x']]}).text_to_number(int64)")


def test_a_list_of_texts_that_is_too_long_is_bad(stoker):
    chain = f"{LISTS}.padded_batch(2, {{t: [2]}})"
    assert "field 't' has 3 entries along dimension 0, and rows are padded to 2" in error(stoker, chain)
    done = stoker("run", chain, "--dump", "--quiet", "--on-error", "skip")
    kept = [json.loads(line)["fields"]["t"] for line in done.stdout.splitlines()]
    assert kept == [[["", ""], ["a", ""]], [["c", "d"]]]


def test_texts_of_batches_are_changed(stoker):
    assert values(stoker, f"{texts('a', 'Bc', '')}.batch(2).text_upper()", "t") == [["A", "BC"], [""]]


def test_a_list_with_a_bad_text_is_bad(stoker):
    long = "a" * 60 + "b"
    chain = f"values({{t: [['x'], ['a', '{long}', '{long}'], [], ['aa']]}}).text_regex_replace('(a+)+$', '-')"
    assert "values, element 1 (element 1 of epoch 0): 'aaaa" in error(stoker, chain)
    done = stoker("run", f"{chain}.batch(4)", "--dump", "--quiet", "--on-error", "skip")
    assert [json.loads(line)["fields"]["t"] for line in done.stdout.splitlines()] == [[["x"], [], ["-"]]]


def test_equal_lists_of_texts_are_equal(stoker):
    """split by a field keeps equal values together."""
    chain = f"{texts(*['a b', 'c', '', 'd  e'] * 20)}.text_split(' ').split([0.5, 0.5], 0, by=t)"
    kept = [json.dumps(item) for item in values(stoker, chain, "t")]
    assert all(kept.count(item) == 20 for item in kept)


def test_split_of_another_number_is_bad(stoker):
    chain = f"{texts('a b', 'a', 'a b c', 'c d')}.text_split(' ', [u, v])"
    assert "element 1 (element 1 of epoch 0): 'a' has 1 piece, but there are 2 fields" in error(
        stoker, chain
    )
    got = elements(stoker, chain, "--on-error", "skip")
    assert [(e["u"], e["v"]) for e in got] == [("a", "b"), ("c", "d")]
    said = error(stoker, f"{texts('a b c')}.text_split(' ', [u, v], missing='')")
    assert "'a b c' has 3 pieces" in said


def test_split_refuses(stoker):
    assert "missing is for pieces that have names" in error(
        stoker, f"{texts('a')}.text_split(' ', missing='')"
    )
    assert "the field 'u' is listed twice" in error(stoker, f"{texts('a')}.text_split(' ', [u, u])")
    names = ", ".join(f"n{i}" for i in range(32))
    said = error(stoker, f"{texts('a')}.text_split(' ', [{names}])")
    assert "more than 32 fields" in said and "^" in said


def test_split_may_replace_its_input(stoker):
    assert elements(stoker, f"{texts('a-b')}.text_split('-', [u, t])") == [{"t": "b", "u": "a"}]


def test_paths_are_texts(stoker, tmp_path):
    """What is made of a path is none any more: nothing is read."""
    (tmp_path / "cat_7.txt").write_text("content")
    chain = f"files('{tmp_path}/*').text_regex_replace('.*/(.*)_.*', '\\\\1', into=label)"
    assert values(stoker, chain, "label") == ["cat"]
    said = error(stoker, f"files('{tmp_path}/*').text_upper().read()")
    assert "path" in said or "PATH" in said


def test_join(stoker):
    chain = "values({a: ['x', ''], b: ['y', 'z']})"
    assert values(stoker, f"{chain}.text_join([a, b, a], sep=', ', into=c)", "c") == [
        "x, y, x", ", z, "
    ]
    assert elements(stoker, f"{chain}.text_join([a, b])") == [
        {"a": "xy", "b": "y"}, {"a": "z", "b": "z"}
    ]
    said = error(stoker, "values({a: ['x'], n: [1]}).text_join([a, n])")
    assert "field 'n' is int64[], but a field of texts is needed" in said


def test_join_of_lists(stoker):
    chain = "values({t: ['b a', '', 'c'], u: ['x', 'y', 'z']})"
    assert values(stoker, f"{chain}.text_split(' ', field=t).text_join([t], sep='+')", "t") == [
        "b+a", "", "c"
    ]
    lists = f"{chain}.text_split('', field=t)"  # at white space: of an empty text, nothing
    assert values(stoker, f"{lists}.text_join([u, t, u], sep=', ', into=c)", "c") == [
        "x, b, a, x", "y, y", "z, c, z"
    ]
    assert values(stoker, f"{lists}.text_join([t, t], sep='-')", "t") == ["b-a-b-a", "", "c-c"]
    fixed = "values({t: [['a', 'b'], ['c', 'd']]}).text_join([t], sep='/')"
    assert values(stoker, fixed, "t") == ["a/b", "c/d"]
    assert values(stoker, f"{lists}.filter('len(t) != 0').text_join([t])", "t") == ["ba", "c"]


# ---- numbers ----


@pytest.mark.parametrize("dtype, good, bad", [
    ("int8", {"-128": -128, "+127": 127}, ["128", "-129", "1.0", "1e2", "", " ", "0x1", "१"]),
    ("uint8", {"0": 0, " 255\n": 255}, ["256", "-1"]),
    ("int16", {"-32768": -32768}, ["32768"]),
    ("uint16", {"65535": 65535}, ["65536", "-1"]),
    ("int32", {"-2147483648": -(2**31)}, ["2147483648"]),
    ("uint32", {"4294967295": 2**32 - 1}, ["4294967296"]),
    ("int64", {"-9223372036854775808": -(2**63)}, ["9223372036854775808"]),
    ("uint64", {"18446744073709551615": 2**64 - 1}, ["18446744073709551616", "-1"]),
    ("float64", {"1e-320": 1e-320, "0.1": 0.1, "+.5": 0.5, "0" * 999 + "1": 1.0},
     ["1" * 1001, "1 2", "1,5", "--1", "e5", "nan(1)", "."]),
])
def test_numbers(stoker, dtype, good, bad):
    assert values(stoker, f"{texts(*good)}.text_to_number({dtype})", "t") == list(good.values())
    for item in bad:
        said = error(stoker, f"{texts(item)}.text_to_number({dtype})")
        assert f"in the field 't' is no {dtype}" in said, item


def test_float32_is_rounded_once(stoker):
    near = "1.00000017881393432617187499"  # below the middle of two floats, above it as a double
    assert values(stoker, f"{texts(near)}.text_to_number()", "t") == [1.0000001]
    got = values(stoker, f"{texts('inf', '-Infinity', 'NaN')}.text_to_number()", "t")
    assert got == ["inf", "-inf", "nan"]


def test_lists_of_numbers(stoker):
    chain = f"{texts('1, 2,3', '', '7', ' ')}.text_to_number(int32, sep=',', into=n)"
    assert "' ' in the field 't' is no int32" in error(stoker, chain)
    got = elements(stoker, chain, "--on-error", "skip")
    assert [e["n"] for e in got] == [[1, 2, 3], [], [7]]
    words = f"{texts('1  2 ', ' ')}.text_to_number(sep='')"
    assert values(stoker, words, "t") == [[1, 2], []]


# ---- hashes ----


def test_hash_of_every_length(stoker):
    rng = random.Random(3)
    items = ["".join(rng.choice("abcdefgh ") for _ in range(n)) for n in [*range(140), 1000, 4097]]
    got = values(stoker, f"{texts(*items)}.text_to_hash_bucket({2**62})", "t")
    assert got == [fingerprint(item.encode()) % 2**62 for item in items]


# What tf.strings.to_hash_bucket_fast of TensorFlow 2.21 gives for 2^62 buckets, by length.
FOX = "The quick brown fox. " * 50
FINGERPRINTS = {
    0: 1936946117179621455,
    1: 1366698271136253306,
    3: 398699863598724093,
    4: 3813857490243172005,
    7: 4268079096047479687,
    8: 491173507650915335,
    16: 4320848957565769301,
    17: 550333784831045053,
    32: 2890438252560351813,
    33: 2703591664280236513,
    64: 3541360359102564713,
    65: 4018692605587020853,
    128: 2211880172374622208,
    129: 3084668883733666164,
    1000: 329237845445853354,
}


def test_hash_is_tensorflows(stoker):
    chain = f"{texts(*(FOX[:n] for n in FINGERPRINTS))}.text_to_hash_bucket({2**62})"
    assert values(stoker, chain, "t") == list(FINGERPRINTS.values())


def test_hash_of_pieces(stoker):
    chain = f"{texts('a b', '', 'b')}.text_to_hash_bucket(1000, sep=' ')"
    a, b = fingerprint(b"a") % 1000, fingerprint(b"b") % 1000
    assert values(stoker, chain, "t") == [[a, b], [], [b]]


# ---- lookup ----


def test_lookup_of_texts(stoker):
    chain = f"{texts('b', 'a', 'z', '')}"
    assert values(stoker, f"{chain}.lookup([a, b])", "t") == [1, 0, -1, -1]
    assert values(stoker, f"{chain}.lookup(['', a, b], default=5)", "t") == [2, 1, 5, 0]
    buckets = [2 + fingerprint(item) % 3 for item in (b"z", b"")]
    assert values(stoker, f"{chain}.lookup([a, b], oov=3)", "t") == [1, 0, *buckets]
    assert values(stoker, f"{chain}.lookup([], oov=1)", "t") == [0, 0, 0, 0]
    assert "element 2 (element 2 of epoch 0): 'z' is not in the vocabulary" in error(
        stoker, f"{chain}.lookup([a, b], default=none)"
    )
    got = elements(stoker, f"{chain}.lookup([a, b], default=none)", "--on-error", "skip")
    assert [e["t"] for e in got] == [1, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_lookup_of_integers(stoker, dtype):
    chain = f"values({{v: [[1, 100], [7, 1]]}}).cast({dtype}).lookup([100, 1], oov=4)"
    seven = 2 + fingerprint(b"7") % 4
    assert values(stoker, chain, "v") == [[1, 0], [seven, 1]]


def test_lookup_of_negative_numbers_and_lists(stoker):
    chain = "values({l: [[-5, 3], []]}).lookup([-5], oov=9, into=n)"
    assert values(stoker, chain, "n") == [[0, 1 + fingerprint(b"3") % 9], []]
    batch = "range(3).batch(2).lookup([2, 0])"
    assert values(stoker, batch, "x") == [[1, -1], [0]]


def test_lookup_in_files(stoker, tmp_path):
    (tmp_path / "lf.txt").write_text("the\nof\n\nand")
    (tmp_path / "crlf.txt").write_bytes(b"the\r\nof\r\n\r\nand\r\n")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"the\nof\n\nand\n"))
    (tmp_path / "numbers.txt").write_text("700\n-3\n")
    for name in ["lf.txt", "crlf.txt", "packed.gz"]:
        chain = f"{texts('of the and or')}.lookup('{tmp_path}/{name}', sep=' ')"
        assert values(stoker, chain, "t") == [[1, 0, 3, -1]], name
    chain = f"values({{x: [-3, 700, 1]}}).lookup('{tmp_path}/numbers.txt')"
    assert values(stoker, chain, "x") == [1, 0, -1]


def test_lookup_in_many_terms(stoker, tmp_path):
    """The table is right when it is large; every term has its number, and no other text has one."""
    terms = [f"{i * 7919 % 100003}-{i}" for i in range(100000)]
    (tmp_path / "v.txt").write_text("\n".join(terms))
    (tmp_path / "t.txt").write_text("\n".join(terms[::-1][:5000] + [f"x{t}" for t in terms[:500]]))
    got = values(stoker, f"lines('{tmp_path}/t.txt').lookup('{tmp_path}/v.txt')", "text")
    assert got == list(range(100000))[::-1][:5000] + [-1] * 500


def test_lookup_in_statistics(stoker, tmp_path):
    saved = tmp_path / "stats.json"
    chain = "values({w: ['b', 'a', 'é \"q\"', 'b'], x: [30, 5, 30, 5], r: [0.5, 1, 2, 3]})"
    assert stoker("stats", chain, "--save", saved).returncode == 0
    order = [item["value"] for item in json.loads(saved.read_text())["fields"]["w"]["vocabulary"]]
    got = elements(stoker, f"{chain}.lookup('{saved}', w).lookup('{saved}', x)")
    assert [e["w"] for e in got] == [order.index(w) for w in ["b", "a", 'é "q"', "b"]]
    assert [e["x"] for e in got] == [1, 0, 1, 0]
    said = error(stoker, f"{texts('a')}.lookup('{saved}')")
    assert "is not what stats says of a field 't' of texts" in said


@pytest.mark.parametrize("content, why", [
    ("", "ends"), ("[", ""), ("{}", "is not what stats says"),
    ('{"fields": {"t": {"vocabulary": [{"value": 3}]}}}', "a term of a vocabulary is no text"),
    ('{"fields": {"t": {"vocabulary": [7]}}}', "a term of a vocabulary is no text"),
    ('{"fields": {"t": {"vocabulary": {}}}}', "is not what stats says"),
    ('{"fields": {"t": {"vocabulary": [{"value": "\\ud800"}]}}}', "v.json"),
    ('{"fields": {"t": {"vocabulary": [{"value": "a"}, {"value": "a"}]}}}', "'a' twice"),
])
def test_lookup_refuses_other_json(stoker, tmp_path, content, why):
    (tmp_path / "v.json").write_text(content)
    said = error(stoker, f"{texts('a')}.lookup('{tmp_path}/v.json')")
    assert why in said and "lookup" in said and "^" in said


@pytest.mark.parametrize("call, why", [
    ("lookup([a, b, a])", "has the term 'a' twice, as 0 and as 2"),
    ("lookup([1, 2])", "the terms for the field 't' are texts"),
    ("lookup('no/such/file')", "no/such/file"),
    ("lookup('/dev/null')", "wants a file on storage"),
    ("lookup({a: 1})", "a vocabulary is a list of terms, or the name of a file"),
    ("lookup([a], oov=-1)", "oov"),
    ("text_to_number(sep='', into=n).lookup([1], n, sep=' ')", "a field of texts or integers"),
    ("text_to_hash_bucket(3).lookup([1], sep=' ')", "sep is for texts"),
    ("text_to_hash_bucket(3).lookup([1, a])", "the terms for the field 't' are whole numbers"),
    ("text_to_hash_bucket(3).lookup([5, 5])", "has the term '5' twice"),
])
def test_lookup_refuses(stoker, call, why):
    said = error(stoker, f"{texts('1')}.{call}")
    assert why in said and "^" in said


def test_lookup_refuses_lines_that_are_no_numbers(stoker, tmp_path):
    (tmp_path / "v.txt").write_text("1\n2\nthree\n")
    said = error(stoker, f"range(3).lookup('{tmp_path}/v.txt')")
    assert "line 3: 'three' is no whole number" in said


# ---- regular expressions ----


@pytest.mark.parametrize("pattern, rewrite, item, expected", [
    ("a", "b", "banana", "bbnbnb"),
    ("x*", "-", "abc", "-a-b-c-"),
    ("b*", "-", "abbc", "-a-c-"),
    ("(a)(b)?", r"<\2|\1>", "aab", "<|a><b|a>"),
    ("$", "!", "line\n", "line\n!"),
    ("^", ">", "a\nb", ">a\nb"),
    (".", "x", "é\n", "x\n"),
    ("", "·", "é", "·é·"),
    (r"\\", r"\\\\", "a\\b", "a\\\\b"),
    ("[[:space:]]+", " ", " a\t\n b", " a b"),
    ("(?i)A", "", "aAbA", "b"),
    ("n", r"[\0]", "", ""),
])
def test_replace(stoker, pattern, rewrite, item, expected):
    chain = f"{texts(item, 'zzz')}.text_regex_replace({show(pattern)}, {show(rewrite)})"
    assert values(stoker, chain, "t")[0] == expected


def test_replace_the_first(stoker):
    chain = f"{texts('banana', 'xyz')}.text_regex_replace(a, '', replace_global=false)"
    assert values(stoker, chain, "t") == ["bnana", "xyz"]


def test_full_match(stoker):
    chain = f"{texts('ab', 'xab', 'abx', 'a', '')}.text_regex_full_match('a|ab')"
    assert values(stoker, chain, "t") == [True, False, False, True, False]


def test_bytes_that_are_no_utf8_match_nothing(stoker, tmp_path):
    (tmp_path / "odd").write_bytes(b"a\xffb")
    read = f"files(['{tmp_path}/odd']).read()"
    chain = f"{read}.text_regex_replace('.', 'x').decode_raw(uint8)"
    assert values(stoker, chain, "bytes") == [list(b"x\xffx")]
    assert values(stoker, f"{read}.text_regex_full_match('a.b')", "bytes") == [False]


def test_no_pattern_hangs(stoker):
    """Exponential patterns end, as bad elements; the others are delivered."""
    for pattern in ["(a+)+", "(a|aa)+", "(.*)*x", r"(a*)*\1b"]:
        chain = f"{texts('aaa', 'a' * 3000 + 'c', 'aaaa')}.text_regex_full_match({show(pattern)}, into=m)"
        done = stoker("run", chain, "--dump", "--quiet", "--on-error", "skip")
        assert done.returncode == 0 and len(done.stdout.splitlines()) >= 2, pattern
    said = error(stoker, f"{texts('a' * 60 + 'c')}.text_regex_full_match('(a+)+')")
    assert "is too much effort for the pattern: match limit exceeded" in said


def test_long_texts_match(stoker):
    """More than the stack of the compiled form takes."""
    item = "ab" * 40000
    chain = f"{texts(item)}.text_regex_full_match('(a|b|[cd])*')"
    assert values(stoker, chain, "t") == [True]


@pytest.mark.parametrize("call, why", [
    ("text_regex_full_match('(a')", "the pattern '(a' is wrong at character 3: missing closing"),
    ("text_regex_full_match('a\\\\Cb')", "is wrong at character"),
    ("text_regex_replace('a', '\\\\1')", "wants group 1, but the pattern has 0"),
    ("text_regex_replace('a', 'x\\\\')", "a backslash that is not before a digit"),
    ("text_regex_replace('a', '\\\\n')", "a backslash that is not before a digit"),
    ("text_regex_replace('a', 'b', field=u)", "there is no field 'u'"),
])
def test_regex_refuses(stoker, call, why):
    said = error(stoker, f"{texts('a')}.{call}")
    assert why in said and "^" in said


# ---- all ----


@pytest.mark.parametrize("call", [
    "text_lower()", "text_upper(encoding='utf-8')", "text_strip()", "text_split(' ', [u, v])",
    "text_join([t, t])", "text_to_hash_bucket(9)", "lookup([a, b], sep=' ')",
    "text_regex_replace('a', 'b')", "text_regex_full_match('a')",
])
def test_rows_keep_their_class(stoker, call):
    assert "stream" not in stoker("plan", f"{texts('a b', 'c d')}.{call}.shuffle()").stdout


@pytest.mark.parametrize("call", [
    "text_lower(encoding='utf-8')", "text_upper(encoding='utf-8')", "text_strip()", "slice(3, 1, -1)",
    "text_split('a', [a, b], maxsplit=1, missing='')", "text_to_hash_bucket(9, sep='')",
    "text_regex_replace('[^a-z]|', '<\\\\0>')", "text_regex_replace('(?s).', '')",
    "text_regex_full_match('(?s).*')", "text_to_number(sep=' ')", "lookup([a, b], sep=',')",
])
def test_any_bytes(stoker, tmp_path, call):
    """Every element is delivered or said to be bad, whatever bytes it has."""
    rng = random.Random(call)
    pool = [*b"aAzZ ,.09-", 0, 0x80, 0xBF, 0xC3, 0xE2, 0x82, 0xF0, 0x9F, 0xFF, 0xED, 0xA0]
    (tmp_path / "any").write_bytes(bytes(rng.choices(pool, k=13 * 400)))
    chain = f"fixed_length('{tmp_path}/any', 13, compression=none).{call}.batch(7)"
    digests = set()
    for workers in (0, 2):
        done = stoker("run", chain, "--digest", "--json", "--on-error", "skip", "--workers", workers)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["elements"] + found["errors"] == 400
        digests.add(found["digest"])
    assert len(digests) == 1


@pytest.mark.parametrize("workers", [0, 1, 2, 7])
def test_same_for_any_number_of_workers(stoker, tmp_path, workers):
    lines = "\n".join(f"Line {i} of {'many ' * (i % 9)}" for i in range(3000))
    (tmp_path / "t.txt").write_text(lines)
    chain = f"lines('{tmp_path}/t.txt').text_lower().text_strip()"
    chain += ".text_regex_replace('[aeiou]', '<\\\\0>', into=r).text_to_hash_bucket(1000, r, ' ')"
    chain += ".text_split(' ', [a, n, rest], maxsplit=2).text_to_number(int64, n).batch(64)"
    done = stoker("run", chain, "--digest", "--quiet", "--workers", workers)
    alone = stoker("run", chain, "--digest", "--quiet", "--workers", 0)
    assert done.returncode == 0 and done.stdout == alone.stdout, sys.stderr.write(done.stderr)
