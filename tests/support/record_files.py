# SPDX-License-Identifier: Apache-2.0
"""TFRecord files and tf.train.Examples read in plain Python, slow and obvious, for tests."""

import gzip
import struct
import zlib

TABLE = []
for _byte in range(256):
    _rest = _byte
    for _ in range(8):
        _rest = _rest >> 1 ^ (0x82F63B78 if _rest & 1 else 0)
    TABLE.append(_rest)


def crc32c(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ TABLE[(rest ^ byte) & 255]
    return rest ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path, compression=None):
    """The records of a file, every checksum verified."""
    data = path.read_bytes()
    if compression:
        data = {"gzip": gzip.decompress, "zlib": zlib.decompress}[compression](data)
    found = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        record = data[12 : 12 + size]
        assert struct.unpack("<I", data[12 + size : 16 + size])[0] == masked(record)
        found.append(record)
        data = data[16 + size :]
    return found


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, bytes) of each length-delimited field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2
        size, at = varint(data, at)
        yield tag >> 3, data[at : at + size]
        at += size


def values(kind, data):
    if kind == 1:
        return [value for _, value in fields(data)]
    packed = b"".join(value for _, value in fields(data))
    if kind == 2:
        return list(struct.unpack(f"<{len(packed) // 4}f", packed))
    found, at = [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        found.append(value - (1 << 64) if value >> 63 else value)
    return found


def example(data):
    """{key: list of values} of a serialized Example."""
    found = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            parts = dict(fields(entry))
            ((kind, values_of),) = fields(parts[2])
            found[parts[1].decode()] = values(kind, values_of)
    return found


def examples(path, compression=None):
    return [example(record) for record in records(path, compression)]
