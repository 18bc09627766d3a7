# SPDX-License-Identifier: Apache-2.0
"""Dataset.stats against NumPy, and stoker.inspect."""

import json
import signal
import threading
import time

import numpy as np
import pytest
import stoker

N = 500
RNG = np.random.default_rng(5)
ARRAYS = {
    "image": RNG.integers(0, 256, (N, 8, 9, 3), dtype=np.uint8),
    "vector": RNG.normal(1e4, 0.5, (N, 7)).astype(np.float32),
    "real": RNG.normal(-3, 2, N),
    "whole": RNG.integers(-5, 5, N),
    "half": RNG.normal(0, 1, (N, 4)).astype(np.float16),
    "wide": RNG.integers(0, 65536, (N, 5, 5), dtype=np.uint16),
    "mask": RNG.integers(0, 4, (N, 6, 6), dtype=np.uint8),
    "flag": RNG.random(N) > 0.3,
}
ARRAYS["vector"][3, 2] = np.nan
ARRAYS["vector"][4, 1] = np.inf


@pytest.fixture(params=[None, 1, 32, 77])
def ds(request):
    data = stoker.from_arrays(ARRAYS)
    return data.batch(request.param) if request.param else data


def check(channel, values):
    values = values.astype(np.float64).ravel()
    finite = values[np.isfinite(values)]
    assert channel["count"] == values.size
    assert channel["missing"] == np.isnan(values).sum()
    assert channel["infinite"] == np.isinf(values).sum()
    assert (channel["min"], channel["max"]) == (np.nanmin(values), np.nanmax(values))
    assert channel["mean"] == pytest.approx(finite.mean(), rel=1e-12)
    assert channel["std"] == pytest.approx(finite.std(), rel=1e-9)


def test_numbers(ds):
    stats = ds.stats()
    assert stats.elements == N and set(stats) == set(ARRAYS)
    for name, values in ARRAYS.items():
        channels = stats[name]["channels"]
        if len(channels) == 1:
            check(channels[0], values)
        else:
            assert len(channels) == values.shape[-1], name
            for c, channel in enumerate(channels):
                check(channel, values[..., c])


def test_histograms(ds):
    stats = ds.stats()
    for name in ("image", "real", "whole", "wide", "mask"):
        histogram = stats[name]["histogram"]
        counts, _ = np.histogram(ARRAYS[name], bins=histogram["edges"])
        assert histogram["counts"] == counts.tolist() and counts.sum() == ARRAYS[name].size


def test_classes(ds):
    stats = ds.stats()
    for name in ("whole", "mask", "flag"):
        values, counts = np.unique(ARRAYS[name], return_counts=True)
        classes = stats[name]["classes"]
        assert [c["value"] for c in classes] == values.tolist()
        assert [c["count"] for c in classes] == counts.tolist()
        weights = counts.sum() / (len(values) * counts)
        assert [c["weight"] for c in classes] == pytest.approx(weights.tolist())
    assert "classes" not in stats["wide"] and "classes" not in stats["image"]


def test_normalize_has_the_right_scale():
    data = stoker.from_arrays(image=ARRAYS["image"])
    normalize = data.stats()["image"]["normalize"]
    pixels = ARRAYS["image"].reshape(-1, 3) / 255
    assert normalize["mean"] == pytest.approx(pixels.mean(0).tolist())
    assert normalize["std"] == pytest.approx(pixels.std(0).tolist())
    for changed in (data, data.cast("float32"), data.scale(1 / 255)):
        call = changed.stats()["image"]["normalize"]["call"]
        after = eval(f"changed.{call}").stats()
        for channel in after["image"]["channels"]:
            assert channel["mean"] == pytest.approx(0, abs=1e-4)
            assert channel["std"] == pytest.approx(1, abs=1e-4)


def test_texts_and_lists():
    words = ["a", "bb", "ccc", "", "bb"] * 10 + ["x" * 300]
    lists = [list(range(k % 5)) for k in range(51)]
    for data in (ds := stoker.from_arrays(w=words, v=lists), ds.batch(8)):
        stats = data.stats()
        found = {v["value"]: v["count"] for v in stats["w"]["vocabulary"]}
        assert found == {"bb": 20, "": 10, "a": 10, "ccc": 10} and not stats["w"]["is_complete"]
        assert stats["w"]["vocabulary"][0]["value"] == "bb"
        assert stats["w"]["length"]["max"] == 300
        assert stats["v"]["length"]["mean"] == pytest.approx(np.mean([len(v) for v in lists]))
        check(stats["v"]["channels"][0], np.concatenate(lists))


def test_workers_and_batches(tmp_path):
    data = stoker.from_arrays(ARRAYS).shuffle().batch(7)
    assert data.stats(workers=0).json == data.stats(workers=4).json
    few = data.stats(3)
    assert (few.elements, few.batches) == (21, 3)
    few.save(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == few.json
    assert "channel" in repr(few) and "<pre>" in few._repr_html_()
    with pytest.raises(ValueError, match="batches"):
        data.stats(0)


def test_errors_arrive():
    def broken():
        yield 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        stoker.from_generator(broken, {"x": "int64"}).stats()


def test_interrupt():
    def endless():
        while True:
            time.sleep(0.001)
            yield 1

    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stoker.from_generator(endless, {"x": "int64"}).stats()
    timer.join()


def test_inspect(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    found = stoker.inspect(tmp_path / "a.npy")
    assert found["format"] == "npy" and found["elements"] == 4
    assert found["fields"][0]["type"] == "float32[3]"
    assert len(stoker.parse(found.chain)) == 4
    assert "npy(" in repr(found) and "chain" in dict(found)
    with pytest.raises(stoker.StorageError, match="none"):
        stoker.inspect(tmp_path / "none")
    (tmp_path / "x").write_bytes(b"\0\1\2")
    with pytest.raises(stoker.DataError, match="nothing that stoker knows"):
        stoker.inspect(tmp_path / "x")
