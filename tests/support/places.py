# SPDX-License-Identifier: Apache-2.0
"""Where things are: the tree, the golden files, and what is tested: the command in $STOKER, else build/stoker."""

import os
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = TREE / "tests" / "golden"
STOKER = pathlib.Path(os.environ.get("STOKER", TREE / "build" / "stoker")).resolve()
BUILD = STOKER.parent
