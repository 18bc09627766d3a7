# SPDX-License-Identifier: Apache-2.0
"""jsonl and parse_json against Python's json, on random documents; and what is refused."""

import gzip
import json
import math
import random
import struct

import pytest

NAMES = ["a", "b", "label", "é", "x y", "", "deep", "a.b"]


def number(rng):
    kinds = [
        lambda: rng.randrange(-5, 6),
        lambda: rng.randrange(-(2**63), 2**63),
        lambda: rng.randrange(-(2**80), 2**80),
        lambda: rng.uniform(-1, 1),
        lambda: rng.uniform(-1, 1) * 10.0 ** rng.randrange(-323, 308),
        lambda: rng.choice([0.0, -0.0, 1e22, 5e-324, 1.7976931348623157e308, math.inf, math.nan]),
    ]
    return rng.choice(kinds)()


def string(rng):
    alphabet = "ab \"\\/\n\t\x00\x1f\x7fé€😀\u2028"
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(20)))


def document(rng, depth=0):
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind < 2:
        return number(rng)
    if kind == 2:
        return string(rng)
    if kind < 5:
        return rng.choice([True, False, None])
    if kind == 5:
        return [number(rng) for _ in range(rng.randrange(6))]
    if kind == 6:
        return [document(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): document(rng, depth + 1) for _ in range(rng.randrange(6))}


def write(rng, value):
    """JSON with spaces and escapes where they are allowed, and keys that come twice."""
    space = lambda: rng.choice(["", "", "", " ", "\t", "  "])
    if isinstance(value, dict):
        members = [(k, v) for k, v in value.items()]
        if members and rng.random() < 0.2:
            members.insert(0, (members[-1][0], document(rng, 4)))
        inner = ",".join(f"{space()}{write(rng, k)}{space()}:{space()}{write(rng, v)}{space()}" for k, v in members)
        return "{" + inner + space() + "}"
    if isinstance(value, list):
        return "[" + ",".join(space() + write(rng, v) + space() for v in value) + space() + "]"
    if isinstance(value, str) and rng.random() < 0.3:
        return json.dumps(value, ensure_ascii=True)
    return json.dumps(value, ensure_ascii=False)


def pick(value, path):
    """The value at a path, or None where there is none or it is null."""
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def path_text(path):
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f"['{part}']" for part in path)


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return isinstance(value, float) or is_int(value)


def single(value):
    """Rounded to float32 once, from the decimal text; Python has no other way than float64 first,
    which is the same unless that lies halfway between two float32."""
    try:
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def as_float(value):
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


TYPES = {
    "int64": (lambda v: is_int(v) and -(2**63) <= v < 2**63, int, -1),
    "float64": (is_number, as_float, 0.25),
    "bool": (lambda v: isinstance(v, bool), bool, False),
    "text": (lambda v: isinstance(v, str), str, "none"),
}


def same(got, expected):
    if isinstance(expected, float):
        if isinstance(got, str):  # dumps write what JSON has no numbers for as words
            got = float(got)
        return got == expected or (math.isnan(expected) and (got is None or math.isnan(got)))
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(same, got, expected))
    return got == expected


def dump(done):
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def run(stoker, chain, *more):
    return stoker("run", chain, "--dump", "--quiet", *more)


@pytest.mark.parametrize("seed", range(8))
def test_random_documents(stoker, tmp_path, seed):
    """Every row that Python's json and the types accept has Python's values; with on_error=skip no
    other row is there."""
    rng = random.Random(seed)
    paths = [[rng.choice([*NAMES, 0, 1]) for _ in range(rng.randrange(3))] for _ in range(4)]
    specs = [(p, rng.choice(list(TYPES)), rng.random() < 0.8) for p in paths]
    documents = [document(rng) for _ in range(3000)]
    lines = [write(rng, d) for d in documents]
    path = tmp_path / "random.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    expected = []
    for line in lines:
        value, row = json.loads(line), {}
        for i, (where, kind, has_default) in enumerate(specs):
            fits, convert, default = TYPES[kind]
            found = pick(value, where)
            if found is None and has_default:
                row[f"f{i}"] = default
            elif found is not None and fits(found):
                row[f"f{i}"] = convert(found)
        if len(row) == len(specs):
            expected.append(row)
    defaults = {"int64": "-1", "float64": "0.25", "bool": "false", "text": "'none'"}
    fields = ", ".join(
        f"f{i}: value({quote(path_text(where))}, {kind}" + (f", default_value={defaults[kind]})" if d else ")")
        for i, (where, kind, d) in enumerate(specs)
    )
    done = run(stoker, f"jsonl('{path}', {{{fields}}})", "--on-error", "skip")
    assert done.returncode == 0, done.stderr
    got = dump(done)
    assert len(got) == len(expected)
    for one, other in zip(got, expected):
        assert all(same(one[name], other[name]) for name in other), (one, other)


