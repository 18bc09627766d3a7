# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package. It is the installed one: `make python` installs it into
build/venv.
"""

import subprocess
import sys
import textwrap

import pytest

try:
    import stoker
except ImportError as error:  # a missing package is a failure, not a reason to skip
    pytest.exit(
        f"the package stoker is not installed for {sys.executable} ({error}): run make python", 2
    )

HANG_SECONDS = 60


@pytest.fixture
def run_python(tmp_path):
    """Runs a script in an interpreter of its own: run_python(text, *words) → CompletedProcess."""

    def run(text, *words, timeout=HANG_SECONDS, **options):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(text), encoding="utf-8")
        return subprocess.run(
            [sys.executable, script, *map(str, words)],
            timeout=timeout,
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=False,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """A folder of two classes with six small images."""
    from PIL import Image

    top = tmp_path_factory.mktemp("pictures")
    for number in range(6):
        path = top / ("cat", "dog")[number % 2] / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (12 + number, 10), (number * 40, 90, 160)).save(path)
    return top


@pytest.fixture
def numbers():
    """x = 0 … 9 in batches of four."""
    return stoker.range(10).batch(4)


def pytest_configure(config):
    """Many tests skip bad elements on purpose; test_skipped.py looks at what a loop says of them."""
    config.addinivalue_line("filterwarnings", "ignore:.*skipped or replaced:stoker.StokerWarning")
