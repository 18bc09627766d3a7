# SPDX-License-Identifier: Apache-2.0
"""The benchmark without its peers: its files fit together, its report is right, it runs."""

import json
import pathlib
import re
import subprocess
import sys
import types

import pytest
from PIL import Image, JpegImagePlugin

from places import BUILD, TREE

sys.path.insert(0, str(TREE / "bench"))

import bars
import catalog
import data
import front
import install
import jobs
import plot
import process
import report

WORKS, PEERS = catalog.works(), catalog.peers()


# ---- the files fit together ----


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.stem)
def test_a_work_says_what_it_is(work):
    assert work.text and work.UNIT
    ways = [work.CHAIN, work.measure, hasattr(PEERS[0].module, work.does)]
    assert sum(map(bool, ways)) == 1, "it has a chain, measures itself, or stoker has a function"
    if work.CHAIN:
        assert work.FIELD and work.BATCH and (work.COUNT or work.DATA in ("images", "photos"))
        assert "$" not in report.chain_text(work)
    names = {name for bar in work.BARS for name in bar.value.names}
    able = {peer.name for peer in PEERS if peer.function(work)} | {"stoker"}
    assert names <= able, "its bars name peers that do it"
    assert {peer.stem for peer in PEERS} >= set(work.COUNT_FOR)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.stem)
def test_a_peer_names_works_and_pinned_packages(peer):
    stems = {work.does for work in WORKS}
    assert peer.text and peer.NAME
    assert set(peer.functions()) <= stems, "each of its functions is a work"
    assert peer.chain or peer.functions()
    assert set(peer.NOTES) <= set(peer.functions())
    assert set(peer.PACKAGES) <= set(install.pins()), "pinned in tools/requirements-peers.txt"
    assert set(peer.WITHOUT_DEPENDENCIES) <= set(peer.PACKAGES)
    assert peer.IS_PROGRAM or callable(peer.module.load)


def test_names_differ():
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert PEERS[0].name == report.MAIN


def test_every_job_can_be_made(tmp_path):
    setup = jobs.Setup(
        build=tmp_path, command=tmp_path / "stoker", cache=tmp_path, place=tmp_path,
        reads=tmp_path / "it's", photos=tmp_path, photo_files=["y.jpg"] * 3, own={},
        images=tmp_path / "a*b", files=["x.jpg"] * 7, quick=False, workers=2, stretch_s=1,
        n_stretches=2,
    )  # fmt: skip
    for work in WORKS:
        for peer in PEERS:
            if peer.function(work):
                job = jobs.make(setup, work, peer, "measure")
                json.dumps(vars(job))
                assert job.count and job.epoch_elements >= job.count * work.KEPT
                if peer.IS_PROGRAM:
                    assert all(isinstance(word, str) for word in peer.function(work)(job))
    seed = next(work for work in WORKS if work.stem == "seed")
    job = jobs.make(setup, seed, PEERS[0], "measure")
    assert job.count == len(job.files) == 7 * 429 and r"a\\*b/**" in job.chain


# ---- the report ----

MADE_UP = {
    "machine": {
        "cpu": "A processor", "level": "avx2", "cores": "2 of 4", "memory": "8 GB",
        "system": "Linux 6", "python": "3.11.0", "two": 1.987, "stoker": "0.1.0",
        "versions": {"slow": "1.2"}, "date": "2026-01-01",
    },
    "images": {"n": 0, "is_generated": True, "statistics": {}},
    "rounds": 3,
    "works": {
        "carry": {
            "stoker": {"per_s": 3000.0, "first_s": 0.05, "after_import_s": 0.02, "import_s": 0.01,
                       "rss_mb": 80.4, "anon_mb": 60.0, "cpu_s_per_1000": 0.5},
            "slow": {"per_s": 1500.0, "first_s": 2.5, "after_import_s": 0.25, "import_s": 2.0,
                     "rss_mb": 400.0, "anon_mb": 300.0, "cpu_s_per_1000": 0.0123, "differs": 0.5},
            "broken": {"failed": "ImportError: no such thing"},
            "loop": {"per_s": 2000.0, "first_s": 0.01, "rss_mb": 10.0, "cpu_s_per_1000": 0.00001},
        }
    },
}  # fmt: skip

CARRY = types.SimpleNamespace(
    name="carry", stem="carry", text="Carries things.", CHAIN="range($count).batch(2)", COUNT=10,
    DATA="images", PARAMETERS={}, NOTE="", DOES=None,
    BARS=[
        bars.faster_than("slow", 1.5),
        bars.less_memory_than("slow", 0.1),
        bars.faster_than("broken", 1),
    ],
)  # fmt: skip


def made_up_peer(name, **more):
    values = {"NOTES": {}, "IS_STOKER": False, "IS_APART": False, **more}
    return types.SimpleNamespace(name=name, text=f"How {name} is set up.", **values)


MADE_UP_PEERS = [
    made_up_peer("stoker", IS_STOKER=True),
    made_up_peer("slow", NOTES={"carry": "carries half"}),
    made_up_peer("broken"),
    made_up_peer("loop", IS_APART=True),
]

