# SPDX-License-Identifier: Apache-2.0
"""What fuzzers and random chains found wrong, reduced to small files; through the command."""

import gzip
import io
import json
import struct
import tarfile

from record_files import crc32c, masked


def run(stoker, chain, on_error="fail"):
    done = stoker("run", chain, "--dump", "--quiet", "--on-error", on_error)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def archive(**members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_nothing_is_read_behind_the_end_of_an_archive(stoker, tmp_path):
    """However far the end mark is from what follows it, and whoever reads it."""
    for gap in [0, 5120, 3 << 20]:
        data = archive(a_txt=b"first") + b"x" * gap + archive(b_txt=b"second") + b"junk"
        (tmp_path / "a.tar").write_bytes(data)
        (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data))
        for name in ["a.tar", "a.tar.gz"]:
            rows = run(stoker, f"tar('{tmp_path / name}', {{t: 'txt'}})")
            assert rows == [{"t": "first"}], (gap, name)


def test_members_of_no_sample_are_passed_over_whole(stoker, tmp_path):
    """Also in front of damage: there are no samples in them, whatever they hold."""
    data = archive(a_txt=b"a", x_txt=b"x", inner=archive(b_txt=b"b"), c_txt=b"c", d_txt=b"d")
    data = data.replace(b"x.txt", b"X.txt").replace(b"c.txt", b"C.txt")  # so checksums are wrong
    (tmp_path / "a.tar").write_bytes(data)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data))
    for name in ["a.tar", "a.tar.gz"]:
        rows = run(stoker, f"tar('{tmp_path / name}', {{t: 'txt'}})", "skip")
        assert rows == [{"t": "a"}, {"t": "d"}], name


def test_endings_of_members_are_any_text(stoker, tmp_path):
    (tmp_path / "a.tar").write_bytes(archive(**{'a_"q\\': b"1", "a_é": b"2"}))
    found = stoker("inspect", tmp_path / "a.tar", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)['."q\\'].startswith("in 1 samples")


def test_missing_values_with_spaces_are_missing_for_guesses_too(stoker, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1, NA\n2,3\n")
    assert run(stoker, f"csv('{tmp_path / 'a.csv'}')") == [{"a": 1, "b": "nan"}, {"a": 2, "b": 3}]
    (tmp_path / "b.csv").write_text("a,b\n1,0 \n2,3\n")
    rows = run(stoker, f"csv('{tmp_path / 'b.csv'}', na=['0'])")
    assert rows == [{"a": 1, "b": "nan"}, {"a": 2, "b": 3}]


def test_an_index_whose_offsets_are_out_of_order_is_not_believed(stoker, tmp_path):
    records = [b"a", b"bb", b"ccc"]
    frames = []
    for record in records:
        head = struct.pack("<Q", len(record))
        frames.append(head + struct.pack("<I", masked(head)) + record)
        frames.append(struct.pack("<I", masked(record)))
    (tmp_path / "a.tfrecord").write_bytes(b"".join(frames))
    home = tmp_path / "home"
    home.mkdir()
    chain = f"tfrecord('{tmp_path / 'a.tfrecord'}', index='{home}')"
    rows = [{"record": record.decode()} for record in records]
    assert run(stoker, chain) == rows
    (sidecar,) = home.iterdir()
    whole = sidecar.read_bytes()
    assert struct.unpack_from("<3I", whole, len(whole) - 12) == (0, 17, 35)
    for steps in [(0, 35, 17), (0, 17, 2**32 - 1), (17, 0, 35)]:
        head, base = whole[:84], whole[88 : len(whole) - 12]
        rest = base + struct.pack("<3I", *steps)
        sidecar.write_bytes(head + struct.pack("<I", crc32c(head + rest)) + rest)
        assert run(stoker, chain) == rows
        assert sidecar.read_bytes() == whole  # it was made again
