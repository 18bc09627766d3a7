# SPDX-License-Identifier: Apache-2.0
"""stoker pack: what is in the files, that they appear whole or not at all, and going on after any
end."""

import json
import os
import random
import resource
import signal
import subprocess
import tarfile
import time

import pytest
from PIL import Image

from record_files import crc32c, examples

HANG_SECONDS = 60
KILLS = int(os.environ.get("STOKER_KILLS", "24"))  # by test_killed_at_any_moment, over its chains
NAME = "x-{shard:03d}-of-{shards:03d}.tfrecord"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    for i in range(40):
        path = root / f"{'ab'[i % 2]}/{i:02}.png"
        path.parent.mkdir(exist_ok=True)
        image = Image.new("RGB", (16 + i % 5, 12 + i % 7), (i * 6, 80, 160))
        image.putpixel((i % 16, i % 12), (255, 255, i))
        image.save(path)
    return root


def command(stoker):
    """The path of the command, for tests that end it themselves."""
    return str(stoker("version").args[0])


def pack(stoker, chain, out, *more, ok=True, **options):
    done = stoker("pack", chain, "--out", out, "--json", *more, **options)
    if not ok:
        assert done.returncode in (1, 2), done.stdout
        assert done.stderr.startswith("stoker: ") and not done.stdout
        return done.stderr
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def contents(place):
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def manifest(place, name="x"):
    return json.loads((place / f"{name}.manifest.json").read_text())


def in_order(place, name="x", compression=None):
    """All elements, shard by shard."""
    return [
        element
        for shard in manifest(place, name)["shards"]
        for element in examples(place / shard["file"], compression)
    ]


