# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: whole, alone, and drawn by a browser where there is one."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from PIL import Image
from places import STOKER

CHAIN = "range(100000).shuffle().map('y = x * 2').filter('x % 3 > 0').batch(64)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "profile.html"
    trace = path.with_suffix(".json")
    words = [STOKER, "profile", CHAIN, "--seconds", "0.4", "--consumer-ms", "1"]
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
    words = [STOKER, "profile", chain, "--seconds", "0.1", "--no-trials"]
    subprocess.run([*words, "--report", str(path)], check=True, capture_output=True, timeout=60)
    text = path.read_text(encoding="utf-8")
    assert "</script><b>" not in text and "<\\/script><b>" in text
    assert "</script><b>" in data_of(text)["profile"]["chain"]


# ---- what a browser makes of it ----

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def processes_with(text):
    """Numbers of the processes that have a text in their command line."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass  # it has ended
    return found


def end_of(directory):
    """Everything that a browser began has ended by itself soon; else it is ended, and that is told."""
    for _ in range(100):
        if not processes_with(directory):
            return
        time.sleep(0.1)
    left = processes_with(directory)
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert not left, f"the browser left {len(left)} processes"


def browse(page, light, *words):
    """What a browser prints that has no screen, asked for one thing, once the page's script came to its end."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        pytest.skip(f"there is no browser ({', '.join(BROWSERS)}): tools/packages-test.txt")
    with tempfile.TemporaryDirectory(prefix="browser-", dir=page.parent) as own:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={own}", "--virtual-time-budget=5000"]
        command += [f"--blink-settings=preferredColorScheme={1 if light == 'light' else 0}"]
        process = subprocess.Popen(
            [*command, *words, page.as_uri()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": own},
        )
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            end_of(own)
    assert process.returncode == 0, err[-2000:]
    return out


def drawn(page, light="light", width=1180):
    """The page as a browser has it."""
    dom = browse(page, light, f"--window-size={width},2000", "--dump-dom")
    assert 'data-ready="true"' in dom
    return dom


def colours_of(dom):
    """Which colours each op has, by its name and number, and in how many places."""
    colours, places = {}, 0
    for tag in re.findall(r"<(?:i|span)[^>]* data-op=[^>]*>", dom):
        attributes = dict(re.findall(r'data-(\w+)="([^"]*)"', tag))
        colours.setdefault(attributes["op"], set()).add(attributes["colour"])
        places += 1
    return colours, places


def profiled(chain, path):
    words = [STOKER, "profile", chain, "--seconds", "0.3", "--no-trials"]
    subprocess.run([*words, "--report", str(path)], check=True, capture_output=True, timeout=60)
    return path


def test_every_op_has_a_colour_of_its_own(tmp_path):
    """More ops than there are chosen hues, some with one name: none comes twice, and an op has the same everywhere."""
    ops = ["map('y = x')", "rename({y: z})", "filter('x >= 0')", "enumerate()", "map('x = x + 1')"]
    ops += ["take(1000000)", "skip(1)", "shuffle(10)", "map('w = x * 2')", "cast(int32, x)"]
    ops += ["repeat(2)", "select([x])", "batch(4)", "unbatch()", "ignore_errors()", "unique()"]
    chain = "range(1000000)." + ".".join([*ops, "batch(64)"])
    dom = drawn(profiled(chain, tmp_path / "p.html"))
    colours, places = colours_of(dom)
    words = [key.split("@")[0] for key in colours]
    assert words.count("map") > 1 and words.count("batch") == 2, words
    assert len(colours) > 10 and places > 2 * len(colours)
    assert not {key: found for key, found in colours.items() if len(found) > 1}
    assert len({found.copy().pop() for found in colours.values()}) == len(colours), colours
    charts = "".join(re.findall(r"<svg.*?</svg>", dom, re.S))
    assert charts and not set().union(*colours.values()) & set(re.findall(r'="([^"]+)"', charts))
    assert not re.search(r"#[0-9a-f]{3}|rgb|hsl", charts)


@pytest.mark.parametrize("light", ["light", "dark"])
def test_a_browser_draws_it(page, light):
    dom = drawn(page, light)
    assert re.search(r'id="verdict">(input-bound|step-bound|input alone|too little)', dom)
    assert dom.count("<svg") >= 2 and "shuffle()" in dom and 'class="tile"' in dom
    for part in ("ops", "stages", "memory", "tuning"):
        table = re.search(rf'<table id="{part}">(.*?)</table>', dom, re.S)[1]
        assert table.count("<tr>") > 1, part
    assert "NaN" not in dom and "undefined" not in re.sub(r"<script.*?</script>", "", dom, flags=re.S)


@pytest.mark.parametrize("light", ["light", "dark"])
def test_it_follows_the_light(page, tmp_path, light):
    picture = tmp_path / "p.png"
    browse(page, light, "--window-size=1180,1600", f"--screenshot={picture}")
    with Image.open(picture) as image:
        grey = image.convert("L")
        ground = grey.getpixel((3, 3))
        darkest, lightest = grey.getextrema()
    assert ground > 240 if light == "light" else ground < 40
    assert lightest - darkest > 180  # texts can be read


# Appended to a page: what is wider than the window, and texts that are cut off.
LOOK = """<script>
const wide = [...document.querySelectorAll("body *")].filter(node => !node.closest(".wide, svg") &&
  node.getBoundingClientRect().right > innerWidth + 1);
const cut = [...document.querySelectorAll("svg")].flatMap(svg => [...svg.querySelectorAll("text")]
  .filter(text => { const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
    return a.left < b.left || a.right > b.right + 1; }));
document.body.dataset.wide = wide.map(node => node.tagName + node.id).join(" ") + ";" +
  cut.map(node => node.textContent).join(" ");
</script></body>"""


@pytest.mark.parametrize("width", [360, 700, 1180])
def test_nothing_is_cut_off(page, tmp_path, width):
    path = tmp_path / "p.html"
    path.write_text(page.read_text(encoding="utf-8").replace("</body>", LOOK), encoding="utf-8")
    assert re.search(r'data-wide="([^"]*)"', drawn(path, width=width))[1] == ";"


def test_where_it_cannot_be_written(tmp_path):
    words = [STOKER, "profile", "range(10).batch(2)", "--seconds", "0.1"]
    words += ["--no-trials", "--report", str(tmp_path / "none" / "p.html")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot write" in done.stderr and "p.html" in done.stderr
