# SPDX-License-Identifier: Apache-2.0
"""TFRecord files: those that TensorFlow wrote, and damaged ones, against a reader in plain Python."""

import gzip
import os
import struct

import pytest
import stoker
from places import GOLDEN

RECORDS = [bytes.fromhex(line) for line in (GOLDEN / "records" / "records.txt").read_text().splitlines()]


# ---- a reader in plain Python ----


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data):
    length = struct.pack("<Q", len(data))
    checksums = [struct.pack("<I", masked_crc(part)) for part in (length, data)]
    return length + checksums[0] + data + checksums[1]


def header_at(data, at, is_stream):
    """The length that a good header at this place tells, or None."""
    if len(data) - at < (12 if is_stream else 16):
        return None
    length, crc = struct.unpack_from("<QI", data, at)
    fits = length <= 1 << 30 if is_stream else length <= len(data) - at - 16
    return length if fits and crc == masked_crc(data[at : at + 8]) else None


def read_all(data, is_stream=False):
    """Records of a file, None for each that is damaged."""
    found, at = [], 0
    while at < len(data):
        length = header_at(data, at, is_stream)
        if length is None:
            at += 1
            while at < len(data) and header_at(data, at, is_stream) is None:
                at += 1
            found.append(None)
            continue
        body = data[at + 12 : at + 12 + length]
        end = data[at + 12 + length : at + 16 + length]
        is_good = len(end) == 4 and struct.unpack("<I", end)[0] == masked_crc(body)
        found.append(body if is_good else None)
        at += 16 + length
    return found


def records_of(ds, **options):
    return [bytes(record) for batch in ds.batch(4).iterate(**options) for record in batch["record"]]


@pytest.fixture(scope="module")
def plain():
    return (GOLDEN / "records" / "plain.tfrecord").read_bytes()


# ---- good files ----


@pytest.mark.parametrize("name", ["plain", "gzip", "zlib"])
def test_what_tensorflow_wrote(name):
    ds = stoker.tfrecord(str(GOLDEN / "records" / f"{name}.tfrecord"))
    for workers in range(4):
        assert records_of(ds, workers=workers) == RECORDS


def test_frames_are_tensorflows(plain):
    assert b"".join(map(frame, RECORDS)) == plain
    assert read_all(plain) == RECORDS


def test_any_record_can_be_reached():
    ds = stoker.tfrecord(str(GOLDEN / "records" / "plain.tfrecord"))
    assert len(ds) == len(RECORDS)
    assert [bytes(ds[i]["record"]) for i in (5, 0, 3)] == [RECORDS[i] for i in (5, 0, 3)]
    assert sorted(records_of(ds.shuffle())) == sorted(RECORDS)
    parts = [records_of(ds.shard(2, i)) for i in range(2)]
    assert parts == [RECORDS[0::2], RECORDS[1::2]]


def test_many_files_in_order(tmp_path):
    wanted = []
    for number in range(40):
        part = [b"%d" % (number * 100 + i) * (i % 7) for i in range(number % 5)]
        (tmp_path / f"{number:02}.tfrecord").write_bytes(b"".join(map(frame, part)))
        wanted += part
    ds = stoker.tfrecord(str(tmp_path / "*.tfrecord"))
    assert records_of(ds) == wanted
    assert sorted(records_of(ds.shuffle())) == sorted(wanted)
    assert records_of(ds.concatenate(ds)) == wanted * 2


def test_compressed_files_are_a_stream(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(frame(b"1") + frame(b"2")))
    (tmp_path / "b").write_bytes(frame(b"3"))
    ds = stoker.tfrecord([str(tmp_path / "a"), str(tmp_path / "b")])
    assert records_of(ds.repeat(2)) == [b"1", b"2", b"3"] * 2
    with pytest.raises(stoker.Error, match="buffer"):
        ds.shuffle()


def test_a_record_that_begins_as_gzip_does(tmp_path):
    data = b"x" * 0x8B1F  # its length's first bytes are gzip's magic number
    (tmp_path / "a").write_bytes(frame(data))
    assert records_of(stoker.tfrecord(str(tmp_path / "a"))) == [data]


def test_an_empty_file_has_no_records(tmp_path):
    (tmp_path / "empty").touch()
    assert len(stoker.tfrecord(str(tmp_path / "empty"))) == 0


# ---- bad files ----


