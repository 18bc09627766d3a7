# SPDX-License-Identifier: Apache-2.0
"""docs/augmentations.md: it has every op on images, says what the declarations say, and its calls
run."""

import importlib.util
import json
import subprocess
import sys

import pytest
from places import TREE

SPEC = importlib.util.spec_from_file_location("sheets", TREE / "tools" / "augmentations.py")
sheets = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(sheets)
CALLS = [(group, call) for group in sheets.GROUPS for call in group["calls"]]
# On images too, but there is nothing to see.
UNSEEN = {"encode_jpeg", "encode_png", "encode_webp", "layout"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    file = tmp_path_factory.mktemp("scene") / "scene.png"
    sheets.draw_scene().save(file)
    return file


def test_every_image_op_is_shown():
    command = [sys.executable, "-m", "stoker", "ops", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    on_images = {
        op["name"]
        for op in json.loads(done.stdout)
        for row in op["params"]
        if row["name"] == "field" and row["help"].startswith(("the image;", "the batch of images;"))
    }
    shown = {call.split("(")[0] for _, call in CALLS}
    assert shown | UNSEEN == on_images


def test_the_page_is_fresh():
    page = (TREE / "docs" / "augmentations.md").read_text()
    assert page == sheets.page(sheets.GROUPS, sheets.summaries()), "run 'make sheets'"
    for group in sheets.GROUPS:
        assert (TREE / "docs" / "img" / f"augment-{group['name']}.png").exists()


@pytest.mark.parametrize("group,call", CALLS, ids=[call for _, call in CALLS])
def test_a_call_gives_pictures(scene, group, call):
    images = sheets.pictures(scene, group.get("before", ""), call)
    assert len(images) in (1, sheets.N_SHOWN)
    assert all(image.getextrema() != ((0, 0),) * 3 for image in images), "all black"


def test_labels_are_broken_where_they_can_be():
    font = sheets.ImageFont.load_default(12)
    label = sheets.wrapped("resize(24, 28, nearest)", 60, font)
    assert "".join(line.strip() for line in label.split("\n")).replace(" ", "") == (
        "resize(24,28,nearest)"
    )
    assert len(label.split("\n")) > 1
    assert sheets.wrapped("invert()", 10, font) == "invert()"
