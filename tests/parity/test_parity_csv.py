# SPDX-License-Identifier: Apache-2.0
"""csv against pandas, pyarrow, Python's csv module and tf.data's CsvDataset on random files."""

import csv
import io

import numpy as np
import pytest
import stoker

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")

PIECES = ["a", "Zoë", " ", "12", '"', ",", "\n", "\r\n", "语", ";", "x" * 90, '""', "\t"]


def random_text(rng):
    return "".join(PIECES[i] for i in rng.integers(0, len(PIECES), rng.integers(1, 6)))


def random_frame(rng):
    n = int(rng.integers(1, 3000))
    wide = rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)
    return pd.DataFrame(
        {
            "whole": rng.integers(-(2**62), 2**62, n),
            "wide": wide,
            "single": rng.normal(size=n).astype(np.float32),
            "text": [random_text(rng) for _ in range(n)],
            "when": pd.to_datetime(rng.integers(-(2**61), 2**61, n)),
            "flag": rng.integers(0, 2, n).astype(bool),
        }
    )


def write(frame, path, rng, separator):
    ends = ["\n", "\r\n"][rng.integers(2)]
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][rng.integers(3)]
    text = frame.to_csv(index=False, sep=separator, quoting=quoting, lineterminator=ends)
    path.write_bytes(text.encode()[: -len(ends) if rng.integers(2) else None])


def batches(data):
    """All rows, a list of arrays by field."""
    found = {}
    for batch in data.batch(100):
        for name, field in batch.numpy().items():
            found.setdefault(name, []).extend(field)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_that_were_written(tmp_path, seed):
    rng = np.random.default_rng(seed)
    separator = [",", ";", "\t"][seed % 3]
    frame = random_frame(rng)
    path = tmp_path / "table.csv"
    write(frame, path, rng, separator)
    types = {
        "whole": "int64",
        "wide": "float64",
        "single": "float32",
        "text": "text",
        "when": "timestamp('ns')",
        "flag": "bool",
    }
    data = stoker.csv(str(path), types, delimiter=separator)
    assert len(data) == len(frame)
    found = batches(data)
    with path.open(encoding="utf-8", newline="") as file:
        by_module = list(csv.DictReader(file, delimiter=separator))
    assert [bytes(text).decode() for text in found["text"]] == [row["text"] for row in by_module]
    assert np.array_equal(found["whole"], frame["whole"])
    again = pd.read_csv(path, sep=separator)
    assert np.array_equal(found["wide"], again["wide"])
    assert np.array_equal(found["wide"], [float(row["wide"]) for row in by_module])
    assert np.array_equal(found["single"], frame["single"])
    assert np.array_equal(found["flag"], frame["flag"])
    nanoseconds = frame["when"].astype("datetime64[ns]").astype("int64")
    assert np.array_equal(found["when"], nanoseconds)


@pytest.mark.parametrize("seed", range(6))
def test_singles_are_pyarrows(tmp_path, seed):
    rng = np.random.default_rng([seed, 1])
    path = tmp_path / "table.csv"
    values = rng.normal(size=(4000, 3)) * 10.0 ** rng.integers(-40, 38, (4000, 3))
    digits = int(rng.integers(1, 20))
    rows = [",".join(f"{value:.{digits}g}" for value in row) for row in values]
    path.write_text("a,b,c\n" + "\n".join(rows), encoding="ascii")
    options = pyarrow_csv.ConvertOptions(column_types={name: pa.float32() for name in "abc"})
    table = pyarrow_csv.read_csv(str(path), convert_options=options)
    expected = np.stack([table[name].to_numpy() for name in "abc"], axis=1)
    data = stoker.parse(f"csv('{path}', {{x: columns(rest, float32)}})")
    assert np.array_equal(np.stack(batches(data)["x"]), expected)


@pytest.mark.parametrize("seed", range(6))
def test_guesses_are_like_pandas(tmp_path, seed):
    rng = np.random.default_rng([seed, 2])
    frame = random_frame(rng)[["whole", "wide", "flag"]]
    frame["holes"] = np.where(rng.random(len(frame)) < 0.3, np.nan, 1.5)
    frame["word"] = "w"
    text = frame.to_csv(index=False)
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    found = batches(stoker.csv(str(path)))
    expected = pd.read_csv(io.StringIO(text))
    assert list(found) == list(expected)
    for name in ("whole", "wide", "flag", "holes"):
        assert np.asarray(found[name]).dtype == expected[name].dtype
        assert np.array_equal(found[name], expected[name], equal_nan=name == "holes")


@pytest.mark.parametrize("row", ['a"b', '"a"b', '"a" ', ' "a"', '"a"', '"a""b"', 'a', '"a""', 'a"'])
def test_quotes_are_judged_as_by_tensorflow(tmp_path, row):
    """A row is bad to both, or has the same text in both."""
    tf = pytest.importorskip("tensorflow")
    path = tmp_path / "quotes.csv"
    path.write_text(f"{row}\n", encoding="ascii")
    try:
        (expected,) = [row[0].numpy() for row in tf.data.experimental.CsvDataset(str(path), [tf.string])]
    except tf.errors.InvalidArgumentError:
        expected = None
    ds = stoker.csv(str(path), {"t": "text"}, header=["t"])
    (found,) = [bytes(e.t) for e in ds.iterate(on_error="skip")] or [None]
    assert found == expected


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_tf_data(tmp_path, seed):
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng([seed, 3])
    path = tmp_path / "table.csv"
    n = int(rng.integers(1, 400))
    frame = pd.DataFrame(
        {"a": rng.normal(size=n).astype(np.float32), "b": rng.integers(-9, 9, n), "c": "x,\n\"y"}
    )
    frame.to_csv(path, index=False)
    types = [tf.float32, tf.int64, tf.string]
    expected = list(tf.data.experimental.CsvDataset(str(path), types, header=True))
    found = batches(stoker.csv(str(path), {"a": "float32", "b": "int64", "c": "text"}))
    assert np.array_equal(found["a"], [row[0].numpy() for row in expected])
    assert np.array_equal(found["b"], [row[1].numpy() for row in expected])
    assert [bytes(text) for text in found["c"]] == [row[2].numpy() for row in expected]
