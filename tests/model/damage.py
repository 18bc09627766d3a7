# SPDX-License-Identifier: Apache-2.0
"""Small files in the formats of file_formats.py, some of them with damage, for random chains.

Everything is ASCII where it reaches a chain, because what is delivered is compared as text.
"""

import io
import json
import struct
import tarfile
import zlib

from record_files import masked


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class Damager:
    """Decides what is damaged. `one_in` 0: nothing."""

    def __init__(self, pick, one_in):
        self.pick = pick
        self.one_in = one_in

    def hits(self):
        return self.one_in > 0 and self.pick.randrange(self.one_in) == 0

    def cut(self, data, least):
        """Now and then without its end; no more than the last piece, which has `least` bytes."""
        if least < 2 or not self.hits():
            return data
        return data[: len(data) - self.pick.randrange(1, least)]


def tfrecord(damager, contents):
    """The first record is good: a file without any is no TFRecord file."""
    pieces = []
    for i, content in enumerate(contents):
        head = struct.pack("<Q", len(content))
        frame = head + struct.pack("<I", masked(head)) + content
        frame += struct.pack("<I", masked(content))
        if i and damager.hits():
            frame = flipped(frame, damager.pick.randrange(len(frame)))
        pieces.append(frame)
    return damager.cut(b"".join(pieces), len(pieces[-1]) if len(pieces) > 1 else 0)


def tar(damager, samples):
    """Samples are {ending: content}; headers may be flipped, members and the end missing."""
    pick = damager.pick
    out = io.BytesIO()
    form = pick.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    headers = []
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for i, sample in enumerate(samples):
            stem = f"{'d' * pick.choice([1, 1, 90])}/{'s' * pick.choice([1, 1, 80])}{i}"
            for ending, content in sample.items():
                if i and damager.hits():
                    continue
                info = tarfile.TarInfo(f"{stem}.{ending}")
                info.size = len(content)
                headers.append(out.tell())
                archive.addfile(info, io.BytesIO(content))
    data = out.getvalue()
    for at in headers[1:]:
        if damager.hits():
            data = flipped(data, at + pick.randrange(100))  # of the name
    return damager.cut(data, len(data) - headers[-1]) if len(headers) > 1 else data


def csv(damager, rows):
    """Rows of (int, text, real); texts may need quotes. Some rows lack a cell or have one more, and
    some numbers are none."""
    pick = damager.pick
    end = pick.choice(["\n", "\r\n"])
    lines = ["i,s,r"]
    for number, text, real in rows:
        if any(c in text for c in '",\n\r') or pick.random() < 0.2:
            text = '"' + text.replace('"', '""') + '"'
        cells = [str(number), text, repr(real) if real is not None else pick.choice(["", "NA"])]
        if damager.hits():
            number, text, real = cells
            bad = [cells[:2], [*cells, "1"], ["one", text, real], [number, text, "1.2.3"]]
            cells = pick.choice(bad)
        lines.append(",".join(cells))
        lines += [""] * (pick.random() < 0.1)
    return (end.join(lines) + pick.choice([end, ""])).encode()


def jsonl(damager, objects):
    """Some lines are cut, some have a value of another type, some are blank."""
    pick = damager.pick
    lines = []
    for item in objects:
        if damager.hits():
            item = {**item, "i": pick.choice([1.5, "1", None, True, [1]])}
        if damager.hits():
            item = {**item, "w": pick.choice([None, "a", ["a", 1], [["a"]], {}])}
        line = json.dumps(item, ensure_ascii=pick.random() < 0.5)
        if damager.hits():
            line = line[: pick.randrange(1, len(line))]
        lines.append(line)
        lines += [pick.choice(["", "  "])] * (pick.random() < 0.1)
    return ("\n".join(lines) + pick.choice(["\n", ""])).encode()


def npy(descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


# ---- HDF5 ----

UNDEFINED = 2**64 - 1


def message(kind, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<HHB3x", kind, len(body), 0) + body


def object_header(*messages):
    body = b"".join(messages)
    return struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body


def tree(kind, entries, last_key, size):
    """A B-tree of one node; entries are (key, address)."""
    node = struct.pack("<4sBBHQQ", b"TREE", kind, 0, len(entries), UNDEFINED, UNDEFINED)
    node += b"".join(key + struct.pack("<Q", address) for key, address in entries) + last_key
    return node + b"\0" * (size - len(node))


def hdf5(damager, rows, chunk):
    """One dataset 'x' of int64 rows, in chunks that are deflated; some are flipped. Where chunks are
    is repeated behind the end, which libraries do not look at."""
    n, width = len(rows), len(rows[0])
    places = {"root": 96, "heap": 136, "names": 168, "tree": 184, "node": 728, "data": 1056}
    chunks_at = places["data"] + 16 + 8 * 5 + 24 + 16 + 8 + 24 + 32
    chunk_key = 8 + 8 * 3
    tree_size = 24 + 65 * chunk_key + 64 * 8
    at, keys, stored, table = chunks_at + tree_size, [], [], []
    for first in range(0, n, chunk):
        part = rows[first : first + chunk]
        part += [[0] * width] * (chunk - len(part))
        piece = zlib.compress(struct.pack(f"<{chunk * width}q", *(x for row in part for x in row)))
        if damager.hits():
            piece = flipped(piece, damager.pick.randrange(2, len(piece)))
        keys.append((struct.pack("<IIQQQ", len(piece), 0, first, 0, 0), at))
        table.append(struct.pack("<QQ", at, len(piece)))
        stored.append(piece)
        at += len(piece)
    dataset = object_header(
        message(1, struct.pack("<BBB5xQQ", 1, 2, 0, n, width)),
        message(3, struct.pack("<B3BIHH", 0x10, 8, 0, 0, 8, 0, 64)),
        message(5, struct.pack("<4B", 2, 3, 2, 0)),
        message(11, struct.pack("<BB6xHHHHII", 1, 1, 1, 0, 0, 1, 6, 0)),
        message(8, struct.pack("<BBBQIII", 3, 2, 3, chunks_at, chunk, width, 8)),
    )
    dataset += b"\0" * (chunks_at - places["data"] - len(dataset))
    group = struct.pack("<QQ", places["tree"], places["heap"])
    end = struct.pack("<IIQQQ", 0, 0, len(stored) * chunk, 0, 0)
    file = b"\x89HDF\r\n\x1a\n" + struct.pack("<8BHHI", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0)
    file += struct.pack("<QQQQ", 0, UNDEFINED, at, UNDEFINED)
    file += struct.pack("<QQII", 0, places["root"], 1, 0) + group
    file += object_header(message(0x11, group))
    file += struct.pack("<4sB3xQQQ", b"HEAP", 0, 16, 1, places["names"])
    file += b"\0" * 8 + b"x" + b"\0" * 7
    file += tree(0, [(struct.pack("<Q", 0), places["node"])], struct.pack("<Q", 8), 544)
    entry = struct.pack("<QQII16x", 8, places["data"], 0, 0)
    file += (struct.pack("<4sBBH", b"SNOD", 1, 0, 1) + entry).ljust(328, b"\0")
    file += dataset + tree(1, keys, end, tree_size) + b"".join(stored)
    return file + b"".join(table) + struct.pack("<4Q", n, width, chunk, len(stored))
