# SPDX-License-Identifier: Apache-2.0
"""Plug-ins: the example of examples/plugin, built with an installed stoker, and broken ones."""

import json
import os
import re
import subprocess
import sys

import pytest
from places import STOKER, TREE

BROKEN = TREE / "tests" / "plugin" / "broken.c"
WAYS = re.findall(r"#define (\w+) \d+", BROKEN.read_text(encoding="utf-8"))
SECONDS = 60


def call(*words, **options):
    options = {"timeout": SECONDS, "capture_output": True, "encoding": "utf-8", **options}
    return subprocess.run([*map(str, words)], check=False, **options)


def build(source, out, *flags):
    strict = ("-std=c11", "-Wall", "-Wextra", "-Werror")
    result = call("cc", *strict, "-shared", "-fPIC", *flags, "-o", out, source)
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The prefix of an installation."""
    prefix = tmp_path_factory.mktemp("prefix")
    result = call("cmake", "--install", STOKER.parent, "--prefix", prefix)
    assert result.returncode == 0, result.stderr
    return prefix


@pytest.fixture(scope="module")
def threshold(installed, tmp_path_factory):
    """The example, as its first lines say how to build it."""
    packages = next(installed.rglob("stoker.pc")).parent
    flags = call(
        "pkg-config", "--cflags", "stoker", env={**os.environ, "PKG_CONFIG_PATH": str(packages)}
    )
    assert flags.returncode == 0, flags.stderr
    out = tmp_path_factory.mktemp("plugin") / "threshold.so"
    return build(TREE / "examples/plugin/threshold.c", out, *flags.stdout.split())


def broken(tmp_path, way):
    out = tmp_path / f"{way.lower()}.so"
    return build(BROKEN, out, f"-DBREAK={way}", f"-I{TREE / 'include'}")


# ---- the example ----


def test_command(installed, threshold, stoker):
    command = installed / "bin" / "stoker"
    text = call(command, "ops", "threshold", "--plugin", threshold)
    assert text.stdout.startswith("threshold(level, invert=false, field=none)"), text.stderr
    made = call(command, "run", "range(6).threshold(3).batch(6)", "--dump", "--plugin", threshold)
    assert made.returncode == 0, made.stderr
    there = {**os.environ, "STOKER_PLUGINS": f":{threshold}:{threshold}:"}
    again = stoker("run", "range(6).threshold(3).batch(6)", "--dump", env=there)
    assert again.returncode == 0 and again.stdout == made.stdout
    plan = stoker("plan", "range(6).threshold(3)", env=there).stdout
    assert "threshold(3.0)  [indexed: keeps the class of its input] {x: uint8[]} × 6" in plan
    checked = stoker("ops", "--check", "threshold", env=there)
    assert re.match(r"threshold: 2 examples, \d+ runs, 0 refused", checked.stdout), checked.stderr
    listed = json.loads(stoker("ops", "--json", env=there).stdout)
    assert [op["name"] for op in listed if op["plugin"]] == ["threshold"]


def test_mistakes_in_the_chain(threshold, stoker):
    there = {**os.environ, "STOKER_PLUGINS": str(threshold)}
    for chain, words in (
        ("range(3).threshold()", "threshold needs level"),
        ("range(3).threshold(1, invert=2)", "invert"),
        ("range(3).treshold(1)", "did you mean threshold"),
        ("values({x: ['a']}).threshold(1)", "needs a field of int64 or float32"),
        ("range(3).threshold(1, field=y)", "there is no field 'y'"),
    ):
        result = stoker("run", chain, env=there)
        assert result.returncode == 2 and words in result.stderr and "^" in result.stderr


def test_bad_elements(threshold, stoker):
    there = {**os.environ, "STOKER_PLUGINS": str(threshold)}
    chain = "range(6).map('log(cast(x, float32) - 3)').threshold(0.5).batch(2)"
    failed = stoker("run", chain, env=there)
    assert failed.returncode == 1 and "threshold: range, element 0" in failed.stderr
    assert "is no number" in failed.stderr
    skipped = stoker("run", chain, "--on-error", "skip", "--json", env=there)
    assert skipped.returncode == 0, skipped.stderr
    assert json.loads(skipped.stdout)["errors"] == 3


SCRIPT = """
import sys, stoker
new = stoker.load_plugin(sys.argv[1]) if len(sys.argv) > 1 else ['threshold']
assert new == ['threshold'], new
assert len(sys.argv) == 1 or stoker.load_plugin(sys.argv[1]) == []
ds = stoker.range(6).threshold(3, invert=True).batch(6)
assert str(ds) == 'range(6).threshold(3.0, true).batch(6)'
assert ds.head(1)[0].x.tolist() == [1, 1, 1, 1, 0, 0]
assert str(stoker.parse('range(6).threshold(3)')) and 'threshold' in dir(ds)
assert 'Mark the values' in ds.threshold.__doc__
import inspect
assert str(inspect.signature(ds.threshold)) == '(level, invert=False, field=None)'
for wrong, kind in ((lambda: ds.threshold(), TypeError), (lambda: ds.threshold(1, x=2), TypeError),
                    (lambda: ds.treshold(1), AttributeError),
                    (lambda: stoker.range(3).threshold('x'), stoker.TypeMismatchError)):
    try:
        wrong()
    except kind as error:
        assert kind is not AttributeError or 'threshold' in str(error)
    else:
        assert False
try:
    stoker.load_plugin('nothing.so')
except stoker.StorageError as error:
    assert 'nothing.so' in str(error)
