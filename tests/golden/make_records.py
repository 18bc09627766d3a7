# SPDX-License-Identifier: Apache-2.0
"""Makes records/: the same records as TensorFlow writes them, plain and compressed, and what they are.

    python3 tests/golden/make_records.py        (needs tensorflow)

records.txt has a line per record: its bytes in hexadecimal.
"""
import pathlib

import tensorflow as tf

HERE = pathlib.Path(__file__).parent / "records"
RECORDS = [b"", b"a", b"hello " * 9, bytes(range(256)), b"\0" * 40, b"last"]


def main():
    for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
        with tf.io.TFRecordWriter(str(HERE / f"{name}.tfrecord"), options=compression) as writer:
            for record in RECORDS:
                writer.write(record)
    (HERE / "records.txt").write_text("".join(record.hex() + "\n" for record in RECORDS))


main()