def dumped(stoker, chain, *more):
    done = stoker("run", chain, "--dump", "--quiet", *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


# ---- what is stored ----


def test_elements_in_ranges(stoker, tmp_path):
    result = pack(stoker, "range(10)", tmp_path / NAME, "--shards", 3)
    shards = [examples(tmp_path / f"x-00{s}-of-003.tfrecord") for s in range(3)]
    assert shards == [[{"x": [i]} for i in part] for part in ([0, 1, 2], [3, 4, 5], [6, 7, 8, 9])]
    assert result["elements"] == 10 and result["written"] == 3 and result["kept"] == 0
    assert result["manifest"] == str(tmp_path / "x.manifest.json")
    assert sorted(contents(tmp_path)) == [*(f"x-00{s}-of-003.tfrecord" for s in range(3)),
                                          "x.manifest.json"]


def test_the_summary(stoker, tmp_path):
    for shards, words in ((1, "10 in 1 file, "), (2, "10 in 2 files, ")):
        out = tmp_path / "made" / f"{shards}-{{shard}}.tfrecord"
        done = stoker("pack", "range(10)", "--out", out, "--shards", shards)
        assert done.returncode == 0 and words in done.stdout, done.stderr
        (tmp_path / "made" / f"{shards}.manifest.json").unlink()
    done = stoker("pack", "range(10)", "--out", tmp_path / "no" / "no" / "x-{shard}.tfrecord")
    assert done.returncode == 1 and not (tmp_path / "no").exists()


def test_elements_in_turn_where_nobody_knows_the_count(stoker, tmp_path):
    pack(stoker, "range(10).filter('x % 3 != 1')", tmp_path / NAME, "--shards", 2)
    shards = [examples(tmp_path / f"x-00{s}-of-002.tfrecord") for s in range(2)]
    assert shards == [[{"x": [i]} for i in part] for part in ([0, 3, 6, 9], [2, 5, 8])]
    assert manifest(tmp_path)["division"] == "round robin"


def test_the_manifest_says_what_is_there(stoker, tmp_path):
    pack(stoker, "range(10).map('y = x / 4; z = x')", tmp_path / NAME, "--shards", 3, "--seed", 5)
    found = manifest(tmp_path)
    files = contents(tmp_path)
    for shard in found["shards"]:
        data = files[shard["file"]]
        assert shard["bytes"] == len(data) and int(shard["crc32c"], 16) == crc32c(data)
        assert shard["elements"] == len(examples(tmp_path / shard["file"]))
    assert found["elements"] == 10 and found["seed"] == 5 and found["n_shards"] == 3
    assert found["chain"].startswith("range@1(") and found["format"] == "tfrecord"
    assert found["fields"] == [
        {"name": "x", "type": "int64[]", "stored": "Int64List"},
        {"name": "y", "type": "float32[]", "stored": "FloatList"},
        {"name": "z", "type": "int64[]", "stored": "Int64List"},
    ]
    assert found["bytes"] == sum(shard["bytes"] for shard in found["shards"])


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_compressed(stoker, tmp_path, compression):
    chain = "range(300000)"  # several blocks in each file
    pack(stoker, chain, tmp_path / NAME, "--shards", 2, "--compression", compression)
    pack(stoker, chain, tmp_path / "plain.tfrecord")
    parts = [
        subprocess.run(
            ["python3", "-c", f"import sys, {m} as m; sys.stdout.buffer.write(m.decompress("
             "sys.stdin.buffer.read()))"],
            input=(tmp_path / f"x-00{s}-of-002.tfrecord").read_bytes(), capture_output=True,
            timeout=HANG_SECONDS, check=True,
        ).stdout
        for m in [compression] for s in range(2)
    ]
    assert b"".join(parts) == (tmp_path / "plain.tfrecord").read_bytes()


def test_images(stoker, images, tmp_path):
    chain = f"image_folder('{images}').decode()"
    pack(stoker, chain, tmp_path / NAME, "--shards", 2)
    expected = dumped(stoker, chain)
    for element, wanted in zip(in_order(tmp_path), expected, strict=True):
        rows = wanted["image"]
        assert element["image/shape"] == [len(rows), len(rows[0]), 3]
        flat = bytes(value for row in rows for pixel in row for value in pixel)
        assert element["image"] == [flat] and element["label"] == [wanted["label"]]


def test_tar(stoker, images, tmp_path):
    chain = f"image_folder('{images}').decode().resize(8, 8, dtype=uint8).encode_png()"
    pack(stoker, chain, tmp_path / "x-{shard}.tar", "--to", "tar", "--shards", 3)
    found = {}
    for shard in range(3):
        with tarfile.open(tmp_path / f"x-{shard}.tar") as archive:
            for member in archive:
                key, _, kind = member.name.partition(".")
                assert member.mtime == 0 and member.uid == 0
                found.setdefault(int(key), {})[kind] = archive.extractfile(member).read()
    assert sorted(found) == list(range(40))
    for number, wanted in enumerate(dumped(stoker, chain)):
        assert set(found[number]) == {"png", "cls"}
        assert int(found[number]["cls"]) == wanted["label"]
        assert found[number]["png"][:4] == b"\x89PNG"


def test_compressed_tar(stoker, tmp_path):
    pack(stoker, "range(5)", tmp_path / "x.tar.gz", "--to", "tar", "--compression", "gzip")
    with tarfile.open(tmp_path / "x.tar.gz", "r:gz") as archive:
        assert archive.getnames() == [f"{i:09}.cls" for i in range(5)]


def test_batches_are_taken_apart(stoker, tmp_path):
    chain = "range(23).map('y = x * 2')"
    pack(stoker, chain + ".batch(5)", tmp_path / NAME, "--shards", 2)
    merged = sorted(in_order(tmp_path), key=lambda e: e["x"])
    assert merged == [{"x": [i], "y": [2 * i]} for i in range(23)]
    inner = tmp_path / "inner"
    pack(stoker, chain + ".batch(5).map('z = x + y')", inner / NAME)
    assert in_order(inner) == [{"x": [i], "y": [2 * i], "z": [3 * i]} for i in range(23)]


def test_lines_in_batches(stoker, tmp_path):
    (tmp_path / "words").write_text("one\n\nthree\n")
    out = tmp_path / "out"
    pack(stoker, f"lines('{tmp_path}/words').batch(2)", out / NAME)
    texts = [element[name][0] for element in in_order(out) for name in element]
    assert texts == [b"one", b"", b"three"]


# ---- the same bytes, whoever writes them ----


@pytest.mark.parametrize("chain", [
    "image_folder('{}').shuffle(seed=3).decode().resize(9, 9).flip(probability=0.5)",
    "image_folder('{}').decode().filter('label == 0').resize(9, 9, dtype=uint8).encode_jpeg()",
])
def test_workers_do_not_show(stoker, images, tmp_path, chain):
    chain = chain.format(images)
    for compression in ("none", "gzip"):
        all_contents = []
        for n, more in enumerate((["--workers", 0], ["--workers", 1], ["--workers", 4],
                                  ["--cpu", "scalar", "--memory", "16M"])):
            place = tmp_path / f"{compression}{n}"
            pack(stoker, chain, place / NAME, "--shards", 3, "--compression", compression, *more)
            all_contents.append(contents(place))
        assert all(found == all_contents[0] for found in all_contents[1:])


# ---- variants ----


def test_variants(stoker, images, tmp_path):
    start = f"image_folder('{images}').decode().resize(8, 8, dtype=uint8)"
    chain = start + ".flip(probability=0.5)"
    pack(stoker, chain, tmp_path / NAME, "--shards", 3, "--variants", 2, "--keep-original")
    found = in_order(tmp_path)
    assert [element["variant"] for element in found] == [[v] for v in range(3) for _ in range(40)]
    originals, first, second = found[:40], found[40:80], found[80:]
    assert [e["image"] for e in originals] == [
        [bytes(v for row in wanted["image"] for pixel in row for v in pixel)]
        for wanted in dumped(stoker, start)
    ]
    assert [e["label"] for e in first] == [e["label"] for e in originals]
    for epoch, part in enumerate((first, second)):
        assert [e["image"] for e in part] == [
            [bytes(v for row in wanted["image"] for pixel in row for v in pixel)]
            for wanted in dumped(stoker, chain, "--epoch", epoch)
        ]
    assert [e["image"] for e in first] != [e["image"] for e in second]


def test_variants_that_make_no_sense(stoker, images, tmp_path):
    out = tmp_path / NAME
    assert "no random op" in pack(stoker, "range(5)", out, "--variants", 2, ok=False)
    crop = f"files('{images}/*/*.png').decode().random_crop(4, 4)"
    assert "uint8[?, ?, 3]" in pack(stoker, crop, out, "--keep-original", ok=False)
    taken = f"files('{images}/*/*.png').decode().flip(probability=0.5).rename({{image: variant}})"
    assert "'variant'" in pack(stoker, taken, out, "--variants", 1, ok=False)
    assert "--variants" in pack(stoker, "range(5)", out, "--epochs", 2, ok=False)
    assert not list(tmp_path.iterdir())


# ---- wrong wishes ----


@pytest.mark.parametrize("more, word", [
    (["--shards", 0], "shards can be 1"),
    (["--shards", 11], "10 elements, too few for 11 shards"),
    (["--to", "zip"], "tfrecord, tar"),
    (["--compression", "lz4"], "none, gzip, zlib"),
    (["--to", "tar", "--compression", "zlib"], "zlib"),
    (["--variants", 1000000], "variants can be"),
])
def test_wrong_wishes(stoker, tmp_path, more, word):
    assert word in pack(stoker, "range(10)", tmp_path / NAME, *more, ok=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, word", [
    ("x-{shard", "{shard"),
    ("x-{shards}", "put {shard"),
    ("x-{number}", "{number}"),
    ("x-{shard:d}", "{shard:d}"),
    ("x-{shard:99d}", "{shard:99d}"),
    ("x-{shard:05x}", "{shard:05x}"),
    ("{shard}/x", "one directory"),
    ("no/such/x-{shard}", "no/such"),
    ("file/x-{shard}", "file/"),
    ("", "names for its files"),
    ("directory/", "names for its files"),
])
def test_wrong_names(stoker, tmp_path, name, word):
    (tmp_path / "file").write_text("")
    before = contents(tmp_path)
    assert word in pack(stoker, "range(10)", name, "--shards", 2, ok=False, cwd=tmp_path)
    assert contents(tmp_path) == before


