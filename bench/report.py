# SPDX-License-Identifier: Apache-2.0
"""What run.py found, as text: the table on the terminal, docs/benchmarks.md, and what front.py takes from it.

Called with the path of a results.json that run.py left, it writes the documents again.
"""

import json
import re
import string
import sys
from pathlib import Path

import catalog
import data
import front
import plot

TOP = Path(__file__).resolve().parent.parent
TUNING = re.compile(r"<!-- tuning: measured -->\n.*?<!-- /tuning -->", re.DOTALL)
TUNING_TEXT = (
    "Chains without numbers beside the best of a grid of fixed ones, written by `make bench-tuning`;\n"
    "[tuning](tuning.md#how-good-it-is) says how. Bars: 97 % of the best, a step that takes 1 % longer at most,\n"
    "95 % of the device from cold storage, memory within 1.05 times the budget."
)
MAIN = front.MAIN
FREE_CORES = 1.8  # what two busy processes do at least, compared with one, where two cores are free

HOW = """\
## How it is measured

- Everything runs on the same two cores, each measurement in a process of its own, files in the page
  cache.
- Work after work, a round measures stoker and its peers in turn, so that what slows the machine for a
  while slows all of them. The best reading of each counts: of {rounds} rounds here.
- A reading starts a process, runs one epoch to warm up, then times two stretches of whole epochs,
  each of a second or more, and takes the faster one. An epoch of images is at least {epoch} images;
  epochs that take stoker milliseconds are run many in one go.
- *First batch* counts from the start of the process, imports included; in brackets, the same from the
  end of the imports.
- *Memory* is the peak resident size of the process. Where it has worker processes, it is the most
  that all of them have together, sampled while they warm up; a page that several have counts once.
- *CPU* is processor time of all its processes and threads per 1000 elements.
- *stoker is* says how many times as fast as that row stoker is from Python.
- stoker and peers are consumed from Python, batch by batch; nothing is done with a batch but to
  take its length. Peers are set up as their documentation advises, with as many threads or
  processes as there are cores. Before anything is measured, the first batch of everybody is checked
  for shape, type and range.
- Peers come from PyPI, pinned in `tools/requirements-peers.txt`. torch there is the build with
  CUDA, which makes it larger in memory and slower to import than a build without.

Absolute numbers belong to the machine; ratios taken side by side carry further. `make bench`
measures on yours, with generated images, or with `DATA=directory` of JPEG files; `make bench
ARGS=--help` shows what else there is.
"""

LIST_TEXT = """\
Every work that somebody else does too, with the fastest of them. Rates are images, numbers or records per
second. Below, each work has a section: its chain, all who do it, the time to the first batch, memory, and where
they do not do the same. [How it is measured](#how-it-is-measured) and [who they are](#who) stand at the end."""

LIKE_PHOTOS = """\
Generated images stand in for photographs: heaps of shapes with 1/f texture, blur and noise, stored
with the sizes, qualities and chroma sampling that ImageNet's files have (`bench/data.py`). Decoding
300 of them takes 2 % longer per megapixel than decoding 300 originals of ImageNet, and 2 % less in
the mean over images (libjpeg-turbo)."""


# ---- numbers as text ----


def rate_text(reading):
    rate = reading["per_s"]
    if rate >= 1e6:
        return f"{rate / 1e6:,.1f} M/s"
    return f"{rate:,.{0 if rate >= 10 else 2}f}/s"


def ratio_text(value):
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}×"


def seconds_text(seconds):
    return f"{seconds * 1e3:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def first_text(reading):
    if "first_s" not in reading:
        return ""
    after = f" ({seconds_text(reading['after_import_s'])})" if "after_import_s" in reading else ""
    return seconds_text(reading["first_s"]) + after


def memory_text(reading):
    return f"{reading['rss_mb']:,.0f} MB" if "rss_mb" in reading else ""


def cpu_text(reading):
    if "cpu_s_per_1000" not in reading:
        return ""
    seconds = reading["cpu_s_per_1000"]
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 0.1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def value_text(value, unit):
    if unit == "×":
        return ratio_text(value)
    return f"{value:.{3 if abs(value) < 1 else 1}f} {unit}"


def limit_text(bar):
    return (
        f"{'≤' if bar.is_most else '≥'} {bar.limit:g}{'×' if bar.unit == '×' else ' ' + bar.unit}"
    )


