# SPDX-License-Identifier: Apache-2.0
"""Loads torch, where it is installed, before any test loads TensorFlow: the other way round their
copies of LLVM collide. What golden files are made of can be imported."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "golden"))
try:
    import torch  # noqa: F401
except ImportError:
    pass
