# SPDX-License-Identifier: Apache-2.0
"""A build without some libraries names the Debian packages that have them, all at once."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from places import TREE

LINES = (TREE / "tools" / "packages.txt").read_text(encoding="utf-8").splitlines()
LIBRARIES = {
    line.split()[0]: found[1].split() for line in LINES if (found := re.search(r"\[(.+)\]$", line))
}


def configure(folder, known):
    """What CMake says where pkg-config knows only these files."""
    place = folder / "known"
    place.mkdir()
    for path in known:
        (place / path.name).symlink_to(path)
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(place), "PKG_CONFIG_PATH": ""}
    command = ["cmake", "-S", TREE, "-B", folder / "build", "-DSTOKER_TESTS=OFF"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def descriptions():
    """The files of pkg-config on this machine."""
    command = ["pkg-config", "--variable", "pc_path", "pkg-config"]
    places = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split(":")
    return [path for place in places for path in Path(place).glob("*.pc")]


def test_the_list_has_every_library_that_the_build_asks_for():
    text = "".join(path.read_text(encoding="utf-8") for path in [TREE / "CMakeLists.txt", *TREE.glob("src/*/CMakeLists.txt"), *TREE.glob("cli/CMakeLists.txt")])
    asked = [name for names in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (.+)\)", text) for name in names.split()]
    assert asked and set(asked) <= {name for names in LIBRARIES.values() for name in names}


def test_all_missing_packages_are_named(tmp_path):
    done = configure(tmp_path, [])
    assert done.returncode != 0
    assert f"apt-get install -y --no-install-recommends {' '.join(LIBRARIES)}\n" in done.stderr


def test_only_missing_packages_are_named(tmp_path, descriptions):
    done = configure(tmp_path, [path for path in descriptions if path.name not in ("hdf5.pc", "libzstd.pc")])
    assert done.returncode != 0
    named = re.search(r"--no-install-recommends (.+)", done.stderr)[1].split()
    assert named == ["libhdf5-dev", "libzstd-dev"]
