# SPDX-License-Identifier: Apache-2.0
"""Writes events.bin: an event file of TensorBoard's own messages and record writer, as
tests/test_events.c writes it with stoker's.

    python tests/golden/make_events.py        (with the packages of tools/requirements-peers.txt)
"""

import pathlib

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

SCALARS = [
    (0, 1700000000.0, [("train/loss", 2.5), ("train/accuracy", 0.0)]),
    (1, 1700000000.25, [("train/loss", float("inf"))]),
    (1000000, 1700000001.5, [("train/loss", -1e-30), ("größe", 3.25)]),
]


def events():
    yield Event(wall_time=1700000000.0, file_version="brain.Event:2")
    for step, time, scalars in SCALARS:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars]
        yield Event(wall_time=time, step=step, summary=Summary(value=values))


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("events.bin")
    with path.open("wb") as file:
        writer = RecordWriter(file)
        for event in events():
            writer.write(event.SerializeToString(deterministic=True))
        writer.flush()
    print(f"{path.name}: {path.stat().st_size} bytes")
