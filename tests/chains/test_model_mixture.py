# SPDX-License-Identifier: Apache-2.0
"""Random trees of combiners over every source, by the command: with other numbers of workers, ways to read
and budgets it delivers what the model says; so does a run that is cut and resumed by another process.

STOKER_CHAINS sets how many chains are tried; a failing one is found again by its number, made as small as it
can be, and printed as a command. tests/python/test_random_mixture.py tries more of them, and more ways.
"""

import json
import os
import random
import shlex

import pytest
from model import model, nodes
from model.agree import difference
from model.random_chain import write_files
from model.random_mixture import COMBINERS, EXCEPTIONS, SOURCES, MixtureMaker
from model.shrink import shrink

N_CHAINS = int(os.environ.get("STOKER_CHAINS", "60"))
REFUSED = "is refused"
WORKERS = [1, 2, 3, 8, 16, 32]
KEEPS_VALUES = ("there is no room for another value", "the rows that wait for each value take more")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixtures")
    write_files(path)
    return path


def test_every_source_and_combiner_is_there(stoker):
    ops = json.loads(stoker("ops", "--json").stdout)
    sources = {op["name"] for op in ops if op["class"] == "source"}
    combiners = {op["name"] for op in ops if any("chain" in row["type"] for row in op["params"])}
    assert sources == set(SOURCES) | set(EXCEPTIONS), "put it into SOURCES, or EXCEPTIONS with a reason"
    assert combiners == set(COMBINERS)
    assert all(reason for reason in EXCEPTIONS.values())


def test_chains_have_every_source_below_every_combiner(folder):
    """The generator makes all pairs, and all policies, of which a few hundred chains have most."""
    pairs, policies = set(), set()

    def walk(chain, above):
        pairs.update((chain.name, name) for name in above)
        for below in chain.inputs:
            walk(below, above | {chain.name})

    for number in range(400):
        text, options = MixtureMaker(number, folder, may_call=True).make()
        walk(nodes.build(model.language.parse(text), None), set())
        policies.add(options.on_error)
    wanted = {(source, combiner) for source in SOURCES for combiner in COMBINERS}
    assert len(wanted - pairs) < len(wanted) / 10, sorted(wanted - pairs)
    assert policies == {"fail", "skip", "replace"}


class Run:
    """One way to run a chain: what it prints, and how it ends."""

    def __init__(self, stoker, text, *words):
        self.words = ["run", text, "--dump", "--quiet", *map(str, words)]
        done = stoker(*self.words)
        self.code, self.out, self.err = done.returncode, done.stdout.splitlines(), done.stderr

    def differs(self, expected):
        """Why it is not as expected, or None. A budget may be too small for values that nobody knew before."""
        if any(why in self.err for why in KEEPS_VALUES):
            return None
        found, wanted = (self.code, self.out, self.err), (expected.code, expected.out, expected.err)
        return None if found == wanted else f"{self.code} {self.err} should be {expected.code} {expected.err}"

    def __str__(self):
        return "stoker " + shlex.join(self.words)


def ways(stoker, text, given, chance):
    words = ["--workers", chance.choice(WORKERS), "--io", chance.choice(["auto", "threads", "uring"])]
    plan = stoker("plan", text, "--json", *words, *given) if chance.random() < 0.7 else None
    if plan and plan.returncode == 0:
        least = json.loads(plan.stdout)["minimum_bytes"]
        words += ["--memory", int(least * chance.choice([1, 1.1, 3]))]
    return words


def resumed(stoker, text, given, chance, place):
    """The end of a run that another process begins."""
    cut = chance.choice([1, 2, 5])
    saved = ["--checkpoint", place, "--every", "1000"]
    first = Run(stoker, text, *saved, "--take", cut, *ways(stoker, text, given, chance), *given)
    rest = Run(stoker, text, *saved, "--resume", *ways(stoker, text, given, chance), *given)
    rest.out = first.out + rest.out
    return rest


def fault_of(stoker, folder, maker, text, options):
    """What is wrong with a chain, and the command; None if nothing is."""
    chance, given = random.Random(maker.seed), options.words()
    whole = Run(stoker, text, "--workers", 0, *given)
    if whole.code == 2 or (whole.code == 1 and not whole.out and "\n" in whole.err.strip()):
        is_right = not maker.has_model or "needs more than 48 stages" in whole.err
        return None if is_right else f"{REFUSED}: {whole.err}", whole
    if whole.code not in (0, 1):
        return f"ends with {whole.code}: {whole.err}", whole
    if maker.has_model:
        truth = model.run(text, **vars(options))
        wrong = difference(truth.delivered, [json.loads(line) for line in whole.out])
        wrong = wrong or ((truth.error is None) != (whole.code == 0) and (whole.err or f"should fail: {truth.error}"))
        if wrong:
            return wrong, whole
    for _ in range(2):
        other = Run(stoker, text, *ways(stoker, text, given, chance), *given)
        if why := other.differs(whole):
            return why, other
    place = folder / f"{maker.seed}.place"
    place.unlink(missing_ok=True)
    other = resumed(stoker, text, given, chance, place)
    return other.differs(whole), other


def kind(why):
    """A chain that is made smaller may be refused, which is another fault."""
    return why and why.startswith(REFUSED)


@pytest.mark.parametrize("number", range(N_CHAINS))
def test_mixture(stoker, folder, number):
    maker = MixtureMaker(number, folder)
    text, options = maker.make()
    why, run = fault_of(stoker, folder, maker, text, options)
    if why:
        small = shrink(text, lambda t: kind(fault_of(stoker, folder, maker, t, options)[0]) == kind(why))
        why, run = fault_of(stoker, folder, maker, small, options)
        pytest.fail(f"chain {number}, made smaller:\n{run}\n{why}")
