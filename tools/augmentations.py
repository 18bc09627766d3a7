# SPDX-License-Identifier: Apache-2.0
"""Draws what image ops do: docs/augmentations.md and its contact sheets, docs/img/augment-*.png.

    augmentations.py [DIRECTORY]     writes below the directory; the tree, if none is given

The scene is drawn here, so that everything in it is ours. A random op is shown four times: the same
picture, four elements. Needs the Python package and Pillow (build/venv has both)."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import stoker
from PIL import Image, ImageDraw, ImageFont

TREE = Path(__file__).resolve().parent.parent
SIDE, GAP, LABEL, COLUMNS = 132, 10, 46, 8
N_SHOWN = 4  # elements, where chance decides
SCENE = (176, 208)  # height, width




# An op is named by its calls; test_docs checks that no op on images is missing.
GROUPS = json.loads((TREE / "tools" / "augmentations.json").read_text())


# ---- the scene ----


def mixed(one, other, share):
    return tuple(round(a + (b - a) * share) for a, b in zip(one, other))


def draw_scene():
    """A house on a hill: no two corners alike, smooth and sharp, bright and dark, every hue."""
    height, width = SCENE
    image = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(image)
    for y in range(height):
        draw.line([(0, y), (width, y)], mixed((38, 86, 178), (250, 216, 160), min(1, y / 110)))
    draw.ellipse([150, 16, 182, 48], (255, 240, 130))
    draw.ellipse([-60, 96, 120, 280], (60, 120, 70))
    draw.ellipse([70, 112, 300, 320], (96, 150, 60))
    draw.rectangle([74, 78, 132, 130], (190, 62, 52))
    draw.polygon([(66, 80), (103, 48), (140, 80)], (92, 44, 40))
    draw.rectangle([96, 100, 112, 130], (60, 40, 90))
    for x, y in ((80, 86), (116, 86)):
        draw.rectangle([x, y, x + 11, y + 11], (250, 235, 150), (40, 40, 40))
    draw.rectangle([28, 96, 34, 132], (90, 60, 40))
    draw.ellipse([12, 62, 52, 104], (34, 98, 62))
    for i in range(6):
        draw.rectangle([148 + 9 * i, 132, 152 + 9 * i, 156], (235, 235, 235))
    draw.line([(144, 140), (208, 140)], (235, 235, 235), 3)
    draw.text((8, 6), "stoker", (255, 255, 255), ImageFont.load_default(22))
    return image


# ---- the sheets ----


def pictures(scene, before, call):
    """What comes out for the scene, as Pillow images: one, or four where chance decides."""
    chain = f"files('{scene}', labels=[0]).repeat({N_SHOWN}).decode(channels=3){before}.{call}"
    rows = [element.image.numpy() for element in stoker.parse(chain)]
    if rows[0].ndim == 4:  # a batch of them
        rows = list(rows[0])
    same = all(row.shape == rows[0].shape and (row == rows[0]).all() for row in rows)
    return [Image.fromarray(as_bytes(row)) for row in (rows[:1] if same else rows)]


def as_bytes(pixels):
    """Floats are shown from their least to their greatest where they do not run from 0 to 255."""
    if pixels.shape[-1] == 1:
        pixels = pixels.repeat(3, -1)
    if pixels.dtype == "uint8":
        return pixels
    low, high = float(pixels.min()), float(pixels.max())
    if low >= 0 and 1.5 < high <= 255.5:
        low, high = 0.0, 255.0
    return ((pixels - low) * (255 / max(high - low, 1e-6))).round().clip(0, 255).astype("uint8")


def wrapped(call, width, font):
    """A call in lines that fit, broken behind commas where it can be."""
    lines = [""]
    for word in re.sub(r"(\((?!\))|, )", "\\1\0", call).split("\0"):
        if lines[-1] and font.getlength(lines[-1] + word) > width:
            lines.append("  ")
        lines[-1] += word
    return "\n".join(lines)


def paste_item(sheet, left, top, call, images):
    font = ImageFont.load_default(12)
    label = wrapped(call, len(images) * (SIDE + GAP) - GAP, font)
    draw = ImageDraw.Draw(sheet)
    draw.multiline_text((left, top + LABEL - 4), label, (20, 20, 20), font, anchor="ld", spacing=1)
    for i, image in enumerate(images):
        scale = min(SIDE / image.width, SIDE / image.height, 1)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        small = image.resize(size, Image.Resampling.LANCZOS)
        sheet.paste(small, (left + i * (SIDE + GAP), top + LABEL))


def sheet_of(items):
    """[(call, images)] → a picture, filled line by line."""
    places, line, column = [], 0, 0
    for _, images in items:
        if column + len(images) > COLUMNS:
            line, column = line + 1, 0
        places.append((GAP + column * (SIDE + GAP), GAP + line * (LABEL + SIDE + GAP)))
        column += len(images)
    size = (COLUMNS * (SIDE + GAP) + GAP, (line + 1) * (LABEL + SIDE + GAP) + GAP)
    sheet = Image.new("RGB", size, "white")
    for (left, top), (call, images) in zip(places, items):
        paste_item(sheet, left, top, call, images)
    return sheet


# ---- the page ----


def summaries():
    """{op: its sentence}, from the declarations."""
    command = [sys.executable, "-m", "stoker", "ops", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {op["name"]: op["summary"] for op in json.loads(done.stdout)}


def page(groups, about):
    lines = [
        "# Augmentations",
        "",
        "What each op on images does, drawn by the ops themselves: `make sheets` draws the pictures",
        "and writes this page. Where chance decides, the same picture is shown four times, as four",
        "elements. Which numbers an element draws depends on the seeds, the epoch and the element",
        "alone: the same run gives the same pixels with any number of workers. Parameters are those",
        "of torchvision's v2 transforms, or of tf.image where they come from there;",
        "[ops.md](ops.md) has all of them.",
        "",
        "```sh run",
        "stoker head \"image_folder('train').decode().flip(probability=0.5)\" -n 4 --png looks",
        "```",
    ]
    for group in groups:
        name = group["name"]
        lines += ["", f"## {group['title']}", "", group["text"], ""]
        lines += [f"![{group['title']}](img/augment-{name}.png)", "", "| | |", "|---|---|"]
        seen = set()
        for call in group["calls"]:
            op = call.split("(")[0]
            if op not in seen:
                lines.append(f"| [{op}](ops.md#{op}) | {about[op]} |")
                seen.add(op)
    return "\n".join(lines) + "\n"


def main(words):
    out = Path(words[0]) if words else TREE
    (out / "docs" / "img").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        scene = Path(place) / "scene.png"
        draw_scene().save(scene)
        for group in GROUPS:
            before = group.get("before", "")
            items = [(call, pictures(scene, before, call)) for call in group["calls"]]
            sheet_of(items).save(out / "docs" / "img" / f"augment-{group['name']}.png", optimize=True)
    (out / "docs" / "augmentations.md").write_text(page(GROUPS, summaries()))


if __name__ == "__main__":
    main(sys.argv[1:])