def stoker_is(readings, name):
    """How many times as fast as a row stoker is, as text."""
    mine, other = readings.get(MAIN, {}), readings.get(name, {})
    if name == MAIN or "per_s" not in mine or "per_s" not in other:
        return ""
    return ratio_text(mine["per_s"] / other["per_s"])


# ---- rows ----

COLUMNS = ["rate", "stoker is", "first batch (after import)", "memory", "CPU / 1000"]


def cells(readings, name):
    """The cells of a row, without its name; one text where it was not measured."""
    reading = readings[name]
    if "failed" in reading:
        return [f"not measured: {reading['failed']}"]
    return [
        rate_text(reading),
        stoker_is(readings, name),
        first_text(reading),
        memory_text(reading),
        cpu_text(reading),
    ]


def bar_rows(work, readings):
    """(text, value, limit, verdict) of each bar of a work."""
    rows = []
    for bar in work.BARS:
        value = bar.value(readings)
        if value is None:
            rows.append((bar.text, "not measured", limit_text(bar), ""))
        else:
            rows.append(
                (
                    bar.text,
                    value_text(value, bar.unit),
                    limit_text(bar),
                    "pass" if bar.holds(value) else "SHORT",
                )
            )
    return rows


def split(readings, peers):
    """Names of the rows: those to compare with, and those that are listed apart."""
    apart = [peer.name for peer in peers if peer.IS_APART and peer.name in readings]
    return [name for name in readings if name not in apart], apart


def all_hold(results, works):
    rows = [row for work in works for row in bar_rows(work, results["works"].get(work.name, {}))]
    return all(verdict != "SHORT" for *_, verdict in rows)


def notes(work, peers, readings):
    """[(peer, what is not the same)] of a work."""
    return [
        (peer.name, peer.NOTES[work.stem])
        for peer in peers
        if work.stem in peer.NOTES and peer.name in readings
    ]


def machine_lines(results):
    machine, images = results["machine"], results["images"]
    cpu = f"{machine['cpu']} ({machine['level']})"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        f"{cpu}, {machine['cores']} cores used, {machine['memory']}, "
        f"{machine['system']}, Python {machine['python']}",
        f"stoker {machine['stoker']}" + (f" against {versions}" if versions else ""),
    ]
    if images["n"]:
        kind = "generated images" if images["is_generated"] else "JPEG files"
        lines.append(f"{images['n']} {kind}; {machine['date']}")
    return lines + [baseline_text(machine["two"], machine.get("two_most", machine["two"]))]


def baseline_text(least, most):
    """What was seen of two busy processes before works and behind them."""
    times = f"{least:.2f}" if f"{least:.2f}" == f"{most:.2f}" else f"{least:.2f} to {most:.2f}"
    text = f"two busy processes do {times} times the work of one here (raw baseline)"
    if most < FREE_CORES:
        return text + "; the cores are not free, trust no figure"
    return text + ("; at times the cores were not free" if least < FREE_CORES else "")


# ---- the terminal ----


