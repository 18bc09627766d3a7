# SPDX-License-Identifier: Apache-2.0
"""stoker stats and stoker inspect, as their users meet them."""

import gzip
import io
import json
import shutil
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image
from places import GOLDEN


ARRAYS = GOLDEN / "arrays"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    for i in range(12):
        path = root / ("cat" if i % 3 else "dog") / f"{i:02}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 6), (i, 100, 200)).save(path)
    return root


def found(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_stats_of_images(stoker, images):
    chain = f"image_folder('{images}').decode().batch(5)"
    result = found(stoker("stats", chain, "--json"))
    image, label = result["fields"]["image"], result["fields"]["label"]
    assert result["elements"] == 12
    assert [c["mean"] for c in image["channels"]] == [5.5, 100.0, 200.0]
    assert [c["max"] for c in image["channels"]] == [11.0, 100.0, 200.0]
    assert "normalize" not in image  # two channels have no deviation
    assert [(c["name"], c["count"], c["weight"]) for c in label["classes"]] == [
        ("cat", 8, 0.75),
        ("dog", 4, 1.5),
    ]
    text = stoker("stats", chain).stdout
    assert "cat" in text and "channel" in text and "█" in text


def test_stats_prints_a_call_that_normalizes(stoker):
    chain = "values({v: [[1.0, 10.0], [3.0, 30.0], [5.0, 50.0]]})"
    call = found(stoker("stats", chain, "--json"))["fields"]["v"]["normalize"]["call"]
    assert call == "normalize(mean=[3, 30], std=[1.63299, 16.3299])"
    again = stoker("stats", f"{chain}.{call}", "--json")
    for channel in found(again)["fields"]["v"]["channels"]:
        assert abs(channel["mean"]) < 1e-5 and abs(channel["std"] - 1) < 1e-5


def test_stats_does_not_depend_on_workers_or_cpu(stoker):
    chain = "range(3000).map('y = sin(cast(x, float32)) * 1000').shuffle().batch(7)"
    results = {stoker("stats", chain, "--json", "--workers", n).stdout for n in (0, 1, 2, 8)}
    results.add(stoker("stats", chain, "--json", "--cpu", "scalar").stdout)
    assert len(results) == 1 and '"elements": 3000' in results.pop()


def test_stats_take_and_save(stoker, tmp_path):
    done = stoker("stats", "range(100).batch(10)", "--take", 3, "--save", tmp_path / "s.json")
    assert done.returncode == 0 and done.stdout.startswith("30 elements in 3 batches")
    assert json.loads((tmp_path / "s.json").read_text())["elements"] == 30
    done = stoker("stats", "range(100)", "--save", tmp_path / "no" / "s.json")
    assert done.returncode == 1 and "s.json" in done.stderr


def test_stats_of_bad_data(stoker, tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"no image")
    done = stoker("stats", f"files('{tmp_path}/*.jpg').decode()")
    assert done.returncode == 1 and "a.jpg" in done.stderr
    done = stoker("stats", f"files('{tmp_path}/*.jpg').decode()", "--on-error", "skip")
    assert done.returncode == 0 and "1 bad element" in done.stdout and "0 elements" in done.stdout


FILES = {
    "a.csv": b"x,y\n1,2.5\n3,4\n",
    "a.jsonl": b'{"x": 1, "name": "a"}\n{"x": 2, "name": "b"}\n',
    "odd.jsonl": b'{"x y": 1.5, "ids": [1], "t": "a"}\n{"x y": 2, "ids": []}\n',
    "a.txt": b"one\ntwo words\n",
}


@pytest.mark.parametrize("name", FILES)
def test_inspect_proposes_a_chain_that_runs(stoker, tmp_path, name):
    path = tmp_path / f"it's {name}"
    path.write_bytes(FILES[name])
    result = found(stoker("inspect", path, "--json"))
    assert not result["is_damaged"] and result["is_whole"] and result["bytes"] == len(FILES[name])
    done = stoker("run", result["chain"], "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["elements"] == 2


ROWS = {
    "plain": (b"a,b\n1,2\n3,4\n", 2),
    "no end": (b"a,b\n1,2\n3,4", 2),
    "crlf": (b"a,b\r\n1,2\r\n\r\n3,4\r\n", 2),
    "cr": (b"a;b\r1;2\r3;4\r5;6", 3),
    "mark": (b"\xef\xbb\xbf\na\tb\n\n1\t2\n", 1),
    "quotes": (b'a,b\n"1,\n1",2\n"x""\n",4\n5,6\n', 3),
    "a quote within": (b"a|b\n1'2\"|3\n4|5\n6|7\n", 3),
    "names in quotes": (b'"a\n,b",c\n1,2\n3,4\n', 2),
}


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("packed", [False, True])
def test_inspect_counts_the_rows_of_its_chain(stoker, tmp_path, case, packed):
    data, rows = ROWS[case]
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    result = found(stoker("inspect", path, "--json"))
    assert result["format"] == "CSV" and result["rows"] == rows
    done = stoker("run", result["chain"], "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["elements"] == rows, done.stderr
    assert packed or f" × {rows}\n" in stoker("plan", result["chain"]).stdout


@pytest.mark.parametrize("name", ["lengths.h5", "refused_lengths.npz"])
def test_inspect_reads_together_what_has_one_length(stoker, name):
    """Where there are several groups, one is read and the others are named."""
    result = found(stoker("inspect", ARRAYS / name, "--json"))
    members = result["datasets" if name.endswith("h5") else "arrays"]
    assert [(m["name"], m["elements"], m["type"]) for m in members] == [
        ("x", 3, "int64[]"),
        ("y", 4, "int64[]"),
    ]
    assert result["chain"].endswith(", {x: 'x'})") and not result["is_damaged"]
    assert len(result["notes"]) == 1 and "{y: 'y'}" in result["notes"][0]
    assert [field["first"] for field in result["fields"]] == [["0", "1", "2"]]


def test_inspect_says_how_datasets_are_stored(stoker):
    result = found(stoker("inspect", ARRAYS / "layouts.h5", "--json"))
    assert {m["name"]: m["storage"] for m in result["datasets"]} == {
        "chunked": "chunks of [1, 5], gzip",
        "contiguous": "",
        "grown": "chunks of [2, 2]",
        "half": "chunks of [1, 5]",
        "scaled": "read by libhdf5 alone",
        "unwritten": "read by libhdf5 alone",
    }
    assert result["chain"] == f"hdf5('{ARRAYS / 'layouts.h5'}')"


def test_inspect_of_datasets_that_are_refused(stoker):
    result = found(stoker("inspect", ARRAYS / "refused.h5", "--json"))
    faults = {m["name"]: m["fault"] for m in result["datasets"]}
    assert set(faults) == {"lists", "records", "references"}
    assert faults["records"].startswith("it holds records (a compound type)")


def test_a_damaged_dataset_costs_one_message(stoker, tmp_path):
    """libhdf5 has nothing to add at the end of the process."""
    data = bytearray((ARRAYS / "volume.h5").read_bytes())
    data[data.index(struct.pack("<III", 4, 5, 4)) + 3] ^= 0x10  # the size of chunks
    (tmp_path / "a.h5").write_bytes(data)
    done = stoker("head", f"hdf5('{tmp_path / 'a.h5'}', {{x: gzip}})")
    assert done.returncode == 1 and "dataset 'gzip'" in done.stderr
    assert "infinite loop" not in done.stderr
    result = found(stoker("inspect", tmp_path / "a.h5", "--json"))
    assert "fault" in {m["name"]: m for m in result["datasets"]}["gzip"]
    assert "contiguous" in result["chain"] and "gzip" not in result["chain"]


def test_inspect_finds_values_in_objects(stoker, tmp_path):
    lines = [
        {"x y": 1, "u": {"name": "a", "tags": ["p"], "deep": {"e f": 1.5}}, "m": [1, "a"]},
        {"x y": 2, "u": {"name": "b", "tags": []}, "m": []},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = found(stoker("inspect", path, "--json"))
    assert {field["name"]: field["type"] for field in result["fields"]} == {
        "x y": "int64[]",
        "u.name": "text",
        "u.tags": "list of text",
        "u.deep['e f']": "float64[]",
    }
    assert result["notes"] == ["m is left out: it has no values, or not of one type"]
    done = stoker("run", result["chain"], "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["elements"] == 2


def test_inspect_says_that_classes_are_not_mixed(stoker, images, tmp_path):
    note = "one class comes after the other: for training put shuffle() before decode()"
    assert note in found(stoker("inspect", images, "--json"))["notes"]
    (tmp_path / "only").mkdir()
    shutil.copy(next(images.rglob("*.png")), tmp_path / "only")
    assert note not in found(stoker("inspect", tmp_path, "--json"))["notes"]


def test_inspect_what_pack_wrote(stoker, images, tmp_path):
    chain = f"image_folder('{images}').decode()"
    out = tmp_path / "x.tfrecord"
    assert stoker("pack", chain, "--out", out, "--quiet").returncode == 0
    result = found(stoker("inspect", out, "--json"))
    assert result["format"] == "TFRecord" and result["records"] == 12
    assert {field["name"] for field in result["fields"]} >= {"label"}
    assert stoker("run", result["chain"], "--quiet").returncode == 0


def test_inspect_several(stoker, images, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    done = stoker("inspect", "--json", images, tmp_path / "a.txt", tmp_path / "none")
    assert done.returncode == 1 and "none" in done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["images"], first["classes"]) == (12, 2) and first["chain"].startswith("image_folder")
    assert second["format"] == "text"


def folder_of(tmp_path, name, files):
    """A folder with small pictures, and text where the name is no picture's."""
    folder = tmp_path / name
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file.lower().endswith((".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")):
            Image.new("RGB", (4, 3)).save(folder / file)
        else:
            (folder / file).write_text("text")
    return folder


@pytest.mark.parametrize(
    "name, files, n",
    [
        ("capitals", ["a.JPEG", "b.JPEG"], 2),
        ("both", ["a.JPEG", "b.jpg", "c.txt", "d.PNG"], 3),
        ("kinds", ["a.webp", "b.gif", "c.bmp", "d.txt"], 3),
        ("odd [1], {2}", ["a.Jpg"], 1),
        ("beside", ["a.jpg", "b.jpg", "more/c.jpg"], 3),
        ("classes", ["x/a.JPEG", "x/b.webp", "y/c.gif", "y/d.BMP", "y/e.txt", "y/f.tif", "g.png"], 4),
        ("texts", ["a.TXT", "b.txt", "c.md"], 2),
    ],
)
def test_inspect_proposes_what_runs(stoker, tmp_path, name, files, n):
    folder = folder_of(tmp_path, name, files)
    result = found(stoker("inspect", folder, "--json"))
    done = stoker("run", result["chain"], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["elements"] == n
    assert not result["is_damaged"] and not any("no file matches" in note for note in result["notes"])


def npz_bytes(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def tar_bytes():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in (("0.cls", b"1"), ("0.txt", b"a"), ("1.cls", b"0"), ("1.txt", b"b")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


RECORDS = (ARRAYS.parent / "records" / "plain.tfrecord").read_bytes()
TABLE, OBJECTS = b"x,y\n1,2.5\n3,4\n", b'{"x": 1, "name": "a"}\n{"x": 2, "name": "b"}\n'
HDF5 = (ARRAYS / "lengths.h5").read_bytes()
WORDS = b"one\ntwo words\n"
pack = gzip.compress
DIRECTORIES = {
    "csv": ({"a.csv": TABLE, "b.CSV": TABLE}, "csv", 4),
    "semicolons": ({"a.csv": TABLE.replace(b",", b";"), "b/c.csv": TABLE.replace(b",", b";")}, "csv", 4),
    "csv packed": ({"a.csv.gz": pack(TABLE), "b.csv": TABLE}, "csv", 4),
    "tsv": ({"a.tsv": TABLE.replace(b",", b"\t")}, "csv", 2),
    "txt": ({"a.txt": WORDS, "b.txt": WORDS, "c.txt.gz": pack(WORDS)}, "lines", 6),
    "txt, some of it tables": ({"a.txt": TABLE, "b.txt": WORDS}, "lines", 5),
    "jsonl": ({"a.jsonl": OBJECTS, "b.jsonl": OBJECTS, "c.jsonl.gz": pack(OBJECTS)}, "jsonl", 6),
    "npy": ({"a.npy": npy_bytes(np.zeros((3, 2))), "b.npy": npy_bytes(np.ones((4, 2)))}, "npy", 7),
    "npz": ({"a.npz": npz_bytes(x=np.zeros((3, 2)), y=np.arange(3)), "README.md": b"#"}, "npz", 3),
    "hdf5": ({"a.h5": HDF5, "b.h5": HDF5}, "hdf5", 6),
    "tfrecord": ({"a.tfrecord": RECORDS, "b.tfrecords": RECORDS}, "tfrecord", 12),
    "tfrecord packed": ({"a.tfrecord.gz": pack(RECORDS), "b.tfrecord": RECORDS}, "tfrecord", 12),
    "shards": ({f"x.tfrecord-0000{i}-of-00003": RECORDS for i in range(3)}, "tfrecord", 18),
    "no ending": ({f"train-0000{i}-of-00003": RECORDS for i in range(3)}, "tfrecord", 18),
    "tar": ({"a.tar": tar_bytes(), "b.tar": tar_bytes()}, "tar", 4),
    "tar packed": ({"a.tar.gz": pack(tar_bytes())}, "tar", 2),
    "an index each": ({"a.tfrecord": RECORDS, "a.idx": b"0 9\n9 9\n"}, "tfrecord", 6),
    "a first that is empty": ({"a.csv": b"", "b.csv": TABLE}, "csv", None),
    "bytes": ({"a.bin": b"\0\1\2", "b.bin": b"\0", "c.dat": b"\0"}, "files", 2),
}


def directory_of(root, files):
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.mark.parametrize("case", DIRECTORIES)
def test_inspect_proposes_what_reads_a_directory(stoker, tmp_path, case):
    files, source, n = DIRECTORIES[case]
    root = directory_of(tmp_path / f"it's {case}", files)
    result = found(stoker("inspect", root, "--json"))
    assert result["chain"].startswith(f"{source}('"), result
    done = stoker("run", result["chain"], "--json")
    if n is None:  # the note has what is wrong, which the run says too
        assert any("'" + str(root / "a.csv") + "' is empty" in note for note in result["notes"])
        return
    assert done.returncode == 0, (result, done.stderr)
    assert json.loads(done.stdout)["elements"] == n
    left_out = sum(int(note.split()[2]) for note in result["notes"] if note.startswith("left out"))
    assert left_out == sum(name.endswith((".md", ".idx", ".dat")) for name in files), result["notes"]
    if source != "files":
        alone = found(stoker("inspect", sorted(p for p in root.rglob("*") if p.is_file() and p.suffix not in (".md", ".idx"))[0], "--json"))
        assert case.startswith("txt,") or result["fields"] == alone["fields"] and result["fields"]


def test_inspect_of_a_mixed_directory_reads_every_kind(stoker, tmp_path):
    root = directory_of(
        tmp_path / "mixed",
        {"a.csv": TABLE, "b.csv": TABLE, "c.jsonl": OBJECTS, "d.txt": WORDS, "e.npy.gz": pack(npy_bytes(np.arange(3))), "f.bin": b"\0"},
    )
    result = found(stoker("inspect", root, "--json"))
    assert result["chain"] == f"csv('{root}/**/*.csv')"
    others = [note for note in result["notes"] if note.startswith("left out")]
    assert len(others) == 4
    chains = [note.split(": ", 2)[2].removesuffix(" reads them") for note in others if note.endswith(" reads them")]
    assert sorted(chain.split("(")[0] for chain in chains) == ["jsonl", "lines"]
    for chain in chains:
        done = stoker("run", chain, "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["elements"] == 2, done.stderr
    assert any(".npy.gz" in note and "unpacked only" in note for note in others)
    assert any(".bin" in note and "nothing that stoker knows" in note for note in others)


def test_inspect_of_names_with_more_than_endings(stoker, tmp_path):
    """Titles with a dot in them, and numbers of runs."""
    root = directory_of(tmp_path / "titles", {f"{i}. a long title that says what is in it, and much more": WORDS for i in range(2)})
    result = found(stoker("inspect", root, "--json"))
    assert result["chain"] == f"lines('{root}/**/*')"
    root = directory_of(tmp_path / "runs", {f"run.{i}": WORDS for i in range(1100)})
    notes = found(stoker("inspect", root, "--json"))["notes"]
    assert "left out: 1094 of other endings; inspect one of them" in notes


PARTS = {
    "train and val": (["train/x/a.png", "train/y/b.png", "val/x/c.png"], "train", 2, ["val"]),
    "other names": (["Training/x/a.png", "validation/x/c.png", "test/x/d.png", "labels.csv"], "Training", 1, ["test", "validation"]),
    "years": (["train2017/x/a.png", "train2017/y/b.png", "val2017/x/c.png", "annotations/a.json"], "train2017", 2, ["val2017"]),
    "no train": (["test/x/a.png", "val/x/c.png"], "test", 1, ["val"]),
    "no classes": (["train/a.png", "train/b.png", "val/c.png"], "train", 2, ["val"]),
    "tables": (["train/a.txt", "val/b.txt"], "train", 1, ["val"]),
}


@pytest.mark.parametrize("case", PARTS)
def test_inspect_proposes_the_part_for_training(stoker, tmp_path, case):
    files, part, n, others = PARTS[case]
    root = folder_of(tmp_path, case, files)
    result = found(stoker("inspect", root, "--json"))
    assert f"('{root}/{part}" in result["chain"], result["chain"]
    done = stoker("run", result["chain"], "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["elements"] == n, done.stderr
    left_out = [note for note in result["notes"] if note.startswith("left out: the part")]
    assert [note.split()[4] for note in left_out] == others
    if case == "train and val":
        assert f"valid = image_folder('{root}/val', classes=@train).decode()" in left_out[0]
        assert found(stoker("inspect", f"{root}/", "--json"))["notes"] == result["notes"]


def test_classes_that_are_named_like_parts_stay_classes(stoker, tmp_path):
    root = folder_of(tmp_path, "vehicles", ["train/a.png", "car/b.png"])
    assert found(stoker("inspect", root, "--json"))["chain"] == f"image_folder('{root}').decode()"


def test_inspect_and_plan_tell_what_is_left_out(stoker, tmp_path):
    folder = folder_of(tmp_path, "mixed", ["x/a.jpg", "x/b.txt", "y/c.tif", "y/README", "d.png"])
    notes = found(stoker("inspect", folder, "--json"))["notes"]
    assert notes == [
        "left out: 1 image in no class folder",
        "left out: 3 other files (no ending 1, .tif 1, .txt 1)",
    ]
    plan = stoker("plan", f"image_folder('{folder}').decode()").stdout
    assert "× 1; left out: 3 other files, 1 image in no class folder" in plan


def test_inspect_needs_a_file(stoker):
    done = stoker("inspect")
    assert done.returncode == 2 and "FILE" in done.stderr