def test_random_lists(stoker, tmp_path):
    rng = random.Random(5)
    rows = [{"x": [number(rng) for _ in range(rng.randrange(9))]} for _ in range(2000)]
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(write(rng, row) for row in rows), encoding="utf-8", newline="\n")
    done = run(stoker, f"jsonl('{path}', {{x: list('x', float64), y: list('x', float32)}})")
    assert done.returncode == 0, done.stderr
    got = dump(done)
    assert len(got) == len(rows)
    for one, row in zip(got, rows):
        assert same(one["x"], [as_float(v) for v in row["x"]]), (one, row)
        assert same([single(float(v)) for v in one["y"]], [single(as_float(v)) for v in row["x"]]), (one, row)


def test_shapes(stoker, tmp_path):
    path = tmp_path / "shapes.jsonl"
    path.write_text('{"m": [[1, 2], [3, 4], [5, 6]], "b": [[0, 1], [2, 3]]}\n{"m": [[1,2],[3,4],[5,6]], "b": []}\n')
    done = run(stoker, f"jsonl('{path}', {{m: array('m', int64, [3, 2]), b: list('b', float32, shape=[2])}})")
    assert done.returncode == 0, done.stderr
    assert dump(done) == [
        {"m": [[1, 2], [3, 4], [5, 6]], "b": [[0, 1], [2, 3]]},
        {"m": [[1, 2], [3, 4], [5, 6]], "b": []},
    ]


def test_lists_of_texts(stoker, tmp_path):
    path = tmp_path / "lists.jsonl"
    lines = [["a", "b\n", "ü", ""], [], ["\u20ac,\"]["], None]
    path.write_text("".join(json.dumps({"t": line, "p": ["x", "y"]}) + "\n" for line in lines))
    chain = f"jsonl('{path}', {{t: list('t', text, default_value=['z', '']), p: array('p', text, [2])}})"
    wanted = [["z", ""] if line is None else line for line in lines]
    assert [fields["t"] for fields in dump(run(stoker, chain))] == wanted
    assert [fields["t"] for fields in dump(run(stoker, chain + ".batch(4)"))] == [wanted]
    assert [fields["p"] for fields in dump(run(stoker, chain + ".batch(4)"))] == [[["x", "y"]] * 4]


