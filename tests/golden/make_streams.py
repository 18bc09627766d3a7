# SPDX-License-Identifier: Apache-2.0
"""Makes the files in streams/: one text, plain and as gzip, zlib and zstd write it.

    python3 tests/golden/make_streams.py        (needs zstandard)

All of them hold text.txt once, except those whose function says otherwise.
"""
import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import zstandard

OUT = Path(__file__).resolve().parent / 'streams'
rng = np.random.default_rng(11)


def text():
    """Words that repeat, letters that do not, lines of every length up to 60, a last line without an end."""
    words = ['shuffle', 'batch', 'prefetch', 'décoder', 'x^2', '']
    lines = []
    for length in range(60):
        noise = rng.integers(33, 127, length).astype(np.uint8).tobytes().decode()
        lines.append(' '.join([words[length % 6], noise, words[length * 7 % 6]]))
    return '\n'.join(lines).encode()


def deflate(data, level=9, strategy=zlib.Z_DEFAULT_STRATEGY, wbits=-15):
    maker = zlib.compressobj(level, zlib.DEFLATED, wbits, 9, strategy)
    return maker.compress(data) + maker.flush()


def gzip_by_hand(data, flags, *parts):
    """A member with optional parts of the header (extra, name, comment) and its checksum."""
    head = b'\x1f\x8b\x08' + bytes([flags]) + struct.pack('<I', 0) + b'\x00\x03' + b''.join(parts)
    if flags & 2:
        head += struct.pack('<H', zlib.crc32(head) & 0xffff)
    return head + deflate(data) + struct.pack('<II', zlib.crc32(data), len(data) & 0xffffffff)


def zstd_stream(data):
    """A frame without the size of its content and with a checksum."""
    maker = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compressobj()
    return maker.compress(data) + maker.flush()


def main():
    OUT.mkdir(exist_ok=True)
    data = text()
    half = len(data) // 2
    files = {
        'text.txt': data,
        'text.gz': gzip.compress(data, mtime=0),
        'stored.gz': gzip.compress(data, 0, mtime=0),
        'fixed.zlib': deflate(data, 9, zlib.Z_FIXED, 15),
        'header.gz': gzip_by_hand(data, 31, struct.pack('<H', 5) + b'extra', b'name\0', b'comment\0'),
        'members.gz': gzip.compress(data[:half], mtime=0) + gzip.compress(b'', mtime=0)
                      + gzip.compress(data[half:], mtime=0),
        'padded.gz': gzip.compress(data, mtime=0) + bytes(300),
        'text.zlib': zlib.compress(data),
        'fast.zlib': zlib.compress(data, 1),
        'best.zlib': zlib.compress(data, 9),
        'text.zst': zstandard.ZstdCompressor(write_checksum=True).compress(data),
        'stream.zst': zstd_stream(data),
        'frames.zst': zstandard.compress(data[:half]) + b'\x50\x2a\x4d\x18\x03\0\0\0abc'
                      + zstandard.compress(data[half:]),
        'skip_first.zst': b'\x5f\x2a\x4d\x18\0\0\0\0' + zstandard.compress(data),
    }
    for name, content in files.items():
        (OUT / name).write_bytes(content)


if __name__ == '__main__':
    main()
