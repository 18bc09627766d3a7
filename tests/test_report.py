# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: whole, alone, and drawn by a browser where there is one."""

import json
import os
import re
import shutil
import subprocess

import pytest

CHAIN = "range(100000).shuffle().map('y = x * 2').filter('x % 3 > 0').batch(64)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "profile.html"
    trace = path.with_suffix(".json")
    words = [os.environ["STOKER"], "profile", CHAIN, "--seconds", "0.4", "--consumer-ms", "1"]
    words += ["--no-trials", "--report", str(path), "--trace", str(trace)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    return path


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def test_it_has_everything(page):
    data = data_of(page.read_text(encoding="utf-8"))
    assert data["profile"]["chain"] == CHAIN
    assert data["metrics"]["elements"] >= data["profile"]["elements"] > 0
    kinds = {event["ph"] for event in data["trace"]["traceEvents"]}
    assert {"M", "X", "C"} <= kinds
    assert isinstance(data["decisions"], list)
    assert json.loads(page.with_suffix(".json").read_text())["traceEvents"]


def test_it_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    shell = re.sub(r'id="data">.*?</script>', "", text, flags=re.S)
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?:""", shell)


def test_a_text_cannot_end_the_script(tmp_path):
    chain = "range(10).map('y = x').rename({y: '</script><b>'}).batch(2)"
    path = tmp_path / "p.html"
    words = [os.environ["STOKER"], "profile", chain, "--seconds", "0.1", "--no-trials"]
    subprocess.run([*words, "--report", str(path)], check=True, capture_output=True, timeout=60)
    text = path.read_text(encoding="utf-8")
    assert "</script><b>" not in text and "<\\/script><b>" in text
    assert "</script><b>" in data_of(text)["profile"]["chain"]


def drawn(page, light):
    """The page as a browser has it once its script came to its end."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser = next(filter(None, map(shutil.which, names)), None)
    if not browser:
        pytest.skip(f"there is no browser ({', '.join(names)}): apt-get install chromium")
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    if light == "dark":
        words.append("--blink-settings=preferredColorScheme=0")
    words += [f"--user-data-dir={page.parent}/{page.stem}-{light}", "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert 'data-ready="true"' in done.stdout, done.stderr[-2000:]
    return done.stdout


def test_every_op_has_a_colour_of_its_own(tmp_path):
    """More ops than there are chosen hues: none comes twice, and an op has the same one everywhere."""
    ops = ["map('y = x')", "rename({y: z})", "filter('x >= 0')", "enumerate()", "map('x = x + 1')"]
    ops += ["take(1000000)", "skip(1)", "shuffle(10)", "cast(int32, x)", "repeat(2)"]
    ops += ["select([x])", "batch(4)", "unbatch()", "ignore_errors()", "unique()", "batch(64)"]
    path = tmp_path / "p.html"
    words = [os.environ["STOKER"], "profile", "range(1000000)." + ".".join(ops), "--seconds", "0.3"]
    subprocess.run(
        [*words, "--no-trials", "--report", str(path)], check=True, capture_output=True, timeout=60
    )
    dom = drawn(path, "light")
    colours = {}
    legends = []
    for part in re.findall(r'id="(?:stack|thread)-legend"[^>]*>(.*?)</div>', dom, re.S):
        legends += re.findall(r'<i style="background: ([^"]+?);?"></i><span>([a-z_]+)', part)
    bars = re.findall(r"<td>([a-z_]+)[^<]*</td><td[^>]*><i [^>]*background: ?([^;\"]+)", dom)
    for name, colour in [(name, colour) for colour, name in legends] + bars:
        if not colour.startswith("var"):
            colours.setdefault(name, set()).add(colour)
    assert len(bars) > 10 and len(legends) > 5 and len(colours) > 10
    assert not {name: found for name, found in colours.items() if len(found) > 1}
    assert len({found.copy().pop() for found in colours.values()}) == len(colours), colours


@pytest.mark.parametrize("light", ["light", "dark"])
def test_a_browser_draws_it(page, light):
    dom = drawn(page, light)
    for part in ("input-bound", "step-bound", "too little"):
        if part in dom:
            break
    else:
        pytest.fail("no verdict")
    assert dom.count("<svg") >= 3 and "shuffle()" in dom and 'class="tile"' in dom


def test_where_it_cannot_be_written(tmp_path):
    words = [os.environ["STOKER"], "profile", "range(10).batch(2)", "--seconds", "0.1"]
    words += ["--no-trials", "--report", str(tmp_path / "none" / "p.html")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot write" in done.stderr and "p.html" in done.stderr
