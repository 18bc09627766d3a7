# SPDX-License-Identifier: Apache-2.0
"""The chart and the table of README.md, and the list at the top of docs/benchmarks.md.

All figures are those that docs/benchmarks.md records: `make bench` calls this when it has written that page, and
without arguments it writes the three again.
"""

import re
from pathlib import Path
from typing import NamedTuple

import plot

TOP = Path(__file__).resolve().parent.parent
CHART = "docs/img/images-per-second.svg"
MARKS = "<!-- bench:begin (written by make bench) -->", "<!-- bench:end -->"
LIST_MARKS = "<!-- list:begin (written by make bench) -->", "<!-- list:end -->"
MAIN = "stoker"

# What README calls the peers. Who is not here has the name of docs/benchmarks.md.
LABELS = {
    "tf.data": "TensorFlow, tf.data",
    "tf.data, batched": "TensorFlow, tf.data on batches",
    "torch, torchvision.io": "PyTorch DataLoader, torchvision",
    "torch DataLoader": "PyTorch DataLoader",
    "DALI, CPU": "NVIDIA DALI on the CPU",
    "OpenCV, threads": "OpenCV in hand-written threads",
    "FFCV": "FFCV, from its own file",
    "mlx-data": "mlx-data",
    "Keras, tf.function": "Keras",
    "PyTorch, channels_last": "PyTorch",
}
CHART_WORK = "seed"
CHART_PEERS = (
    "OpenCV, threads",
    "mlx-data",
    "tf.data",
    "FFCV",
    "torch, torchvision.io",
    "DALI, CPU",
)
# README's rows: the work, what it is in plain words, what is counted.
ROWS = [
    ("seed", "JPEG files, decoded and resized to 224×224", "images"),
    ("rrc", "the same with random crops and flips, as for ImageNet", "images"),
    ("augment", "the same with colour jitter and RandAugment", "images"),
    ("photos", "photographs of 4 megapixels, which stoker alone decodes smaller", "images"),
    ("cache", "decoded images, from a cache in memory", "images"),
    ("tfrecord-example", "TFRecords of ten numbers, shuffled and parsed", "records"),
    ("csv", "a CSV file of 20 columns", "rows"),
    ("python-processes", "a slow Python function, in two processes", "calls"),
    ("train-resnet18", "training steps of ResNet-18, without loading", "images"),
    ("train-job", "a whole training job, from JPEG files to weights", "images"),
]


class Row(NamedTuple):
    """A row of a work's table, as the page has it."""

    rate: str
    ratio: str
    first: str
    memory: str

    @property
    def per_s(self):
        number = float(re.sub("[^0-9.]", "", self.rate))
        return number * 1e6 if "M" in self.rate else number


class Work(NamedTuple):
    text: str
    rows: dict

    def best_peer(self):
        """The fastest that is not stoker; None where nobody else was measured."""
        peers = [name for name in self.rows if not name.startswith(MAIN)]
        return max(peers, key=lambda name: self.rows[name].per_s, default=None)


# ---- reading docs/benchmarks.md ----


def read_rows(section):
    rows = {}
    for line in re.findall(r"^\| (.*) \|$", section, re.MULTILINE):
        name, rate, ratio, first, memory, *_ = [cell.strip() for cell in line.split("|")] + [""] * 4
        if re.fullmatch(r"[0-9.,]+( M)?/s", rate):
            rows[name.strip("*")] = Row(rate, ratio, first.partition(" (")[0], memory)
    return rows


def read_page(text):
    """{work: Work} of the sections that have a table of rates."""
    works = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = section.partition("\n")
        rows = read_rows(rest)
        if MAIN in rows:
            works[name] = Work(rest.strip().partition("\n")[0], rows)
    return works


def read_cpu(text):
    return re.search(r"^- (.+?) \(", text, re.MULTILINE)[1]


# ---- what is written ----


def label(name):
    return LABELS.get(name, name)


def table(works):
    """README's table."""
    lines = ["| work | stoker | best peer | stoker is |", "|---|--:|---|--:|"]
    for name, words, unit in ROWS:
        if name in works and works[name].best_peer():
            rows, peer = works[name].rows, works[name].best_peer()
            mine = rows[MAIN].rate.replace("/s", f" {unit}/s")
            lines.append(f"| {words} | {mine} | {label(peer)}: {rows[peer].rate} | {rows[peer].ratio} |")
    return lines


def below_table(works, cpu):
    """Where it was measured; how soon and in how much memory, next to tf.data."""
    lines = [f"Measured side by side from Python, on two cores ({cpu}); *best peer* is the fastest other program at that work."]
    rows = works[CHART_WORK].rows
    if "tf.data" in rows:
        mine, theirs = rows[MAIN], rows["tf.data"]
        lines += [
            f"In the first row, the first batch comes {mine.first} after the start of the process (tf.data: {theirs.first}), and memory",
            f"peaks at {mine.memory} (tf.data: {theirs.memory}).",
        ]
    return lines


def everything(works):
    """A row for every work that somebody else does too."""
    lines = ["| work | | stoker | best peer | | stoker is |", "|---|---|--:|---|--:|--:|"]
    for name, work in works.items():
        peer = work.best_peer()
        if peer:
            cells = [work.rows[MAIN].rate, peer, work.rows[peer].rate, work.rows[peer].ratio]
            lines.append(f"| [{name}](#{name}) | {work.text} | {' | '.join(cells)} |")
    return lines


def chart(works, cpu):
    rows = works[CHART_WORK].rows
    shown = [MAIN, *(name for name in CHART_PEERS if name in rows)]
    drawn = [
        (
            label(name),
            rows[name].per_s,
            rows[name].rate.removesuffix("/s"),
            plot.BLUE if name == MAIN else plot.GREY,
        )
        for name in sorted(shown, key=lambda name: -rows[name].per_s)
    ]
    return plot.page(
        "JPEG files to batches of 224×224: images per second",
        f"From Python, on two cores ({cpu}), files in the page cache. Longer is better.",
        [[plot.Panel("", drawn, "")]],
    )


def put_between(text, marks, lines, where):
    begin, end = marks
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{where} has no {begin} … {end}")
    return pattern.sub(lambda _: "\n".join([begin, *lines, end]), text)


def write(top):
    page, readme = top / "docs" / "benchmarks.md", top / "README.md"
    text = page.read_text(encoding="utf-8")
    works, cpu = read_page(text), read_cpu(text)
    page.write_text(
        put_between(text, LIST_MARKS, everything(works), "docs/benchmarks.md"), encoding="utf-8"
    )
    section = [*table(works), "", *below_table(works, cpu)]
    whole = put_between(readme.read_text(encoding="utf-8"), MARKS, section, "README.md")
    readme.write_text(whole, encoding="utf-8")
    (top / CHART).write_text(chart(works, cpu), encoding="utf-8")


if __name__ == "__main__":
    write(TOP)
