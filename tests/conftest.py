# SPDX-License-Identifier: Apache-2.0
"""How the Python tests run the command: its path is $STOKER, else build/stoker."""

import os
import pathlib
import signal
import subprocess

import pytest

TREE = pathlib.Path(__file__).resolve().parent.parent
HANG_SECONDS = 60

# In the background of a shell SIGINT is ignored, and so it would be in the programs under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def stoker():
    """Calls the command: stoker('run', chain, '--json') → CompletedProcess with text output; with
    start=True it is only started."""
    path = pathlib.Path(os.environ.get("STOKER", TREE / "build" / "stoker")).resolve()
    if not path.exists():
        pytest.fail(f"there is no {path}: build it with make, or set STOKER")

    def call(*words, start=False, **options):
        if start:
            return subprocess.Popen([path, *map(str, words)], **options)
        options = {"timeout": HANG_SECONDS, "capture_output": True, "encoding": "utf-8", **options}
        return subprocess.run([path, *map(str, words)], **options)

    return call