def aligned(rows):
    """Rows of texts as lines: the first column to the left, the others to the right."""
    n_columns = max(len(row) for row in rows)
    full = [row for row in rows if len(row) == n_columns]
    widths = [max(len(row[i]) for row in full) for i in range(n_columns)]
    widths[0] = max(len(row[0]) for row in rows)
    lines = []
    for row in rows:
        rest = (
            [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            if len(row) == n_columns
            else row[1:]
        )
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return lines


def terminal(results, works, peers):
    """Everything, as a text for the terminal."""
    lines = machine_lines(results)
    for work in works:
        readings = results["works"].get(work.name)
        if not readings:
            continue
        among, apart = split(readings, peers)
        rows = [[name, *cells(readings, name)] for name in among]
        rows += [[f"({name})", *cells(readings, name)] for name in apart]
        lines += ["", f"{work.name}: {work.text}", *aligned([["", *COLUMNS], *rows])]
        bars = bar_rows(work, readings)
        lines += ["  " + line for line in aligned([list(row) for row in bars])] if bars else []
    return "\n".join(lines)


# ---- docs/benchmarks.md ----


def markdown_table(rows):
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    lines += ["| " + " | ".join([*row, *[""] * (len(head) - len(row))]) + " |" for row in body]
    return lines


def chain_text(work):
    """A work's chain as people read it."""
    count = {"count": work.COUNT} if work.COUNT else {}
    names = {"images": "images", "photos": "photos", "reads": "reads", "own": "data", "place": "kept"}
    values = {**names, "passes": "N", **count, **work.PARAMETERS}
    return string.Template(work.CHAIN).substitute(values)


def apart_text(readings, name):
    found = cells(readings, name)
    if len(found) == 1:
        return f"For scale, {name}: {found[0]}."
    rate, ratio, first, memory, cpu = found
    ratio = f" (stoker is {ratio})" if ratio else ""
    return f"For scale, {name}: {rate}{ratio}, first batch {first}, {memory}, CPU {cpu} per 1000."


def work_section(work, peers, readings):
    lines = [f"## {work.name}", "", work.text, ""]
    if work.CHAIN:
        lines += ["```text", chain_text(work), "```", ""]
    has_difference = any("differs" in reading for reading in readings.values())
    head = ["", *COLUMNS, *(["differs by"] if has_difference else [])]
    rows = [head]
    among, apart = split(readings, peers)
    for name in among:
        title = f"**{name}**" if name == MAIN else name
        difference = f"{readings[name]['differs']:.2f}" if "differs" in readings[name] else ""
        found = cells(readings, name)
        rows.append([title, *found, *([difference] if has_difference and len(found) > 1 else [])])
    lines += [*markdown_table(rows), ""]
    for name in apart:
        lines += [apart_text(readings, name), ""]
    lines += [work.NOTE, ""] if work.NOTE else []
    said = notes(work, peers, readings)
    lines += (
        ["Not the same:", "", *(f"- {name}: {text}." for name, text in said), ""] if said else []
    )
    bars = bar_rows(work, readings)
    lines += [*markdown_table([["bar", "is", "must be", ""], *bars]), ""] if bars else []
    return lines


def image_section(images):
    if not images["n"]:
        return []
    lines = ["## The images", ""]
    lines += [LIKE_PHOTOS, ""] if images["is_generated"] else []
    rows = [["", "these", "ImageNet"]]
    for name, value in images["statistics"].items():
        digits = (
            0
            if name in ("kilobytes", "4:4:4", "4:2:0") or "quality" in name or "other" in name
            else 2
        )
        unit = " %" if ":" in name or "other" in name else ""
        rows.append([name, f"{value:.{digits}f}{unit}", f"{data.IMAGENET[name]:g}{unit}"])
    return [
        *lines,
        *markdown_table(rows),
        "",
        "ImageNet: 1000 originals; bits per pixel and quality are of 300 of them.",
        "",
    ]


def setups(peers, results):
    seen = {name for readings in results["works"].values() for name in readings}
    return [
        "## Who",
        "",
        *(f"- **{peer.name}**: {peer.text}" for peer in peers if peer.name in seen),
        "",
    ]


def rounds_text(results):
    """How many rounds works had: some may have been measured again with others."""
    counts = set(results.get("rounds_of", {}).values()) or {results["rounds"]}
    least, most = min(counts), max(counts)
    return str(most) if least == most else f"{least} to {most}"


def markdown(results, works, peers):
    lines = ["# Benchmarks", "", "Written by `make bench`.", ""]
    lines += [f"- {line}" for line in machine_lines(results)]
    lines += ["", LIST_TEXT, "", *front.LIST_MARKS, ""]
    lines += ["![stoker against its peers](benchmarks.svg)", ""]
    for work in works:
        if results["works"].get(work.name):
            lines += work_section(work, peers, results["works"][work.name])
    lines += setups(peers, results) + image_section(results["images"])
    return "\n".join(lines) + "\n" + HOW.format(rounds=rounds_text(results), epoch=3000)


# ---- files ----


def tuning_section(top):
    """What make bench-tuning found, as docs/tuning.md has it; make bench leaves it as it is."""
    page = (top / "docs" / "tuning.md").read_text(encoding="utf-8")
    found = TUNING.search(page)
    return ["", "## tuning", "", TUNING_TEXT, "", found[0], ""] if found else []


def write_all(top, results, works, peers):
    page = markdown(results, works, peers) + "\n".join(tuning_section(top))
    (top / "docs" / "benchmarks.md").write_text(page, encoding="utf-8")
    (top / "docs" / "benchmarks.svg").write_text(plot.draw(results, works, peers), encoding="utf-8")
    front.write(top)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_all(
        TOP,
        json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")),
        catalog.works(),
        catalog.peers(),
    )
