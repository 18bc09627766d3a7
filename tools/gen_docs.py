#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is derived from the declarations: docs/ops.md, docs/options.md, docs/stoker.1 and the completions.

    tools/gen_docs.py STOKER [DIRECTORY]

STOKER is the command. It is asked for its sub-commands, its ops (`ops --json`) and the help of each sub-command; nothing
about them is written down here a second time. DIRECTORY is where the tree to write to begins (default: this one).
"""
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import completion_scripts

GROUPS = [
    ("source", "Sources", "Where elements come from. A chain begins with one."),
    ("row", "Row ops", "Work on each element by itself; they run on all workers."),
    ("order", "Order ops", "Say which elements come, and when."),
    ("executor", "Batches", "Carried out by the executor itself."),
]

# What the flags of a declaration mean to somebody who writes a chain.
NOTES = {
    "stream": "Stream: elements come in order and from the start. `shuffle` needs a buffer size behind it.",
    "random": "Random: drawn from the run's seed, the call's place in the chain, `seed` and the element, nothing else.",
    "heavy": "Costly: each element is a piece of work of its own.",
    "filter": "Leaves elements out, so nobody knows beforehand how many will come.",
    "fetch": "Done by I/O threads, ahead of the workers.",
    "multi": "Takes further chains as inputs; it may also begin a chain.",
    "addresses": "Where the input can be read at random, places are chosen before anything is read.",
    "stable": "Needs an input of known length that can be read at random and always has the same order.",
}
INDEXED = "Indexed: any element can be read at any time, so order ops choose places before anything is read."

EXAMPLES = [
    ("Read, decode and batch a folder of images twice, and show the rate.",
     "stoker run \"image_folder('train').decode().resize(224, 224).shuffle().batch(32)\" --epochs 2"),
    ("Look at the first three elements, and write their images.",
     "stoker head \"files('train/*/*.jpg').decode()\" -n 3 --png looks"),
    ("See how a chain will run, and why.",
     "stoker plan \"range(1000000).shuffle().map('x + 1').batch(256)\""),
    ("Store a folder of images, made small once, as eight TFRecord files.",
     "stoker pack \"image_folder('train').decode().resize(224, 224, dtype=uint8).encode_jpeg()\" --shards 8 "
     "--out 'train-{shard:05d}-of-{shards:05d}.tfrecord'"),
    ("See what a model costs.",
     "stoker model \"input(224, 224, 3).conv2d(32, 3, activation=relu).maxpool(2).flatten().dense(10)\" --batch 64"),
    ("Show that two runs deliver the same bytes.",
     "stoker run \"range(100000).shuffle().batch(64)\" --digest --workers 1"),
]


class Option:
    """One option of a sub-command, as its help shows it."""

    def __init__(self, words, text):
        self.name, _, self.value = words.partition(" ")
        self.text = text
        listed = re.search(r": (\w+(?:, (?:or )?\w+)+)", text)
        self.choices = re.findall(r"\w+", listed[1].replace(", or ", ", ")) if listed else []


class Command:
    """One sub-command, read from `stoker NAME --help`."""

    def __init__(self, name, text):
        self.name = name
        blocks = text.strip().split("\n\n")
        usage = re.match(r"Usage: stoker \S+ ?(.*?) ?\[options\]", blocks[0])
        if not usage or len(blocks) < 2:
            raise ValueError(f"the help of 'stoker {name}' does not begin as expected: {blocks[0]!r}")
        self.operand, self.summary = usage[1], blocks[1]
        self.text, self.sections = [], {}
        for block in blocks[2:]:
            title = re.fullmatch(r"([A-Z][\w ]*):", block.split("\n")[0])
            if title:
                self.sections[title[1]] = self.read_options(block)
            else:
                self.text.append(block)

    @staticmethod
    def read_options(block):
        rows = re.findall(r"^  (-\S+(?: \S+)?)  +(\S.*)$", block, re.MULTILINE)
        return [Option(words, text) for words, text in rows]

    def options(self):
        return [option for rows in self.sections.values() for option in rows]


# ---- ops ----


def group_of(op):
    return "order" if op["class"] == "serial" else op["class"]


def notes(op):
    lines = [NOTES[flag] for flag in op["flags"] if flag in NOTES]
    if op["class"] == "source" and "stream" not in op["flags"]:
        lines.append(INDEXED)
    return " ".join(lines)


def wrap(text):
    """Lines of prose; what stands between backticks stays on one line."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return [line.replace("\0", " ") for line in textwrap.wrap(whole, 110, break_on_hyphens=False)]


