# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.svg, written by hand: panels of bars, stoker's in colour.

rates of the image works      side by side, linear
first batch, memory           of the first image work, linear
rates of the small elements   side by side, logarithmic
"""

import math
from html import escape

WIDTH, MARGIN, GAP = 880, 24, 36
LETTER, VALUE = 6.6, 64  # width of a letter of a name; room right of a bar for its number
PITCH, BAR, APART = (
    24,
    15,
    10,
)  # from bar to bar, height of one, and above those that are listed apart
HEAD, TITLE, BELOW = 84, 34, 20  # heights: the picture's title, a panel's, below a panel
BLUE, GREY, LIGHT = "#1f6fb5", "#a8adb3", "#d9dce0"
INK, FAINT = "#1d2329", "#69717a"


def text(x, y, words, **style):
    names = {"size": "font-size", "weight": "font-weight", "anchor": "text-anchor"}
    more = "".join(f' {names.get(name, name)}="{value}"' for name, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def rectangle(x, y, width, height, fill):
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="2" fill="{fill}"/>'


class Panel:
    """Bars with a title: rows are (name, value or None, text of the value, colour)."""

    def __init__(self, title, rows, note, is_log=False):
        self.title, self.rows, self.is_log, self.note = title, rows, is_log, note
        self.label = 14 + LETTER * max(len(row[0]) for row in rows)

    @property
    def above(self):
        """Room above the bars: none where there is no title."""
        return TITLE if self.title else 0

    @property
    def height(self):
        return self.above + PITCH * len(self.rows) + APART

    def length(self, value, room):
        """Of a bar. A logarithmic one begins a little below the smallest value."""
        values = [row[1] for row in self.rows if row[1]]
        if not self.is_log:
            return room * value / max(values)
        low = 10 ** math.floor(math.log10(min(values)) - 0.3)
        return room * math.log(value / low) / math.log(max(values) / low)

    def draw(self, x, y, width):
        out = [text(x, y + 16, self.title, weight="600", size=14)]
        out.append(text(x + width, y + 16, self.note, anchor="end", fill=FAINT, size=11))
        room = width - self.label - VALUE
        for number, row in enumerate(self.rows):
            gap = APART if row[3] == LIGHT else 0
            out += self.bar(x, y + self.above + PITCH * number + gap, room, row)
        return out

    def bar(self, x, y, room, row):
        name, value, words, color = row
        style = {"weight": "600"} if color == BLUE else {}
        out = [text(x + self.label - 10, y + 12, name, anchor="end", **style)]
        if not value:
            return out + [text(x + self.label, y + 12, words, fill=FAINT, size=11)]
        length = max(self.length(value, room), 2)
        return out + [
            rectangle(x + self.label, y, length, BAR, color),
            text(x + self.label + length + 7, y + 12, words, **style),
        ]


def value_rows(readings, peers, key, words):
    """Rows of a panel: a number of each reading, and its text."""
    rows = []
    for peer in peers:
        value = readings.get(peer.name, {}).get(key)
        color = BLUE if peer.IS_STOKER else LIGHT if peer.IS_APART else GREY
        if peer.name in readings:
            rows.append((peer.name, value, words(value) if value else "not measured", color))
    return rows


def short_number(value):
    for size, unit in ((1e6, " M"), (1e4, " k")):
        if value >= size:
            scaled = value / (1e6 if unit == " M" else 1e3)
            return f"{scaled:.{0 if scaled >= 100 else 1}f}{unit}"
    return f"{value:,.0f}"


def seconds(value):
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


def panels(results, works, peers):
    """Rows of panels, from the top."""
    found = results["works"]
    shown = [peer for peer in peers if peer.name == "stoker" or not peer.IS_STOKER]
    images = [work for work in works if work.DATA == "images" and found.get(work.name)]
    numbers = [
        work
        for work in works
        if work.COUNT
        and not work.DATA
        and not work.DOES
        and work.name != "iterate"
        and found.get(work.name)
    ]
    steps = [work for work in works if work.DOES == "train" and found.get(work.name)]
    rates = [
        Panel(
            work.name,
            value_rows(found[work.name], shown, "per_s", short_number),
            "images per second",
        )
        for work in images + steps
    ]
    made = [rates[first : first + 2] for first in range(0, len(rates), 2)]
    if images:
        first = found[images[0].name]
        measured = [peer for peer in shown if "first_s" in first.get(peer.name, {})]
        made.append(
            [
                Panel(
                    "first batch",
                    value_rows(first, measured, "first_s", seconds),
                    f"{images[0].name}, from the start of the process; less is better",
                ),
                Panel(
                    "memory",
                    value_rows(first, measured, "rss_mb", lambda value: f"{value:,.0f} MB"),
                    f"{images[0].name}, peak; less is better",
                ),
            ]
        )
    made.append(
        [
            Panel(
                work.name,
                value_rows(found[work.name], shown, "per_s", short_number),
                "per second, logarithmic",
                is_log=True,
            )
            for work in numbers
        ]
    )
    return [row for row in made if row]


def page(title, subtitle, rows):
    """A picture of rows of panels below a title."""
    height = HEAD + sum(max(panel.height for panel in row) + BELOW for row in rows) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="Inter, Helvetica, Arial, sans-serif" font-size="12.5" '
        f'fill="{INK}">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        text(MARGIN, 36, title, size=19, weight="600"),
        text(MARGIN, 58, subtitle, fill=FAINT),
    ]
    y = HEAD
    for row in rows:
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        for number, panel in enumerate(row):
            out += panel.draw(MARGIN + number * (width + GAP), y, width)
        y += max(panel.height for panel in row) + BELOW
    return "\n".join(out + ["</svg>"]) + "\n"


def draw(results, works, peers):
    return page(
        "stoker against its peers, from Python, on two cores",
        f"{results['machine']['cpu']}, files in the page cache; FFCV reads its own re-encoded "
        "file, the C loop is no loader",
        panels(results, works, peers),
    )
