# SPDX-License-Identifier: Apache-2.0
"""What counting costs on a chain of the smallest elements, in instructions: below 1 %.

Under valgrind everything but the clock is some fifty times slower, so that nearly all work is timed, which
outside is one piece in a dozen. Clocks and laps (meter.c) are therefore left out: outside of
valgrind they are a tenth of what is counted here.
"""

import re
import shutil
import subprocess

import pytest
from places import STOKER

FILES = ("/metering.c:", "/meter.h:", "/latency.h:", "/waits.c:")
CHAIN = "range(1000000).map('x + 1').batch(256)"


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_share_of_instructions(tmp_path):
    out = tmp_path / "callgrind.out"
    run = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", STOKER, "run", CHAIN]
    done = subprocess.run([*run, "--workers", "0", "--quiet"], capture_output=True, text=True,
                          timeout=280)
    if "unhandled instruction" in done.stderr:
        pytest.skip("this valgrind does not know an instruction of this processor")
    assert done.returncode == 0, done.stderr
    show = ["callgrind_annotate", "--threshold=100", "--auto=no", out]
    lines = subprocess.run(show, capture_output=True, text=True, check=True).stdout.splitlines()
    counts = [re.match(r" *([\d,]+) \([ \d.]+%\)  (\S+)", line) for line in lines]
    counts = [(int(m[1].replace(",", "")), m[2]) for m in counts if m]
    total = next(n for n, name in counts if name == "PROGRAM")
    counting = sum(n for n, name in counts if any(file in name for file in FILES))
    assert 0 < counting < 0.01 * total, f"{counting} of {total} instructions"
