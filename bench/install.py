# SPDX-License-Identifier: Apache-2.0
"""Installs the peers into the Python environment that runs this, one by one.

Versions are pinned in tools/requirements-peers.txt. A peer that cannot be installed stops nothing:
why is written to not-installed.json in the environment, and its rows in the benchmark say it."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import catalog

TOP = Path(__file__).resolve().parent.parent
PINS = TOP / "tools" / "requirements-peers.txt"
LIMIT_S = 3600


def pins():
    """{package: "package==version"} of the requirements, and of those they include."""
    found, waiting = {}, [PINS]
    while waiting:
        path = waiting.pop()
        for line in path.read_text(encoding="utf-8").splitlines():
            line = line.partition("#")[0].strip()
            if line.startswith("-r "):
                waiting.append(path.parent / line[3:].strip())
            elif line:
                found[line.partition("==")[0].lower()] = line
    return found


def others(peers):
    """Pinned packages that no peer names: golden files and `make parity` need them."""
    lines = [line.partition("#")[0].strip() for line in PINS.read_text("utf-8").splitlines()]
    named = {name for peer in peers for name in peer.PACKAGES}
    pinned = [line for line in lines if line and not line.startswith("-r ")]
    return [line for line in pinned if line.partition("==")[0].lower() not in named]


def pip(words, environment):
    """Runs pip; returns why it failed, or None."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *words,
    ]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode == 0:
        return None
    return reason(done.stderr) or f"pip ended with status {done.returncode}"


def reason(text):
    """The line of pip's messages that says most: an exception, a compiler's error, or its own."""
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if re.match(r"[\w.]*Error: |.*fatal error: ", line)]
    found = found or [line for line in lines if line.startswith("ERROR")]
    return found[0][:300] if found else None


def install(peer, pinned, constraints):
    """Installs a peer's packages; returns why it failed, or None."""
    alone = [pinned[name] for name in peer.WITHOUT_DEPENDENCIES]
    others = [pinned[name] for name in peer.PACKAGES if name not in peer.WITHOUT_DEPENDENCIES]
    with tempfile.TemporaryDirectory() as directory:
        environment = peer.install_environment(directory) if peer.install_environment else {}
        why = pip(["-c", constraints, *others], environment) if others else None
        return why or (pip(["--no-deps", *alone], environment) if alone else None)


def main():
    pinned, failed = pins(), {}
    wanted = [peer for peer in catalog.peers() if peer.PACKAGES]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(pinned.values()) + "\n")
        constraints.flush()
        for peer in wanted:
            print(f"{peer.name}: {', '.join(pinned[name] for name in peer.PACKAGES)}", flush=True)
            why = install(peer, pinned, constraints.name)
            if why:
                failed[peer.stem] = why
                print(f"  could not be installed: {why}", flush=True)
        for pin in others(wanted):
            print(pin, flush=True)
            why = pip(["-c", constraints.name, pin], {})
            if why:
                print(f"  could not be installed: {why}", flush=True)
    (Path(sys.prefix) / "not-installed.json").write_text(
        json.dumps(failed, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
