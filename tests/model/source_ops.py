# SPDX-License-Identifier: Apache-2.0
"""The meaning of sources: tables, and files of every format. See model.py."""

import gzip
import io
import pathlib
import zipfile
from dataclasses import replace

from . import expression, file_formats, language
from .expression import Value
from .nodes import leaves, source_row


def op_range(node, path, start, stop=None, step=1):
    """range(5), range(2, 9), range(9, 2, -3): one int64 field x, as Python's range."""
    first, end = (0, start) if stop is None else (start, stop)
    for index, x in enumerate(range(first, end, step)):
        yield source_row(node, path, index, {"x": Value("int64", x)}, f"range, element {index}")


def op_values(node, path, fields):
    """values({a: [1, 2], b: ['p', 'q']}): a row for each index. Ints are int64, strings bytes, and
    a list with a real in it float32. Items may be lists: arrays, or ragged where lengths differ;
    those of strings are lists of texts."""
    for index in range(len(next(iter(fields.values())))):
        row = {name: cell(column, index) for name, column in fields.items()}
        yield source_row(node, path, index, row, f"values, element {index}")


def cell(column, index):
    """One value of a table; its type is that of the whole column."""
    kinds = {type(leaf) for leaf in leaves(column)}
    if kinds == {str}:
        return Value("bytes", expression.each(str.encode, column[index]))
    dtype = "bool" if kinds == {bool} else "int64" if kinds == {int} else "float32"
    return expression.adapt(Value(None, column[index]), dtype)


def op_files(node, path, pattern, labels=None):
    """files(['b.txt', 'a.txt'], labels=[1, 0]): each name once, sorted, with its label. Whether
    a file exists is noticed by read. Patterns are not modelled."""
    label_of = dict(zip(pattern, labels or [], strict=False))
    for index, name in enumerate(sorted(set(pattern), key=str.encode)):
        fields = {"path": Value("bytes", name.encode())}
        if labels is not None:
            fields["label"] = Value("int64", label_of[name])
        yield source_row(node, path, index, fields, name)


def op_image_folder(node, path, folder):
    """image_folder('train'): the files of each class, of which the directories are the names."""
    folder = pathlib.Path(folder)
    classes = sorted(child.name for child in folder.iterdir())
    names = [str(child) for child in folder.glob("*/*")]
    for index, name in enumerate(sorted(names, key=str.encode)):
        label = classes.index(pathlib.Path(name).parent.name)
        fields = {"path": Value("bytes", name.encode()), "label": Value("int64", label)}
        yield source_row(node, path, index, fields, name)


def op_generator(node, path, name):
    """generator(@rows): what a function of the program gives, one field of texts or int64."""
    make, spec = node.run.objects[name.removeprefix("@")]
    ((field, _),) = spec.items()
    for index, item in enumerate(make()):
        value = Value("bytes", item.encode()) if isinstance(item, str) else Value("int64", item)
        yield source_row(node, path, index, {field: value}, f"{name}, element {index}")


def file_names(file):
    return [file] if isinstance(file, str) else file


def unpacked(name, compression="auto"):
    """The bytes of a file, and whether it can only be read from front to back. gzip alone."""
    data = pathlib.Path(name).read_bytes()
    is_packed = compression == "gzip" or (compression == "auto" and data[:2] == b"\x1f\x8b")
    return (gzip.decompress(data), True) if is_packed else (data, False)


def op_lines(node, path, file, compression="auto"):
    """lines('a.txt'), lines(['a.txt', 'b.txt']): a row for each line, without the \\n or \\r\\n.
    Compressed files: gzip alone."""
    index = 0
    for name in file_names(file):
        *ended, last = unpacked(name, compression)[0].split(b"\n")
        lines = [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])
        for number, line in enumerate(lines, start=1):
            fields = {"text": Value("bytes", line)}
            yield source_row(node, path, index, fields, f"{name}, line {number}")
            index += 1


class InOrder(str):
    """The name of a file that is read from front to back, whatever it is."""


def record_rows(node, path, file, elements, noun):
    """Rows of files, counted through. elements(data, is_stream) are (offset, fields) of one file;
    fields is None where the element is damaged. One packed file makes a stream of all."""
    compression = node.kwargs.get("compression", "auto")
    files = [(name, *unpacked(name, compression)) for name in file_names(file)]
    is_stream = any(is_packed for _, _, is_packed in files) or isinstance(file, InOrder)
    index = 0
    for name, data, _ in files:
        for number, (offset, fields) in enumerate(elements(data, is_stream)):
            where = f"{name}, {noun} {number}"
            if offset is not None and not is_stream:
                where += f" at byte {offset}"
            row = source_row(node, path, index, fields or {}, where)
            yield row if fields is not None else replace(row, bad="damaged")
            index += 1


