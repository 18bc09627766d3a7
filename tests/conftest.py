# SPDX-License-Identifier: Apache-2.0
"""How the Python tests run the command: its path is $STOKER, else build/stoker."""

import signal
import subprocess

import pytest
from places import STOKER

HANG_SECONDS = 60

# In the background of a shell SIGINT is ignored, and so it would be in the programs under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def stoker():
    """Calls the command: stoker('run', chain, '--json') → CompletedProcess with text output; with
    start=True it is only started."""
    if not STOKER.exists():
        pytest.fail(f"there is no {STOKER}: build it with make, or set STOKER")

    def call(*words, start=False, **options):
        if start:
            return subprocess.Popen([STOKER, *map(str, words)], **options)
        options = {"timeout": HANG_SECONDS, "capture_output": True, "encoding": "utf-8", **options}
        return subprocess.run([STOKER, *map(str, words)], **options)

    return call
