# SPDX-License-Identifier: Apache-2.0
"""Ops that make fields of others, against the installed TensorFlow on random values."""

import json
import os
import random
import unicodedata

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pytest
import tensorflow as tf

ALPHABET = "aAbBzZ  \t\n.,-_0123456789éÉßΣйЙ€中😀"


def show(value):
    """A value as the language writes it: JSON with its escapes of control characters as \\x."""
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace("'", "\\'")
        return "'" + "".join(c if c >= " " else f"\\x{ord(c):02x}" for c in text) + "'"
    return json.dumps(value)


def delivered(stoker, columns, calls):
    """The fields of every element of values({…}).calls, written to a file if that is long."""
    table = ", ".join(f"{name}: {show(column)}" for name, column in columns.items())
    done = stoker("run", f"values({{{table}}}).{calls}", "--dump", "--quiet")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def one(stoker, items, call):
    return [fields["t"] for fields in delivered(stoker, {"t": items}, call)]


def random_texts(seed, n=300, longest=40):
    pick = random.Random(seed)
    return ["".join(pick.choices(ALPHABET, k=pick.randint(0, longest))) for _ in range(n)]


def texts_of(tensor):
    return [item.decode() for item in tensor.numpy().tolist()]


TEXTS = random_texts(1)


@pytest.mark.parametrize("depth, words, more", [
    (1, "", {}), (7, "", {}), (5, ", on=3, off=-2, dtype=int16", {"on_value": 3, "off_value": -2, "dtype": tf.int16}),
])
def test_one_hot(stoker, depth, words, more):
    rng = np.random.default_rng(2)
    for shape in [(20,), (20, 3), (4, 2, 3)]:
        indices = rng.integers(-2, 9, shape)
        got = delivered(stoker, {"x": indices.tolist()}, f"one_hot({depth}{words})")
        expected = tf.one_hot(indices, depth, **more).numpy()
        np.testing.assert_array_equal([fields["x"] for fields in got], expected)


def test_concat(stoker):
    rng = np.random.default_rng(3)
    for axis in [0, 1, 2, -1, -2]:
        shapes = [[4, 2, 3, 2], [4, 2, 3, 2]]
        shapes[1][1 + axis % 3] = 5
        a, b = (rng.integers(-99, 99, shape) for shape in shapes)
        call = f"concat_fields([a, b, a], into=c, axis={axis})"
        got = delivered(stoker, {"a": a.tolist(), "b": b.tolist()}, call)
        for i, fields in enumerate(got):
            np.testing.assert_array_equal(fields["c"], tf.concat([a[i], b[i], a[i]], axis).numpy())


@pytest.mark.parametrize("where", [
    slice(1, None), slice(None, None, -1), slice(-3, -1), slice(None, None, 2), slice(4, 0, -2),
])
def test_slice(stoker, where):
    data = np.arange(60).reshape(2, 6, 5)
    words = ", ".join("none" if end is None else str(end) for end in (where.start, where.stop))
    got = delivered(stoker, {"x": data.tolist()}, f"slice({words}, {where.step or 1})")
    for row, fields in zip(data, got, strict=True):
        np.testing.assert_array_equal(fields["x"], tf.constant(row)[where].numpy())


def test_pad(stoker):
    lists = [[1, 2, 3], [], [4]]
    expected = tf.ragged.constant(lists).to_tensor(default_value=-1, shape=[None, 5]).numpy()
    got = delivered(stoker, {"l": lists}, "pad([5], value=-1)")
    np.testing.assert_array_equal([fields["l"] for fields in got], expected)


def test_case(stoker):
    assert one(stoker, TEXTS, "text_lower()") == texts_of(tf.strings.lower(TEXTS))
    assert one(stoker, TEXTS, "text_upper()") == texts_of(tf.strings.upper(TEXTS))


def test_case_of_unicode(stoker):
    """All characters that change by themselves, but those newer than the Unicode of TensorFlow's
    ICU, which leaves them as they are."""
    letters = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    letters = [c for c in letters if unicodedata.category(c)[0] in "LNSM"]
    for ours, theirs in [("lower", tf.strings.lower), ("upper", tf.strings.upper)]:
        expected = texts_of(theirs(letters, encoding="utf-8"))
        changed = [(c, e) for c, e in zip(letters, expected) if c != e or getattr(c, ours)() != c]
        got = one(stoker, [c for c, _ in changed], f"text_{ours}(encoding='utf-8')")
        other = [(c, e, g) for (c, e), g in zip(changed, got) if e != g]
        assert len(changed) > 1300
        assert all(e == c for c, e, _ in other) and len(other) < 100, other[:20]


def test_strip(stoker):
    assert one(stoker, TEXTS, "text_strip()") == texts_of(tf.strings.strip(TEXTS))