TERMINAL = """\
A processor (avx2), 2 of 4 cores used, 8 GB, Linux 6, Python 3.11.0
stoker 0.1.0 against slow 1.2
two busy processes do 1.99 times the work of one here (raw baseline)

carry: Carries things.
           rate  stoker is  first batch (after import)  memory  CPU / 1000
stoker  3,000/s                          50 ms (20 ms)   80 MB      0.50 s
slow    1,500/s      2.00×              2.5 s (250 ms)  400 MB    12.30 ms
broken  not measured: ImportError: no such thing
(loop)  2,000/s      1.50×                       10 ms   10 MB       10 µs
  times as fast as slow                     2.00×  ≥ 1.5×   pass
  peak memory, as a share of slow's         0.20×  ≤ 0.1×  SHORT
  times as fast as broken            not measured    ≥ 1×"""

SECTION = """\
## carry

Carries things.

```text
range(10).batch(2)
```

|  | rate | stoker is | first batch (after import) | memory | CPU / 1000 | differs by |
|---|--:|--:|--:|--:|--:|--:|
| **stoker** | 3,000/s |  | 50 ms (20 ms) | 80 MB | 0.50 s |  |
| slow | 1,500/s | 2.00× | 2.5 s (250 ms) | 400 MB | 12.30 ms | 0.50 |
| broken | not measured: ImportError: no such thing |  |  |  |  |  |

For scale, loop: 2,000/s (stoker is 1.50×), first batch 10 ms, 10 MB, CPU 10 µs per 1000.

Not the same:

- slow: carries half.
"""


def test_terminal_is_as_expected():
    assert report.terminal(MADE_UP, [CARRY], MADE_UP_PEERS) == TERMINAL


def test_markdown_is_as_expected():
    text = report.markdown(MADE_UP, [CARRY], MADE_UP_PEERS)
    assert SECTION in text and "\n".join(front.LIST_MARKS) in text
    assert "- **slow**: How slow is set up." in text and "of 3 rounds" in text


@pytest.mark.parametrize(("rate", "text"), [
    (0.25, "0.25/s"), (12.4, "12/s"), (12345.0, "12,345/s"), (2.5e6, "2.5 M/s"),
])  # fmt: skip
def test_rates_have_as_many_digits_as_they_need(rate, text):
    assert report.rate_text({"per_s": rate}) == text


def test_what_no_peer_names_is_installed_too():
    assert any(pin.startswith("zstandard==") for pin in install.others(PEERS))
    assert not any(pin.startswith("webdataset==") for pin in install.others(PEERS))


def test_bars_decide():
    assert not report.all_hold(MADE_UP, [CARRY])
    held = types.SimpleNamespace(**{**vars(CARRY), "BARS": CARRY.BARS[:1]})
    assert report.all_hold(MADE_UP, [held])


PAGE = f"""\
# Benchmarks

- A processor (avx2), 2 of 4 cores used

{front.LIST_MARKS[0]}
old
{front.LIST_MARKS[1]}

## seed

Carries things.

|  | rate | stoker is | first batch (after import) | memory | CPU / 1000 |
|---|--:|--:|--:|--:|--:|
| **stoker** | 3,000/s |  | 50 ms (20 ms) | 80 MB | 0.50 s |
| stoker command | 9,000/s | 0.33× | 5 ms | 8 MB | 0.50 s |
| tf.data | 900,000/s | 2.00× | 2.5 s (250 ms) | 400 MB | 12.30 ms |
| DALI, CPU | 1.2 M/s | 1.50× | 1 s | 300 MB | 1 ms |
| FFCV | not measured: ImportError: no such thing |  |  |  |  |

| bar | is | must be |  |
|---|--:|--:|--:|
| times as fast as tf.data | 2.00× | ≥ 1.5× | pass |

## decode

|  | rate | stoker is | first batch (after import) | memory | CPU / 1000 |
|---|--:|--:|--:|--:|--:|
| **stoker** | 2,176/s |  |  |  |  |
"""


