# SPDX-License-Identifier: Apache-2.0
"""What is compared by measure_formats.py: a row for each way to store a set.

In a chain $path is the file, pattern or folder, and $order is where a shuffle goes: as early as it
can, so that it moves places, not data."""

import string
from pathlib import Path
from typing import NamedTuple

from format_data import N_COLUMNS, PER_CHUNK
from jobs import in_string, quoted
from pictures import SIZE

# What is behind a row's chain where pictures are made ready for a network.
READY = {
    "pictures": f".decode(channels=3).resize({SIZE}, {SIZE}).scale(1/255)",
    "pixels": ".scale(1/255, field=image)",
}
BATCH = {"pictures": 32, "pixels": 32, "numbers": 256}
FIELD = {"pictures": "image", "pixels": "image", "numbers": "x"}
HELD = {"pictures": 1000, "pixels": 1000, "numbers": 10_000}  # in a shuffle buffer
TITLES = {
    "pictures": "Pictures as JPEG, with a label each",
    "pixels": f"The same pictures as pixels, uint8 {SIZE}×{SIZE}×3, with a label each",
    "numbers": f"Rows of {N_COLUMNS} numbers and a label",
}


class Row(NamedTuple):
    key: str
    kind: str  # which set it stores
    name: str
    path: str  # in the folder of the set; may be a pattern
    chain: str = ""  # stoker's; none: `who` has a function of this key
    who: str = "stoker"
    is_stream: bool = False  # it can be read in order only, so a shuffle needs a buffer
    field: str = ""

    @property
    def is_stoker(self):
        return self.who == "stoker"

    def files(self, folders):
        """The data files, without what stoker has put beside them."""
        path = Path(folders[self.kind]) / self.path
        found = path.rglob("*") if path.is_dir() else path.parent.glob(path.name)
        return sorted(p for p in found if p.is_file() and p.suffix != ".stkidx")

    def chain_for(self, folders, order, is_ready=False):
        """stoker's chain: order is "", "shuffle", or a number of elements that are held."""
        if order == "shuffle" and self.is_stream:
            order = str(HELD[self.kind])
        moved = "" if not order else ".shuffle()" if order == "shuffle" else f".shuffle({order})"
        folder, takes_pattern = folders[self.kind], not self.chain.startswith("image_folder")
        start = quoted(folder) if takes_pattern else in_string(str(folder))
        path = f"{start}/{self.path}"
        text = string.Template(self.chain).substitute(path=path, order=moved)
        ready = READY.get(self.kind, "") if is_ready else ""
        return f"{text}{ready}.batch({BATCH[self.kind]})"


JPEG_EXAMPLE = ".parse_example({image: bytes, label: int64})"
PIXEL_EXAMPLE = JPEG_EXAMPLE + f".decode_raw(uint8, shape=[{SIZE}, {SIZE}, 3], field=image)"
ROW_EXAMPLE = f".parse_example({{x: fixed([{N_COLUMNS}], float32), label: int64}})"
TFRECORD = "tfrecord('$path')$order"
ARRAYS = "('$path', {image: image, label: label})$order"

ROWS = [
    Row("files", "pictures", "files in folders", "jpegs",
        "image_folder('$path')$order.read().rename({bytes: image})"),
    Row("tfrecord", "pictures", "TFRecord", "pictures.tfrecord", TFRECORD + JPEG_EXAMPLE),
    Row("shards", "pictures", "TFRecord, several files", "shards/*.tfrecord",
        TFRECORD + JPEG_EXAMPLE),
    Row("gzip", "pictures", "TFRecord, gzip", "pictures.tfrecord.gz", TFRECORD + JPEG_EXAMPLE,
        is_stream=True),
    Row("tar", "pictures", "tar (WebDataset)", "pictures.tar",
        "tar('$path', {image: 'jpg', label: 'cls'})$order"),
    Row("tf_files", "pictures", "files in folders, by tf.data", "jpegs", who="tf.data"),
    Row("tf_tfrecord", "pictures", "TFRecord, by tf.data", "pictures.tfrecord", who="tf.data"),
    Row("pixel_tfrecord", "pixels", "TFRecord", "pixels.tfrecord", TFRECORD + PIXEL_EXAMPLE),
    Row("pixel_npz", "pixels", "npz", "pixels.npz", "npz" + ARRAYS),
    Row("pixel_hdf5", "pixels", "HDF5", "pixels.h5", "hdf5" + ARRAYS),
    Row("gzip_one", "pixels", "HDF5, gzip, a picture per chunk", "pixels-gzip-one.h5",
        "hdf5" + ARRAYS),
    Row("gzip_some", "pixels", f"HDF5, gzip, {PER_CHUNK} pictures per chunk",
        "pixels-gzip-some.h5", "hdf5" + ARRAYS),
    Row("csv", "numbers", "CSV", "numbers.csv",
        "csv('$path', {label: int64, x: columns(rest, float32)})$order"),
    Row("row_tfrecord", "numbers", "TFRecord", "numbers.tfrecord", TFRECORD + ROW_EXAMPLE),
    Row("row_npz", "numbers", "npz", "numbers.npz", "npz('$path', {x: x, label: label})$order"),
    Row("row_hdf5", "numbers", "HDF5", "numbers.h5", "hdf5('$path', {x: x, label: label})$order"),
    Row("fixed", "numbers", "records of fixed length", "numbers.bin",
        f"fixed_length('$path', {4 * (N_COLUMNS + 1)})$order"
        f".decode_raw(float32, shape=[{N_COLUMNS + 1}])", field="record"),
    Row("tf_csv", "numbers", "CSV, by tf.data", "numbers.csv", who="tf.data"),
    Row("tf_row_tfrecord", "numbers", "TFRecord, by tf.data", "numbers.tfrecord", who="tf.data"),
]  # fmt: skip
