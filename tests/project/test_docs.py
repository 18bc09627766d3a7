# SPDX-License-Identifier: Apache-2.0
"""What the documents show is run, so that it stays true: README.md, docs/*.md, the examples of ops.

A fenced block is run by the words behind its fence, in a directory of small generated files (see
`place`):

    ```sh run     a shell script that must succeed
    ```console    lines that begin with "$ " are commands, the lines below each are all that it
                  prints; … stands for any text, and alone on a line for any lines; numbers of
                  bytes may differ
    ```console about     the same, but every number may differ
    ```chain      a chain per line, each of which must be accepted
    ```recipe     a recipe that must be accepted
    ```c          a program, or the body of main, compiled against the build; it must succeed
    ```python     a script that must succeed, run with the installed package
    ```pycon      a transcript of the interpreter, compared as a console's is

The python and pycon blocks of a document share their names, in order. Words behind `python` are
packages that the block needs (tensorflow, torch, jax): where one is missing, the block is compiled
only, and says so. `make parity` has the first two. `alone` makes a block a script of its own.

Other blocks are for reading only: ```sh and ```text, the examples of docs/ops.md, docs/layers.md
and docs/recipes.md, which are run from the registry, and indented ones. `stoker` is the command of the build, `python` the interpreter
of the tests.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import pytest
from PIL import Image
from places import STOKER, TREE

HANG_SECONDS = 120
DOCUMENTS = [
    TREE / "README.md",
    TREE / "ARCHITECTURE.md",
    TREE / "CHANGELOG.md",
    *sorted((TREE / "docs").glob("*.md")),
]
KINDS = ("sh run", "console", "console about", "chain", "recipe", "c", "python", "pycon")
PACKAGES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
TEXTS = {
    "words.txt": "one\ntwo\nthree\n",
    "a.txt": "alpha\n",
    "b.txt": "beta\ngamma\n",
    "texts/1.txt": "a text\n",
    "texts/2.txt": "another\n",
    "list.txt": "texts/1.txt\ntexts/2.txt\n",
    "data.bin": "abcdefghijklmnop",
    "raw/1.bin": "abcd" * 196,
    "points/1.bin": "abcd" * 6,
    "digits.idx": "0123456789abcdef" * 3,
    "a.jsonl": '{"label": 3, "user": {"name": "ann"}, "score": 0.5, "ids": [1, 2]}\n'
    '{"label": 1, "user": {"name": "bob"}, "ids": []}\n',
    "table.csv": "name,age\nann,31\nbob,44\n",
    "people.csv": "name,age,height,city\nAnn,31,1.7,Bern\nBob,44,1.8,Oslo\n",
    "bad/cat/note.jpg": "this is no picture\n",
}
GOLDEN = {
    "images.npy": "arrays/little_u1.npy",
    "train.npz": "arrays/stored.npz",
    "train.h5": "arrays/types.h5",
    "volume.h5": "arrays/volume.h5",
    "shards/0.npy": "arrays/little_u1.npy",
    "train-0.tfrecord": "records/examples.tfrecord",
    "clips-0.tfrecord": "records/sequences.tfrecord",
    "shard-0.tar": "records/pictures.tar",
}
PROGRAM = """\
#include <stdio.h>
#include <string.h>
#include <stoker/stoker.h>

