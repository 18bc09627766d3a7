#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/op/text/unicode_case_table.h: the case mappings of the Unicode version this Python has.

    python3 tools/gen_unicode_case.py

Not part of the build: it is run when the mappings shall be those of a newer Unicode version.
"""

import pathlib
import unicodedata

TARGET = pathlib.Path(__file__).resolve().parent.parent / "src/op/text/unicode_case_table.h"
HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* unicode_case_table.h: case mappings of Unicode {version} beyond ASCII, written by
 * tools/gen_unicode_case.py. Runs of characters that lie `step` apart and move by `delta`, in their
 * order, and characters that become several. */
"""


def mapped(convert):
    """Runs (first, last, step, delta), and characters that become several."""
    runs, several = [], {}
    for code in range(0x80, 0x110000):
        if 0xD800 <= code < 0xE000 or convert(chr(code)) == chr(code):
            continue
        text = convert(chr(code))
        if len(text) > 1:
            several[code] = text
            continue
        delta = ord(text) - code
        if runs and runs[-1][3] == delta:
            first, last, step, _ = runs[-1]
            if code - last == step or (first == last and code - last == 2):
                runs[-1] = (first, code, code - last, delta)
                continue
        runs.append((code, code, 1, delta))
    return runs, several


def table(name, convert):
    runs, several = mapped(convert)
    lines = [f"static const struct case_run {name}_runs[] = {{"]
    lines += [f"    {{ 0x{a:x}, 0x{b:x}, {step}, {delta} }}," for a, b, step, delta in runs]
    lines += ["};", f"static const struct case_text {name}_texts[] = {{"]
    for code, text in several.items():
        escaped = "".join(f"\\x{byte:02x}" for byte in text.encode())
        lines.append(f'    {{ 0x{code:x}, "{escaped}" }},')
    return "\n".join([*lines, "};"]) + "\n"


def main():
    parts = [HEAD.format(version=unicodedata.unidata_version), "/* clang-format off */\n"]
    parts += [table("lower", str.lower), table("upper", str.upper), "/* clang-format on */\n"]
    TARGET.write_text("".join(parts))


main()
