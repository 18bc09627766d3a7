# SPDX-License-Identifier: Apache-2.0
"""Tar archives of samples: those that Python's tarfile writes, in all its formats, and damaged ones."""

import gzip
import io
import subprocess
import sys
import tarfile

import pytest
import stoker
from places import GOLDEN

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
}


def make_tar(members, format=tarfile.PAX_FORMAT):
    """The bytes of an archive; data None makes a directory."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def samples(n, prefix=""):
    members = []
    for i in range(n):
        members.append((f"{prefix}{i:04}.jpg", b"picture %d" % i * i))
        members.append((f"{prefix}{i:04}.cls", b"%d\n" % (i * 7 - 3)))
    return members


def rows_of(ds, **options):
    found = []
    for batch in ds.batch(3).iterate(**options):
        for row in range(len(batch["image"])):
            key, image = (bytes(batch[field][row]) for field in ("key", "image"))
            found.append((key.decode(), image, int(batch["label"][row])))
    return found


FIELDS = {"key": "__key__", "image": "jpg;jpeg", "label": "cls"}


def wanted(n, prefix=""):
    return [(f"{prefix}{i:04}", b"picture %d" % i * i, i * 7 - 3) for i in range(n)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("prefix", ["", "train/", "a" * 120 + "/" + "b" * 20 + "/", "ü/"])
def test_all_formats_of_names(tmp_path, format, prefix):
    data = make_tar([(prefix.rstrip("/") or "d", None), *samples(7, prefix)], FORMATS[format])
    (tmp_path / "a.tar").write_bytes(data)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data))
    for name in ("a.tar", "a.tar.gz"):
        for workers in (0, 2):
            ds = stoker.tar(str(tmp_path / name), FIELDS)
            assert rows_of(ds, workers=workers) == wanted(7, prefix)


@pytest.mark.parametrize("cut", [1500, 1536, 1537, 2048, 2100, 2560, 2561, 3000, 3073, 3584, 4000])
def test_a_cut_archive_has_the_same_samples_as_a_stream(tmp_path, cut):
    """Members before the cut are whole, wherever the next one ends."""
    data = make_tar([("b", None), *samples(2)], tarfile.GNU_FORMAT)[:cut]
    (tmp_path / "a.tar").write_bytes(data)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data))
    fields = {"key": "__key__", "image": "jpg"}
    at_random, streamed = ([
        (bytes(batch["key"][0]), bytes(batch["image"][0]))
        for batch in stoker.tar(str(tmp_path / name), fields).batch(1).iterate(on_error="skip")
    ] for name in ("a.tar", "a.tar.gz"))
    assert streamed == at_random
    assert streamed[:1] == ([(b"0000", b"")] if cut >= 1024 else [])


def test_any_sample_can_be_reached(tmp_path):
    for shard in range(3):
        (tmp_path / f"{shard}.tar").write_bytes(make_tar(samples(shard * 2, f"{shard}/")))
    ds = stoker.tar(str(tmp_path / "*.tar"), FIELDS)
    everything = wanted(2, "1/") + wanted(4, "2/")
    assert len(ds) == 6
    assert rows_of(ds) == everything
    assert sorted(rows_of(ds.shuffle())) == sorted(everything)
    assert bytes(ds[3]["image"]) == everything[3][1]


def test_fields_are_those_of_the_first_sample(tmp_path):
    members = [("x/1.seg.png", b"s"), ("x/1.JPG", b"j"), ("x/1.cls", b"5"), ("x/2.jpg", b"k")]
    (tmp_path / "a.tar").write_bytes(make_tar(members))
    ds = stoker.tar(str(tmp_path / "a.tar"))
    assert list(ds.spec) == ["key", "seg_png", "JPG", "cls"]
    row = ds[0]
    assert [bytes(row[field]) for field in ("key", "seg_png", "JPG")] == [b"x/1", b"s", b"j"]
    assert row["cls"] == 5
    with pytest.raises(stoker.DataError, match=r"no member '.seg.png' .* there is .jpg"):
        ds[1]


def test_what_is_no_sample_is_left_out(tmp_path):
    members = [("dir", None), ("README", b"?"), ("__meta__", b"{}"), *samples(2), ("end", None)]
    (tmp_path / "a.tar").write_bytes(make_tar(members))
    assert rows_of(stoker.tar(str(tmp_path / "a.tar"), FIELDS)) == wanted(2)


def test_standard_input(tmp_path):
    script = (
        "import stoker\n"
        "ds = stoker.tar('-', {'image': 'jpg', 'label': 'cls'})\n"
        "print([int(x) for b in ds.batch(2) for x in b['label']])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=make_tar(samples(5)),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == str([i * 7 - 3 for i in range(5)]).encode().split()


# ---- damage ----


def test_cut_at_every_block_and_some_bytes(tmp_path):
    """No sample that is not whole is delivered; those before the cut are."""
    whole = make_tar(samples(4))
    ends = sorted({*range(0, 8 * 1024 + 1, 512), *range(1, 8 * 1024, 37)})
    for end in ends:
        for name, data in (("a.tar", whole[:end]), ("a.tar.gz", gzip.compress(whole[:end], 1))):
            (tmp_path / name).write_bytes(data)
            try:
                ds = stoker.tar(str(tmp_path / name), FIELDS)
            except stoker.DataError as error:
                assert "no tar archive" in str(error) and end < 1024
                continue
            got = rows_of(ds, on_error="skip")
            assert got == wanted(4)[: len(got)]
            assert len(got) >= (end - 512) // 2048


def test_a_flipped_bit_in_every_header_byte(tmp_path):
    """Only the sample it is in may be lost."""
    whole = make_tar(samples(3))
    for at in range(2048, 2560, 3):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        (tmp_path / "a.tar").write_bytes(flipped)
        got = rows_of(stoker.tar(str(tmp_path / "a.tar"), FIELDS), on_error="skip")
        assert [row for row in got if row[0] != "0001"] == [wanted(3)[0], wanted(3)[2]]


def test_a_header_that_lies(tmp_path):
    data = bytearray(make_tar(samples(2)))
    data[124:136] = b"77777777777\0"
    checksum = sum(data[:148]) + 8 * 32 + sum(data[156:512])
    data[148:156] = b"%06o\0 " % checksum
    (tmp_path / "a.tar").write_bytes(data)
    ds = stoker.tar(str(tmp_path / "a.tar"), FIELDS)
    assert rows_of(ds, on_error="skip") == wanted(2)[1:]
    with pytest.raises(stoker.DataError, match="truncated|no member"):
        rows_of(ds)


def make_sparse_tar(directory, *options):
    """Three samples, of which the second has its picture stored with holes."""
    for name, content in samples(3):
        (directory / name).write_bytes(content)
    with open(directory / "0001.jpg", "r+b") as file:
        for i in range(30):  # more pieces than the header of an old sparse member has room for
            file.seek(i << 16)
            file.write(b"piece")
        file.truncate(40 << 16)
    names = [name for name, _ in samples(3)]
    command = ["tar", "-C", directory, "-cf", directory / "a.tar", "--sparse", *options, *names]
    subprocess.run(command, check=True)
    assert (directory / "a.tar").stat().st_size < 1 << 19, "the file system keeps no holes"


@pytest.mark.parametrize("how", ["gnu", "0.0", "0.1", "1.0"])
def test_sparse_members_are_refused(tmp_path, how):
    if "GNU" not in subprocess.run(["tar", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("only GNU tar makes sparse members")
    make_sparse_tar(
        tmp_path,
        *(["--format=gnu"] if how == "gnu" else ["--format=posix", f"--sparse-version={how}"]),
    )
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress((tmp_path / "a.tar").read_bytes()))
    for name in ("a.tar", "a.tar.gz"):
        ds = stoker.tar(str(tmp_path / name), FIELDS)
        rows = wanted(3)
        assert rows_of(ds, on_error="skip") == [rows[0], rows[2]]
        with pytest.raises(stoker.DataError, match="'image' is stored with holes .* --sparse"):
            rows_of(ds)
        labels = stoker.tar(str(tmp_path / name), {"label": "cls"})
        assert [int(row.label) for row in labels] == [-3, 4, 11]


def test_not_an_archive(tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(range(1, 251)) * 20)
    with pytest.raises(stoker.Error, match="no tar archive"):
        stoker.tar(str(tmp_path / "a.tar"), FIELDS)


def test_a_label_that_is_no_number(tmp_path):
    (tmp_path / "a.tar").write_bytes(make_tar([("1.jpg", b"x"), ("1.cls", b"cat")]))
    with pytest.raises(stoker.DataError, match="whole number, but is 'cat'"):
        rows_of(stoker.tar(str(tmp_path / "a.tar"), FIELDS))


def test_what_webdataset_wrote():
    path = GOLDEN / "records/pictures.tar"
    ds = stoker.tar(str(path), {"key": "__key__", "image": "jpg", "label": "cls"}).decode()
    (batch,) = ds.resize(6, 8).batch(9)
    assert [bytes(key) for key in batch["key"]] == [b"train/%03d" % i for i in range(4)]
    assert batch["label"].tolist() == [0, 1, 0, 1]
