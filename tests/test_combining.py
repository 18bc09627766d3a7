# SPDX-License-Identifier: Apache-2.0
"""Ops that number, draw, choose and remember: what they refuse, what plans say of them, and their
behaviour beside bad elements, ends and epochs. What they yield is the model's business.
"""

import json

import pytest


def dumped(stoker, chain, *words):
    """The fields of what is delivered, and how the run ended."""
    done = stoker("run", chain, "--dump", "--quiet", *words)
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()], done


def nodes(stoker, chain):
    """(class, why, count) by op, and the kinds of stages."""
    done = stoker("plan", chain, "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    found = {n["op"]: (n["class"], n["why"], n["count"]) for s in plan["stages"] for n in s["nodes"]}
    return found, [stage["kind"] for stage in plan["stages"]], plan


def refusal(stoker, chain):
    """The message of a chain that cannot be built, with the word under the caret."""
    done = stoker("plan", chain)
    assert done.returncode == 2, done.stdout
    message, text, carets = done.stderr.splitlines()[:3]
    at = carets.index("^")
    return message, text[at : at + len(carets.strip())]


@pytest.mark.parametrize("chain, count", [
    ("range(10).batch(3)", 4),
    ("range(10).filter('x > 3')", -2),
    ("counter().batch(3)", -1),
    ("counter().take(7)", 7),
    ("random().enumerate()", -1),
    ("range(10).shuffle(3).enumerate()", 10),
    ("range(10).ignore_errors()", -2),
])
def test_the_plan_says_how_many_elements_an_epoch_has(stoker, chain, count):
    assert nodes(stoker, chain)[2]["count"] == count
    word = {-1: "endless", -2: "unknown"}.get(count, str(count))
    assert stoker("plan", chain).stdout.splitlines()[0].endswith(f" an epoch: {word}")


def test_a_shard_of_the_run_counts_its_own(stoker):
    done = stoker("plan", "range(10).shard()", "--rank", 1, "--world", 3)
    assert done.stdout.splitlines()[0].endswith("elements an epoch: 3")


# ---- enumerate ----


def test_enumerate_of_an_indexed_input_is_indexed(stoker):
    found, kinds, _ = nodes(stoker, "range(10).shuffle().enumerate().batch(2)")
    assert found["enumerate"][0] == "indexed" and kinds == ["segment"]


def test_enumerate_of_a_stream_counts_as_it_comes(stoker):
    found, kinds, _ = nodes(stoker, "range(10).filter('x > 3').enumerate()")
    assert found["enumerate"][0] == "stream" and "zipping stage" in kinds


def test_a_bad_element_spends_its_number(stoker):
    chain = "range(5).map('y = 6 // (x - 2)').enumerate().select(index)"
    good, _ = dumped(stoker, chain, "--on-error", "skip")
    assert [element["index"] for element in good] == [0, 1, 3, 4]


def test_enumerate_refuses_a_second_index(stoker):
    message, place = refusal(stoker, "range(3).enumerate().enumerate()")
    assert "there is a field 'index' already" in message and place == "enumerate"


# ---- random ----


def test_random_differs_by_seed_epoch_and_place(stoker):
    def values(chain, *words):
        return [element["x"] for element in dumped(stoker, chain, *words)[0]]

    ours = values("random().take(50)", "--epochs", 2)
    assert values("random().take(50)", "--epochs", 2) == ours and ours[:50] != ours[50:]
    assert values("random(seed=1).take(50)") != ours[:50] != values("random().take(50)", "--seed", 1)
    assert all(0 <= x < 2**32 for x in ours) and max(ours) > 2**31 > min(ours)


def test_a_division_by_random_values_is_refused(stoker):
    message, _ = refusal(stoker, "random().take(10).split([0.5, 0.5], by=x)")
    assert "field 'x' is random" in message


@pytest.mark.parametrize("chain", ["counter().shuffle()", "random().split([1])"])
def test_endless_sources_are_refused_where_an_end_is_needed(stoker, chain):
    assert "endless" in refusal(stoker, chain)[0]


# ---- ignore_errors ----


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_ignored_errors_are_none(stoker, policy):
    chain = "range(6).map('y = 6 // (x % 3)').ignore_errors().select(x).take(3).batch(2)"
    got, done = dumped(stoker, chain, "--on-error", policy, "--max-errors", 0)
    assert done.returncode == 0 and got == [{"x": [1, 2]}, {"x": [4]}]


def test_errors_behind_it_count(stoker):
    chain = "range(6).map('y = 6 // (x % 3)').ignore_errors().map('z = 6 // (x - 4)')"
    got, done = dumped(stoker, chain)
    assert len(got) == 2 and done.returncode == 1 and "division by zero" in done.stderr
