# SPDX-License-Identifier: Apache-2.0
"""Ops on texts, as field_ops.py has those on arrays: change(fields, …) are the fields after it."""

import re
import string

from .bits import MASK64
from .expression import RowError, Value, bounds, each, round_float32
from .field_ops import is_bytes, is_integers, picked, put

BLANK = b" \t\n\v\f\r"


# ---- texts to texts ----


def text_change(fields, field, into, change):
    target = picked(fields, field, is_bytes)
    return put(fields, target, into, Value("bytes", each(change, fields[target].data)))


def change_case(data, letters, others, convert):
    if convert is None:
        return data.translate(bytes.maketrans(letters.encode(), others.encode()))
    return "".join(map(convert, data.decode())).encode()


def text_lower(fields, field=None, encoding="", into=None):
    convert = str.lower if encoding else None
    letters = string.ascii_uppercase, string.ascii_lowercase
    return text_change(fields, field, into, lambda data: change_case(data, *letters, convert))


def text_upper(fields, field=None, encoding="", into=None):
    convert = str.upper if encoding else None
    letters = string.ascii_lowercase, string.ascii_uppercase
    return text_change(fields, field, into, lambda data: change_case(data, *letters, convert))


def text_strip(fields, chars=None, field=None, into=None):
    taken = BLANK if chars is None else chars.encode()
    return text_change(fields, field, into, lambda data: data.strip(taken))


def text_join(fields, names, sep="", into=None):
    data = [fields[name].data for name in names]
    texts = [text for one in data for text in (one if isinstance(one, list) else [one])]
    return put(fields, names[0], into, Value("bytes", sep.encode().join(texts)))


def pieces(data, sep, maxsplit=-1):
    return data.split(sep.encode() or None, maxsplit)


def text_split(fields, sep, into=None, maxsplit=-1, missing=None, field=None):
    target = picked(fields, field, is_bytes)
    found = pieces(fields[target].data, sep, maxsplit)
    if into is None:
        return {**fields, target: Value("bytes", found)}
    if len(found) > len(into) or (len(found) < len(into) and missing is None):
        raise RowError("another number of pieces")
    found += [(missing or "").encode()] * (len(into) - len(found))
    return {**fields, **{name: Value("bytes", data) for name, data in zip(into, found)}}


# RE2 and PCRE2 mean the same by what random chains use, and so does Python.


def text_regex_replace(fields, pattern, rewrite, replace_global=True, field=None, into=None):
    parts = re.split(r"(\\.)", rewrite)

    def made(found):
        out = ""
        for part in parts:
            if part == "\\\\":
                out += "\\"
            else:
                out += found[int(part[1:])] or "" if part[:1] == "\\" else part
        return out

    def change(data):
        """An empty match right behind another match does not count."""
        data = data.decode()
        out, at, last_end = "", 0, None
        for found in re.finditer(pattern, data):
            if found.start() == found.end() == last_end:
                continue
            out += data[at : found.start()] + made(found)
            at = last_end = found.end()
            if not replace_global:
                break
        return (out + data[at:]).encode()

    return text_change(fields, field, into, change)


def text_regex_full_match(fields, pattern, field=None, into=None):
    target = picked(fields, field, is_bytes)
    found = each(lambda data: bool(re.fullmatch(pattern, data.decode())), fields[target].data)
    return put(fields, target, into, Value("bool", found))


# ---- texts to numbers ----


def values_of(fields, field, sep, into, dtype, make):
    """make(text), or a list of those of the pieces, or of the texts of a list."""
    target = picked(fields, field, is_bytes)
    data = fields[target].data
    if sep is None:
        return put(fields, target, into, Value(dtype, each(make, data)))
    found = [make(piece) for piece in pieces(data, sep)] if data else []
    return put(fields, target, into, Value(dtype, found))


def text_to_number(fields, dtype="float32", field=None, sep=None, into=None):
    def make(data):
        text = data.strip(BLANK).decode()
        if dtype.startswith("float"):
            if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
                raise RowError("no number")
            return round_float32(float(text)) if dtype == "float32" else float(text)
        if not re.fullmatch(r"[+-]?\d+", text):
            raise RowError("no number")
        low, high = bounds(dtype)
        if not low <= int(text) <= high:
            raise RowError("out of range")
        return int(text)

    return values_of(fields, field, sep, into, dtype, make)


