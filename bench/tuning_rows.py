# SPDX-License-Identifier: Apache-2.0
"""What tuning.py measures: a chain without numbers of the machine, its storage and its consumer.

torchvision maps files, which cannot be slowed, so from slow storage PyTorch reads with Pillow."""

from typing import NamedTuple

JPEG = (
    "files('$images/**/*.{jpg,jpeg,JPG,JPEG}').shuffle().decode().resize(224, 224).scale(1/255)"
    ".batch(%d)"
)
RAW = (
    ".parse_example({image: bytes, label: int64})"
    ".decode_raw(uint8, shape=[224, 224, 3], field=image).scale(1/255).batch(32)"
)
COLD = {"STOKER_DELAY_READ_US": "2000", "STOKER_READ_MB_PER_S": "200"}
DISK = {"STOKER_SEEK_US": "8000", "STOKER_READ_MB_PER_S": "200"}


PROGRESSIVE = "files('$progressive/*.jpg').shuffle().decode().resize(224, 224).scale(1/255).batch(8)"


class Row(NamedTuple):
    key: str
    title: str
    chain: str
    field: str
    batch: int
    peers: dict  # name: (module, function) of those that can do it
    memory_mb: int  # of the run whose memory is watched
    storage: dict = {}
    depths: tuple = (None,)  # reads in flight; None: as they come
    step_s: float = 0.0
    is_tight: bool = False  # all runs have that budget


ROWS = [
    Row(
        "jpeg",
        "JPEG files in the page cache",
        JPEG % 32,
        "image",
        32,
        {"tf.data": ("tf_data", "seed"), "torch DataLoader": ("torch_io", "seed")},
        128,
    ),
    Row(
        "records",
        "TFRecords of plain pictures",
        "tfrecord('$records/raw-*.tfrecord').shuffle()" + RAW,
        "image",
        32,
        {"tf.data": ("tf_data", "tfrecord_raw")},
        128,
    ),
    Row(
        "cold",
        "JPEG files, 2 ms and 200 MB/s",
        JPEG % 32,
        "image",
        32,
        {"tf.data": ("tf_data", "seed"), "torch DataLoader": ("torch_pil", "seed")},
        128,
        COLD,
        (4, 16, 64),
    ),
    Row(
        "disk",
        "TFRecords in their order, 8 ms a seek",
        "tfrecord('$records/raw-*.tfrecord')" + RAW,
        "image",
        32,
        {"tf.data": ("tf_data", "tfrecord_raw")},
        128,
        DISK,
        (1, 8, 64),
    ),
    Row(
        "step",
        "JPEG files, a step of 20 ms",
        JPEG % 8,
        "image",
        8,
        {"tf.data": ("tf_data", "seed"), "torch DataLoader": ("torch_io", "seed")},
        64,
        step_s=0.02,
    ),
    Row(
        "small",
        "numbers, plus 1",
        "range(1000000).map('x + 1').batch(256)",
        "x",
        256,
        {"tf.data": ("tf_data", "map")},
        32,
    ),
    Row(
        "progressive",
        "progressive JPEG files of 4 MP, 96 MB",
        PROGRESSIVE,
        "image",
        8,
        {},
        96,
        is_tight=True,
    ),
]
