#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes export.onnx: the model of tests/test_export.c with every kind of node, as stoker exports it.

    python tests/golden/make_export.py      (with the packages of tools/requirements-peers.txt)

It is stored only if onnx has no objection and onnxruntime computes with it what PyTorch does.
"""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "parity")]

import test_export

with tempfile.TemporaryDirectory() as folder:
    path, weights = test_export.write("every_kind", "nhwc", pathlib.Path(folder))
    test_export.compare(path, weights, "nhwc")
    (HERE / "export.onnx").write_bytes(path.read_bytes())
print(f"export.onnx: {(HERE / 'export.onnx').stat().st_size} bytes")
