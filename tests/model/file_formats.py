# SPDX-License-Identifier: Apache-2.0
"""Files of records, read byte by byte as their formats say; nothing here goes through stoker.

Each reader takes the bytes of one file and yields what its elements are, in order, as (offset,
content), with None for the content of one that is damaged. `is_stream`: the file is read from front
to back, so that where the end of an element cannot be told all that follows is lost.
"""

import ast
import csv
import io
import json
import math
import struct
import zlib

from record_files import masked

from .expression import each

BLOCK = 512  # of tar
FRAME = 16  # of a TFRecord: length, its checksum, and the checksum of the data


class Damaged(Exception):
    """An element that is not what its format says."""


# ---- TFRecord ----


def tfrecord_length(data, at):
    """The length of the record at a byte, or None if there is no whole one."""
    if len(data) - at < FRAME:
        return None
    (length,) = struct.unpack_from("<Q", data, at)
    is_good = struct.unpack_from("<I", data, at + 8)[0] == masked(data[at : at + 8])
    return length if is_good and length <= len(data) - at - FRAME else None


def tfrecords(data):
    at = 0
    while at < len(data):
        start, length = at, tfrecord_length(data, at)
        if length is not None:
            content = data[at + 12 : at + 12 + length]
            at += FRAME + length
            is_good = struct.unpack_from("<I", data, at - 4)[0] == masked(content)
            yield start, content if is_good else None
            continue
        while at < len(data) and tfrecord_length(data, at) is None:
            at += 1
        yield start, None


# ---- tar ----


def tar_number(text):
    digits = text.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise Damaged("no number")
    return int(digits, 8)


def tar_header(data, at):
    """Name, size and type of the header at a byte; None if all of it is zero."""
    block = data[at : at + BLOCK]
    if len(block) < BLOCK:
        raise Damaged("the file ends within a header")
    if not any(block):
        return None
    blank = block[:148] + b" " * 8 + block[156:]
    if tar_number(block[148:156]) != sum(blank):
        raise Damaged("checksum")
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return (prefix + b"/" + name if prefix else name), tar_number(block[124:136]), block[156:157]


def padded(size):
    return (size + BLOCK - 1) // BLOCK * BLOCK


def tar_member(data, at):
    """Name, content and end of the member at a byte, headers that say more of it included."""
    long_name = None
    while True:
        header = tar_header(data, at)
        if header is None:
            return None
        name, size, kind = header
        body = data[at + BLOCK : at + BLOCK + size]
        if len(body) < size:
            raise Damaged("the file ends within a member")
        at = min(at + BLOCK + padded(size), len(data))
        if kind == b"L":
            long_name = body.split(b"\0")[0]
        elif kind == b"x":
            pairs = [line.split(b" ", 1)[1] for line in body.splitlines()]
            long_name = dict(pair.split(b"=", 1) for pair in pairs).get(b"path", long_name)
        else:
            return long_name or name, body, at


def next_header(data, at):
    """Where the next good header is, or the end."""
    while at < len(data):
        try:
            if tar_header(data, at) is not None:
                return at
        except Damaged:
            pass
        at += BLOCK
    return len(data)


def tar_samples(data, is_stream):
    """(offset, {ending: content}); members of one sample share the name up to the first dot."""
    at, offset, key, sample = 0, None, None, {}
    while at < len(data):
        try:
            member = tar_member(data, at)
        except Damaged as damage:
            is_cut = is_stream and "the file ends" in str(damage)
            if key is not None:
                yield offset, sample
            yield at, None
            if is_cut:
                return
            at, key = next_header(data, at + BLOCK), None
            continue
        if member is None:
            break
        start = at
        name, content, at = member
        folder, slash, base = name.decode().rpartition("/")
        stem, dot, ending = base.partition(".")
        stem = folder + slash + stem
        if not dot:
            continue  # of no sample
        if stem != key:
            if key is not None:
                yield offset, sample
            offset, key, sample = start, stem, {"__key__": stem.encode()}
        sample.setdefault(ending.lower(), content)
    if key is not None:
        yield offset, sample


# ---- text ----


def csv_rows(data):
    """Rows of cells behind the header, and the header."""
    rows = [row for row in csv.reader(io.StringIO(data.decode(), newline="")) if row]
    return rows[0], rows[1:]


def csv_cell(text, dtype):
    is_missing = text.strip(" \t") in ("", "NA", "nan", "NULL")
    try:
        if dtype == "text":
            return text.encode()
        if dtype == "int64":
            return int(text)
        return math.nan if is_missing else float(text)
    except ValueError:
        raise Damaged(text) from None


def json_value(line, name, spec):
    """The value of one field of a line; a spec is (type, default)."""
    dtype, default = spec
    try:
        value = json.loads(line)[name]
    except KeyError:
        value = None
    except ValueError as error:
        raise Damaged(str(error)) from None
    value = default if value is None else value
    is_list, wanted = dtype.startswith("list of "), {"int64": int, "text": str}[dtype.split()[-1]]
    if is_list != isinstance(value, list):
        raise Damaged(f"{name} is {value}")
    if any(type(item) is not wanted for item in (value if is_list else [value])):
        raise Damaged(f"{name} is {value}")
    return each(str.encode, value) if wanted is str else value


# ---- arrays ----


def npy_rows(data):
    """dtype as NumPy writes it, and the rows along the first dimension."""
    (size,) = struct.unpack_from("<H", data, 8)
    head = ast.literal_eval(data[10 : 10 + size].decode())
    return head["descr"], array_rows(data[10 + size :], head["descr"], head["shape"])


def array_rows(data, descr, shape):
    order, code, width = descr[0], descr[1], int(descr[2:])
    if code == "S":
        items = [data[i : i + width].rstrip(b"\0") for i in range(0, len(data), width)]
    else:
        letter = {"i1": "b", "i2": "h", "i4": "i", "i8": "q"}
        letter |= {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f4": "f", "f8": "d"}
        form = order.replace("|", "<") + letter[f"{code}{width}"]
        items = [item for (item,) in struct.iter_unpack(form, data)]
    for n in reversed(shape[1:]):
        items = [items[i : i + n] for i in range(0, len(items), n)]
    return items


def hdf5_rows(data):
    """The rows of the one dataset of a file that written.hdf5 wrote; those of a chunk that does not
    inflate are damaged. Headers are passed over: where things are is known."""
    n, width, chunk, n_chunks = struct.unpack_from("<4Q", data, len(data) - 32)
    entry = len(data) - 32 - 16 * n_chunks
    for i in range(n_chunks):
        address, size = struct.unpack_from("<2Q", data, entry + 16 * i)
        try:
            numbers = zlib.decompress(data[address : address + size])
            rows = array_rows(numbers, "<i8", (chunk, width))
        except zlib.error:
            rows = [None] * chunk
        yield from rows[: n - i * chunk]
