# SPDX-License-Identifier: Apache-2.0
"""The man page and the completions know every command, and offer what is meant.

bash is always run; fish and zsh where they are installed (their scripts are made from the same facts, and read as text
everywhere).
"""

import re
import shutil
import subprocess

import pytest
from places import TREE

SCRIPT = TREE / "tools" / "completion" / "stoker.bash"
ZSH, FISH = SCRIPT.with_name("_stoker"), SCRIPT.with_name("stoker.fish")


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
    page = (TREE / "docs" / "stoker.1").read_text(encoding="utf-8")
    assert "profile" in names
    assert set(re.findall(r"^\.SS stoker (\w+)", page, re.MULTILINE)) == names
    assert set(complete("", cwd=TREE)) == names | {"help"}


@pytest.mark.parametrize(
    "words, offered",
    [
        (["run", "range(3)", "--io", ""], ["auto", "threads", "uring"]),
        (["run", "range(3)", "--on-error", ""], ["fail", "skip", "replace"]),
        (["profile", "range(3)", "--cons"], ["--consumer-ms"]),
        (["help", "pro"], ["profile"]),
        (["help", "resize_"], ["resize_and_crop", "resize_side", "resize_with_crop_or_pad", "resize_with_pad"]),
        (["help", "dens"], ["dense"]),
        (["inspect", "one"], ["one.tar"]),
        (["train", "rec"], ["recipe.stk"]),
        (["run", "rec"], ["recipe.stk"]),
        (["run", "range(3)", "--checkpoint", "one"], ["one.tar"]),
        (["run", "range(3)", "--memory", ""], []),
        (["run", "range(3)", "--workers", ""], []),
        (["head", "-n", ""], []),
        (["pack", "range(3)", "--shards", "o"], []),
        (["ops", "random_r"], ["random_resized_crop", "random_rotation"]),
        (["run", "'imag"], ["image_folder(", "image_folder( "]),
    ],
)
def test_bash_offers(tmp_path, words, offered):
    for name in ("one.tar", "recipe.stk"):
        (tmp_path / name).touch()
    assert complete(*words, cwd=tmp_path) == offered


# ---- zsh and fish ----


def options_of(stoker, command):
    return set(re.findall(r"^  (-\S+)", stoker(command, "--help").stdout, re.MULTILINE))


def test_zsh_and_fish_know_every_option(stoker):
    zsh, fish = ZSH.read_text(encoding="utf-8"), FISH.read_text(encoding="utf-8")
    names = complete("", cwd=TREE)
    assert set(re.findall(r"^        '(\w+):", zsh, re.MULTILINE)) == set(names)
    assert set(re.findall(r"__fish_use_subcommand -a (\w+)", fish)) == set(names)
    for name in set(names) - {"help"}:  # which has no options
        case = re.search(rf"^    {name}\)\n(.*?)^        ;;", zsh, re.MULTILINE | re.DOTALL)[1]
        assert set(re.findall(r"^ +'(-[\w-]+)\[", case, re.MULTILINE)) == options_of(stoker, name)
        flags = re.findall(rf"-n '__stoker_is {name}' -([ls]) ([\w-]+)", fish)
        assert {("--" if kind == "l" else "-") + flag for kind, flag in flags} == options_of(stoker, name)


def test_values_are_those_of_bash():
    zsh, fish, bash = (path.read_text(encoding="utf-8") for path in (ZSH, FISH, SCRIPT))
    for name, words in re.findall(r'^    --([\w-]+)\) mapfile .*-W "(.+?)"', bash, re.MULTILINE):
        assert re.search(rf"'--{name}\[.*:\({words}\)'", zsh), name
        assert re.search(rf"-l {name} -x -a '{words}'", fish), name


@pytest.mark.parametrize(("shell", "script"), [("zsh", ZSH), ("fish", FISH)])
def test_scripts_can_be_read(shell, script):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize(
    "line, offered",
    [
        ("stoker run --io ", ["auto", "threads", "uring"]),
        ("stoker profile --cons", ["--consumer-ms"]),
        ("stoker help pro", ["profile"]),
        ("stoker train run --res", ["--restart", "--resume", "--resume-older"]),
        ("stoker inspect o", ["one.tar"]),
        ("stoker run rec", ["recipe.stk"]),
        ("stoker ops random_r", ["random_resized_crop", "random_rotation"]),
        ('stoker run "imag', ["image_folder(", "image_folder()"]),
        ('stoker run "files(x).dec', ["files(x).decode(", "files(x).decode_raw("]),
        ("stoker model re", ["recipe.stk", "resnet18"]),
        ('stoker model "input(3).max', ["input(3).maxpool(", "input(3).maxpool()"]),
    ],
)
def test_fish_offers(tmp_path, line, offered):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    for name in ("one.tar", "recipe.stk"):
        (tmp_path / name).touch()
    command = f"source {FISH}; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not done.stderr
    assert [row.split("\t")[0] for row in done.stdout.splitlines()] == offered
