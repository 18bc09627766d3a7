# SPDX-License-Identifier: Apache-2.0
"""The command as its users meet it: results, messages, exit codes (1 data or I/O, 2 usage)."""

import json
import os
import re
import struct
import subprocess
import tarfile
import zlib

import pytest
from PIL import Image
from places import GOLDEN

JSON_KEYS = {
    "elements",
    "batches",
    "seconds",
    "elements_per_s",
    "best_epoch_elements_per_s",
    "first_batch_s",
    "peak_rss_mb",
    "peak_anon_mb",
    "mallocs_per_batch",
    "errors",
    "warnings",
}
OPS = """range values files image_folder lines read decode resize center_crop flip normalize scale
cast select rename map filter shuffle repeat take skip shard zip concatenate split batch
prefetch""".split()
DECODE = ".decode().resize(16, 16).batch(4)"


def complaint(done, code, *words):
    """The message of a run that must fail: one sentence that holds these words."""
    assert done.returncode == code, done.stderr or done.stdout
    first, *rest = done.stderr.splitlines()
    assert first.startswith("stoker: "), done.stderr
    assert len(rest) in (0, 2), f"a sentence, or a sentence and a place: {done.stderr}"
    for word in words:
        assert str(word) in first, f"should name {word}: {first}"
    return first


def marked(done, chain):
    """The part of the chain that the message points at."""
    _, line, mark = done.stderr.splitlines()
    start = mark.index("^")
    assert line.strip() == chain and set(mark.strip()) <= {"^", "~"}
    return line[start : start + len(mark.strip())]


