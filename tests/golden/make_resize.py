# SPDX-License-Identifier: Apache-2.0
"""Writes resize.bin: small images and what tf.image.resize makes of them.

    python tests/golden/make_resize.py        (needs tensorflow)

All numbers little-endian. "STKR", uint32 number of cases, then for each case eight uint32:
    method (0 bilinear, 1 nearest, 2 area, 3 bilinear with antialias), source dtype (0 uint8, 1 float32),
    channels, source height, source width, output height, output width, output dtype (as above)
and the values of source and output, row-major, one after the other.
"""

import pathlib
import struct

import numpy as np
import tensorflow as tf

METHODS = [("bilinear", False), ("nearest", False), ("area", False), ("bilinear", True)]
DTYPES = [np.uint8, np.float32]

# Height and width before and after: down and up, odd factors, equal, single pixels, factors that cross the
# window sizes of the vector kernels (3.3 and 4.7), and one size that is usual.
SIZES = [
    ((13, 17), (9, 11)),
    ((9, 11), (13, 17)),
    ((8, 8), (4, 4)),
    ((7, 5), (7, 5)),
    ((1, 1), (3, 4)),
    ((6, 40), (5, 9)),
    ((3, 97), (2, 12)),
    ((5, 2), (2, 31)),
    ((2, 3), (1, 1)),
    ((31, 23), (10, 13)),
]
LARGE = ((40, 53), (25, 24))


def image(rng, size, channels, dtype):
    shape = (*size, channels)
    if dtype == np.uint8:
        return rng.integers(0, 256, shape, dtype=np.uint8)
    return rng.normal(0, 100, shape).astype(np.float32)


def case(rng, method, dtype_index, channels, sizes):
    name, antialias = METHODS[method]
    source = image(rng, sizes[0], channels, DTYPES[dtype_index])
    output = tf.image.resize(source, sizes[1], method=name, antialias=antialias).numpy()
    head = struct.pack(
        "<8I", method, dtype_index, channels, *sizes[0], *sizes[1], DTYPES.index(output.dtype)
    )
    return head + source.tobytes() + output.tobytes()


def main():
    rng = np.random.default_rng(2024)
    cases = []
    for method in range(len(METHODS)):
        for channels, sizes_used in ((1, SIZES), (3, SIZES), (4, SIZES[:4])):
            cases += [case(rng, method, 0, channels, sizes) for sizes in sizes_used]
        cases += [case(rng, method, 1, 3, sizes) for sizes in SIZES[1:6]]
        cases += [case(rng, method, 0, 5, SIZES[0]), case(rng, method, 0, 3, LARGE)]
    path = pathlib.Path(__file__).with_name("resize.bin")
    path.write_bytes(b"STKR" + struct.pack("<I", len(cases)) + b"".join(cases))
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