@pytest.mark.parametrize("sep", [None, " ", ",", "a", "  "])
@pytest.mark.parametrize("maxsplit", [-1, 1, 2])
def test_split(stoker, sep, maxsplit):
    """Where it cuts so many times at white space, TensorFlow has an empty piece at the end of a text
    with less words, which its documents, and Python, do not have."""
    found = tf.strings.split(TEXTS, sep, maxsplit=maxsplit).to_list()
    expected = [[piece.decode() for piece in pieces] for pieces in found]
    if sep is None and maxsplit > 0:
        expected = [pieces[:-1] if pieces[-1:] == [""] else pieces for pieces in expected]
    assert one(stoker, TEXTS, f"text_split({show(sep or '')}, maxsplit={maxsplit})") == expected
    most = min(30, max(map(len, expected)))
    kept = [(t, e) for t, e in zip(TEXTS, expected) if len(e) <= most]
    names = [f"p{i}" for i in range(most)]
    call = f"text_split({show(sep or '')}, {show(names)}, maxsplit={maxsplit}, missing='<none>')"
    got = delivered(stoker, {"t": [t for t, _ in kept]}, call)
    for (_, pieces), fields in zip(kept, got, strict=True):
        filled = pieces + ["<none>"] * (most - len(pieces))
        assert [fields[name] for name in names] == filled


def test_join(stoker):
    others = random_texts(2)
    got = delivered(stoker, {"a": TEXTS, "b": others}, "text_join([a, b], sep='--', into=c)")
    assert [f["c"] for f in got] == texts_of(tf.strings.join([TEXTS, others], separator="--"))


def test_join_of_lists(stoker):
    got = delivered(stoker, {"a": TEXTS}, "text_split('').text_join([a], sep='--')")
    lists = tf.strings.split(TEXTS)
    wanted = tf.strings.reduce_join(lists, axis=-1, separator="--")
    assert [f["a"] for f in got] == texts_of(wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_to_number(stoker, dtype):
    pick = random.Random(4)
    whole = [str(pick.randint(-(2**31), 2**31 - 1)) for _ in range(200)] + [" 7 ", "+3", "-0"]
    real = [repr(pick.uniform(-1, 1) * 10 ** pick.randint(-30, 30)) for _ in range(300)]
    items = whole if dtype.startswith("int") else whole + real + [".5", "5.", "1e5"]
    expected = tf.strings.to_number(items, tf.as_dtype(dtype)).numpy()
    got = np.array(one(stoker, items, f"text_to_number({dtype})"), dtype)
    np.testing.assert_array_equal(got, expected)


def test_hash_buckets(stoker):
    items = TEXTS + random_texts(5, n=200, longest=300)
    for n in [1, 3, 1000, 2**62]:
        expected = tf.strings.to_hash_bucket_fast(items, n).numpy().tolist()
        assert one(stoker, items, f"text_to_hash_bucket({n})") == expected


def test_vocabulary_table(stoker):
    terms = sorted(set(TEXTS[:50]))
    keys = tf.constant(terms)
    numbers = tf.range(len(terms), dtype=tf.int64)
    init = tf.lookup.KeyValueTensorInitializer(keys, numbers)
    for buckets in [1, 4, 100]:
        table = tf.lookup.StaticVocabularyTable(init, buckets)
        expected = table.lookup(tf.constant(TEXTS)).numpy().tolist()
        assert one(stoker, TEXTS, f"lookup({show(terms)}, oov={buckets})") == expected
    table = tf.lookup.StaticHashTable(init, -7)
    expected = table.lookup(tf.constant(TEXTS)).numpy().tolist()
    assert one(stoker, TEXTS, f"lookup({show(terms)}, default=-7)") == expected


def test_vocabulary_table_of_integers(stoker):
    terms, items = [5, -3, 700], list(range(-10, 10)) + [700, 2**40]
    init = tf.lookup.KeyValueTensorInitializer(
        tf.constant(terms, tf.int64), tf.range(3, dtype=tf.int64)
    )
    table = tf.lookup.StaticVocabularyTable(init, 6, lookup_key_dtype=tf.int64)
    expected = table.lookup(tf.constant(items, tf.int64)).numpy().tolist()
    assert one(stoker, items, f"lookup({show(terms)}, oov=6)") == expected


PATTERNS = [
    "a", "[aA]+", "b*", "", "x*", "^.", ".$", "$", r"(\w)(\d)?", "é|ß", ".", r"\s+", "(?i)z", "[^a-z]",
    "(a|ab)(c|bcd)*", r"\bA", "A??", "(?:[ab]{2,3})", r"\d+\.?", "[[:alpha:]]", "0|01|1",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions(stoker, pattern):
    groups = 2 if "(\\w)" in pattern else 0
    rewrite = r"<\2\1>" if groups else r"<\0>"
    for once in [True, False]:
        expected = tf.strings.regex_replace(TEXTS, pattern, rewrite, replace_global=not once)
        call = f"text_regex_replace({show(pattern)}, {show(rewrite)}, {json.dumps(not once)})"
        assert one(stoker, TEXTS, call) == texts_of(expected)
    whole = f"(?:{pattern})*"
    expected = tf.strings.regex_full_match(TEXTS, whole).numpy().tolist()
    assert one(stoker, TEXTS, f"text_regex_full_match({show(whole)})") == expected
