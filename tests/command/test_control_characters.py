# SPDX-License-Identifier: Apache-2.0
"""Names and data with control characters: what is said about them neither acts on a terminal nor looks
like a line of its own."""

import io
import json
import re
import tarfile
import zipfile

import pytest
from PIL import Image

NAME = "a\x1b[31m\nb\x7f\x9b"  # colour, a new line, delete, and the other escape
SHOWN = re.compile(r"\\x1b|\\u001b|0x1b")
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def picture(path, ending="png"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 3), (9, 80, 200)).save(path, ending)
    return path


def text_of(name):
    """A name as a text of the language."""
    return "'" + name.replace("\n", "\\n").replace("'", "\\'") + "'"


def bad_file(folder):
    (folder / (NAME + ".png")).write_bytes(b"\x1b[0m\nno picture")
    return f"files('{folder}/*.png').decode()"


def missing_file(folder):
    return f"files([{text_of(str(folder / NAME))}]).decode()"


def no_match(folder):
    return f"files({text_of(str(folder / NAME) + '*.jpg')})"


def classes(folder):
    for name in NAME, "plain":
        picture(folder / name / "1.png")
    (folder / NAME / "2.png").write_bytes(b"\x89PNG and no more")
    return f"image_folder('{folder}').decode()"


def members(folder):
    with tarfile.open(folder / "a.tar", "w") as out:
        for content, ending in (b"hi", "txt"), (b"3", "cls"):
            info = tarfile.TarInfo(f"{NAME}.{ending}")
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return f"tar('{folder}/a.tar', {{key: '__key__', label: 'cls'}})"


def endings(folder):
    with tarfile.open(folder / "a.tar", "w") as out:
        info = tarfile.TarInfo("x." + NAME)
        info.size = 2
        out.addfile(info, io.BytesIO(b"hi"))
    return f"tar('{folder}/a.tar', {{image: 'png'}})"


def cells(folder):
    (folder / "a.csv").write_text(f'x,"{NAME}"\n1,2\n"{NAME}",3\n')
    return f"csv('{folder}/a.csv', types={{x: float32}})"


def columns(folder):
    (folder / "a.csv").write_text(f'x,"{NAME}"\n1,2\n')
    return f"csv('{folder}/a.csv').select(y)"


def keys(folder):
    (folder / "a.jsonl").write_text(json.dumps({NAME: 1, "x": NAME}) + "\n")
    return f"jsonl('{folder}/a.jsonl', {{x: float32}})"


def lines(folder):
    (folder / "a.txt").write_text(NAME.split("\n")[0] + "\n")
    return f"lines('{folder}/a.txt').text_to_number()"


def arrays(folder):
    with zipfile.ZipFile(folder / "a.npz", "w") as out:
        out.writestr(NAME + ".npy", b"no array")
    return f"npz('{folder}/a.npz')"


def records(folder):
    (folder / NAME).write_bytes(b"\x1b" * 40)
    return f"tfrecord({text_of(str(folder / NAME))})"


def expressions(folder):
    return f"range(3).map({text_of('x + ' + NAME)})"


def ops(folder):
    return f"range(3).{NAME}()"


SOURCES = [bad_file, missing_file, no_match, classes, members, endings, cells, columns, keys]
SOURCES += [lines, arrays, records, expressions, ops]
COMMANDS = [["run"], ["run", "--on-error", "skip", "--errors"], ["run", "--json"], ["head"]]
COMMANDS += [["head", "--json"], ["plan"], ["stats"]]


def check(done, what):
    for stream in done.stdout, done.stderr:
        found = FORBIDDEN.search(stream)
        assert not found, (what, stream[max(0, found.start() - 60) : found.end() + 20])
        assert "\nb" not in stream, (what, stream)


@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_nothing_gets_through(stoker, tmp_path, make):
    chain = make(tmp_path)
    told = ""
    for command in COMMANDS:
        done = stoker(command[0], chain, *command[1:])
        check(done, command)
        told += done.stdout + done.stderr
    for path in sorted(tmp_path.iterdir()):
        done = stoker("inspect", path)
        check(done, f"inspect {path!r}")
        told += done.stdout + done.stderr
    assert SHOWN.search(told), f"the name was nowhere, so this tests nothing: {told}"


def test_names_of_files_and_folders_in_inspections(stoker, tmp_path):
    picture(tmp_path / NAME / (NAME + ".png"))
    for path in tmp_path, tmp_path / NAME, tmp_path / NAME / (NAME + ".png"):
        check(stoker("inspect", path), path)
