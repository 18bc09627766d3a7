# SPDX-License-Identifier: Apache-2.0
"""What measure_formats.py found, as text: on the terminal, in docs/formats.md, as a picture.

docs/formats.md is written by hand but for what stands between its marks. Called with the path of a
formats.json that measure_formats.py left, it writes the document again."""

import importlib.metadata
import json
import re
import sys
from pathlib import Path

import format_claims
import plot
from format_rows import HELD, ROWS, TITLES
from report import TOP, aligned, markdown_table, rate_text

MARKS = re.compile(r"(<!-- formats: (\w+) -->\n).*?(<!-- /formats -->)", re.DOTALL)
COLUMNS = ["", "size", "files", "open first", "again", "in order", "shuffled", "ready",
           "cold, in order", "cold, shuffled", "slow, open", "slow, in order",
           "slow, shuffled"]  # fmt: skip
RATES = ("order", "shuffled", "ready", "cold", "cold_shuffled")
SLOW_RATES = ("slow", "slow_shuffled")
PANELS = {
    "order": "from the page cache, in order",
    "shuffled": "from the page cache, shuffled",
    "cold": "cold, in order",
    "slow": "slow, in order",
}
NOTES = {"pictures": "JPEGs", "pixels": "raw pictures", "numbers": "rows"}
PACKAGES = ("tensorflow-cpu", "h5py")
PICTURE = "![rates by format](formats.svg)"


def versions():
    """Of what else is measured, where it is installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


# ---- tables ----


def rate_cell(reading):
    if reading is None:
        return ""
    return "not measured" if "failed" in reading else rate_text(reading)


def open_cells(reading):
    if reading is None:
        return ["", ""]
    if "failed" in reading:
        return ["not measured", ""]
    note = "" if reading["batches"] is not None else ", no length"
    first, again = (
        format_claims.opening_text(reading[key]) for key in ("first_open_s", "open_s")
    )
    return [first, again + note]


def cells(results, row):
    size, found = results["sizes"][row.key], results["readings"].get(row.key, {})
    return [
        row.name,
        f"{size['disk_bytes'] / 1e6:,.1f} MB",
        f"{size['files']:,}",
        *open_cells(found.get("open")),
        *(rate_cell(found.get(name)) for name in RATES),
        open_cells(found.get("slow_open"))[0],
        *(rate_cell(found.get(name)) for name in SLOW_RATES),
    ]


def table(results, kind):
    """Rows of texts with a head; columns that nobody has are left out."""
    body = [cells(results, row) for row in ROWS if row.kind == kind and row.key in results["sizes"]]
    used = [at for at in range(len(COLUMNS)) if at == 0 or any(line[at] for line in body)]
    return [[line[at] for at in used] for line in [COLUMNS, *body]] if body else []


def failures(results):
    """[(row, measurement, why)] of what could not be measured."""
    return [
        (group, name, reading["failed"])
        for group, found in results["readings"].items()
        for name, reading in found.items()
        if "failed" in reading
    ]


def terminal(results):
    lines = machine_lines(results)
    for kind, title in TITLES.items():
        rows = table(results, kind)
        lines += ["", title, *aligned(rows)] if rows else []
    lines += [""] if failures(results) else []
    lines += [f"not measured: {row}, {name}: {why}" for row, name, why in failures(results)]
    for claim in format_claims.all_of(results):
        if claim.verdict != format_claims.NOT_MEASURED:
            lines += ["", f"“{claim.text}” {claim.verdict}", claim.why]
    return "\n".join(lines)


# ---- docs/formats.md ----


def machine_lines(results):
    found = results["machine"]
    others = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    kind = "drawn to be like photographs" if results["is_generated"] else "of a directory"
    return [
        f"{found['cpu']} ({found['level']}), {found['cores']} cores used, {found['memory']}, "
        f"{found['system']}, Python {found['python']}",
        f"stoker {found['stoker']}" + (f", {others}" if others else ""),
        f"{results['pictures']:,} pictures {kind}, {results['rows']:,} rows of numbers; "
        f"{'one round' if results['rounds'] == 1 else 'best of %d rounds' % results['rounds']}; "
        f"{found['date']}",
        f"two busy processes do {found['two']:.2f} times the work of one here (raw baseline)",
    ]


def stayed_most(results):
    """The largest share of a row's pages that was in the cache where it should be cold."""
    found = [
        reading["stayed"]
        for readings in results["readings"].values()
        for reading in readings.values()
        if "stayed" in reading
    ]
    return max(found, default=0.0)