def test_python_and_we_refuse_the_same(stoker, tmp_path):
    """Texts with a byte changed, taken away or put in: JSON for Python if and only if for us."""
    rng = random.Random(3)
    texts = []
    for _ in range(4000):
        text = bytearray(write(rng, document(rng)).encode())
        if text and rng.random() < 0.9:
            at = rng.randrange(len(text))
            change = rng.randrange(3)
            if change == 0:
                text[at] = rng.choice(b'"\\{}[],:0-.eE 1u\x80\xc3')
            elif change == 1:
                del text[at]
            else:
                text.insert(at, rng.choice(b'"\\{}[],:0-.eE 1u\x80\xc3'))
        if text.strip(b" \t\r"):
            texts.append(bytes(text).replace(b"\n", b" "))
    path = tmp_path / "changed.jsonl"
    path.write_bytes(b"\n".join(texts) + b"\n")
    expected = []
    for i, text in enumerate(texts):
        try:
            json.loads(text.decode())
            expected.append(i)
        except ValueError:
            pass
    done = run(stoker, f"jsonl('{path}', {{x: value('no such name', int64, 0)}})", "--on-error", "skip")
    assert done.returncode == 0, done.stderr
    got = [int(json.loads(line)["origin"][0].rsplit(" ", 1)[1]) - 1 for line in done.stdout.splitlines()]
    assert got == expected and 400 < len(expected) < len(texts) - 400


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ('{"a": 1', "{a: int64}", "line 2 (element 1 of epoch 0): column 8: the text ends too early"),
        ('{"é": "x", "a": 1.5}', "{a: int64}", "column 17: 'a' is 1.5, not a whole number of 64 bits"),
        ('{"a": 9223372036854775808}', "{a: int64}", "not a whole number of 64 bits"),
        ('{"a": "1"}', "{a: int64}", "column 7: 'a' is a string, not a whole number"),
        ('{"a": true}', "{a: float32}", "'a' is true or false, not a number"),
        ('{"a": 1}', "{a: bool}", "'a' is a number, not true or false"),
        ('{"a": {}}', "{a: text}", "'a' is an object, not a string"),
        ("{}", "{a: text}", "'a' is missing, and has no default_value"),
        ('{"a": null}', "{a: text}", "'a' is null, and has no default_value"),
        ('{"a": "x\\ud800"}', "{a: text}", "column 9: this is half of a surrogate pair"),
        ('{"a": [1, "2"]}', "{a: list('a', int64)}", "column 11: 'a' is a string, not a whole number"),
        ('{"a": [1, null]}', "{a: list('a', float32)}", "'a' is null, not a number"),
        ('{"a": 5}', "{a: list('a', int64)}", "'a' is a number, not a list"),
        ('{"a": "5"}', "{a: list('a', text)}", "'a' is a string, not a list"),
        ('{"a": ["5", 5]}', "{a: list('a', text)}", "column 13: 'a' is a number, not a string"),
        ('{"a": ["5", "\\ud800"]}', "{a: list('a', text)}", "which UTF-8 cannot say"),
        ('{"a": ["5"]}', "{a: array('a', text, [2])}", "has a list of 1, where the shape says 2"),
        ('{"a": [[1], 2]}', "{a: list('a', int64, shape=[1])}", "'a' is a number, not a list"),
        ('{"a": [1, 2]}', "{a: array('a', int64, [3])}", "has a list of 2, where the shape says 3"),
        ('{"a": [1, 2, 3, 4]}', "{a: array('a', int64, [3])}", "one more than the shape has"),
        ('{"a": [' * 600 + "]}" * 600, "{a: value('b', int64, 0)}", "nested too deeply"),
    ],
)
def test_bad_lines(stoker, tmp_path, text, fields, message):
    """One line among good ones: named with file, line and column; skipped alone."""
    good = {"text": '"good"', "bool": "true"}.get(fields.partition(": ")[2].rstrip("}"), "1")
    good = "[7, 7, 7]" if "array" in fields else "[[7]]" if "shape" in fields else "[7]" if "list" in fields else good
    good = good.replace("[7, 7, 7]", "[7, 7]").replace("7", '"7"') if ", text" in fields else good
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"a": {good}}}\n{text}\n{{"a": {good}}}\n', encoding="utf-8")
    chain = f"jsonl('{path}', {fields})"
    done = run(stoker, chain)
    assert done.returncode == 1 and message in done.stderr and "bad.jsonl" in done.stderr, done.stderr
    done = run(stoker, chain, "--on-error", "skip")
    assert done.returncode == 0 and len(dump(done)) == 2, done.stderr


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{}", "wants a map of fields"),
        ("[1]", "wants a map of fields"),
        ("{a: int32}", "not 'int32'"),
        ("{a: 5}", "a field is a type"),
        ("{a: nothing('b')}", "nothing"),
        ("{a: value('b..c', int64)}", "'b..c' is not understood at character 2"),
        ("{a: value('b', int64, default_value='x')}", "the default_value of int64 is made of whole numbers"),
        ("{a: value('b', int64, default_value=1.5)}", "the default_value of int64 is made of whole numbers"),
        ("{a: value('b', bool, default_value=1)}", "the default_value of bool is made of true and false"),
        ("{a: value('b', default_value=1)}", "the default_value of text is a string"),
        ("{a: array('b', int64, [2], default_value=[1])}", "does not have the shape"),
        ("{a: list('b', int64, shape=[2], default_value=[1])}", "does not have the shape"),
        ("{a: list('b', int64, default_value=1)}", "does not have the shape"),
        ("{a: list('b', text, shape=[2])}", "texts are single items of a list"),
        ("{a: array('b', text, [2, 2])}", "an array of one dimension"),
        ("{a: list('b', text, default_value='x')}", "wants a list of strings"),
        ("{a: array('b', text, [2], default_value=['x'])}", "it has 1 texts"),
        ("{a: array('b', int64, [0])}", "whole numbers from 1"),
        ("{a: array('b', int64, [100000, 100000])}", "more than 2^28"),
    ],
)
def test_bad_fields(stoker, tmp_path, fields, message):
    path = tmp_path / "good.jsonl"
    path.write_text("{}\n")
    done = stoker("run", f"jsonl('{path}', {fields})")
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_defaults(stoker, tmp_path):
    path = tmp_path / "none.jsonl"
    path.write_text('{}\n{"t": null, "n": null, "l": null, "m": null, "b": null}\n')
    done = run(
        stoker,
        f"jsonl('{path}', {{t: value('t', default_value='é'), n: value('n', float32, 2), "
        "l: list('l', int64, default_value=[1, 2]), m: array('m', float64, [2], default_value=[0.5, 1]), "
        "b: value('b', bool, true)})",
    )
    assert done.returncode == 0, done.stderr
    assert dump(done) == 2 * [{"t": "é", "n": 2.0, "l": [1, 2], "m": [0.5, 1.0], "b": True}]


