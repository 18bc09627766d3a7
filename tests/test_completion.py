# SPDX-License-Identifier: Apache-2.0
"""The man page and the completion know every command, and the completion offers what is meant."""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
SCRIPT = TOP / "tools" / "completion" / "stoker.bash"


def complete(*words, cwd):
    """What bash offers for the last of the words."""
    line = f"""
compopt() {{ :; }}
source {SCRIPT}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_stoker stoker "${{@: -1}}" "${{@: -2:1}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", line, "bash", "stoker", *words], cwd=cwd, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_every_command_is_described(stoker):
    overview = stoker("help").stdout
    names = set(re.findall(r"^  (\w+)  +\S", overview, re.MULTILINE)) - {"help"}
    page = (TOP / "docs" / "stoker.1").read_text(encoding="utf-8")
    assert "profile" in names
    assert set(re.findall(r"^\.SS stoker (\w+)", page, re.MULTILINE)) == names
    assert set(complete("", cwd=TOP)) == names


@pytest.mark.parametrize(
    "words, offered",
    [
        (["run", "range(3)", "--io", ""], ["auto", "threads", "uring"]),
        (["run", "range(3)", "--on-error", ""], ["fail", "skip", "replace"]),
        (["profile", "range(3)", "--cons"], ["--consumer-ms"]),
        (["inspect", "one"], ["one.tar"]),
        (["train", "rec"], ["recipe.stk"]),
        (["run", "rec"], ["recipe.stk"]),
        (["run", "range(3)", "--checkpoint", "one"], ["one.tar"]),
        (["ops", "random_r"], ["random_resized_crop", "random_rotation"]),
        (["run", "'imag"], ["image_folder(", "image_folder( "]),
    ],
)
def test_bash_offers(tmp_path, words, offered):
    for name in ("one.tar", "recipe.stk"):
        (tmp_path / name).touch()
    assert complete(*words, cwd=tmp_path) == offered