def fields_or_none(make, *args):
    """What make gives, or None if an element is damaged."""
    try:
        return make(*args)
    except file_formats.Damaged:
        return None


def op_tfrecord(node, path, file, compression="auto"):
    """tfrecord('a.tfrecord'): a field record (bytes)."""

    def elements(data, is_stream):
        for offset, content in file_formats.tfrecords(data):
            yield offset, None if content is None else {"record": Value("bytes", content)}

    return record_rows(node, path, file, elements, "record")


def op_tar(node, path, file, fields):
    """tar('a.tar', {t: 'txt', n: 'cls'}): a field for each ending; cls is a number."""

    def make(sample):
        out = {}
        for name, ending in fields.items():
            if ending not in sample:
                raise file_formats.Damaged(ending)
            out[name] = Value("bytes", sample[ending])
            if ending == "cls":
                text = sample[ending].rstrip()
                if not text.removeprefix(b"-").isdigit():
                    raise file_formats.Damaged(text)
                out[name] = Value("int64", int(text))
        return out

    def elements(data, is_stream):
        for offset, sample in file_formats.tar_samples(data, is_stream):
            yield offset, None if sample is None else fields_or_none(make, sample)

    return record_rows(node, path, file, elements, "sample")


def op_csv(node, path, file, columns):
    """csv('a.csv', {i: int64, r: float32}): columns by their names in the first row."""

    def make(header, row):
        if len(row) != len(header):
            raise file_formats.Damaged("another number of cells")
        cells = {name: file_formats.csv_cell(row[header.index(name)], t) for name, t in columns.items()}
        return {name: typed(cell, columns[name]) for name, cell in cells.items()}

    def elements(data, is_stream):
        header, found = file_formats.csv_rows(data)
        for row in found:
            yield None, fields_or_none(make, header, row)

    return record_rows(node, path, file, elements, "row")


def typed(item, dtype):
    dtype = "bytes" if dtype == "text" else dtype
    rounds = dtype == "float32"
    return Value(dtype, expression.round_float32(item) if rounds else item)


def op_jsonl(node, path, file, fields):
    """jsonl('a.jsonl', {i: int64, s: value('s', text, 'none'), l: list('l', int64)}): a row for
    each line that is not blank. Rows of a stream are numbered as its lines are, blank ones too."""
    files = [(name, *unpacked(name)) for name in file_names(file)]
    is_stream = any(is_packed for _, _, is_packed in files) or isinstance(file, InOrder)
    index = 0
    for name, data, _ in files:
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
            if line.strip():
                row = source_row(node, path, index, {}, f"{name}, line {number}")
                found = fields_or_none(json_fields, line, fields)
                yield replace(row, bad="damaged") if found is None else replace(row, fields=found)
            index += is_stream or bool(line.strip())


def json_fields(line, fields):
    out = {}
    for name, spec in fields.items():
        kind, default = spec, None
        if isinstance(spec, language.Chain):
            call = spec.calls[0]
            kind = str(call.args[1])
            kind = f"list of {kind}" if call.name == "list" else kind
            default = call.args[2] if len(call.args) > 2 else None
        value = file_formats.json_value(line, name, (str(kind), default))
        out[name] = Value("bytes" if kind.endswith("text") else "int64", value)
    return out


def op_fixed_length(node, path, file, record_bytes, header=0, footer=0, compression="none"):
    def elements(data, is_stream):
        for at in range(header, len(data) - footer, record_bytes):
            yield at, {"record": Value("bytes", data[at : at + record_bytes])}

    return record_rows(node, path, file, elements, "record")


def array_values(data):
    """The rows of an array file."""
    descr, items = file_formats.npy_rows(data)
    kind = {"i": "int", "u": "uint", "f": "float", "S": "bytes"}[descr[1]]
    dtype = kind if kind == "bytes" else f"{kind}{8 * int(descr[2:])}"
    return [Value(dtype, item) for item in items]


def op_npy(node, path, file, field="data"):
    def elements(data, is_stream):
        for value in array_values(data):
            yield None, {field: value}

    return record_rows(node, path, file, elements, "row")


def op_npz(node, path, file, fields):
    """npz('a.npz', {x: a}): the arrays that are named."""

    def elements(data, is_stream):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            columns = [array_values(archive.read(f"{name}.npy")) for name in fields.values()]
        for items in zip(*columns):
            yield None, dict(zip(fields, items))

    return record_rows(node, path, file, elements, "row")


def op_hdf5(node, path, file, hold=0):
    """hdf5('a.h5'): of files with one dataset x of int64."""

    def elements(data, is_stream):
        for row in file_formats.hdf5_rows(data):
            yield None, None if row is None else {"x": Value("int64", row)}

    return record_rows(node, path, file, elements, "row")