def how_lines(results):
    delay = f"{results['delay_us'] / 1e3:g} ms"
    return [
        "- *size*: blocks of the disk that the files take; what stoker keeps beside them "
        "(`.stkidx`) is not counted.",
        "- *open first*, *again*: making the dataset and asking for its length, without and with "
        "the index that stoker keeps beside large files.",
        "- *in order*, *shuffled*: elements per second from Python, batch by batch, files in the "
        "page cache, after a pass to warm up. *shuffled* is over everything; for a stream, and by "
        f"tf.data for records, a buffer of {HELD['pictures']:,} pictures or "
        f"{HELD['numbers']:,} rows.",
        "- *ready*: shuffled, and made into float32 224×224, decoded where need be.",
        "- *cold*: the first pass after the pages of the files were dropped from the page cache "
        "(`posix_fadvise`, which needs no rights; names and inodes stay known, and below a "
        "virtual machine its host may have the data). At most "
        f"{100 * stayed_most(results):.0f} % of the pages of a row had stayed.",
        f"- *slow*: the first pass with {delay} added to every `open` and every `read` of the "
        "files, as on storage behind a network, with the files in the page cache and maps "
        "refused. There is no limit to how many bytes a read brings. *slow, open* has the index "
        "of an earlier opening.",
        f"- A pass that is cold or slow ends after {results['pass_s']:g} s; what came until then "
        "counts. That pass has in it what a library does once; tf.data more than others.",
    ]


def failure_lines(results):
    lines = [f"Not measured: {row}, {name}: {why}" for row, name, why in failures(results)]
    return ["", *lines] if lines else []


def claim_lines(results):
    lines = []
    for claim in format_claims.all_of(results):
        lines += [f"**“{claim.text}”** {claim.verdict} {claim.why}", ""]
    return lines[:-1]


def sections(results):
    """{mark: lines} of the document."""
    made = {
        "machine": [*(f"- {line}" for line in machine_lines(results)), "", PICTURE],
        "how": how_lines(results) + failure_lines(results),
        "claims": claim_lines(results),
        "choose": format_claims.advice(results),
    }
    for kind in TITLES:
        rows = table(results, kind)
        made[kind] = [f"{TITLES[kind]}:", "", *markdown_table(rows)] if rows else []
    return made


def put(text, made):
    """The document with its marked parts replaced."""
    known = {match[2] for match in MARKS.finditer(text)}
    if known != set(made):
        raise ValueError(f"docs/formats.md has marks {sorted(known)}, not {sorted(made)}")
    return MARKS.sub(lambda match: "\n".join([match[1], *made[match[2]], "", match[3]]), text)


# ---- the picture ----


def panel(results, kind, name):
    rows = []
    for row in (row for row in ROWS if row.kind == kind and row.key in results["sizes"]):
        value = results["readings"].get(row.key, {}).get(name, {}).get("per_s")
        words = plot.short_number(value) if value else "not measured"
        rows.append((row.name, value, words, plot.BLUE if row.is_stoker else plot.GREY))
    return plot.Panel(PANELS[name], rows, f"{NOTES[kind]} per second", is_log=True)


def picture(results):
    kinds = [kind for kind in TITLES if any(row.kind == kind for row in ROWS)]
    pairs = [list(PANELS)[:2], list(PANELS)[2:]]
    rows = [[panel(results, kind, name) for name in pair] for kind in kinds for pair in pairs]
    title = "The same data in different formats, read by stoker (grey: by tf.data)"
    delay = f"slow: {results['delay_us'] / 1e3:g} ms for every open and read"
    return plot.page(title, f"{results['machine']['cpu']}, two cores; logarithmic; {delay}", rows)


def write(top, results):
    page = top / "docs" / "formats.md"
    page.write_text(put(page.read_text(encoding="utf-8"), sections(results)), encoding="utf-8")
    (top / "docs" / "formats.svg").write_text(picture(results), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(TOP, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