int main(void)
{
%s
return 0;
}
"""


def draw(path, number, mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (40 + number % 3 * 8, 32), (number * 37 % 256, 90, 160))
    for x in range(32):
        image.putpixel((x, x), (255, number * 11 % 256, 0))
    image.convert(mode).save(path, quality=90)


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A directory with the files that the documents name."""
    here = tmp_path_factory.mktemp("docs")
    for number in range(24):
        for folder in ("train", "photos"):
            draw(here / folder / ("cat", "dog", "owl")[number % 3] / f"{number:02}.jpg", number)
    for number in range(4):
        for folder in ("a", "b", "photos", "."):
            draw(here / folder / f"{number}.jpg", number)
        for folder in ("data/x", "scans", "images"):
            draw(here / folder / f"{number}.png", number)
        draw(here / f"masks/{number}.png", number, "P")
        draw(here / f"clips/{number}.gif", number)
        draw(here / f"bad/cat/{number}.jpg", number)
    draw(here / "a.png", 0)
    draw(here / "b.png", 1)
    for name, text in TEXTS.items():
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in ("examples.tfrecord", "sequences.tfrecord"):
        (here / name).write_bytes((TREE / "tests/golden/records" / name).read_bytes())
    for name, golden in GOLDEN.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes((TREE / "tests/golden" / golden).read_bytes())
    whole = (here / "bad/cat/2.jpg").read_bytes()
    (here / "bad/cat/2.jpg").write_bytes(whole[: len(whole) // 2])
    return here


class Block(NamedTuple):
    """A fenced block: its document, the line of its fence, the words behind it, and the text."""

    document: pathlib.Path
    line: int
    kind: str
    text: str


def all_blocks(document):
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, text[: match.start()].count("\n") + 1, match[1].strip(), match[2])
        for match in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def is_python(block):
    return block.kind.split()[:1] in (["python"], ["pycon"])


def as_parameters(found, value):
    return [pytest.param(value(block), id=f"{block.document.name}:{block.line}") for block in found]


def blocks(kind):
    """The text of every block of this kind."""
    found = [
        block for document in DOCUMENTS for block in all_blocks(document) if block.kind == kind
    ]
    return as_parameters(found, lambda block: block.text)


def environment():
    path = f"{STOKER.parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    return dict(
        os.environ,
        PKG_CONFIG_PATH=str(STOKER.parent),  # which speaks of an installed tree,
        CPATH=str(TREE / "include"),  # so the headers are here
        PATH=path,
        NO_COLOR="1",
        LC_ALL="C.UTF-8",
        TF_CPP_MIN_LOG_LEVEL="3",
        CUDA_VISIBLE_DEVICES="",
    )


