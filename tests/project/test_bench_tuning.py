# SPDX-License-Identifier: Apache-2.0
"""The measurement of tuning without its peers: rows can be run, verdicts follow from readings."""

import sys

import pytest

from places import TREE

sys.path.insert(0, str(TREE / "bench"))

import data
import report
import tuning
import tuning_one
from one import Job
from records import make_pictures, make_progressive
from tuning_rows import ROWS

pytest.importorskip("stoker")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    cache = tmp_path_factory.mktemp("data")
    return Job(
        images=str(data.make(cache / "images", 8, n_processes=1)),
        records=make_pictures(Job(cache=cache), 64),
        progressive=make_progressive(Job(cache=cache), 2, side=512),
        build=cache,
        n_repeats=1,
        warm_s=0.0,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_rows_run(run, row):
    for options in ({}, next(tuning.grid_of(row))):
        job = tuning.job_of(run, row, 0.01, options)
        batches = tuning_one.StokerBatches(job)
        assert len(next(batches)) <= row.batch
        batches.close()
    reading = tuning_one.measure(tuning.job_of(run, row, 0.01))
    assert reading["per_s"] > 0
    assert ("added" in reading) == bool(row.step_s)
    assert ("device" in reading) == (row.key == "cold")
    watched = tuning_one.measure(tuning.job_of(run, row, 0.01, watches_memory=True))
    assert 0 <= watched["grown_mb"] <= 1.05 * row.memory_mb


def test_grids():
    grid = list(tuning.grid_of(ROWS[0]))
    assert {"workers": 1, "window": 2} in grid
    assert all("io_depth" not in options for options in grid)
    slow = next(row for row in ROWS if row.storage)
    assert {options["io_depth"] for options in tuning.grid_of(slow)} == set(slow.depths)


def readings(tuned, best, grown_mb=20, **more):
    settings = {"workers": 1, "window": 2}, {"workers": 2, "window": 4}
    grid = list(zip(settings, ({"per_s": best / 2}, {"per_s": best})))
    watched = {"per_s": tuned, "grown_mb": grown_mb}
    return {"tuned": {"per_s": tuned, **more}, "grid": grid, "peers": {}, "watched": watched}


@pytest.mark.parametrize(
    ("key", "found", "is_met"),
    [
        ("jpeg", readings(98, 100), True),
        ("jpeg", readings(96, 100), False),
        ("step", readings(100, 100, added=0.009), True),
        ("step", readings(100, 100, added=0.011), False),
        ("step", readings(90, 100, added=0.001), False),
        ("cold", readings(98, 100, device=0.96), True),
        ("cold", readings(98, 100, device=0.94), False),
    ],
)
def test_verdicts(key, found, is_met):
    row = next(row for row in ROWS if row.key == key)
    assert tuning.verdict(row, found)[1] == is_met
    said = tuning.table({key: found})
    assert ("below the bar" in said) != is_met
    assert "2 workers, 4 in flight" in said


@pytest.mark.parametrize(("grown_mb", "is_met"), [(100, True), (102, False)])
def test_memory_has_a_bar(grown_mb, is_met):
    said = tuning.table({"progressive": readings(100, 100, grown_mb)})
    assert ("below the bar" in said) != is_met
    assert f"{grown_mb} of 96 MB" in said


def test_what_failed_is_said():
    found = readings(98, 100) | {"peers": {"tf.data": {"failed": "is not there"}}}
    assert "| failed |" in tuning.table({"jpeg": found})
    assert list(tuning.failures({"jpeg": found})) == ["jpeg, tf.data: is not there"]


def test_the_document_is_filled_in(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    pages = [tmp_path / "docs" / name for name in tuning.DOCUMENTS]
    for page in pages:
        page.write_text(
            "a\n<!-- tuning: measured -->\nold\n<!-- /tuning -->\nb\n", encoding="utf-8"
        )
    monkeypatch.setattr(tuning, "TOP", tmp_path)
    tuning.write({"jpeg": readings(98, 100)}, "a machine")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith("a\n<!-- tuning") and text.endswith("<!-- /tuning -->\nb\n")
        assert "a machine" in text and "98.0%" in text and "old" not in text


def test_parts_of_a_measurement_are_put_together(tmp_path):
    path = tmp_path / "rows.json"
    tuning.merged(path, {"jpeg": readings(98, 100)})
    kept = tuning.merged(path, {"small": readings(99, 100)})
    again = tuning.merged(path, {})
    assert set(kept) == {"jpeg", "small"} and set(again) == {"jpeg", "small"}
    assert tuning.verdict(ROWS[0], again["jpeg"]) == tuning.verdict(ROWS[0], readings(98, 100))


def test_benchmarks_have_the_table_of_tuning(tmp_path):
    (tmp_path / "docs").mkdir()
    table = "<!-- tuning: measured -->\na table\n<!-- /tuning -->"
    (tmp_path / "docs" / "tuning.md").write_text(f"before\n{table}\nbehind\n", encoding="utf-8")
    lines = report.tuning_section(tmp_path)
    assert table in lines and "## tuning" in lines and "behind" not in "".join(lines)