def value_text(value, quoted=True):
    """A default as it would stand in a chain."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}'" if quoted else value
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return str(value)


def has_default(param):
    """Whether leaving the parameter out means the same as writing some value."""
    is_given = param["default"] is not None or param["takes_none"]
    return is_given and not param["required"] and not param["variadic"]


def default_text(param):
    is_word = bool(param["choices"]) or param["default"] in ("none", "auto")
    return value_text(param["default"], quoted=param["type"] == "text" and not is_word)


def signature(op):
    parts = []
    for param in op["params"]:
        name = ("*" if param["variadic"] else "") + param["name"]
        parts.append(f"{name}={default_text(param)}" if has_default(param) else name)
    return f"{op['name']}({', '.join(parts)})"


TYPES = {"texts": "text or list of texts", "numbers": "number or list of numbers", "pairs": "map of names",
         "value": "map", "chains": "chains", "real": "number"}


def takes_text(param):
    """What a parameter accepts, in a few words."""
    words = [] if param["type"] == "choice" else [TYPES.get(param["type"], param["type"]) + bounds_text(param)]
    if param["choices"]:
        words.append((", " if len(param["choices"]) > 4 else " or ").join(f"`{choice}`" for choice in param["choices"]))
    is_given = not param["variadic"]
    words += [f"`{word}`" for word in ("none", "auto") if is_given and param[f"takes_{word}"]]
    return ", ".join(words)


def bounds_text(param):
    low = param["min"]
    high = param["max"] if param["max"] is not None and param["max"] < 2**31 - 1 else None
    if param["type"] in ("numbers", "texts"):
        return f" (at most {high})" if high is not None else ""
    if low is not None and high is not None:
        return f", {low} to {high}" if low != high else f", {low}"
    if low is not None:
        return f", at least {low}"
    return f", at most {high}" if high is not None else ""


def paragraphs(doc):
    """The doc text as (is_code, lines) runs: code lines begin with four spaces."""
    runs = []
    for line in doc.strip("\n").split("\n"):
        is_code = line.startswith("    ")
        if not line.strip():
            runs.append((False, []))
        elif runs and runs[-1][0] == is_code and runs[-1][1]:
            runs[-1][1].append(line)
        else:
            runs.append((is_code, [line]))
    return [(is_code, lines) for is_code, lines in runs if lines]


def op_markdown(op):
    lines = [f"### {op['name']}", "", f"    {signature(op)}", "", op["summary"], ""]
    for is_code, text in paragraphs(op["doc"]):
        if is_code:
            lines += ["```", *(line[4:] for line in text), "```", ""]
        else:
            lines += [*wrap(" ".join(text)), ""]
    if notes(op):
        lines += [*(f"*{line}*" for line in wrap(notes(op))), ""]
    if op["params"]:
        lines += ["| parameter | takes | default | meaning |", "|---|---|---|---|"]
    for param in op["params"]:
        default = "required" if param["required"] else f"`{default_text(param)}`" if has_default(param) else ""
        help_text = param["help"] + (" (changes speed or memory only)" if param["tunable"] else "")
        cells = [f"`{param['name']}`", takes_text(param), default, help_text]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    calls = {call["name"]: call for param in op["params"] for call in param["calls"] or ()}
    lines += ["", "In its maps:", ""] if calls else []
    lines += [f"- `{signature(call)}`: {call['summary']}" for call in calls.values()]
    return "\n".join(lines).rstrip() + "\n"


def contents(ops):
    return "\n".join(f"- [{op['name']}](#{op['name']}): {op['summary']}" for op in ops) + "\n"


def ops_markdown(ops):
    parts = ["# Ops\n\nGenerated by `make docs` from the declarations in `src/op`; `stoker ops NAME` shows "
             "the same.\nHow chains are written is in [language.md](language.md), what `map` and `filter` take in\n"
             "[expressions.md](expressions.md), what *indexed* and *stream* mean in [concepts.md](concepts.md).\n"]
    for key, title, text in GROUPS:
        members = [op for op in ops if group_of(op) == key]
        if members:
            parts.append(f"## {title}\n\n{text}\n\n{contents(members)}")
            parts += [op_markdown(op) for op in members]
    return "\n".join(parts)


# ---- options ----


def options_markdown(commands):
    rows = next(c for c in commands if c.name == "run").sections.get("Run options", [])
    lines = ["# Run options", "", "Generated by `make docs`. On the command line an option is `--name value`. In Python it is a keyword,",
             "`ds.iterate(io_depth=64)`, and in C `stk_options_set(options, \"io_depth\", \"64\", &err)`, both with `_` for `-`;",
             "in C memory is a plain number of bytes. The instruction set is `stoker.cpu_limit` in Python and `stk_cpu_limit` in C.",
             "`epoch`, `epochs`, `seed`, `on-error`, `max-errors`, `rank` and `world` say what is delivered; the others change",
             "speed and memory only. [concepts.md](concepts.md) explains the words, and [errors.md](errors.md) the policies.",
             "", "| option | value | meaning |", "|---|---|---|"]
    lines += [f"| `{row.name}` | `{row.value}` | {row.text} |" for row in rows]
    return "\n".join(lines) + "\n"


# ---- the man page ----


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def roff_code(lines):
    return [".PP", ".RS 4", ".nf", *(roff(line) for line in lines), ".fi", ".RE"]


def roff_options(options):
    lines = []
    for option in options:
        value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
        lines += [".TP", f"\\fB{roff(option.name)}\\fR{value}", roff(option.text)]
    return lines


def roff_text(block):
    if block.startswith("    "):
        return roff_code(textwrap.dedent(block).split("\n"))
    return [".PP", roff(block)]


def roff_command(command, skipped):
    operand = f" {command.operand}" if command.operand else ""
    lines = [f".SS stoker {command.name}{roff(operand)}", roff(command.summary)]
    for block in command.text:
        lines += roff_text(block)
    for title, rows in command.sections.items():
        if title not in skipped:
            lines += roff_options(rows)
    if "Run options" in command.sections:
        lines += [".PP", "Takes the run options below."]
    return lines


def man_page(ops, layers, commands, version):
    run_options = next(c for c in commands if c.name == "run").sections.get("Run options", [])
    lines = [f'.TH STOKER 1 "" "stoker {version}" "User Commands"', ".SH NAME",
             "stoker \\- takes data from storage to batches at the speed of the hardware", ".SH SYNOPSIS"]
    for command in commands:
        operand = f" \\fI{roff(command.operand)}\\fR" if command.operand else ""
        lines += [f".B stoker {command.name}{operand}", "[\\fIoptions\\fR]", ".br"]
    lines += [".SH DESCRIPTION", "A pipeline is a chain of calls, written as one argument:"]
    lines += roff_code(["files('train/*/*.jpg').decode().resize(224, 224).shuffle().batch(32)"])
    lines += [".PP", "The argument may also be a recipe: assignments \\fIname = value\\fR, then a chain.", ".SH COMMANDS"]
    for command in commands:
        lines += roff_command(command, skipped=("Run options", "Everywhere"))
    lines += [".SH RUN OPTIONS", *roff_options(run_options), ".SH OPS"]
    for op in ops:
        lines += [".TP", f"\\fB{roff(signature(op))}\\fR", roff(op["summary"])]
    lines += [".SH LAYERS"]
    for layer in layers:
        lines += [".TP", f"\\fB{roff(signature(layer))}\\fR", roff(layer["summary"])]
    lines += [".SH EXIT STATUS", ".TP", "0", "All went well.", ".TP", "1", "Bad data, or input and output failed.",
              ".TP", "2", "The command line or the chain is wrong.", ".TP", "130", "Interrupted.", ".SH EXAMPLES"]
    for text, line in EXAMPLES:
        lines += [".PP", roff(text), *roff_code([line])]
    return "\n".join(lines) + "\n"


# ---- ----


def command_names(overview):
    """The sub-commands that `stoker help` lists; help itself has no options to describe."""
    return [name for name in re.findall(r"^  (\w+)  +\S", overview, re.MULTILINE) if name != "help"]


def ask(stoker, *words):
    done = subprocess.run([stoker, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"gen_docs: 'stoker {' '.join(words)}' failed: {done.stderr.strip()}")
    return done.stdout


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    stoker = str(Path(sys.argv[1]).resolve())
    top = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent
    ops = sorted(json.loads(ask(stoker, "ops", "--json")), key=lambda op: op["name"])
    commands = [Command(name, ask(stoker, name, "--help")) for name in command_names(ask(stoker, "help"))]
    layers = json.loads(ask(stoker, "layers", "--json"))
    models = json.loads(ask(stoker, "model", "--list", "--json"))
    version = re.search(r"\d+\.\d+\.\d+", ask(stoker, "version"))[0]
    made = {
        "docs/ops.md": ops_markdown(ops),
        "docs/options.md": options_markdown(commands),
        "docs/stoker.1": man_page(ops, layers, commands, version),
        **completion_scripts.scripts(ops, layers, models, commands),
    }
    for name, text in made.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