def test_blank_lines_and_ends(stoker, tmp_path):
    """Lines of nothing are no elements; \\r\\n ends a line too."""
    path = tmp_path / "blank.jsonl"
    path.write_bytes(b'\n{"a": 1}\r\n \t\n\r\n{"a": 2}\n\n{"a": 3}')
    done = run(stoker, f"jsonl('{path}', {{a: int64}})")
    assert done.returncode == 0, done.stderr
    assert [row["a"] for row in dump(done)] == [1, 2, 3]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_workers_change_nothing(stoker, tmp_path, workers):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"i": i, "t": "x" * (i % 50)}) + "\n" for i in range(5000)))
    done = stoker("run", f"jsonl('{path}', {{i: int64, t: text}}).batch(7)", "--digest", "--quiet", "--workers", workers)
    first = stoker("run", f"jsonl('{path}', {{i: int64, t: text}}).batch(7)", "--digest", "--quiet", "--workers", 0)
    assert done.returncode == 0 and done.stdout == first.stdout


def test_other_fields_stay(stoker):
    chain = """values({n: [1, 2], t: ['{"a": [1]}', '{"a": []}']}).parse_json({a: list('a', int64)}, field='t')"""
    done = run(stoker, chain)
    assert done.returncode == 0, done.stderr
    assert dump(done) == [{"n": 1, "a": [1]}, {"n": 2, "a": []}]


def test_standard_input(stoker):
    text = '{"a": 1}\n{"a": 2}\n'
    done = stoker("run", "jsonl('-', {a: int64}).batch(2)", "--dump", "--quiet", input=text)
    assert dump(done) == [{"a": [1, 2]}]


def test_messages_about_files_name_jsonl(stoker, tmp_path):
    """Not `lines`, which it reads its lines with: when they are opened, and while they are read."""
    done = stoker("run", f"jsonl('{tmp_path}/none.jsonl', {{a: int64}})")
    assert done.returncode == 1 and done.stderr.startswith("stoker: jsonl: "), done.stderr
    packed = gzip.compress(b'{"a": 1}\n' * 5000)
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-20])
    done = stoker("run", f"jsonl('{tmp_path}/cut.jsonl.gz', {{a: int64}})")
    assert done.returncode == 1 and "jsonl: " in done.stderr and "lines: " not in done.stderr
