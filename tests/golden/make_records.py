# SPDX-License-Identifier: Apache-2.0
"""Makes records/: the same records as TensorFlow writes them, plain and compressed, and what they are;
pictures.tar as webdataset writes it.

    python3 tests/golden/make_records.py        (needs tensorflow, webdataset, pillow)

records.txt has a line per record: its bytes in hexadecimal.
"""
import io
import pathlib

import tensorflow as tf
import webdataset
from PIL import Image

HERE = pathlib.Path(__file__).parent / "records"
RECORDS = [b"", b"a", b"hello " * 9, bytes(range(256)), b"\0" * 40, b"last"]


def main():
    for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
        with tf.io.TFRecordWriter(str(HERE / f"{name}.tfrecord"), options=compression) as writer:
            for record in RECORDS:
                writer.write(record)
    with webdataset.TarWriter(str(HERE / "pictures.tar"), mtime=0) as writer:
        for number in range(4):
            file = io.BytesIO()
            Image.new("RGB", (8 + number, 6), (60 * number, 90, 160)).save(file, "jpeg")
            writer.write({"__key__": f"train/{number:03}", "jpg": file.getvalue(), "cls": number % 2})
    (HERE / "records.txt").write_text("".join(record.hex() + "\n" for record in RECORDS))


main()