def test_readme_takes_the_best_peer_from_the_page(tmp_path):
    (tmp_path / "docs" / "img").mkdir(parents=True)
    (tmp_path / "docs" / "benchmarks.md").write_text(PAGE, encoding="utf-8")
    readme = tmp_path / "README.md"
    readme.write_text("above\n{}\nold\n{}\nbelow\n".format(*front.MARKS), encoding="utf-8")
    front.write(tmp_path)
    text, words = readme.read_text(encoding="utf-8"), front.ROWS[0][1]
    assert text.startswith("above\n") and text.endswith("below\n") and "old" not in text
    assert f"| {words} | 3,000 images/s | NVIDIA DALI on the CPU: 1.2 M/s | 1.50× |" in text
    assert "50 ms after the start of the process (tf.data: 2.5 s)" in text and "(A processor)" in text
    page = (tmp_path / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "| [seed](#seed) | Carries things. | 3,000/s | DALI, CPU | 1.2 M/s | 1.50× |" in page
    assert "[decode]" not in page and "old" not in page
    assert (tmp_path / front.CHART).read_text(encoding="utf-8").count("<rect") == 1 + 3


def test_a_file_without_marks_is_refused():
    with pytest.raises(ValueError, match="README.md has no"):
        front.put_between("nothing", front.MARKS, ["a line"], "README.md")


def test_readme_has_the_figures_of_the_page(tmp_path):
    """`python3 bench/front.py` would change nothing."""
    names = ["README.md", "docs/benchmarks.md", front.CHART]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((TREE / name).read_bytes())
    front.write(tmp_path)
    for name in names:
        assert (tmp_path / name).read_bytes() == (TREE / name).read_bytes(), name


def test_plot_is_svg_with_a_bar_for_each_reading():
    import xml.etree.ElementTree

    root = xml.etree.ElementTree.fromstring(plot.draw(MADE_UP, [CARRY], MADE_UP_PEERS))
    bars_drawn = [node for node in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(bars_drawn) == 1 + 3 * 3  # the background; three measured, in three panels
    assert "not measured" in [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


# ---- readings ----


def test_the_best_of_readings():
    first = {"per_s": 5, "first_s": 2, "rss_mb": 7, "cpu_s_per_1000": 1}
    second = {"per_s": 4, "first_s": 1, "rss_mb": 9, "cpu_s_per_1000": 2}
    best = {"per_s": 5, "first_s": 1, "rss_mb": 9, "cpu_s_per_1000": 1}
    assert process.better(None, first) == first
    assert process.better(first, second) == best == process.better(second, first)
    assert process.better(first, {"failed": "why"}) == {"failed": "why"}
    assert process.better({"failed": "why"}, first) == {"failed": "why"}


def test_a_peer_that_is_not_there_says_so(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps({"peer": "nobody", "mode": "measure"}), encoding="utf-8")
    why = "ModuleNotFoundError: No module named 'peers.nobody'"
    assert process.run_peer(path, {}, 60) == {"failed": why}


@pytest.mark.parametrize(("script", "why"), [
    ("echo oh dear >&2; exit 3", "ended with status 3: oh dear"),
    ("sleep 60", "took longer than 1 s"),
    ("echo nothing", "printed no JSON"),
])  # fmt: skip
def test_a_program_that_fails_says_why(script, why):
    assert process.run_program(["sh", "-c", script], {}, 1, 1) == {"failed": why}


# ---- the images ----


def test_images_are_what_they_are_said_to_be(tmp_path):
    files = data.image_files(data.make(tmp_path / "some", 8, n_processes=1))
    again = data.image_files(data.make(tmp_path / "again", 8, n_processes=2))
    assert len(files) == 8
    for path, other in zip(files, again):
        assert pathlib.Path(path).read_bytes() == pathlib.Path(other).read_bytes()
        found, image = data.header(path), Image.open(path)
        assert (found.width, found.height) == image.size
        names = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0", -1: "grey"}
        assert found.sampling == names[JpegImagePlugin.get_sampling(image)]
    assert set(data.describe(files)) == set(data.IMAGENET)


@pytest.mark.parametrize("quality", [50, 75, 96])
def test_quality_is_found(tmp_path, quality):
    Image.new("RGB", (16, 16), "red").save(tmp_path / "red.jpg", quality=quality)
    assert abs(data.header(tmp_path / "red.jpg").quality - quality) <= 1


def test_the_c_loop_makes_all_images(tmp_path):
    build = ["cmake", "--build", BUILD, "--target", "c_loop"]
    done = subprocess.run(build, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    files = data.image_files(data.make(tmp_path / "some", 5, n_processes=1))
    (tmp_path / "list").write_text("".join(path + "\n" for path in files), encoding="utf-8")
    words = [BUILD / "bench" / "c_loop", "--list", tmp_path / "list", "--side", "64"]
    words += ["--crop", "50", "--batch", "2", "--threads", "2", "--epochs", "3"]
    words += ["--shuffle", "--normalize"]
    reading = process.run_program(list(map(str, words)), {}, 1, 60)
    assert reading["per_s"] > 0 and reading["first_s"] > 0 and reading["rss_mb"] > 0, reading
    words[2] = tmp_path / "nothing"
    why = process.run_program(list(map(str, words)), {}, 1, 60)["failed"]
    assert why == f"ended with status 1: c_loop: cannot open: {tmp_path / 'nothing'}"


# ---- a run ----


def run(*words):
    command = [sys.executable, TREE / "bench" / "run.py", "--build", BUILD, *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)


def test_a_quick_run_of_stoker_alone():
    done = run("--quick", "--only", "map", "--peers", "stoker")
    assert done.returncode == 0, done.stderr
    row = r"^stoker +[\d.,]+( M)?/s +\d+ ms \(\d+ ms\) +\d+ MB"
    assert re.search(row, done.stdout, re.MULTILINE), done.stdout
    assert "written" not in done.stdout


def test_the_list_and_a_wrong_name():
    listed = run("--list")
    assert listed.returncode == 0 and all(work.name in listed.stdout for work in WORKS)
    wrong = run("--only", "nothing")
    assert wrong.returncode == 1 and "there is no work 'nothing'; there are: seed" in wrong.stderr
