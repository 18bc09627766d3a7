# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of one document, one after the other, with names in common.

    python doc_page.py BLOCKS RESULTS

BLOCKS is a JSON list of {"line", "kind", "text"}. RESULTS gets a line of JSON for each block that
was run: {"line", "error": a traceback or "", "shown": [[source, expected, printed], …] for a
transcript}. It is written block by block, so that what a crash leaves behind says where it was.
test_docs.py judges it.
"""

import contextlib
import doctest
import io
import json
import sys
import traceback
import types


def run_script(text, name, names):
    exec(compile(text, name, "exec"), names)  # pylint: disable=exec-used
    return []


def run_transcript(text, name, names):
    """Every example of a transcript, with what it is said to print and what it prints."""
    shown = []
    for example in doctest.DocTestParser().get_examples(text, name):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(example.source, name, "single"), names)  # pylint: disable=exec-used
            except Exception:  # pylint: disable=broad-exception-caught
                printed.write(traceback.format_exc())
        shown.append([example.source, example.want, printed.getvalue()])
    return shown


def run_block(block, names):
    run = run_transcript if block["kind"] == "pycon" else run_script
    name = f"<line {block['line']}>"
    try:
        return {"line": block["line"], "error": "", "shown": run(block["text"], name, names)}
    except Exception:  # pylint: disable=broad-exception-caught
        return {"line": block["line"], "error": traceback.format_exc(), "shown": []}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        blocks = json.load(file)
    # Functions of the blocks are functions of __main__, as in a script: so they can be pickled.
    page = sys.modules["__main__"] = types.ModuleType("__main__")
    with open(sys.argv[2], "w", encoding="utf-8") as results:
        for block in blocks:
            results.write(json.dumps(run_block(block, page.__dict__)) + "\n")
            results.flush()


if __name__ == "__main__":
    main()