def make_image(path, width=24, height=20, shade=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (width, height), (shade % 256, 80, 160))
    for x in range(width):
        image.putpixel((x, x % height), (255, x * 7 % 256, shade % 256))
    image.save(path, quality=90)
    return path


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Two classes of good images."""
    root = tmp_path_factory.mktemp("images")
    for i in range(22):
        make_image(root / ("cat" if i % 2 else "dog") / f"{i:02}.jpg", 20 + i, 40 - i, i * 11)
    return root


@pytest.fixture
def damaged(images, tmp_path):
    """The same with three files nobody can decode among them."""
    for path in images.glob("*/*.jpg"):
        copy = tmp_path / "data" / path.relative_to(images)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    good = (tmp_path / "data/cat/01.jpg").read_bytes()
    (tmp_path / "data/cat/00_cut.jpg").write_bytes(good[: len(good) // 2])
    (tmp_path / "data/cat/05_text.jpg").write_text("this is not an image\n")
    (tmp_path / "data/dog/12_empty.jpg").write_bytes(b"")
    return tmp_path / "data"


# ---- results ----


def test_run_prints_a_summary(stoker):
    done = stoker("run", "range(100).batch(10)")
    assert done.returncode == 0 and "100" in done.stdout + done.stderr


def test_a_summary_says_what_each_peak_of_memory_is(stoker):
    rows = stoker("run", "range(100).batch(10)", "--memory", "16M").stdout.splitlines()
    (memory,) = [row for row in rows if row.startswith("memory ")]
    (process,) = [row for row in rows if row.startswith("process ")]
    assert re.fullmatch(r"memory +[\d.]+ MB set aside at most, of a budget of 16.0 MB", memory)
    assert "MB resident at most, with the program itself" in process and "without files" in process


def test_json_has_the_promised_keys(stoker):
    done = stoker("run", "range(1000).shuffle().batch(7)", "--json", "--epochs", 3)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert JSON_KEYS <= set(summary)
    assert (summary["elements"], summary["batches"], summary["errors"]) == (3000, 429, 0)
    assert summary["first_batch_s"] > 0 and summary["seconds"] > 0


def digest(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


@pytest.mark.parametrize(
    "chain",
    [
        "range(1000).shuffle().map('y = x / 3').batch(7)",
        "range(1000).filter('x % 3 == 0').shuffle(50).batch(7, drop_remainder=true)",
        "IMAGES" + DECODE,
        "IMAGES.decode().resize(16, 16, method=area).normalize('imagenet').shuffle().batch(5)",
        "IMAGES.decode(dct=fast).resize(200, 200, dtype=uint8).resize(160, 160).scale(1/255).batch(5)",
        "IMAGES.decode().color_jitter(0.4, 0.4, 0.4, 0.1).resize(16, 16, dtype=uint8).rand_augment()"
        ".gaussian_blur(3).gaussian_noise(probability=0.5).erasing().jpeg_quality([40, 90])",
    ],
)
def test_digest_does_not_depend_on_workers_or_cpu(stoker, images, chain):
    chain = chain.replace("IMAGES", f"image_folder('{images}')")
    digests = {digest(stoker("run", chain, "--digest", "--workers", n)) for n in (1, 2, 3, 8)}
    for level in ("scalar", "avx2", "avx512"):
        done = stoker("run", chain, "--digest", "--cpu", level)
        if done.returncode == 2 and level in done.stderr:
            print(f"not compared: {done.stderr.strip()}")
            continue
        digests.add(digest(done))
    assert len(digests) == 1


def test_digest_sees_order_seed_and_types(stoker):
    chains = [
        "range(10).batch(2)",
        "range(10).batch(5)",
        "range(10).shuffle().batch(2)",
        "range(10).cast(int32).batch(2)",
        "range(10).rename({x: y}).batch(2)",
    ]
    digests = [digest(stoker("run", chain, "--digest")) for chain in chains]
    digests.append(digest(stoker("run", chains[2], "--digest", "--seed", 1)))
    assert len(set(digests)) == len(digests)


def test_head_shows_elements(stoker, images, tmp_path):
    done = stoker("head", "values({a: [10, 20, 30, 40], b: ['p', 'q', 'r', 's']})", "-n", 2)
    assert done.returncode == 0, done.stderr
    assert "10" in done.stdout and "q" in done.stdout and "30" not in done.stdout
    done = stoker("head", f"image_folder('{images}').decode()", "-n", 3, "--png", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    written = sorted((tmp_path / "out").glob("*.png"))
    assert [Image.open(path).mode for path in written] == ["RGB"] * 3


def test_head_draws_frames_and_masks(stoker, tmp_path):
    out = tmp_path / "out"
    done = stoker("head", f"files('{GOLDEN}/formats/frames.gif').decode(frames=all)", "--png", out)
    assert done.returncode == 0, done.stderr
    assert Image.open(out / "000_image.png").size == (15, 4 * 12)  # one below the other
    mask = f"files('{GOLDEN}/decode/palette_2.png').decode(palette=index)"
    done = stoker("head", mask, "--png", out)
    assert done.returncode == 0 and "stretched from 0..max" in done.stdout, done.stderr
    assert Image.open(out / "000_image.png").getextrema() == (0, 255)


def test_plan_shows_class_segment_and_inserted_read(stoker, images):
    done = stoker("plan", f"image_folder('{images}').shuffle(){DECODE}")
    assert done.returncode == 0, done.stderr
    for word in ("image_folder", "read", "decode", "resize", "indexed", "direct"):
        assert word in done.stdout
    assert "stream" in stoker("plan", "range(9).filter('x > 3').batch(2)").stdout


def test_ops_lists_every_op_and_explains_each(stoker):
    listed = stoker("ops").stdout
    described = {op["name"]: op for op in json.loads(stoker("ops", "--json").stdout)}
    for name in OPS:
        assert name in listed and name in described
        done = stoker("ops", name)
        assert done.returncode == 0 and described[name]["summary"] in done.stdout
    complaint(stoker("ops", "shufle"), 2, "shuffle")
    complaint(stoker("ops", "sharp"), 2, "shard", "adjust_sharpness")


def test_ops_are_listed_by_subject(stoker):
    """Every op once, under a line of its own for what it is about."""
    described = json.loads(stoker("ops", "--json").stdout)
    parts = [part.splitlines() for part in stoker("ops").stdout.split("\n\n")]
    assert len(parts) > 5
    found = {line.split()[0]: subject for subject, *lines in parts for line in lines}
    assert found == {op["name"]: op["subject"] for op in described}
    assert found["lines"] == "sources" and found["resize"].startswith("images")


def test_devices_and_version(stoker):
    done = stoker("devices")
    assert done.returncode == 0 and "scalar" in done.stdout
    done = stoker("version")
    assert done.returncode == 0 and done.stdout.strip()[-1].isdigit()


# ---- usage ----


@pytest.mark.parametrize(
    "words, needed",
    [
        (["rnu", "range(3)"], ["rnu", "run"]),
        (["run", "range(3)", "--wrokers", "2"], ["--wrokers", "--workers"]),
        (["run", "range(3)", "--workers", "many"], ["workers", "many"]),
        (["run", "range(3)", "--on-error", "ignore"], ["ignore", "skip"]),
        (["run", "range(3)", "--cpu", "avx3"], ["avx3"]),
        (["run"], ["CHAIN"]),
        (["run", "range(3)", "range(4)"], ["range(4)"]),
    ],
)
def test_wrong_words(stoker, words, needed):
    complaint(stoker(*words), 2, *needed)


@pytest.mark.parametrize(
    "chain, place, needed",
    [
        ("range(10).shufle().batch(2)", "shufle", ["shufle", "shuffle"]),
        ("rnge(10)", "rnge", ["rnge", "range"]),
        ("range(10).batch(2, drop_remander=true)", "drop_remander", ["drop_remainder"]),
        ("zip(range(3), range(4).tak(1))", "tak", ["take"]),
    ],
)
def test_misspelt_names_are_marked_and_the_nearest_is_offered(stoker, chain, place, needed):
    done = stoker("run", chain)
    complaint(done, 2, *needed)
    assert marked(done, chain) == place


@pytest.mark.parametrize(
    "chain, needed",
    [
        ("range(10", []),
        ("range(10).", []),
        ("range(10)).batch(2)", []),
        ("range('ten')", ["range"]),
        ("range(1, 10, 0)", ["range", "step"]),
        ("range()", ["range"]),
        ("range(3).batch()", ["batch"]),
        ("range(3).batch(0)", ["batch"]),
        ("range(3).batch(-2)", ["batch"]),
        ("range(3).batch(1, 2, 3, 4, 5)", ["batch"]),
        ("range(3).batch(2, batch_size=2)", ["batch"]),
        ("range(3).shard(2, 2)", ["shard"]),
        ("range(3).split([0.5, 0.9], 0)", ["split"]),
        ("range(3).split([0.5, 0.5], 2)", ["split"]),
        ("range(3).shuffle(0)", ["shuffle"]),
        ("range(3).repeat().shuffle()", ["shuffle", "buffer_size"]),
        ("range(3).filter('x > 1').shuffle()", ["shuffle", "buffer_size"]),
        ("range(3).batch(2).range(3)", ["range"]),
        ("batch(3)", ["batch"]),
        ("range(3).select('y')", ["select", "'y'"]),
        ("range(3).rename({y: z})", ["rename", "'y'"]),
        ("range(3).map('z = y + 1')", ["map", "y"]),
        ("range(3).map('z = x +')", ["map"]),
        ("range(3).map('z = x + float32(x)')", ["map"]),
        ("range(3).filter('x + 1')", ["filter", "bool"]),
        ("range(3).cast(int65)", ["cast", "int64"]),
        ("range(3).decode()", ["decode"]),
        ("values({s: ['a']}).scale(2)", ["scale"]),
        ("values({a: [1, 2], b: [1]})", ["values"]),
        ("range(3).concatenate(values({x: ['a']}))", ["concatenate"]),
        ("zip(range(3), range(3))", ["zip", "x"]),
    ],
)
def test_a_chain_that_cannot_be_built(stoker, chain, needed):
    done = stoker("run", chain)
    complaint(done, 2, *needed)
    assert done.stdout == ""
    marked(done, chain)


def test_a_budget_smaller_than_one_batch_names_the_number_needed(stoker):
    chain = "range(1000000).batch(100000)"
    message = complaint(stoker("run", chain, "--memory", 100000), 2, "memory")
    numbers = [int(word) for word in message.replace(",", " ").split() if word.isdigit()]
    assert any(number > 800000 for number in numbers), message
    assert stoker("run", chain, "--memory", max(numbers)).returncode == 0


# ---- bad data ----


def test_missing_file(stoker, tmp_path):
    chain = f"files(['{tmp_path}/none.jpg'])" + DECODE
    complaint(stoker("run", chain), 1, "none.jpg", "No such file")
    complaint(stoker("run", f"lines('{tmp_path}/none.txt')"), 1, "none.txt", "No such file")


def test_pattern_that_matches_nothing(stoker, tmp_path):
    done = stoker("run", f"files('{tmp_path}/*.jpg')" + DECODE)
    complaint(done, 1, "files", f"{tmp_path}/*.jpg")


def test_folder_that_is_missing_or_empty(stoker, tmp_path):
    complaint(stoker("run", f"image_folder('{tmp_path}/none')" + DECODE), 1, "image_folder", "none")
    complaint(stoker("run", f"image_folder('{tmp_path}')" + DECODE), 1, "image_folder", tmp_path)


def test_unreadable_directory(stoker, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read every directory")
    closed = tmp_path / "closed"
    make_image(closed / "cat" / "a.jpg")
    closed.chmod(0)
    try:
        complaint(
            stoker("run", f"image_folder('{closed}')" + DECODE), 1, "closed", "Permission denied"
        )
    finally:
        closed.chmod(0o755)


def png(width, height):
    """A PNG whose header promises so many pixels."""

    def chunk(name, body):
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IEND", b"")


def jpeg(tmp_path, width, height):
    """A good JPEG whose frame header was changed to other dimensions."""
    data = bytearray(make_image(tmp_path / "base.jpg").read_bytes())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


BAD_FILES = {
    "cut.jpg": lambda folder: make_image(folder / "base.jpg").read_bytes()[:400],
    "text.jpg": lambda folder: b"hello, I am text\n",
    "empty.jpg": lambda folder: b"",
    "zero.jpg": lambda folder: jpeg(folder, 0, 0),
    "huge.jpg": lambda folder: jpeg(folder, 65500, 65500),
    "zero.png": lambda folder: png(0, 0),
    "huge.png": lambda folder: png(2**31 - 1, 2**31 - 1),
    "bodiless.png": lambda folder: png(30, 30),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_image(stoker, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BAD_FILES[name](tmp_path))
    chain = f"files(['{path}'])" + DECODE
    complaint(stoker("run", chain), 1, "decode", name)
    done = stoker("run", chain, "--on-error", "skip", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["errors"] == 1


def test_flawed_files_are_delivered_and_counted(stoker, tmp_path):
    """Stray bytes, zeroed parameters of a scan, a tail that is missing where that is accepted."""
    good = make_image(tmp_path / "good" / "0.jpg").read_bytes()
    tables, scan = good.index(b"\xff\xdb"), good.index(b"\xff\xda")
    zeroed = bytearray(good)
    zeroed[scan + 11 : scan + 14] = bytes(3)
    files = [good, good[:tables] + b"stray" + good[tables:], zeroed]
    for i in range(3):
        (tmp_path / f"{i}.jpg").write_bytes(files[i])
    (tmp_path / "cut.jpg").write_bytes(good[:-30])
    chain = f"files('{tmp_path}/[0-2].jpg')" + DECODE
    same = f"files('{tmp_path}/good/0.jpg').repeat(3)" + DECODE
    metrics = tmp_path / "m.json"
    for workers in "0", "2":
        done = stoker(
            "run", chain, "--json", "--digest", "--workers", workers, "--metrics", metrics
        )
        told = json.loads(done.stdout)
        assert (told["elements"], told["errors"], told["warnings"]) == (3, 0, 2), done.stderr
        assert told["digest"] == json.loads(stoker("run", same, "--json", "--digest").stdout)["digest"]
        counted = json.loads(metrics.read_text())
        by_op = {op["op"]: op["warnings"] for op in counted["ops"]}
        assert counted["warnings"] == by_op["decode"] == 2 == sum(by_op.values())
    assert "warnings     2 made of data with flaws" in stoker("run", chain).stdout
    assert "warnings" not in stoker("run", same).stdout
    cut = chain.replace("[0-2]", "cut").replace("decode()", "decode(on_truncated=gray)")
    assert json.loads(stoker("run", cut, "--json").stdout)["warnings"] == 1


def test_skip_delivers_exactly_the_good_files(stoker, images, damaged):
    clean = digest(stoker("run", f"image_folder('{images}')" + DECODE, "--digest"))
    chain = f"image_folder('{damaged}')" + DECODE
    for workers in (1, 2, 3, 8):
        words = ["run", chain, "--workers", workers, "--on-error", "skip"]
        assert digest(stoker(*words, "--digest")) == clean
        assert json.loads(stoker(*words, "--json").stdout)["errors"] == 3
    complaint(stoker("run", chain), 1, "00_cut.jpg")


def test_max_errors(stoker, damaged):
    chain = f"image_folder('{damaged}')" + DECODE
    words = ["run", chain, "--on-error", "skip", "--max-errors"]
    assert stoker(*words, 3).returncode == 0
    complaint(stoker(*words, 2), 1, "12_empty.jpg")
    assert stoker(*words, 0.5).returncode == 0
    complaint(stoker(*words, 0.01), 1)


def test_replace_keeps_the_number_of_rows(stoker, damaged):
    words = ["run", f"image_folder('{damaged}')" + DECODE, "--on-error", "replace"]
    summary = json.loads(stoker(*words, "--json").stdout)
    assert summary["elements"] == 25 and summary["errors"] == 3
    digests = {digest(stoker(*words, "--digest", "--workers", n)) for n in (1, 2, 3, 8)}
    assert len(digests) == 1


def test_output_that_cannot_be_written(stoker):
    words = ["run", "range(100000).batch(10)", "--dump", "--quiet"]
    with open("/dev/full", "w") as full:
        done = stoker(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    complaint(done, 1, "disk")


@pytest.mark.parametrize("size", ["67108864", "64M", "64MiB", "0.0625G", "65536k", "auto"])
def test_memory_takes_sizes(stoker, size):
    done = stoker("plan", "range(3)", "--memory", size)
    assert done.returncode == 0 and (size == "auto" or "budget 64 MB" in done.stdout), done.stderr


@pytest.mark.parametrize("size", ["abc", "12Q", "64 M", "64 B", "64 iB", "M"])
def test_memory_says_what_sizes_look_like(stoker, size):
    done = stoker("plan", "range(3)", "--memory", size)
    assert done.returncode != 0 and f"a size such as 512M or 2G, or auto, not {size}" in done.stderr


def test_memory_with_a_space_behind_it_is_a_number(stoker):
    done = stoker("plan", "range(3)", "--memory", "67108864 ")
    assert done.returncode == 0 and "budget 64 MB" in done.stdout, done.stderr


def test_tar_names_every_ending_that_would_do(stoker, tmp_path):
    (tmp_path / "a.cls").write_text("1")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "a.cls", "a.cls")
    done = stoker("run", f"tar('{tmp_path}/a.tar', {{data: 'bin;txt'}})")
    assert done.returncode != 0 and "there is no member '.bin' or '.txt' for field 'data'" in done.stderr
