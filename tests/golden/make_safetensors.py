# SPDX-License-Identifier: Apache-2.0
"""Writes safetensors/*.safetensors with the package of that name.

    python tests/golden/make_safetensors.py   (with the packages of tools/requirements-peers.txt)

all: a tensor of every type, in several shapes; byte k of a tensor is (37 k + 11) % 256, of bool 1 if
that is odd. names: keys that JSON must escape. none: no tensor. tests/test_safetensors.c has the same
tables."""

import pathlib

import ml_dtypes  # so that NumPy knows bfloat16
import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).with_name("safetensors")
SHAPES = {
    "bool": [3, 5],
    "uint8": [7],
    "int8": [1, 2, 3, 4],
    "uint16": [5],
    "int16": [2, 2],
    "uint32": [3],
    "int32": [1, 0, 9],
    "uint64": [2],
    "int64": [],
    "float16": [3, 3],
    "bfloat16": [4],
    "float32": [3, 3, 3, 8],
    "float64": [2, 1, 1, 1, 1, 1, 1, 2],
}


def tensor(name, shape):
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    n = int(np.prod(shape)) * dtype.itemsize
    data = (37 * np.arange(n) + 11).astype(np.uint8)
    if name == "bool":
        data %= 2
    return data.view(dtype).reshape(shape)


def main():
    tensors = {f"layer/{dtype}": tensor(dtype, shape) for dtype, shape in SHAPES.items()}
    tensors["again"] = tensor("float32", [2])
    save_file(tensors, FOLDER / "all.safetensors", {"format": "pt"})
    names = ['a "quoted" name', "ü/日本\n", "back\\slash", ""]
    odd = {name: tensor("uint8", [2]) for name in names}
    save_file(odd, FOLDER / "names.safetensors", None)
    save_file({}, FOLDER / "none.safetensors", {"ключ": "значение \u0001"})


if __name__ == "__main__":
    main()