def check_damaged(path, data):
    """Good records are delivered, and nothing else; the first bad one is an error without skip."""
    wanted = read_all(data)
    path.write_bytes(data)
    if data and not any(record is not None for record in wanted):
        try:
            ds = stoker.tfrecord(str(path))
        except stoker.Error as error:
            assert "no TFRecord file" in str(error)
            return
    else:
        ds = stoker.tfrecord(str(path))
    assert len(ds) == len(wanted)
    good = [record for record in wanted if record is not None]
    assert records_of(ds, on_error="skip") == good
    if len(good) < len(wanted):
        with pytest.raises(stoker.DataError, match=f"record {wanted.index(None)} at byte"):
            records_of(ds)
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(data, 1))
    good = [record for record in read_all(data, is_stream=True) if record is not None]
    assert records_of(stoker.tfrecord(str(packed)), on_error="skip") == good


def test_cut_at_every_byte(plain, tmp_path):
    for end in range(len(plain)):
        check_damaged(tmp_path / "cut", plain[:end])


def test_a_flipped_bit_in_every_byte(plain, tmp_path):
    for at in range(len(plain)):
        flipped = bytearray(plain)
        flipped[at] ^= 1 << at % 8
        check_damaged(tmp_path / "flipped", bytes(flipped))


def test_lengths_that_lie(tmp_path):
    for length in (1 << 63, (1 << 64) - 1, 1 << 31, 1000):
        head = struct.pack("<Q", length)
        head += struct.pack("<I", masked_crc(head))
        check_damaged(tmp_path / "lies", frame(b"before") + head + frame(b"behind"))


def test_checksums_need_not_be_verified(tmp_path):
    data = bytearray(frame(b"abc"))
    data[12] ^= 1
    (tmp_path / "a").write_bytes(data)
    assert records_of(stoker.tfrecord(str(tmp_path / "a"), verify=False)) == [b"`bc"]


def test_not_a_tfrecord_file(tmp_path):
    (tmp_path / "text").write_text("no records at all, just some words\n" * 50)
    with pytest.raises(stoker.DataError, match="text' is no TFRecord file"):
        stoker.tfrecord(str(tmp_path / "text"))
    with pytest.raises(stoker.StorageError, match="missing"):
        stoker.tfrecord(str(tmp_path / "missing"))


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    """Pages that are gone behind a map are an error, not the end of the process."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(frame(b"%06d" % i * 300) for i in range(4000)))
    batches = stoker.tfrecord(str(path)).batch(8).iterate(window=2, workers=1, io_depth=2)
    for _ in range(100):
        next(batches)
    os.truncate(path, 4096)
    with pytest.raises(stoker.StorageError, match="has fewer now"):
        for _ in batches:
            pass


# ---- sidecars ----


def sidecar_of(folder):
    (found,) = folder.glob("*.stkidx")
    return found


def test_sidecars_are_kept_believed_and_made_again(tmp_path):
    data, home = tmp_path / "a.tfrecord", tmp_path / "home"
    home.mkdir()
    data.write_bytes(frame(b"1") + frame(b"22"))

    def read():
        return records_of(stoker.tfrecord(str(data), index=str(home)))

    assert read() == [b"1", b"22"]
    first = sidecar_of(home).stat()
    assert read() == [b"1", b"22"]
    assert sidecar_of(home).stat().st_ino == first.st_ino  # believed, not made again
    data.write_bytes(frame(b"33") + frame(b"4"))
    os.utime(data, ns=(1, 1))
    assert read() == [b"33", b"4"]
    assert sidecar_of(home).stat().st_ino != first.st_ino
    for at in range(sidecar_of(home).stat().st_size):
        damaged = bytearray(sidecar_of(home).read_bytes())
        damaged[at] ^= 0x10
        sidecar_of(home).write_bytes(damaged)
        assert read() == [b"33", b"4"]
    whole = sidecar_of(home).read_bytes()
    for end in range(len(whole)):
        sidecar_of(home).write_bytes(whole[:end])
        assert read() == [b"33", b"4"]
    assert sidecar_of(home).read_bytes() == whole


def test_small_files_get_no_sidecar(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(frame(b"1"))
    assert records_of(stoker.tfrecord(str(tmp_path / "a.tfrecord"))) == [b"1"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.tfrecord"]


def test_large_files_get_one_beside_them_unless_told_otherwise(tmp_path):
    path = tmp_path / "a.tfrecord"
    one = frame(b"x" * 100_000)
    path.write_bytes(one * 170)
    assert len(stoker.tfrecord(str(path), index="none")) == 170
    assert not list(tmp_path.glob("*.stkidx"))
    assert len(stoker.tfrecord(str(path))) == 170
    assert sidecar_of(tmp_path).name == "a.tfrecord.stkidx"
    assert len(stoker.tfrecord(str(path))) == 170
