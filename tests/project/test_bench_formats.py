# SPDX-License-Identifier: Apache-2.0
"""The measurement of formats without its peers: rows can be read, verdicts follow from readings."""

import ast
import copy
import json
import pathlib
import sys
import xml.etree.ElementTree

import numpy
import pytest

from places import BUILD, TREE

sys.path.insert(0, str(TREE / "bench"))

import data
import format_claims
import format_data
import format_report
import measure_formats
from format_rows import BATCH, ROWS, TITLES
from one import Job

stoker = pytest.importorskip("stoker")
N_PICTURES, N_ROWS = 12, 300


# ---- the rows ----


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Both sets, small, without the files that need h5py."""
    cache = tmp_path_factory.mktemp("it's [a] set")
    images = data.make(cache / "images", N_PICTURES // 2, n_processes=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format_data, "save_hdf5", lambda *_, **__: None)
        return format_data.make(cache, images, N_PICTURES, N_ROWS)


def count_of(row):
    return N_ROWS if row.kind == "numbers" else N_PICTURES


READ_HERE = [row for row in ROWS if row.is_stoker and "hdf5" not in row.chain]


@pytest.mark.parametrize("row", READ_HERE, ids=lambda row: row.key)
@pytest.mark.parametrize("order", ["", "shuffle"])
def test_every_way_has_all_elements(folders, row, order):
    dataset = stoker.parse(row.chain_for(folders, order))
    labels = []
    for batch in dataset.iterate():
        whole = row.field == "record"  # the label is its last number
        labels += (batch.record[:, -1] if whole else batch.label).tolist()
    assert len(labels) == count_of(row)
    plain = next(other for other in READ_HERE if other.kind == row.kind)
    expected = [
        label
        for batch in stoker.parse(plain.chain_for(folders, "")).iterate()
        for label in batch.label.tolist()
    ]
    assert labels == expected if not order else sorted(labels) == sorted(expected)


@pytest.mark.parametrize("row", [r for r in READ_HERE if r.kind != "numbers"], ids=lambda r: r.key)
def test_pictures_are_made_ready(folders, row):
    first = next(iter(stoker.parse(row.chain_for(folders, "shuffle", is_ready=True)).iterate()))
    assert first.image.shape == (min(N_PICTURES, BATCH[row.kind]), 224, 224, 3)
    image = numpy.asarray(first.image)
    assert str(image.dtype) == "float32" and 0 <= image.min() < image.max() <= 1


def test_rows_differ_and_have_functions():
    assert len({row.key for row in ROWS}) == len(ROWS)
    tree = ast.parse((TREE / "bench/format_tensorflow.py").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {row.key for row in ROWS if row.who == "tf.data"} <= functions
    assert {row.who for row in ROWS} == {"stoker", "tf.data"}


# ---- measuring ----


@pytest.fixture
def run(folders, tmp_path):
    return Job(
        build=BUILD, place=tmp_path, folders=folders, limit_s=100, pass_s=20.0, stretch_s=0.01,
        n_stretches=1,
    )  # fmt: skip


def row_of(key):
    return next(row for row in ROWS if row.key == key)


def test_measurements_of_a_row(run):
    row = row_of("tfrecord")
    names = [name for name, (*_, what) in measure_formats.MEASURES.items() if what != "delay"]
    found = {name: measure_formats.measure(run, row, name) for name in names}
    assert not [reading for reading in found.values() if "failed" in reading], found
    assert found["open"]["batches"] == 1 and found["open"]["open_s"] > 0
    assert all(found[name]["per_s"] > 0 for name in names if name != "open")
    assert 0 <= found["cold"]["stayed"] <= 1


def test_a_delay_is_paid_for_every_file(run, monkeypatch):
    if not (BUILD / "libinterpose.so").exists():
        pytest.skip("there is no libinterpose.so: a sanitizer has its own allocator")
    monkeypatch.setattr(measure_formats, "DELAY_US", 50_000)
    reading = measure_formats.measure(run, row_of("files"), "slow")
    # Twelve files wait at least once for an open and a read, all at a time at best.
    assert 0 < reading["per_s"] <= N_PICTURES / 0.1, reading


def test_what_goes_wrong_is_said(run):
    folders = {kind: pathlib.Path("/nowhere") for kind in run.folders}
    lost = Job(**{**vars(run), "folders": folders})
    assert "nowhere" in measure_formats.measure(lost, row_of("csv"), "order")["failed"]


def test_sorted_classes_are_mixed_by_a_shuffle(run):
    assert measure_formats.measure_mix(run, "shuffle")["classes"] > 1


def test_pages_in_the_cache_are_found(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    assert measure_formats.share_in_cache([path]) == 1
    if measure_formats.drop_from_cache([path]) == 1:
        pytest.skip("this file system keeps the pages of a file")
    path.read_bytes()
    assert measure_formats.share_in_cache([path]) == 1


def test_the_best_reading_counts():
    first = {"per_s": 2, "open_s": 3, "batches": None}
    second = {"per_s": 1, "open_s": 2, "batches": None}
    best = {"per_s": 2, "open_s": 2, "batches": None}
    assert measure_formats.better(first, second) == best == measure_formats.better(second, first)
    assert measure_formats.better(first, {"failed": "why"}) == first
    assert measure_formats.better({"failed": "why"}, first) == first


def test_a_run_in_pieces_goes_on_where_it_stopped(tmp_path):
    """Each piece has time for two measurements; the third one of another run begins again."""
    done = []
    todo = [("csv", str(i), lambda run, i=i: done.append(i) or {"per_s": i}) for i in range(3)]
    nowhere = Job(folders={})

    def piece(settings):
        progress = measure_formats.Progress(tmp_path / "part.json", settings, 1000)
        times = iter([False, False, True])
        progress.is_over = lambda: next(times)
        return measure_formats.measure_all(nowhere, todo, 1, progress), progress.readings

    assert piece("a") == (False, {"csv": {"0": {"per_s": 0}, "1": {"per_s": 1}}})
    assert piece("a")[0] and done == [0, 1, 2]
    assert not piece("b")[0] and done == [0, 1, 2, 0, 1]


# ---- the document ----


def made_up():
    """Results in which everything is equal."""
    names = [name for name in measure_formats.MEASURES if "open" not in name]
    readings = {row.key: {name: {"per_s": 1000.0} for name in names} for row in ROWS}
    for row in ROWS:
        readings[row.key]["open"] = {"first_open_s": 0.5, "open_s": 0.01, "batches": 4}
    readings["gzip"]["open"]["batches"] = None
    readings["tf_csv"]["slow"] = {"failed": "took longer than 60 s"}
    readings["mix"] = {name: {"classes": 5.0} for name in measure_formats.MIX_ORDERS}
    readings["crowd"] = {name: {"per_s": 100.0} for name in measure_formats.CROWDS}
    return {
        "machine": {
            "cpu": "A processor", "level": "avx2", "cores": "2 of 4", "memory": "8 GB",
            "system": "Linux 6", "python": "3.11.0", "two": 1.987, "stoker": "0.1.0",
            "date": "2026-01-01",
        },
        "versions": {"h5py": "3"}, "pictures": 2000, "rows": 5000, "rounds": 3, "delay_us": 2000,
        "is_generated": True, "pass_s": 10.0, "readings": readings,
        "sizes": {row.key: {"files": 1, "disk_bytes": 2e6} for row in ROWS},
    }  # fmt: skip


def verdicts(results):
    return {claim.text: claim.verdict for claim in format_claims.all_of(results)}


def test_every_claim_has_a_verdict():
    found = verdicts(made_up())
    known = {format_claims.HELD, format_claims.IN_PART, format_claims.NOT_HELD}
    assert len(found) == len(format_claims.CLAIMS) and set(found.values()) <= known
    assert found["TFRecord is faster than many small files."] == format_claims.NOT_HELD
    assert found["tar shards are as good as TFRecord."] == format_claims.HELD
    assert found["Shuffling needs a buffer."] == format_claims.NOT_HELD
    assert found["HDF5 is slow with many workers."] == format_claims.HELD


@pytest.mark.parametrize(("changed", "verdict"), [
    (("order",), format_claims.IN_PART),
    (("order", "cold", "slow"), format_claims.HELD),
])  # fmt: skip
def test_verdicts_follow_from_readings(changed, verdict):
    results = made_up()
    for name in changed:
        results["readings"]["tfrecord"][name]["per_s"] = 2500.0
    claim = format_claims.all_of(results)[0]
    assert claim.verdict == verdict and "from the page cache 2.50 times" in claim.why


def test_a_missing_reading_is_not_made_up():
    results = made_up()
    results["readings"]["csv"]["order"] = {"failed": "why"}
    del results["readings"]["crowd"]
    found = verdicts(results)
    assert found["CSV is fine."] == found["HDF5 is slow with many workers."] == format_claims.NOT_MEASURED
    assert not any("Rows of numbers" in line for line in format_claims.advice(results))


def test_the_document_has_a_place_for_everything():
    page = (TREE / "docs/formats.md").read_text(encoding="utf-8")
    results = made_up()
    text = format_report.put(page, format_report.sections(results))
    assert "Not measured yet" not in text
    assert "| TFRecord, gzip | 2.0 MB | 1 | 500 ms | 10 ms, no length | 1,000/s |" in text
    assert "tf_csv, slow: took longer than 60 s" in text and "2 ms added to every `open`" in text
    assert format_report.put(text, format_report.sections(results)) == text
    with pytest.raises(ValueError, match="docs/formats.md has marks"):
        format_report.put("nothing", format_report.sections(results))


def test_the_picture_has_a_bar_for_each_reading():
    root = xml.etree.ElementTree.fromstring(format_report.picture(made_up()))
    drawn = [node for node in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(drawn) == 1 + len(ROWS) * len(format_report.PANELS) - 1  # one was not measured


def test_results_can_be_kept():
    results = made_up()
    again = json.loads(json.dumps(results))
    assert format_report.sections(again) == format_report.sections(copy.deepcopy(results))
    assert all(title in format_report.terminal(again) for title in TITLES.values())
