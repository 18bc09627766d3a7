# SPDX-License-Identifier: Apache-2.0
"""What the documents show is run, so that it stays true: README.md, docs/*.md, and the examples of every op.

A fenced block is run by the word behind its fence, in a directory of small generated files (see `place`):

    ```sh run     a shell script that must succeed
    ```console    lines that begin with "$ " are commands, the lines below each are all that it prints;
                  … stands for any text, and alone on a line for any lines; numbers of bytes may differ
    ```chain      a chain per line, each of which must be accepted
    ```recipe     a recipe that must be accepted
    ```c          a program, or the body of main, compiled against the build; it must succeed

Other blocks (```sh, ```text and indented ones) are for reading only. `stoker` is the command of the build.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest
from PIL import Image

TREE = pathlib.Path(__file__).resolve().parent.parent
STOKER = pathlib.Path(os.environ.get("STOKER", TREE / "build" / "stoker")).resolve()
DOCUMENTS = [TREE / "README.md", TREE / "ARCHITECTURE.md", TREE / "CHANGELOG.md", *sorted((TREE / "docs").glob("*.md"))]
TEXTS = {
    "words.txt": "one\ntwo\nthree\n",
    "a.txt": "alpha\n",
    "b.txt": "beta\ngamma\n",
    "texts/1.txt": "a text\n",
    "texts/2.txt": "another\n",
    "list.txt": "texts/1.txt\ntexts/2.txt\n",
    "table.csv": "name,age\nann,31\nbob,44\n",
    "bad/cat/note.jpg": "this is no picture\n",
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


def draw(path, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (40 + number % 3 * 8, 32), (number * 37 % 256, 90, 160))
    for x in range(32):
        image.putpixel((x, x), (255, number * 11 % 256, 0))
    image.save(path, quality=90)


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
        for folder in ("data/x", "scans", "images", "masks"):
            draw(here / folder / f"{number}.png", number)
        draw(here / f"bad/cat/{number}.jpg", number)
    draw(here / "a.png", 0)
    draw(here / "b.png", 1)
    for name, text in TEXTS.items():
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    whole = (here / "bad/cat/2.jpg").read_bytes()
    (here / "bad/cat/2.jpg").write_bytes(whole[: len(whole) // 2])
    return here


def blocks(kind):
    """(label, text) of every block of this kind."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for match in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if match[1].strip() == kind:
                line = text[: match.start()].count("\n") + 1
                found.append(pytest.param(match[2], id=f"{document.name}:{line}"))
    return found


def shell(command, place, **options):
    path = f"{STOKER.parent}:{os.environ['PATH']}"
    env = dict(os.environ, PATH=path, NO_COLOR="1", LC_ALL="C.UTF-8")
    return subprocess.run(["bash", "-eu", "-c", command], cwd=place, env=env, timeout=120, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


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


@pytest.mark.parametrize("text", blocks("console"))
def test_transcript(text, place):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        printed = shell(command, place).stdout
        assert re.fullmatch(as_pattern(lines), printed), f"$ {command}\n{printed}"


@pytest.mark.parametrize("text", blocks("chain"))
def test_chain(text, place):
    for chain in filter(None, text.splitlines()):
        done = subprocess.run([STOKER, "plan", chain], cwd=place, capture_output=True, text=True, check=False)
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
    words = [os.environ.get("CC", "gcc"), "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{TREE / 'include'}",
             source, "-o", program, f"-L{STOKER.parent}", "-lstoker", f"-Wl,-rpath,{STOKER.parent}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = shell(str(program), place)
    assert done.returncode == 0, done.stdout


def op_examples():
    if not STOKER.exists():
        return []
    ops = json.loads(subprocess.run([STOKER, "ops", "--json"], capture_output=True, check=True).stdout)
    return [pytest.param(line.strip(), id=f"{op['name']}-{number}") for op in ops
            for number, line in enumerate(op["doc"].split("\n"))
            if line.startswith("    ") and "@" not in line]  # the C tests bind names and run those


@pytest.mark.parametrize("chain", op_examples())
def test_op_example(chain, place, stoker):
    done = stoker("head", chain, "-n", 1, cwd=place)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links(document):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_blocks_are_found():
    for kind in ("sh run", "console", "chain", "recipe", "c"):
        assert blocks(kind), f"no block of kind {kind}: is the pattern wrong?"
