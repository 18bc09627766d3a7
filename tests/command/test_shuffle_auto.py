# SPDX-License-Identifier: Apache-2.0
"""shuffle(auto): everything where that is possible, else a buffer whose size depends on types."""

import json

import pytest

STREAM = "range(100000).filter('x % 7 != 0')"


def digest(stoker, chain, *words):
    done = stoker("run", chain, "--json", "--digest", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["digest"]


def rows_held(stoker, chain, **options):
    """The number that the plan shows."""
    plan = json.loads(stoker("plan", chain, "--json", **options).stdout)
    return max(stage["held_rows"] for stage in plan["stages"])


def test_everything_where_it_can(stoker):
    calls = ("shuffle(auto)", "shuffle()")
    assert len({digest(stoker, f"range(999).{call}.batch(8)") for call in calls}) == 1


@pytest.mark.parametrize(
    ("stream", "rows"),
    [
        (STREAM, 65536),
        (f"{STREAM}.one_hot(1000)", (64 << 20) // 4001),
        (f"{STREAM}.one_hot(1000000)", 256),
        ("lines('words.txt').ignore_errors()", (64 << 20) // 16385),
    ],
)
def test_rows_of_streams(stoker, tmp_path, stream, rows):
    (tmp_path / "words.txt").write_text("word\n" * 5000, encoding="ascii")
    assert rows_held(stoker, f"{stream}.shuffle(auto).batch(8)", cwd=tmp_path) == rows


def test_places_count_as_nothing(stoker):
    assert rows_held(stoker, "range(999999).shuffle(10).shuffle(auto).batch(8)") == 65536


def test_what_the_plan_shows_is_what_runs(stoker):
    rows = rows_held(stoker, f"{STREAM}.shuffle(auto)")
    chains = [f"{STREAM}.shuffle({size}).batch(8)" for size in ("auto", rows, rows - 1)]
    auto, same, other = (digest(stoker, chain) for chain in chains)
    assert auto == same != other


def test_the_budget_does_not_matter(stoker):
    chain = f"{STREAM}.shuffle(auto).batch(8)"
    assert len({digest(stoker, chain, "--memory", memory) for memory in ("8M", "64M", "1G")}) == 1


def test_resumed_under_another_budget(stoker, tmp_path):
    words = ["run", f"{STREAM}.shuffle(auto).batch(80)", "--dump", "--quiet"]
    whole = stoker(*words).stdout
    words += ["--checkpoint", tmp_path / "state", "--resume"]
    first = stoker(*words, "--take", 100, "--memory", "1G").stdout
    rest = stoker(*words, "--memory", "8M").stdout
    assert first + rest == whole


@pytest.mark.parametrize("endless", ["counter()", "range(10).repeat()"])
def test_endless(stoker, endless):
    done = stoker("run", f"{endless}.shuffle(auto).take(3)")
    assert done.returncode != 0
    assert "endless; give buffer_size" in done.stderr


def test_too_little_memory_is_said(stoker):
    done = stoker("run", f"{STREAM}.shuffle(auto).batch(8)", "--memory", "1M")
    assert done.returncode != 0
    assert "shuffle keeps" in done.stderr


@pytest.mark.parametrize(
    ("chain", "rows"),
    [
        ("range(100).batch(2).take(5)", 5),
        ("range(1000).batch(10).skip(990)", 11),
        ("range(1000).batch(10).shard(50, 3)", 20),
        ("range(1000).batch(10).shard(50, 0)", 21),
        ("range(100).batch(2).take(3).repeat(2)", 6),
        ("range(100).batch(10, true).unbatch()", 201),
        ("range(100).window(10, 5, drop_remainder=true).take(7).unbatch()", 70),
    ],
)
def test_a_buffer_is_no_larger_than_what_may_come(stoker, chain, rows):
    """Each element may be bad, and then comes beside the batches of the others."""
    assert rows_held(stoker, f"{chain}.shuffle(100000).batch(2)") == rows
