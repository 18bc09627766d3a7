# SPDX-License-Identifier: Apache-2.0
"""lines and jsonl at random: what positions give is what reading from front to back gives."""

import gzip
import json
import random

import pytest


def rows(stoker, chain, *words):
    done = stoker("run", chain, "--dump", "--quiet", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def head(stoker, chain):
    done = stoker("plan", chain)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def some_text(seed):
    """Lines of all lengths and ends, blank ones among them; some files begin with a long line, and some
    are longer than what a scan has in memory at a time."""
    pick = random.Random(seed)
    n = pick.choice([0, 1, 7, 8, 9, 300])
    pieces = ["", " ", "\t \r", "a\rb", "x" * pick.choice([1, 30, 2000]), "é", '{"a": 1}']
    lines = [pick.choice(pieces) + str(i) * pick.randint(0, 1) for i in range(n)]
    if pick.random() < 0.5:
        lines.insert(0, "y" * pick.choice([1023, 1024, 5000]))
    if pick.random() < 0.2:
        lines.insert(pick.randint(0, len(lines)), " " * 1_050_000 + "z")
    return pick.choice(["\n", "\r\n"]).join(lines) + pick.choice(["", "\n", "\n\n", "  "])


@pytest.mark.parametrize("seed", range(24))
def test_the_same_as_a_stream(stoker, tmp_path, seed):
    text = some_text(seed).encode()
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text, 1))
    expected = rows(stoker, f"lines('{tmp_path}/a.txt.gz')")
    found = rows(stoker, f"lines('{tmp_path}/a.txt')")
    assert [row["fields"] for row in found] == [row["fields"] for row in expected]
    assert head(stoker, f"lines('{tmp_path}/a.txt')").endswith(f"an epoch: {len(expected)}")
    number = {row["origin"][0].rsplit(" ", 1)[1]: row["fields"] for row in expected}
    mixed = rows(stoker, f"lines('{tmp_path}/a.txt').shuffle()", "--seed", seed)
    assert {row["origin"][0].rsplit(" ", 1)[1]: row["fields"] for row in mixed} == number


@pytest.mark.parametrize("seed", range(8))
def test_json_lines_without_blank_ones(stoker, tmp_path, seed):
    """Blank lines are no elements, and still count in the numbers of lines."""
    pick = random.Random(seed)
    blank = ["", " ", "\t", "\r", " " * 1_048_600]
    lines = []
    for i in range(pick.choice([0, 1, 8, 40])):
        lines += [pick.choice(blank)] * pick.choice([0, 0, 1, 9])
        lines.append(json.dumps({"a": i, "b": "x" * pick.choice([1, 1500])}))
    text = "\n".join(lines) + pick.choice(["", "\n", "\n \n", "\n  "])
    (tmp_path / "a.jsonl").write_text(text)
    expected = {
        f"{tmp_path}/a.jsonl, line {number}": json.loads(line)["a"]
        for number, line in enumerate(text.split("\n"), start=1) if line.strip()
    }
    chain = f"jsonl('{tmp_path}/a.jsonl', {{a: int64}})"
    assert head(stoker, chain).endswith(f"an epoch: {len(expected)}")
    for order in ("", ".shuffle()", ".skip(3)"):
        found = {row["origin"][0]: row["fields"]["a"] for row in rows(stoker, chain + order)}
        wanted = list(expected.items())[3:] if order == ".skip(3)" else expected
        assert found == dict(wanted)


def test_an_index_is_kept_and_goes_stale(stoker, tmp_path):
    path, home = tmp_path / "a.txt", tmp_path / "home"
    home.mkdir()
    chain = f"lines('{path}', index='{home}')"
    path.write_text("one\ntwo\n")
    assert len(rows(stoker, chain)) == 2
    [kept] = home.iterdir()
    before = kept.read_bytes()
    assert len(rows(stoker, chain)) == 2 and kept.read_bytes() == before
    path.write_text("ab\ncd\nef")
    assert [row["fields"]["text"] for row in rows(stoker, chain)] == ["ab", "cd", "ef"]
    assert kept.read_bytes() != before


def test_line_numbers_do_not_need_an_index_file(stoker, tmp_path):
    """An index file does not know of blank lines, so there is none for a file that has some."""
    path, home = tmp_path / "a.jsonl", tmp_path / "home"
    home.mkdir()
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    chain = f"jsonl('{path}', {{a: int64}}, index='{home}')"
    for _ in range(2):
        assert [row["origin"][0].rsplit(" ", 1)[1] for row in rows(stoker, chain)] == ["1", "3"]


def test_what_is_compressed_says_so(stoker, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a\nb\n"))
    done = stoker("plan", f"lines('{tmp_path}/a.txt.gz').shuffle()")
    assert done.returncode == 2
    assert "lines: its files are compressed or come through a pipe" in done.stderr
    assert "buffer_size" in done.stderr
