# SPDX-License-Identifier: Apache-2.0
"""assert_cardinality: a length behind what has none, and what happens if it is wrong."""

import json

import pytest

EVEN = "range(10).filter('x % 2 == 0')"


def count_of(stoker, chain):
    done = stoker("plan", chain)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0].rsplit(": ", 1)[1]


@pytest.mark.parametrize("chain, count", [
    (f"{EVEN}.assert_cardinality(5)", "5"),
    (f"{EVEN}.assert_cardinality(5).batch(2)", "3"),
    (f"{EVEN}.assert_cardinality(5).repeat(3).batch(2, drop_remainder=true)", "7"),
    (f"{EVEN}.assert_cardinality(-2)", "unknown"),
    ("range(10).shuffle().assert_cardinality(10)", "10"),
    ("range(4).batch(2).unbatch().assert_cardinality(4)", "4"),
])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_true_changes_nothing(stoker, chain, count, workers):
    assert count_of(stoker, chain) == count
    words = ("--digest", "--quiet", "--workers", workers)
    call = chain[chain.index(".assert_cardinality("):].split(")")[0] + ")"
    with_it, without = stoker("run", chain, *words), stoker("run", chain.replace(call, ""), *words)
    assert with_it.returncode == 0 and with_it.stdout == without.stdout, with_it.stderr


@pytest.mark.parametrize("chain, n, message", [
    (f"{EVEN}.assert_cardinality(6)", 5, "6 elements were promised, but the input has only 5"),
    (f"{EVEN}.assert_cardinality(4)", 4, "4 elements were promised, but the input has more"),
    (f"{EVEN}.assert_cardinality(0)", 0, "0 elements were promised, but the input has more"),
    (f"{EVEN}.assert_cardinality(-1)", 5, "an endless input was promised, but it ends after 5"),
    ("range(9).filter('x > 9').assert_cardinality(1)", 0, "but the input has only 0"),
])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_wrong_ends_the_run(stoker, chain, n, message, on_error, workers):
    """With all elements before it delivered, as in tf.data. The chain is wrong, not the data."""
    done = stoker("run", chain, "--dump", "--quiet", "--on-error", on_error, "--workers", workers)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert "assert_cardinality" in done.stderr
    assert [json.loads(line)["fields"]["x"] for line in done.stdout.splitlines()] == [0, 2, 4, 6, 8][:n]


def test_every_epoch_is_counted(stoker):
    chain = f"{EVEN}.assert_cardinality(5).batch(2)"
    assert stoker("run", chain, "--quiet", "--epochs", 3).returncode == 0
    done = stoker("run", f"{EVEN}.repeat(2).assert_cardinality(5)", "--quiet")
    assert done.returncode == 2 and "has more" in done.stderr


def test_no_more_is_asked_for_than_needed(stoker):
    """Nobody sees the end, so nothing is wrong."""
    assert stoker("run", f"{EVEN}.assert_cardinality(9).take(5)", "--quiet").returncode == 0


@pytest.mark.parametrize("chain, message", [
    ("range(10).assert_cardinality(9)", "the input has 10 elements, not 9"),
    ("range(10).repeat().assert_cardinality(9)", "the input is endless"),
    ("range(10).assert_cardinality(-3)", "count"),
])
def test_what_is_known_to_be_wrong_is_refused(stoker, chain, message):
    done = stoker("plan", chain)
    assert done.returncode == 2 and message in done.stderr, done.stderr
