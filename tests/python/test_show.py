# SPDX-License-Identifier: Apache-2.0
"""What people see: repr, HTML with thumbnails, progress."""

import base64
import io
import re
import sys

import numpy as np
import pytest
import stoker
from PIL import Image


def images_in(html):
    found = re.findall(r"data:image/png;base64,([^\"]+)", html)
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in found]


def test_repr(pictures):
    ds = stoker.image_folder(pictures).decode().resize(4, 4).batch(2)
    assert repr(ds) == (
        f"Dataset × 3: image_folder('{pictures}').decode().resize(4, 4).batch(2)\n"
        "  image  float32[?, 4, 4, 3]\n  label  int64[?]"
    )
    assert repr(stoker.range(3).repeat()).startswith("Dataset × ∞: range(3)")
    assert repr(stoker.range(3).filter("x > 1")).startswith("Dataset × unknown:")
    assert len(repr(stoker.values({"x": list(range(10000))}))) < 3000


def test_thumbnails_of_a_dataset(pictures):
    ds = stoker.image_folder(pictures).decode().resize(200, 300).batch(4)
    html = ds._repr_html_()
    shown = images_in(html)
    assert len(shown) == 4 and "float32[?, 200, 300, 3]" in html and "cat" in html
    assert all(max(image.size) <= 100 for image in shown)
    assert shown[1].convert("RGB").getpixel((3, 3)) == (80, 90, 160)


@pytest.mark.parametrize(
    "values, wanted",
    [
        (np.full((1, 5, 6, 3), 7, np.uint8), (7, 7, 7)),
        (np.full((1, 5, 6, 3), 0.5, np.float32), (128, 128, 128)),
        (np.full((1, 5, 6, 3), 100, np.float64), (100, 100, 100)),
        (np.stack([np.full((5, 6), v, np.float32) for v in (-2, 0, 2)], -1)[None], (0, 128, 255)),
        (np.full((1, 5, 6, 3), np.nan, np.float32), (0, 0, 0)),
    ],
)
def test_thumbnails_of_values(values, wanted):
    batch = stoker.from_arrays(x=values).batch(1).head(1)[0]
    shown = images_in(batch._repr_html_())
    assert (
        len(shown) == 1
        and shown[0].size == (6, 5)
        and shown[0].convert("RGB").getpixel((0, 0)) == wanted
    )


@pytest.mark.parametrize("channels, mode", [(1, "L"), (3, "RGB"), (4, "RGBA")])
def test_thumbnails_of_channels(channels, mode):
    element = stoker.from_arrays(x=np.zeros((1, 4, 4, channels), np.uint8))[0]
    assert images_in(element._repr_html_())[0].mode == mode


def test_few_thumbnails():
    batch = stoker.from_arrays(x=np.zeros((50, 4, 4, 3), np.uint8)).batch(50).head(1)[0]
    assert len(images_in(batch._repr_html_())) == 8


def test_html_never_fails(pictures, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    assert "cannot be shown" in stoker.files(f"{tmp_path}/bad.png").decode()._repr_html_()
    assert "<table>" in stoker.range(3)._repr_html_()
    assert "&lt;b&gt;" in stoker.values({"<b>": [1]})._repr_html_()
    assert "<table>" in stoker.values({"t": ["a"], "r": [[1, 2]]}).batch(1).head(1)[0]._repr_html_()
    assert "<table>" in stoker.range(3).take(0).batch(2)._repr_html_()


def test_html_leaves_generators_alone():
    calls = []

    def frames():
        calls.append(1)
        yield np.zeros((4, 4, 3), np.uint8)

    assert (
        "uint8" in stoker.from_generator(frames, ("uint8", (4, 4, 3)))._repr_html_() and not calls
    )


def test_html_takes_no_epoch(pictures):
    ds = stoker.image_folder(pictures).shuffle().decode().resize(4, 4).batch(2)
    ds._repr_html_()
    assert next(iter(ds)).position.epoch == 0


def test_progress(capsys):
    assert sum(b.n_rows for b in stoker.progress(stoker.range(100).batch(10))) == 100
    assert re.fullmatch(
        r"10 of 10 batches, 100 elements, [\d,]+/s, [\d.]+ s\n", capsys.readouterr().err
    )
    assert len(list(stoker.range(10).filter("x > 4").progress(epochs=2))) == 10
    assert capsys.readouterr().err.startswith("10 batches, 10 elements")
    assert len(list(stoker.progress(stoker.range(10).iterate()))) == 10
    assert capsys.readouterr().err.startswith("10 batches")
    with pytest.raises(TypeError):
        list(stoker.progress(stoker.range(10).iterate(), workers=1))


def test_progress_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("stoker._progress._EVERY", 0)
    list(stoker.range(30).batch(10).progress())
    text = sys.stderr.getvalue()
    assert (
        text.count("\r") == 4
        and "\r2 of 3 batches, 20 elements" in text
        and text.endswith("\033[K\n")
    )


def test_progress_of_a_run_that_fails(capsys):
    with pytest.raises(stoker.DataError):
        list(stoker.values({"x": [1, 0]}).map("1 // x").progress())
    assert capsys.readouterr().err.startswith("1 of 2 batches")
