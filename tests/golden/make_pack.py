#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/pack.txt: elements as TensorFlow, NumPy and tarfile store them, in hexadecimal.

    python tests/golden/make_pack.py      (TensorFlow 2.21, NumPy 2)

tests/test_record_out.c stores the same elements; what it writes must be equal, byte for byte.
"""
import io
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

I64 = [0, 1, -1, 127, 128, -(2**63), 2**63 - 1]
F32 = np.array([0, -0.0, 1.5, np.inf, 1e-45], np.float32)


def ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def raw(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(**features):
    whole = tf.train.Example(features=tf.train.Features(feature=features))
    return whole.SerializeToString(deterministic=True)


EXAMPLES = {
    "numbers": example(i64=ints(I64), i32=ints([7, -7]), u32=ints([2**32 - 1]), flag=ints([1]), u8=ints([255]),
                       i8=ints([-128]), u16=ints([65535]), f32=floats(F32), f16=floats([0.5]), bf16=floats([-2.0])),
    "bytes": example(text=raw(b"caf\xc3\xa9"), empty=raw(b""), image=raw(bytes(range(12))),
                     wide=raw(np.array([1, 65535, 256], "<u2").tobytes()), f64=raw(np.array(0.1, "<f8").tobytes()),
                     mask=raw(b"\x00\x01")),
    "shapes": example(**{"a": raw(bytes(6)), "a/shape": ints([1, 2, 3]), "a0": ints([5]), "b": floats([1, 2]),
                         "b/shape": ints([2])}),
    "ragged": example(ids=ints([3, 1, 4]), none=ints([]), pairs=floats([1, 2, 3, 4]), tokens=raw(b"\x05\x06")),
    "long": example(image=raw(bytes(300)), label=ints([300])),
}


def tfrecords(records):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in records:
                writer.write(record)
        return path.read_bytes()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def tar(members):
    """As tarfile writes it, without the padding to a record of 20 blocks."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    end = sum(512 + (len(data) + 511) // 512 * 512 for _, data in members)
    return out.getvalue()[: end + 1024]


NPY = {
    "npy_u8": np.arange(6, dtype=np.uint8).reshape(1, 2, 3),
    "npy_f32": np.array([1.5, -2], np.float32),
    "npy_bool": np.array([[True], [False]]),
    "npy_empty": np.zeros((0, 4), np.int64),
    "npy_f16": np.array([0.5], np.float16),
    "npy_many": np.zeros((1234567890, 0), np.uint16),
}

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(600)
TARS = {
    "tar_one": tar([("000000007.jpg", JPEG), ("000000007.cls", b"-3"), ("000000007.txt", b"caf\xc3\xa9"),
                    ("000000007.json", b"0.5"), ("000000007.npy", npy(NPY["npy_f32"]))]),
    "tar_two": tar([("1234567890.left.png", PNG), ("1234567890.right_hand.bin", b"\x00\x01"),
                    ("1234567890.a.cls", b"1"), ("1234567890.b.cls", b"18446744073709551615")]),
}


def main():
    lines = {**EXAMPLES, "tfrecord": tfrecords([EXAMPLES["numbers"], EXAMPLES["bytes"]]),
             **{name: npy(array) for name, array in NPY.items()}, **TARS}
    text = "".join(f"{name} {data.hex()}\n" for name, data in lines.items())
    (Path(__file__).parent / "pack.txt").write_text(text)


if __name__ == "__main__":
    main()
