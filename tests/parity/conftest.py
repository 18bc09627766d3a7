# SPDX-License-Identifier: Apache-2.0
"""Loads torch, where it is installed, before any test loads TensorFlow: the other way round their
copies of LLVM collide."""

try:
    import torch  # noqa: F401
except ImportError:
    pass
