# SPDX-License-Identifier: Apache-2.0
"""Loads torch, where it is installed, before any test loads TensorFlow: the other way round their
copies of LLVM collide. What golden files are made of can be imported.

torch multiplies the corners of a picture by a matrix with MKL, whose last bits differ between
processors unless it is told not to.
"""

import os
import pathlib
import sys

os.environ.setdefault("MKL_CBWR", "COMPATIBLE")

sys.path.append(str(pathlib.Path(__file__).parents[1] / "golden"))
try:
    import torch  # noqa: F401
except ImportError:
    pass
