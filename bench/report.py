# SPDX-License-Identifier: Apache-2.0
"""What run.py found, as documents: docs/benchmarks.md, docs/benchmarks.svg and the table in README.md."""
import math
import re
from html import escape

BEGIN, END = "<!-- bench:begin (written by make bench) -->", "<!-- bench:end -->"
NAMES = {"tf.data": "tf.data", "opencv": "OpenCV"}

HOW = """\
## How it is measured

- Everything runs on the same two cores, each measurement in a process of its own, files in the page cache.
- A round does every measurement once, stoker and peers in turn, so that what slows the machine for a while slows all
  of them. The best reading of each counts. A reading is the fastest epoch after one that warms up.
- An epoch of `seed` is enough passes over the images for 3000 of them.
- stoker is `stoker run CHAIN --json`: every batch is made, delivered in order to the consumer and released. Peers are
  `bench/peers.py`, consumed from Python as their users do, set up as their documentation advises: tf.data with
  `num_parallel_calls=AUTOTUNE` and `prefetch(AUTOTUNE)`, OpenCV in as many threads as there are cores. stoker is at its
  defaults.
- stoker and OpenCV decode JPEG with the accurate inverse transform, tf.data with its default, the fast one.
- tf.data has no global shuffle in its stable interface: in `shuffle` it has a buffer that holds every element. In `map`
  it does a tenth of the elements; the rate is per element.
- `reads` puts a 2 ms sleep before every `read` of a file (`tests/faults/interpose.c`), opening excluded. The ideal is
  64 reads per 2 ms.
- `resize` is the kernel alone, from the harness that also checks it (`checkkernel --bench`).

Absolute numbers belong to the machine; ratios taken side by side carry further. `make bench` measures on yours, with the
demo's drawn shapes or with `DATA=directory` of JPEGs.
"""


def value_text(row):
    if row.unit in ("×", "times"):
        digits = 2 if row.value < 10 else 1 if row.value < 100 else 0
        return f"{row.value:,.{digits}f}×"
    digits = 3 if row.value < 1 else 1
    return f"{row.value:.{digits}f} {row.unit}"


def target_text(row):
    unit = "×" if row.unit in ("×", "times") else f" {row.unit}"
    return f"{'≤' if row.is_limit else '≥'} {row.target:g}{unit}"


def machine_lines(machine):
    versions = ", ".join(f"{NAMES[name]} {version}" for name, version in machine["peers"].items())
    return [
        f"{machine['cpu']} ({machine['level']}), {machine['cores']} cores used, {machine['memory']}, {machine['system']}",
        f"stoker {machine['stoker']} against {versions}; {machine['images']}; {machine['date']}",
        f"two busy processes do {machine['two']:.2f} times the work of one on these cores (raw baseline)",
    ]


def table(rows):
    lines = ["| work | stoker | peer | | stoker is | target | |", "|---|--:|---|--:|--:|--:|---|"]
    for row in rows:
        lines.append(f"| {row.name} | {row.stoker_per_s:,.0f}/s | {NAMES[row.peer]} | {row.peer_per_s:,.0f}/s "
                     f"| **{value_text(row)}** | {target_text(row)} | {verdict(row)} |")
    return lines


def verdict(row):
    return "pass" if row.passes else "short"


def single_table(rows):
    lines = ["| what | result | target | |", "|---|--:|--:|---|"]
    lines += [f"| {row.name}: {row.text.removeprefix('seed: ')} | {value_text(row)} | {target_text(row)} | {verdict(row)} |"
              for row in rows]
    return lines


def benchmarks_markdown(machine, works, rows):
    lines = ["# Benchmarks", "", "Written by `make bench`.", ""]
    lines += [f"- {line}" for line in machine_lines(machine)]
    lines += ["", "![stoker against its peers](benchmarks.svg)", "", "## Against peers", ""]
    lines += table([row for row in rows if row.peer])
    lines += ["", "The works, as stoker has them:", ""]
    for work in works:
        chain = work.chain.format(images="images", passes="N")
        lines += [f"- **{work.name}**: {work.text}.", f"  `{chain}`"]
    lines += ["", "## Alone", ""]
    lines += single_table([row for row in rows if not row.peer])
    return "\n".join(lines) + "\n\n" + HOW