def text_to_hash_bucket(fields, num_buckets, field=None, sep=None, into=None):
    return values_of(fields, field, sep, into, "int64", lambda data: fingerprint(data) % num_buckets)


def lookup(fields, vocab, field=None, default=-1, oov=0, sep=None, into=None):
    target = picked(fields, field, lambda value: is_bytes(value) or is_integers(value))

    def number(term, text):
        if term in vocab:
            return vocab.index(term)
        if oov:
            return len(vocab) + fingerprint(text) % oov
        if default is None:
            raise RowError("not in the vocabulary")
        return default

    if not is_bytes(fields[target]):
        numbers = each(lambda item: number(item, str(item).encode()), fields[target].data)
        return put(fields, target, into, Value("int64", numbers))
    return values_of(fields, target, sep, into, "int64", lambda data: number(data.decode(), data))


# ---- FarmHash's Fingerprint64 ----

K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def word(data, at, size=8):
    at = at + len(data) if at < 0 else at
    return int.from_bytes(data[at : at + size], "little")


def turn(value, bits):
    value &= MASK64
    return (value >> bits | value << 64 - bits) & MASK64


def fold(value):
    value &= MASK64
    return value ^ value >> 47


def join(a, b, factor):
    once = fold(((a ^ b) & MASK64) * factor)
    return fold(((b ^ once) & MASK64) * factor) * factor & MASK64


def stir(data, a, b):
    a += word(data, 0)
    b = turn(b + a + word(data, 24), 21)
    whole = a + word(data, 8) + word(data, 16)
    return whole + word(data, 24), b + turn(whole, 44) + a


def fingerprint(data):
    n = len(data)
    factor = K2 + 2 * n
    if n > 64:
        return long_fingerprint(data)
    if n > 16:
        a, b = word(data, 0) * (K1 if n <= 32 else K2), word(data, 8)
        c, d = word(data, -8) * factor, word(data, -16) * K2
        first, second = turn(a + b, 43) + turn(c, 30) + d, a + turn(b + K2, 18) + c
        mixed = join(first, second, factor)
        if n <= 32:
            return mixed
        e, f = word(data, 16) * factor, word(data, 24)
        g, h = (first + word(data, -32)) * factor, (mixed + word(data, -24)) * factor
        return join(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, factor)
    if n >= 8:
        a, b = word(data, 0) + K2, word(data, -8)
        return join(turn(b, 37) * factor + a, (turn(a, 25) + b) * factor, factor)
    if n >= 4:
        return join(n + (word(data, 0, 4) << 3), word(data, -4, 4), factor)
    if n == 0:
        return K2
    a, b = data[0] + (data[n // 2] << 8), n + (data[-1] << 2)
    return fold(a * K2 ^ b * K0) * K2 & MASK64


def long_fingerprint(data):
    x, y = 81 * K2 + word(data, 0), 81 * K1 + 113
    z = fold(y * K2 + 113) * K2
    v, w = (0, 0), (0, 0)
    end = (len(data) - 1) // 64 * 64
    blocks = [data[at : at + 64] for at in range(0, end, 64)] + [data[-64:]]
    for number, block in enumerate(blocks):
        factor, weight = K1, 1
        if number == len(blocks) - 1:
            factor, weight = K1 + ((z & 0xFF) << 1), 9
            w = w[0] + (len(data) - 1) % 64, w[1]
            v = v[0] + w[0], v[1]
            w = w[0] + v[0], w[1]
        x = turn(x + y + v[0] + word(block, 8), 37) * factor
        y = turn(y + v[1] + word(block, 48), 42) * factor
        x ^= w[1] * weight & MASK64
        y += v[0] * weight + word(block, 40)
        z = turn(z + w[0], 33) * factor
        v = stir(block, v[1] * factor, x + w[0])
        w = stir(block[32:], z + w[1], y + word(block, 16))
        x, z = z & MASK64, x & MASK64
    both = join(v[0], w[0], factor) + fold(y) * K0 + z, join(v[1], w[1], factor) + x
    return join(*both, factor)


NAMES = """text_lower text_upper text_strip text_join text_split text_regex_replace
text_regex_full_match text_to_number text_to_hash_bucket lookup"""
CHANGES = {name: globals()[name] for name in NAMES.split()}