def test_good_names(stoker, tmp_path):
    out = "{{a}}-{shard:3}-{shard}of{shards:02d}"
    pack(stoker, "range(2)", out, "--shards", 2, cwd=tmp_path)
    assert sorted(contents(tmp_path)) == ["manifest.json", "{a}-000-0of02", "{a}-001-1of02"]


def test_no_end_and_no_elements(stoker, tmp_path):
    assert "never ends" in pack(stoker, "range(3).repeat()", tmp_path / NAME, ok=False)
    assert "0 elements" in pack(stoker, "range(0)", tmp_path / NAME, ok=False)
    message = pack(stoker, "range(9).filter('x > 1')", tmp_path / NAME, "--shards", 4097, ok=False)
    assert "at most 4096" in message
    result = pack(stoker, "range(9).filter('x > 10')", tmp_path / NAME, "--shards", 2)
    assert result["elements"] == 0 and in_order(tmp_path) == []


def test_bad_elements(stoker, images, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for i, path in enumerate(sorted(images.glob("*/*.png"))):
        (data / f"{i:02}.png").write_bytes(path.read_bytes()[: 40 if i in (3, 17) else None])
    chain, out = f"files('{data}/*.png').decode().resize(4, 4)", tmp_path / "out"
    assert "03.png" in pack(stoker, chain, out / NAME, "--shards", 4, ok=False)
    assert list(out.iterdir()) == []
    result = pack(stoker, chain, out / NAME, "--shards", 4, "--on-error", "skip")
    assert result["elements"] == 38 and result["errors"] == 2
    # positions decide, so a bad element moves no other
    assert [shard["elements"] for shard in manifest(out)["shards"]] == [9, 9, 10, 10]
    before = contents(out)
    (out / "x-001-of-004.tfrecord").unlink()
    pack(stoker, chain, out / NAME, "--shards", 4, "--on-error", "skip")
    assert contents(out) == before


# ---- going on ----


def test_a_second_call_keeps_what_is_there(stoker, tmp_path):
    words = ("range(1000).shuffle(seed=1)", tmp_path / NAME, "--shards", 4)
    pack(stoker, *words)
    before = contents(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.tfrecord")}
    result = pack(stoker, *words)
    assert result["written"] == 0 and result["kept"] == 4 and result["elements"] == 1000
    assert contents(tmp_path) == before
    assert times == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.tfrecord")}


@pytest.mark.parametrize("chain", ["range(1000).shuffle(seed=1)", "range(1000).filter('x > 7')",
                                   "range(1000).shuffle(10, seed=1)"])
def test_missing_and_damaged_shards_are_made_again(stoker, tmp_path, chain):
    words = (chain, tmp_path / NAME, "--shards", 5)
    pack(stoker, *words)
    before = contents(tmp_path)
    (tmp_path / "x-001-of-005.tfrecord").unlink()
    with open(tmp_path / "x-003-of-005.tfrecord", "r+b") as file:
        file.seek(100)
        file.write(b"?")
    (tmp_path / "x-004-of-005.tfrecord").write_bytes(before["x-004-of-005.tfrecord"][:-1])
    assert pack(stoker, *words)["written"] == 3
    assert contents(tmp_path) == before


def test_other_packs_are_left_alone(stoker, tmp_path):
    pack(stoker, "range(10)", tmp_path / NAME, "--shards", 2)
    before = contents(tmp_path)
    for chain, more, words in [
        ("range(11)", [], ["start=10", "start=11"]),
        ("range(10)", ["--seed", 1], ['"seed": 0', '"seed": 1']),
        ("range(10)", ["--compression", "gzip"], ['"none"', '"gzip"']),
    ]:
        message = pack(stoker, chain, tmp_path / NAME, "--shards", 2, *more, ok=False)
        assert all(word in message for word in [*words, "x.manifest.json", "force"]), message
    assert contents(tmp_path) == before
    pack(stoker, "range(11)", tmp_path / NAME, "--shards", 2, "--force")
    assert len(in_order(tmp_path)) == 11


FORCED = {
    "fewer shards": (NAME, 5, NAME, 2),
    "more shards": (NAME, 2, NAME, 5),
    "the same names": (NAME, 3, NAME, 3),
    "another format": (NAME, 3, "x-{shard:03d}-of-{shards:03d}.tar", 3),
    "another name": ("x-{shard:03d} it's \"ü\".tfrecord", 3, NAME, 2),
}


@pytest.mark.parametrize("case", FORCED)
def test_force_removes_the_files_of_the_earlier_pack(stoker, tmp_path, case):
    old, n_old, new, n_new = FORCED[case]
    alone, place = tmp_path / "alone", tmp_path / "place"
    alone.mkdir()
    place.mkdir()
    pack(stoker, "range(11)", alone / new, "--shards", n_new)
    pack(stoker, "range(10)", place / old, "--shards", n_old)
    (place / "x-009-of-009.tfrecord").write_text("precious")
    pack(stoker, "range(11)", place / new, "--shards", n_new, "--force")
    assert (place / "x-009-of-009.tfrecord").read_text() == "precious"
    (place / "x-009-of-009.tfrecord").unlink()
    assert contents(place) == contents(alone)


def test_an_interrupted_replacement_removes_the_earlier_files_in_the_end(stoker, tmp_path):
    (tmp_path / "alone").mkdir()
    pack(stoker, "range(4)", tmp_path / "alone" / NAME, "--shards", 3)
    place = tmp_path / "place"
    place.mkdir()
    pack(stoker, "range(10)", place / NAME, "--shards", 5)
    before = contents(place)
    bad = "range(12).map('y = 1 // (x - 11)')"
    assert "division" in pack(stoker, bad, place / NAME, "--shards", 3, "--force", ok=False)
    assert all(contents(place).get(name) == data for name, data in before.items() if "tfrecord" in name)
    pack(stoker, "range(4)", place / NAME, "--shards", 3, "--force")
    assert contents(place) == contents(tmp_path / "alone")


def test_a_replacement_that_was_given_up_removes_nothing_without_force(stoker, tmp_path):
    pack(stoker, "range(10)", tmp_path / NAME, "--shards", 5)
    before = {name: data for name, data in contents(tmp_path).items() if "tfrecord" in name}
    pack(stoker, "range(12).map('y = 1 // x')", tmp_path / NAME, "--shards", 3, "--force", ok=False)
    said = pack(stoker, "range(4)", tmp_path / "x-{shard}.tar", "--shards", 2, ok=False)
    assert "lists files of an earlier pack" in said and "with force" in said
    assert {name: data for name, data in contents(tmp_path).items() if "tfrecord" in name} == before
    assert not list(tmp_path.glob("*.tar"))
    pack(stoker, "range(4)", tmp_path / "x-{shard}.tar", "--shards", 2, "--force")
    assert sorted(contents(tmp_path)) == ["x-0.tar", "x-1.tar", "x.manifest.json"]


@pytest.mark.parametrize("new, shards", [("x-{shard}-of-{shards}.tar", 2), (NAME, 5)])
@pytest.mark.parametrize("pattern", ["x-*.tfrecord", "link*"])
def test_what_the_chain_reads_is_not_replaced(stoker, tmp_path, new, shards, pattern):
    pack(stoker, "range(100)", tmp_path / NAME, "--shards", 5)
    (tmp_path / "link").symlink_to("x-002-of-005.tfrecord")
    before = contents(tmp_path)
    part = f"tfrecord('{tmp_path}/{pattern}').take(10)"
    said = pack(stoker, part, tmp_path / new, "--shards", shards, "--force", ok=False)
    assert "which this pack would replace" in said and "choose another name" in said
    assert contents(tmp_path) == before
    pack(stoker, part, tmp_path / "other-{shard}.tfrecord", "--shards", 1, "--force")


def test_a_replacement_goes_on_without_force(stoker, tmp_path):
    pack(stoker, "range(10)", tmp_path / NAME, "--shards", 5)
    late = "range(12).map('y = 1 // (x - 11)')"
    pack(stoker, late, tmp_path / NAME, "--shards", 3, "--force", ok=False)
    assert contents(tmp_path)["x.manifest.json.partial"]
    said = pack(stoker, late, tmp_path / NAME, "--shards", 3, ok=False)
    assert "division" in said


def test_a_file_that_is_no_longer_that_of_the_pack_stays(stoker, tmp_path):
    pack(stoker, "range(10)", tmp_path / NAME, "--shards", 5)
    (tmp_path / "x-004-of-005.tfrecord").write_text("precious")
    pack(stoker, "range(11)", tmp_path / NAME, "--shards", 2, "--force")
    left = {name for name in contents(tmp_path) if name.endswith("of-005.tfrecord")}
    assert left == {"x-004-of-005.tfrecord"}


def test_files_of_others_are_left_alone(stoker, tmp_path):
    (tmp_path / "x-001-of-002.tfrecord").write_text("precious")
    before = contents(tmp_path)
    assert "x-001-of-002" in pack(stoker, "range(9)", tmp_path / NAME, "--shards", 2, ok=False)
    assert contents(tmp_path) == before
    pack(stoker, "range(9)", tmp_path / NAME, "--shards", 2, "--force")
    assert len(in_order(tmp_path)) == 9


def test_one_at_a_time(stoker, tmp_path):
    slow = subprocess.Popen(
        [command(stoker), "pack", "range(100000000)", "--out", tmp_path / NAME, "--shards", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while not list(tmp_path.glob(".x*.part")) and time.monotonic() < deadline:
            time.sleep(0.01)
        message = pack(stoker, "range(100000000)", tmp_path / NAME, "--shards", 2, ok=False)
        assert "another process" in message
    finally:
        slow.kill()
        slow.wait(HANG_SECONDS)


# ---- ends of any kind ----


def is_sound(place, expected):
    """Every file under a final name is whole; nothing else is listed."""
    for path in place.iterdir():
        if path.name.startswith("."):
            continue
        if path.name.endswith(".partial"):
            continue
        assert path.read_bytes() == expected[path.name], path.name


def wait_for_a_shard(process, place):
    before = set(place.glob("x-*")) if place.exists() else set()
    while process.poll() is None and set(place.glob("x-*")) == before:
        time.sleep(0.001)


@pytest.mark.parametrize("chain, more", [
    ("range(400000).shuffle(seed=1)", ["--shards", "8"]),
    ("range(400000).filter('x % 2 == 0')", ["--shards", "8"]),
    ("range(200000).shuffle(seed=1)", ["--shards", "5", "--compression", "gzip"]),
])
def test_killed_at_any_moment(stoker, tmp_path, chain, more):
    whole, place = tmp_path / "whole", tmp_path / "place"
    begin = time.monotonic()
    pack(stoker, chain, whole / NAME, *more)
    seconds = time.monotonic() - begin
    expected = contents(whole)
    n_partial = 0
    for seed in range(KILLS // 3):
        process = subprocess.Popen(
            [command(stoker), "pack", chain, "--out", str(place / NAME), *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        if seed % 2:
            wait_for_a_shard(process, place)
        time.sleep(random.Random(seed).uniform(0, 0.3 if seed % 2 else 1.1) * seconds)
        process.kill()
        process.wait(HANG_SECONDS)
        if place.exists():
            is_sound(place, expected)
            n_partial += (place / "x.manifest.json.partial").exists()
            if seed % 4 == 3:
                for path in place.iterdir():
                    path.unlink()
    assert n_partial, "no run was ended half-way"
    pack(stoker, chain, place / NAME, *more)
    assert contents(place) == expected


def test_interrupted(stoker, tmp_path):
    words = [command(stoker), "pack", "range(20000000)", "--out", str(tmp_path / NAME), "--shards", "50"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               encoding="utf-8")
    deadline = time.monotonic() + HANG_SECONDS
    while not list(tmp_path.glob("x-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130 and "goes on" in errors
    assert not list(tmp_path.glob(".*")), "temporary files are removed"
    assert (tmp_path / "x.manifest.json.partial").exists()
    assert not (tmp_path / "x.manifest.json").exists()


def test_no_room(stoker, tmp_path):
    """A limit on the size of files fails as a full disk does."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    words = ("range(20000)", tmp_path / NAME, "--shards", 2)
    message = pack(stoker, *words, ok=False, preexec_fn=limit)
    assert "cannot write" in message and "x-00" in message
    assert list(tmp_path.iterdir()) == []
    pack(stoker, *words)
    assert len(in_order(tmp_path)) == 20000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_full_disk(stoker, tmp_path):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path],
                          capture_output=True, timeout=HANG_SECONDS)
    if done.returncode:
        pytest.skip(f"cannot mount a small file system: {done.stderr.decode().strip()}")
    try:
        message = pack(stoker, "range(100000)", tmp_path / NAME, "--shards", 10, ok=False)
        assert "No space left" in message
        listed = (tmp_path / "x.manifest.json.partial").read_text().count('{"shard"')
        assert listed == len(list(tmp_path.glob("x-*"))) > 0
        assert not list(tmp_path.glob(".*"))
    finally:
        subprocess.run(["umount", tmp_path], timeout=HANG_SECONDS, check=True)


@pytest.mark.parametrize("name", ["x-{shard}.tar", "x.tgz", "x.tar-{shard}-of-{shards}", "x.tar.{shard}", "x.tfrecord", "x.records"])
def test_the_name_decides(stoker, tmp_path, name):
    pack(stoker, "range(3)", tmp_path / name)
    path = tmp_path / name.format(shard=0, shards=1)
    assert tarfile.is_tarfile(path) == (".t" in name and "tfrecord" not in name)


@pytest.mark.parametrize("name, magic", [("x.tgz", b"\x1f\x8b"), ("x.tar.gz", b"\x1f\x8b"), ("x.tfrecord.GZ", b"\x1f\x8b"), ("x.tfrecord.zlib", b"\x78"), ("x.tfrecord.gz-{shard}-of-{shards}", b"\x1f\x8b")])
def test_the_name_decides_how_it_is_compressed(stoker, tmp_path, name, magic):
    pack(stoker, "range(3)", tmp_path / name)
    assert (tmp_path / name.format(shard=0, shards=1)).read_bytes().startswith(magic)
    done = stoker("pack", "range(3)", "--out", tmp_path / name, "--compression", "none", "--force")
    assert done.returncode == 2 and "leave the compression out" in done.stderr
    assert stoker("pack", "range(3)", "--out", tmp_path / "y.tar.zlib").returncode == 2


def test_class_names_of_tar_shards(stoker, tmp_path):
    """By the ending of the labels' members, whatever the field is called."""
    for name in ("cat", "dog"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "1.png").write_bytes(b"not looked at")
    pack(stoker, f"image_folder('{tmp_path}/data')", tmp_path / "x-{shard}.tar", "--shards", "2")
    for fields in ("", ", {what: 'cls'}"):
        shown = stoker("head", f"tar('{tmp_path}/x-*.tar'{fields})").stdout
        assert "cat" in shown and "dog" in shown
    assert "2 in label: cat, dog" in stoker("inspect", tmp_path / "x-0.tar").stdout


@pytest.mark.parametrize("name, to", [("x.tar", "tfrecord"), ("x.TFRECORD.gz", "tar"), ("x.tgz", "tfrecord")])
def test_a_contradiction_is_an_error(stoker, tmp_path, name, to):
    done = stoker("pack", "range(3)", "--out", tmp_path / name, "--to", to)
    assert done.returncode != 0 and "leave the format out" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.tar.zst", "x-{shard}.tfrecord.bz2", "x.XZ", "x.zip", "x.tfrecord.zst-{shard}-of-{shards}"])
def test_a_compression_that_is_not_written_is_an_error(stoker, tmp_path, name):
    done = stoker("pack", "range(3)", "--out", tmp_path / name)
    assert done.returncode == 2 and "is not written" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
