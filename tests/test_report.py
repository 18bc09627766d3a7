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


@pytest.mark.parametrize("light", ["light", "dark"])
def test_a_browser_draws_it(page, light):
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("there is no chromium: apt-get install chromium")
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    if light == "dark":
        words.append("--blink-settings=preferredColorScheme=0")
    words += [f"--user-data-dir={page.parent}/{light}", "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    dom = done.stdout
    assert 'data-ready="true"' in dom, done.stderr[-2000:]  # the script came to its end
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
