# SPDX-License-Identifier: Apache-2.0
"""The model's readers of files against files of the real writers, and against damage whose outcome
is plain to see."""

import random
import tarfile

import numpy
import pytest
import record_files
from model import damage, file_formats
from places import GOLDEN

NO_DAMAGE = damage.Damager(None, 0)


@pytest.mark.parametrize("name", ["plain", "examples", "sequences"])
def test_tfrecords_are_those_of_tensorflow(name):
    path = GOLDEN / "records" / f"{name}.tfrecord"
    found = [content for _, content in file_formats.tfrecords(path.read_bytes())]
    assert found == record_files.records(path)


def test_every_flip_costs_one_record():
    contents = [b"zero", b"one", b"two"]
    data = damage.tfrecord(NO_DAMAGE, contents)
    for at in range(len(data)):
        found = [content for _, content in file_formats.tfrecords(damage.flipped(data, at))]
        owner = [0] * 20 + [1] * 19 + [2] * 19
        assert found == [None if i == owner[at] else c for i, c in enumerate(contents)]


def test_every_cut_costs_what_is_behind_it():
    contents = [b"zero", b"one"]
    data = damage.tfrecord(NO_DAMAGE, contents)
    for end in range(1, len(data)):
        found = [content for _, content in file_formats.tfrecords(data[:end])]
        assert found == ([None] if end < 20 else contents[:1] + [None] * (end > 20))


@pytest.mark.parametrize("is_stream", [False, True])
def test_members_are_those_of_tarfile(is_stream):
    path = GOLDEN / "records" / "pictures.tar"
    with tarfile.open(path) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
    found = {}
    for _, sample in file_formats.tar_samples(path.read_bytes(), is_stream):
        stem = sample.pop("__key__").decode()
        found.update({f"{stem}.{ending}": content for ending, content in sample.items()})
    assert found == members


def test_a_damaged_header_is_a_sample_of_its_own():
    short_names = random.Random(6)
    members = {"txt": b"t", "cls": b"1"}
    data = damage.tar(damage.Damager(short_names, 0), [members] * 3)
    for at in range(0, 6 * 1024, 1024):
        found = [s for _, s in file_formats.tar_samples(damage.flipped(data, at), False)]
        whole = [s is not None and len(s) == 3 for s in found]
        assert whole.count(True) == 2 and found.count(None) == 1 and len(found) == 4, at


@pytest.mark.parametrize("name", ["little_i4", "big_f8", "little_u1", "bytes", "volume"])
def test_rows_are_those_of_numpy(name):
    path = GOLDEN / "arrays" / f"{name}.npy"
    assert file_formats.npy_rows(path.read_bytes())[1] == numpy.load(path).tolist()