print('ok')
"""


def run_python(*words, **options):
    pytest.importorskip("stoker", reason="the package is not installed")
    return call(sys.executable, "-c", SCRIPT, *words, **options)


def test_python(threshold):
    result = run_python(threshold)
    assert result.stdout == "ok\n", result.stderr
    result = run_python(env={**os.environ, "STOKER_PLUGINS": str(threshold)})
    assert result.stdout == "ok\n", result.stderr


# ---- broken ones ----

AT_LOADING = {
    "OTHER_VERSION": "version 99 of stoker/op.h, and this is version 2; build it again",
    "OLDER_VERSION": "version 1 of stoker/op.h, and this is version 2; build it again",
    "OTHER_SIZES": "another stoker/op.h",
    "KNOWN_NAME": "an op named batch exists already",
    "NO_NAME": "'not a name' is no name for an op",
    "NO_RUN": "broken has no row.run",
    "NO_INFER": "broken has no infer",
    "A_SOURCE": "broken is no row op",
    "BAD_DEFAULT": "the default of n is outside its bounds",
    "OUTSIDE_PARAMS": "n lies outside of the 8 bytes",
    "CHAIN_PARAM": "cannot have parameters such as n",
}
AT_BUILDING = {
    "NO_FIELDS": "states 0 fields",
    "OTHER_TYPE_UNTOUCHED": "another type for 'x'",
    "WILD_FROM": "from field 9 of 1",
    "WILD_SHAPE": "field 0 ('x') as nothing that a field can be",
    "OTHER_COUNT": "another number of elements",
}
AT_RUNNING = {
    "DROPS": "dropped an element",
    "MARKS_BEHIND": "marked elements outside",
    "MARKS_BEFORE": "marked elements outside",
    "FAILS_OUTSIDE": "failed elements outside",
    "BAD_WITHOUT_WORDS": "without stk_rows_fail",
    "ODD_MARK": "no mark",
    "LEAVES_SPAN": "the field 'text' was left unset",
    "SPAN_WITHOUT_DATA": "has bytes, but no data",
    "WRONG_DIMS": "the field 'x' has another number of bytes",
    "WRONG_OWNER": "has an owner",
    "ODD_CODE": "run returned neither 0 nor STK_MEMORY (4)",
}


def test_every_way_is_tried():
    others = {"NOTHING", "REVIVES", "NO_EXAMPLE"}
    assert {*AT_LOADING, *AT_BUILDING, *AT_RUNNING, *others} == set(WAYS)


@pytest.mark.parametrize("way", AT_LOADING)
def test_refused_when_loaded(way, tmp_path, stoker):
    plugin = broken(tmp_path, way)
    result = stoker("run", "range(3)", "--plugin", plugin)
    assert result.returncode in (1, 2) and AT_LOADING[way] in result.stderr, result.stderr
    assert result.stderr.startswith(f"stoker: plug-in {plugin}: ") and result.stdout == ""


@pytest.mark.parametrize("way", AT_BUILDING)
def test_refused_when_a_chain_is_built(way, tmp_path, stoker):
    result = stoker("run", "range(3).broken()", "--plugin", broken(tmp_path, way))
    assert result.returncode == 2 and AT_BUILDING[way] in result.stderr, result.stderr
    assert "broken: infer of the plug-in" in result.stderr and "^~~~~~" in result.stderr


@pytest.mark.parametrize("way", AT_RUNNING)
@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_ends_the_run(way, policy, tmp_path, stoker):
    plugin = broken(tmp_path, way)
    result = stoker(
        "run", "range(100).broken().batch(10)", "--plugin", plugin, "--on-error", policy
    )
    assert result.returncode in (1, 2) and AT_RUNNING[way] in result.stderr, result.stderr
    assert "the plug-in is wrong" in result.stderr
    checked = stoker("ops", "--check", "broken", "--plugin", plugin)
    assert checked.returncode in (1, 2) and AT_RUNNING[way] in checked.stderr, checked.stderr


def test_bad_rows_stay_bad(tmp_path, stoker):
    chain = "range(10).filter('x != 3').map('1 // (x - 5)').broken().batch(20)"
    plugin = broken(tmp_path, "REVIVES")
    result = stoker("run", chain, "--plugin", plugin, "--on-error", "skip", "--json")
    assert result.returncode == 0, result.stderr
    made = json.loads(result.stdout)
    assert made["elements"] == 8 and made["errors"] == 1


def test_one_that_is_right(tmp_path, stoker):
    plugin = broken(tmp_path, "NOTHING")
    assert stoker("run", "range(3).broken()", "--plugin", plugin).returncode == 0
    checked = stoker("ops", "--check", "broken", "--plugin", plugin)
    assert checked.stdout.startswith("broken: 1 example, 3 runs, 0 refused"), checked.stderr
    without = stoker("ops", "--check", "broken", "--plugin", broken(tmp_path, "NO_EXAMPLE"))
    assert without.returncode == 2 and "no example" in without.stderr


def test_files_that_are_none(tmp_path, stoker):
    text = tmp_path / "text.so"
    text.write_text("no shared object", encoding="utf-8")
    source = tmp_path / "empty.c"
    source.write_text("int nothing = 1;\n", encoding="utf-8")
    empty = build(source, tmp_path / "empty.so")
    for path, words in (
        (tmp_path / "missing.so", "cannot be loaded"),
        (text, "cannot be loaded"),
        (empty, "it has no symbol stk_plugin"),
        (tmp_path, "cannot be loaded"),
    ):
        result = stoker("plan", "range(3)", "--plugin", path)
        assert result.returncode in (1, 2) and words in result.stderr
    assert "needs the NAME" in stoker("ops", "--check").stderr
    assert "no op named nothing" in stoker("ops", "--check", "nothing").stderr