def readme_section(machine, rows):
    lines = ["![stoker against its peers](docs/benchmarks.svg)", ""]
    lines += ["| work | stoker | peer | | stoker is |", "|---|--:|---|--:|--:|"]
    lines += [f"| {row.name}: {row.text.split(';')[0]} | {row.stoker_per_s:,.0f}/s | {NAMES[row.peer]} "
              f"| {row.peer_per_s:,.0f}/s | {value_text(row)} |" for row in rows if row.peer]
    lines += ["", f"{machine['cpu']}, two cores, {machine['images']}, files in the page cache. How, and more numbers:",
              "[docs/benchmarks.md](docs/benchmarks.md)."]
    return "\n".join(lines)


def put_between_marks(text, section):
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"README.md has no {BEGIN} … {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n{section}\n{END}", text)


# ---- the plot: ratios as bars on a logarithmic axis, hand-written SVG ----

WIDTH, LEFT, RIGHT, TOP_MARGIN, PITCH, BAR = 760, 150, 90, 64, 34, 20


def plot(machine, rows):
    rows = [row for row in rows if row.peer]
    top = 10 ** math.ceil(math.log10(max(max(row.value, row.target) for row in rows)))
    low = 10 ** math.floor(math.log10(min(1, *(row.value for row in rows))))
    height = TOP_MARGIN + PITCH * len(rows) + 40

    def x_of(value):
        share = math.log(value / low) / math.log(top / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           '<text x="16" y="26" font-size="16" font-weight="bold">Times as fast as the peer, on two cores</text>',
           f'<text x="16" y="46" fill="#666">logarithmic; the mark is the target; {escape(machine["cpu"])}</text>']
    out += grid(x_of, low, top, height)
    for i, row in enumerate(rows):
        out += bar(x_of, row, TOP_MARGIN + PITCH * i)
    return "\n".join(out + ["</svg>"]) + "\n"


def grid(x_of, low, top, height):
    out = []
    tick = low
    while tick <= top:
        x = x_of(tick)
        color = "#888" if tick == 1 else "#ddd"
        out += [f'<line x1="{x:.1f}" y1="{TOP_MARGIN - 6}" x2="{x:.1f}" y2="{height - 30}" stroke="{color}"/>',
                f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle" fill="#666">{tick:,g}×</text>']
        tick *= 10
    return out


def bar(x_of, row, y):
    begin, end = sorted((x_of(1), x_of(row.value)))
    color = "#2f6db3" if row.passes else "#c0562f"
    target = x_of(row.target)
    label = f"{row.name} / {NAMES[row.peer]}"
    return [f'<text x="{LEFT - 12}" y="{y + 15}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{begin:.1f}" y="{y}" width="{max(end - begin, 1.5):.1f}" height="{BAR}" rx="2" fill="{color}"/>',
            f'<line x1="{target:.1f}" y1="{y - 4}" x2="{target:.1f}" y2="{y + BAR + 4}" stroke="#222" stroke-width="2"/>',
            f'<text x="{max(end, target) + 8:.1f}" y="{y + 15}" font-weight="bold">{value_text(row)}</text>']


def write_all(top, machine, works, rows):
    readme = top / "README.md"
    (top / "docs" / "benchmarks.md").write_text(benchmarks_markdown(machine, works, rows), encoding="utf-8")
    (top / "docs" / "benchmarks.svg").write_text(plot(machine, rows), encoding="utf-8")
    readme.write_text(put_between_marks(readme.read_text(encoding="utf-8"), readme_section(machine, rows)),
                      encoding="utf-8")