def shell(command, place, **options):
    return subprocess.run(
        ["bash", "-eu", "-c", command],
        cwd=place,
        env=environment(),
        timeout=HANG_SECONDS,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def as_pattern(lines):
    """A regular expression for what a command prints."""
    parts = []
    for line in lines:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            text = ".*".join(re.escape(piece) for piece in line.split("…")) + "\n"
            parts.append(re.sub(r"\d+\\ (KB|MB|bytes)", r"\\d+ (?:KB|MB|bytes)", text))
    return "".join(parts)


@pytest.mark.parametrize("text", blocks("sh run"))
def test_script(text, place):
    done = shell(text, place)
    assert done.returncode == 0, done.stdout


def examples(text):
    """(command, lines it prints) of a transcript."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        yield command, lines


@pytest.mark.parametrize("text", blocks("console"))
def test_transcript(text, place):
    for command, lines in examples(text):
        printed = shell(command, place).stdout
        assert re.fullmatch(as_pattern(lines), printed), f"$ {command}\n{printed}"


@pytest.mark.parametrize("text", blocks("console about"))
def test_transcript_about(text, place):
    def about(printed):
        numbers = re.sub(r"\d[\d.]*", "0", printed)
        return re.sub(r" +", " ", re.sub(r"avx2|avx512|scalar", "level", numbers))

    for command, lines in examples(text):
        printed = shell(command, place).stdout
        assert re.fullmatch(as_pattern(about(line) for line in lines), about(printed)), (
            f"$ {command}\n{printed}"
        )


@pytest.mark.parametrize("text", blocks("chain"))
def test_chain(text, place):
    for chain in filter(None, text.splitlines()):
        done = subprocess.run(
            [STOKER, "plan", chain],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", blocks("recipe"))
def test_recipe(text, place):
    (place / "recipe.stk").write_text(text, encoding="utf-8")
    done = shell("stoker plan recipe.stk", place)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", blocks("c"))
def test_program(text, place, tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(text if "int main(" in text else PROGRAM % text, encoding="utf-8")
    words = [
        os.environ.get("CC", "gcc"),
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{TREE / 'include'}",
        source,
        "-o",
        program,
        f"-L{STOKER.parent}",
        "-lstoker",
        f"-Wl,-rpath,{STOKER.parent}",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert done.returncode == 0, done.stderr
    done = shell(str(program), place)
    assert done.returncode == 0, done.stdout


# ---- Python ----


def missing_packages(block):
    names = [word for word in block.kind.split()[1:] if word != "alone"]
    return [PACKAGES[name] for name in names if not importlib.util.find_spec(name)]


def is_run_together(block):
    return is_python(block) and "alone" not in block.kind.split() and not missing_packages(block)


@pytest.fixture(scope="session")
def run_page(place, tmp_path_factory):
    """Runs the Python blocks of a document once: {line: result}, and how the process ended."""
    done = {}

    def run(document):
        if document not in done:
            done[document] = run_blocks(document, place, tmp_path_factory.mktemp("page"))
        return done[document]

    return run


def run_blocks(document, place, folder):
    found = [block for block in all_blocks(document) if is_run_together(block)]
    (folder / "blocks").write_text(
        json.dumps([{"line": b.line, "kind": b.kind, "text": b.text} for b in found]),
        encoding="utf-8",
    )
    command = [
        sys.executable,
        TREE / "tests" / "project" / "doc_page.py",
        folder / "blocks",
        folder / "results",
    ]
    try:
        ended = subprocess.run(
            command,
            cwd=place,
            env=environment(),
            timeout=HANG_SECONDS,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        fault = f"exit code {ended.returncode}\n{ended.stderr}"
    except subprocess.TimeoutExpired:
        fault = f"not finished after {HANG_SECONDS} s"
    results = folder / "results"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {result["line"]: result for result in map(json.loads, lines)}, fault


def python_blocks():
    found = [block for document in DOCUMENTS for block in all_blocks(document) if is_python(block)]
    return as_parameters(found, lambda block: block)


@pytest.mark.parametrize("block", python_blocks())
def test_python(block, place, run_page, tmp_path):
    if missing := missing_packages(block):
        compile(block.text, f"{block.document.name}:{block.line}", "exec")
        pytest.skip(f"{', '.join(missing)} not installed here: the block was compiled, not run")
    if "alone" in block.kind.split():
        (tmp_path / "block.py").write_text(block.text, encoding="utf-8")
        done = shell(f"python '{tmp_path / 'block.py'}'", place)
        assert done.returncode == 0, done.stdout
        return
    results, fault = run_page(block.document)
    assert block.line in results, (
        f"the process of this document ended before this block was done: {fault}"
    )
    assert not results[block.line]["error"], results[block.line]["error"]
    for source, expected, printed in results[block.line]["shown"]:
        assert re.fullmatch(as_pattern(expected.splitlines()), printed), f">>> {source}{printed}"


def test_package_is_installed():
    found = importlib.util.find_spec("stoker")
    assert found, f"there is no package stoker for {sys.executable}: make test installs it"


# ---- examples of the ops ----


def op_examples():
    if not STOKER.exists():
        return []
    ops = json.loads(
        subprocess.run([STOKER, "ops", "--json"], capture_output=True, check=True).stdout
    )
    return [
        pytest.param(line.strip(), id=f"{op['name']}-{number}")
        for op in ops
        for number, line in enumerate(op["doc"].split("\n"))
        if line.startswith("    ") and "@" not in line
    ]  # the C tests bind names and run those


@pytest.mark.parametrize("chain", op_examples())
def test_op_example(chain, place, stoker):
    done = stoker("head", chain, "-n", 1, cwd=place)
    assert done.returncode == 0, done.stderr


# ---- the documents as a whole ----


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links(document):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_kinds(document):
    """A fence with a word that nobody knows would be a block that nobody runs."""
    for block in all_blocks(document):
        words = block.kind.split()
        is_known = (
            block.kind in (*KINDS, "sh", "text")
            or (block.kind == "" and document.name in ("ops.md", "layers.md", "recipes.md"))
            or (words[:1] == ["python"] and all(word in (*PACKAGES, "alone") for word in words[1:]))
        )
        assert is_known, f"{document.name}:{block.line}: nobody runs a block of kind {block.kind!r}"


def test_make_targets():
    targets = set(
        re.findall(r"^([a-z]+):", (TREE / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE):
            assert target in targets, f"{document.name} names make {target}"


@pytest.mark.parametrize("listed", ["packages.txt", "packages-test.txt", "requirements.txt"])
def test_install_page_says_why(listed):
    """Everything that the build and the tests install is in docs/install.md, with its reason."""
    page = (TREE / "docs" / "install.md").read_text(encoding="utf-8")
    lines = (TREE / "tools" / listed).read_text(encoding="utf-8").splitlines()
    for name in (re.split(r"[#=\s]", line)[0] for line in lines):
        assert not name or f"`{name}`" in page, f"{name} of tools/{listed}"


def test_readme_is_short():
    """Understood in two minutes: few lines, one chart, no table that is wider than four columns."""
    text = (TREE / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 170
    assert len(re.findall(r"^!\[", text, re.MULTILINE)) == 1
    assert all(row.count("|") <= 5 for row in re.findall(r"^\|.*$", text, re.MULTILINE))


def test_index_has_every_page():
    index = (TREE / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([a-z0-9-]+\.md)", index))
    assert linked == {path.name for path in (TREE / "docs").glob("*.md")} - {"index.md"}


def test_fuzzers_are_listed():
    """fuzz/README.md has a row for every fuzzer, with how often it was run, and for no other."""
    readme = (TREE / "fuzz" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(fuzz_\w+)` \| .+ \| [0-9.]+ M \|$", readme, re.MULTILINE)
    assert sorted(rows) == sorted(path.stem for path in (TREE / "fuzz").glob("fuzz_*.c"))


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, TREE / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_pair_can_be_measured(place):
    """tools/measure_pairs.py finds two programs for each measurement, and can run them."""
    tool = load_tool("measure_pairs")
    text = tool.PAGE.read_text(encoding="utf-8")
    pairs = tool.find_pairs(text)
    assert ["setup", *(pair.name for pair in pairs)] == re.findall(
        r"<!-- measured: (\w+) -->", text
    )
    assert all("stoker" in pair.ours and "stoker" not in pair.theirs for pair in pairs)
    assert tool.run_program(pairs[0].ours, place, 0.001) > 0
    line = tool.line_of(pairs[0], {"theirs": 3.0, "ours": 1.5})
    assert line == "Measured: tf.data 3.00 s, stoker 1.50 s. stoker is **2.00 times** as fast."
    assert line in tool.put(text, pairs[0].name, line)


def test_blocks_are_found():
    for kind in KINDS:
        assert blocks(kind), f"no block of kind {kind}: is the pattern wrong?"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The documents as a site; a warning of mkdocs fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command, cwd=TREE, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_site_is_complete(site):
    for document in (TREE / "docs").glob("*.md"):
        page = (site / document.with_suffix(".html").name).read_text(encoding="utf-8")
        assert page.count("<h1") == 1, f"{document.name} has no title, or two"
        assert "```" not in page, f"{document.name} has a fence that was not understood"


def test_site_needs_no_network(site):
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"""(?:\ssrc=|<link[^>]*\shref=|url\()["']?([^"')>\s]+)""", text)
        for address in loaded:
            assert "//" not in address, f"{path.name} loads {address}"
            if path.name != "404.html":
                assert (path.parent / address).exists(), f"{path.name} has no {address}"
