# SPDX-License-Identifier: Apache-2.0
"""The meaning of every op that needs no pixels, as generators over rows.

A chain is a tree of nodes; rows(node, path) are the rows it yields in one pass. `path` says which
pass: the iterator's epoch e gives mix(0, e), and each repeat on the way down to the source gives
mix(path, r) for its r-th pass. Whatever depends on the pass (a shuffle, the keys that feed random
numbers) depends on nothing but the path and the run's seed, so it does not matter who computes a
row, or when.

A row that cannot be made is bad: it carries a message instead of fields and travels like any other.
It is judged once, in order, by the last batch of the chain, or by the consumer if there is none:
see Judge.
"""

import dataclasses
import gzip
import itertools
import pathlib
import struct
from dataclasses import dataclass, replace

from . import example, expression, field_ops, formats, language, text_ops
from .bits import MASK64, below, hash_bytes, key_join, key_make, mix, permute
from .expression import Value

SPLIT_SALT = 0x73706C6974
MAX_TRIES = 16
MIN_JUDGED = 100
BATCHES = {
    "batch",
    "bucket_by_length",
    "group_by_window",
    "padded_batch",
    "ragged_batch",
    "rebatch",
    "window",
}
WORDS = {"none": None, "true": True, "false": False}


@dataclass(frozen=True)
class Row:
    """One element. `origin` has a text for each source row in it: one, or those of a batch."""

    fields: dict
    key: tuple
    origin: tuple
    bad: str = None


@dataclass
class Node:
    """One call of a chain with the nodes that feed it."""

    name: str
    ordinal: int
    inputs: list
    args: list
    kwargs: dict
    run: "Run"

    @property
    def seed(self):
        return mix(self.run.seed, self.ordinal)


class Failure(Exception):
    """Ends the run: the message is what the consumer is told."""


def rows(node, path):
    return OPS[node.name](node, path, *node.args, **node.kwargs)


def build(chain, run):
    """A chain as nodes; chains among the arguments, and in lists, become further inputs."""
    node = None
    for call in chain.calls:
        chains = [chain for arg in call.args for chain in chains_in(arg)]
        inputs = ([node] if node else []) + [build(chain, run) for chain in chains]
        args = [plain(arg) for arg in call.args if not chains_in(arg)]
        kwargs = {name: plain(value) for name, value in call.kwargs.items()}
        if call.name == "rebatch":
            inputs = [Node("unbatch", call.ordinal, inputs, [], {}, run)]
        node = Node(call.name, call.ordinal, inputs, args, kwargs, run)
    return node


def chains_in(value):
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, language.Chain)]


def plain(value):
    """Words as what they stand for."""
    if isinstance(value, language.Word):
        return WORDS.get(value, str(value))
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


# ---- sources ----


def source_row(node, path, index, fields, origin):
    return Row(fields, key_make(node.ordinal, path, index), (origin,))


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


def leaves(item):
    return [x for part in item for x in leaves(part)] if isinstance(item, list) else [item]


def op_files(node, path, pattern, labels=None):
    """files(['b.txt', 'a.txt'], labels=[1, 0]): each name once, sorted, with its label. Whether
    a file exists is noticed by read. Patterns are not modelled."""
    label_of = dict(zip(pattern, labels or [], strict=False))
    for index, name in enumerate(sorted(set(pattern), key=str.encode)):
        fields = {"path": Value("bytes", name.encode())}
        if labels is not None:
            fields["label"] = Value("int64", label_of[name])
        yield source_row(node, path, index, fields, name)


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
    except formats.Damaged:
        return None


def op_tfrecord(node, path, file, compression="auto"):
    """tfrecord('a.tfrecord'): a field record (bytes)."""

    def elements(data, is_stream):
        for offset, content in formats.tfrecords(data):
            yield offset, None if content is None else {"record": Value("bytes", content)}

    return record_rows(node, path, file, elements, "record")


def op_tar(node, path, file, fields):
    """tar('a.tar', {t: 'txt', n: 'cls'}): a field for each ending; cls is a number."""

    def make(sample):
        out = {}
        for name, ending in fields.items():
            if ending not in sample:
                raise formats.Damaged(ending)
            out[name] = Value("bytes", sample[ending])
            if ending == "cls":
                text = sample[ending].rstrip()
                if not text.removeprefix(b"-").isdigit():
                    raise formats.Damaged(text)
                out[name] = Value("int64", int(text))
        return out

    def elements(data, is_stream):
        for offset, sample in formats.tar_samples(data, is_stream):
            yield offset, None if sample is None else fields_or_none(make, sample)

    return record_rows(node, path, file, elements, "sample")


def op_csv(node, path, file, columns):
    """csv('a.csv', {i: int64, r: float32}): columns by their names in the first row."""

    def make(header, row):
        if len(row) != len(header):
            raise formats.Damaged("another number of cells")
        cells = {name: formats.csv_cell(row[header.index(name)], t) for name, t in columns.items()}
        return {name: typed(cell, columns[name]) for name, cell in cells.items()}

    def elements(data, is_stream):
        header, found = formats.csv_rows(data)
        for row in found:
            yield None, fields_or_none(make, header, row)

    return record_rows(node, path, file, elements, "row")


def typed(item, dtype):
    dtype = "bytes" if dtype == "text" else dtype
    rounds = dtype == "float32"
    return Value(dtype, expression.round_float32(item) if rounds else item)


def op_jsonl(node, path, file, fields):
    """jsonl('a.jsonl', {i: int64, s: value('s', text, 'none'), l: list('l', int64)}): a row for
    each line that is not blank; its number counts blank ones."""
    index = 0
    for name in file_names(file):
        data, _ = unpacked(name)
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                row = source_row(node, path, index, {}, f"{name}, line {number}")
                found = fields_or_none(json_fields, line, fields)
                yield replace(row, bad="damaged") if found is None else replace(row, fields=found)
            index += 1


def json_fields(line, fields):
    out = {}
    for name, spec in fields.items():
        kind, default = spec, None
        if isinstance(spec, language.Chain):
            call = spec.calls[0]
            kind = str(call.args[1])
            kind = f"list of {kind}" if call.name == "list" else kind
            default = call.args[2] if len(call.args) > 2 else None
        value = formats.json_value(line, name, (str(kind), default))
        out[name] = Value("bytes" if kind.endswith("text") else "int64", value)
    return out


def op_fixed_length(node, path, file, record_bytes, header=0, footer=0, compression="none"):
    def elements(data, is_stream):
        for at in range(header, len(data) - footer, record_bytes):
            yield at, {"record": Value("bytes", data[at : at + record_bytes])}

    return record_rows(node, path, file, elements, "record")


def op_npy(node, path, file, field="data"):
    dtypes = {"i": "int", "u": "uint", "f": "float"}

    def elements(data, is_stream):
        descr, items = formats.npy_rows(data)
        code, width = descr[1], int(descr[2:])
        dtype = "bytes" if code == "S" else f"{dtypes[code]}{8 * width}"
        for item in items:
            yield None, {field: Value(dtype, item)}

    return record_rows(node, path, file, elements, "row")


def op_hdf5(node, path, file, hold=0):
    """hdf5('a.h5'): of files with one dataset x of int64."""

    def elements(data, is_stream):
        for row in formats.hdf5_rows(data):
            yield None, None if row is None else {"x": Value("int64", row)}

    return record_rows(node, path, file, elements, "row")


# ---- one row in, one row out (or none) ----


def each_good_row(node, path, change):
    """Applies change(fields) → fields to good rows; bad rows pass untouched."""
    for row in rows(node.inputs[0], path):
        if row.bad:
            yield row
            continue
        try:
            yield replace(row, fields=change(row.fields))
        except expression.RowError as error:
            yield replace(row, fields={}, bad=str(error))


def only_field(fields, wanted):
    names = [name for name, value in fields.items() if wanted(value)]
    if len(names) != 1:
        raise TypeError(f"which field is meant: {', '.join(names)}?")
    return names[0]


def op_read(node, path, field=None):
    """Replaces a path by the bytes of the file it names; the field path becomes the field bytes."""

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        try:
            data = pathlib.Path(fields[target].data.decode()).read_bytes()
        except OSError as error:
            raise expression.RowError(error.strerror) from None
        renamed = {"path": "bytes"}.get(target, target)
        changed = {**fields, target: Value("bytes", data)}
        return {renamed if name == target else name: value for name, value in changed.items()}

    return each_good_row(node, path, change)


def op_map(node, path, text):
    return each_good_row(node, path, lambda fields: expression.assign(text, fields))


def op_filter(node, path, text):
    """Keeps rows for which the condition holds, and bad rows: they are judged later."""
    for row in rows(node.inputs[0], path):
        try:
            if row.bad or expression.predicate(text, row.fields):
                yield row
        except expression.RowError as error:
            yield replace(row, fields={}, bad=str(error))


def op_select(node, path, *names):
    """select(b, a): these fields, in this order."""
    return each_good_row(node, path, lambda fields: {name: fields[name] for name in names})


def op_rename(node, path, names):
    """rename({old: new}): the field stays in its place."""

    def change(fields):
        return {names.get(name, name): value for name, value in fields.items()}

    return each_good_row(node, path, change)


def op_cast(node, path, dtype, field=None):
    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype != "bytes")
        return {**fields, target: expression.convert(fields[target], dtype)}

    return each_good_row(node, path, change)


def op_scale(node, path, factor, offset=0, field=None, dtype="float32"):
    """x * factor + offset in float32, each operation rounded; then a cast."""
    f32 = expression.round_float32

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype != "bytes")
        data = expression.each(
            lambda x: f32(f32(f32(x) * f32(factor)) + f32(offset)), fields[target].data
        )
        return {**fields, target: expression.convert(Value("float32", data), dtype)}

    return each_good_row(node, path, change)


def replaced(fields, target, new):
    """New fields in the place of one."""
    out = {}
    for name, value in fields.items():
        out.update(new if name == target else {name: value})
    return out


def op_parse_example(node, path, features, field=None):
    """A record becomes the fields of the map."""

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        found = example.read(fields[target].data)
        new = {name: example.field(found, name, spec) for name, spec in features.items()}
        return replaced(fields, target, new)

    return each_good_row(node, path, change)


def op_decode_raw(node, path, dtype, little_endian=True, shape=None, field=None):
    """Bytes as numbers, low byte first or last."""
    code = {"uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "int32": "i", "bool": "?"}[dtype]
    order = "<" if little_endian else ">"

    def change(fields):
        target = field or only_field(fields, lambda value: value.dtype == "bytes")
        data = fields[target].data
        if len(data) % struct.calcsize(order + code):
            raise expression.RowError("half a value")
        numbers = [number for (number,) in struct.iter_unpack(order + code, data)]
        if shape is not None and len(numbers) != shape:
            raise expression.RowError("another number of values")
        return {**fields, target: Value(str(dtype), numbers)}

    return each_good_row(node, path, change)


# ---- order: which rows, and when; a bad row is a row ----


def op_shuffle(node, path, buffer_size=None, seed=None, reshuffle_each_iteration=True):
    """Without a buffer size a permutation of everything, else draws from a buffer kept full."""
    key = mix(mix(node.seed, (seed or 0) & MASK64), path if reshuffle_each_iteration else 0)
    if buffer_size is None:
        everything = list(rows(node.inputs[0], path))
        for position in range(len(everything)):
            yield everything[permute(len(everything), key, position)]
        return
    held = []
    draws = itertools.count()
    for row in rows(node.inputs[0], path):
        if len(held) < buffer_size:
            held.append(row)
            continue
        pick = below(mix(key, next(draws)), len(held))
        yield held[pick]
        held[pick] = row
    while held:
        pick = below(mix(key, next(draws)), len(held))
        yield held[pick]
        held[pick] = held[-1]
        held.pop()


def op_repeat(node, path, count=None):
    """count passes; without a count (or a negative one) for ever, until a pass is empty."""
    is_endless = count is None or count < 0
    for r in itertools.count() if is_endless else range(count):
        is_empty = True
        for row in rows(node.inputs[0], mix(path, r)):
            is_empty = False
            yield row
        if is_empty and is_endless or node.run.failure:
            return


def op_take(node, path, count):
    """The first rows; a negative count means all. Asks for no row after the last one it yields."""
    if count == 0:
        return
    for index, row in enumerate(rows(node.inputs[0], path)):
        yield row
        if index + 1 == count:
            node.run.failure = None  # a break behind the last row is nobody's
            return


def op_skip(node, path, count):
    """All but the first rows; a negative count leaves none."""
    for index, row in enumerate(rows(node.inputs[0], path)):
        if 0 <= count <= index:
            yield row


def op_shard(node, path, num_shards=None, index=None, remainder="uneven"):
    """Every num_shards-th row; without numbers, those of the run's world and rank."""
    if num_shards is None:
        num_shards, index = node.run.world, node.run.rank
    if remainder != "uneven":
        everything = list(rows(node.inputs[0], path))
        while remainder == "drop" and len(everything) % num_shards:
            everything.pop()
        first = everything[:]
        while remainder == "pad" and len(everything) % num_shards:
            everything.append(first[len(everything) % len(first)])
        yield from everything[index::num_shards]
        return
    for position, row in enumerate(rows(node.inputs[0], path)):
        if position % num_shards == index:
            yield row


def op_zip(node, path):
    """Rows side by side until the shortest input ends; bad if one of them is."""
    for parts in zip(*(rows(chain, path) for chain in node.inputs)):
        row = parts[0]
        for part in parts[1:]:
            row = Row(
                fields={**row.fields, **part.fields},
                key=key_join(row.key, part.key),
                origin=row.origin,
                bad=row.bad or part.bad,
            )
        yield row


def op_concatenate(node, path):
    for chain in node.inputs:
        yield from rows(chain, path)


def op_split(node, path, fractions, part=0, seed=None, by=None):
    """One part of the rows. Without `by` sizes are exact and a permutation deals rows out; with it,
    the value of a field decides, so that equal values stay together, and order is kept."""
    salt = mix(SPLIT_SALT, (seed or 0) & MASK64)
    sums = [0.0, *itertools.accumulate(fractions)]
    if by is not None:
        for row in rows(node.inputs[0], path):
            x = (mix(salt, hash_bytes(0, raw(row.fields[by]))) >> 11) * 2.0**-53
            if sums[part] <= x < sums[part + 1]:
                yield row
        return
    everything = list(rows(node.inputs[0], path))
    n = len(everything)
    first, end = (min(n, int(n * sums[p] + 0.5)) for p in (part, part + 1))
    for position in range(first, end):
        yield everything[permute(n, salt, position)]


def raw(value):
    """The bytes of a value as they lie in memory."""
    if value.dtype == "bytes":
        return blob(value.data) if isinstance(value.data, list) else value.data
    code = {"int64": "<q", "int32": "<i", "uint8": "<B", "bool": "<?", "float32": "<f"}[value.dtype]
    return b"".join(struct.pack(code, number) for number in leaves(value.data))


def blob(texts):
    """A list of texts: their number, where each begins, where the last ends; and then the texts."""
    ends = list(itertools.accumulate(map(len, texts), initial=0))
    head = struct.pack(f"<{len(ends) + 1}q", len(texts), *ends)
    return head + b"\0" * (-len(head) % 64) + b"".join(texts)


# ---- batches, and what becomes of bad rows ----


def incoming(node, path, refuse):
    """The rows of a batch op's input; refuse(fields) says why one of them cannot be taken. The last
    batch op of the chain judges them; an earlier one passes a bad row on in its place."""
    judge = node.run.new_judge() if node is node.run.judge_node else None
    source = rows(node.inputs[0], path)
    if refuse:
        source = (refused(row, refuse) for row in source)
    yield from judge.good_rows(source) if judge else source
    if judge and judge.is_fraction_exceeded():
        node.run.failure = judge.fraction_failure()


def refused(row, refuse):
    why = None if row.bad else refuse(row.fields)
    return replace(row, fields={}, bad=why) if why else row


@dataclass
class Group:
    """Rows that wait to become an element: size of them, every stride-th."""

    size: int
    shift: int
    stride: int = 1
    held: list = dataclasses.field(default_factory=list)
    to_skip: int = 0

    @property
    def span(self):
        return (self.size - 1) * self.stride + 1

    def take(self):
        """The rows of the next element; the one after it begins `shift` rows later."""
        taken = self.held[: self.span : self.stride]
        self.to_skip = max(0, self.shift - len(self.held))
        del self.held[: self.shift]
        return taken


def gathered(node, path, group_of, join, drop_remainder, refuse=None, is_sorted=False):
    """Elements made of rows: group_of(fields) are a name and how to make its Group."""
    groups = {}
    try:
        for row in incoming(node, path, refuse):
            if row.bad:
                yield row
                continue
            name, make = group_of(row.fields)
            group = groups[name] = groups.get(name) or make()
            if group.to_skip:
                group.to_skip -= 1
                continue
            group.held.append(row)
            if len(group.held) == group.span:
                yield join(name, group.take())
    except Failure as failure:
        # The stream ends here: what follows finishes with what it has, then the run fails.
        node.run.failure = failure
        return
    for name in sorted(groups) if is_sorted else groups:
        while groups[name].held and not drop_remainder:
            yield join(name, groups[name].take())


def op_batch(node, path, batch_size, drop_remainder=False):
    """Runs of rows as one element with a new first dimension; the last run may be shorter."""
    return run_after_run(node, path, batch_size, drop_remainder, lambda name, held: stack(node, held))


def run_after_run(node, path, size, drop_remainder, join, refuse=None):
    def group_of(fields):
        return 0, lambda: Group(size, size)

    return gathered(node, path, group_of, join, drop_remainder, refuse)


def op_ragged_batch(node, path, batch_size, drop_remainder=False):
    return op_batch(node, path, batch_size, drop_remainder)


def op_padded_batch(
    node, path, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False
):
    """As batch; a dimension is as long as padded_shapes says, or as its longest in the batch."""
    return run_after_run(
        node,
        path,
        batch_size,
        drop_remainder,
        lambda name, held: padded(stack(node, held), padded_shapes, padding_values),
        lambda fields: too_large(fields, padded_shapes),
    )


def op_window(node, path, size, shift=None, stride=1, drop_remainder=False, by=None):
    """Runs of rows that may overlap; with `by` a sequence of them for each value of a field."""

    def group_of(fields):
        name = fields[by].data if by else 0
        return name, lambda: Group(size, shift or size, stride)

    return gathered(node, path, group_of, lambda name, held: stack(node, held), drop_remainder)


def op_group_by_window(node, path, key, window_size, drop_remainder=False):
    def group_of(fields):
        named = fields if key in fields else expression.assign(f"key = {key}", fields)
        value = named[key if key in fields else "key"].data
        return value, lambda: Group(window_size, window_size)

    def join(name, held):
        return stack(node, held)

    return gathered(node, path, group_of, join, drop_remainder, is_sorted=True)


def op_bucket_by_length(
    node, path, field, boundaries, batch_sizes, pad_to_bucket_boundary=False, drop_remainder=False
):
    """Batches of rows between two boundaries of length. To a boundary it pads `field` alone."""
    most = len(boundaries)

    def bucket_of(fields):
        length = len(fields[field].data)
        return sum(length >= boundary for boundary in boundaries)

    def group_of(fields):
        bucket = bucket_of(fields)
        return bucket, lambda: Group(batch_sizes[bucket], batch_sizes[bucket])

    def join(bucket, held):
        shapes = {field: [boundaries[bucket] - 1]} if pad_to_bucket_boundary else None
        return padded(stack(node, held), shapes, None)

    def refuse(fields):
        return "too long" if pad_to_bucket_boundary and bucket_of(fields) == most else None

    return gathered(node, path, group_of, join, drop_remainder, refuse, is_sorted=True)


def too_large(fields, shapes):
    for name, shape in (shapes or {}).items():
        box = measure(fields[name].data, [])
        if any(most is not None and n > most >= 0 for n, most in zip(box, shape)):
            return f"{name} is larger than its padded shape"
    return None


def measure(item, box, depth=0):
    """How long the lists are at each depth, at most."""
    if isinstance(item, list):
        if depth == len(box):
            box.append(0)
        box[depth] = max(box[depth], len(item))
        for part in item:
            measure(part, box, depth + 1)
    return box


def padded(element, shapes, values):
    fields = {}
    for name, value in element.fields.items():
        if isinstance(value.data[0], bytes):
            fields[name] = value
            continue
        box = measure(value.data, [])
        for d, most in enumerate((shapes or {}).get(name, [])):
            if most is not None and most >= 0:
                box[d + 1 : d + 2] = [most]
        filler = padding(value.dtype, values.get(name) if isinstance(values, dict) else values)
        fields[name] = Value(value.dtype, fill_box(value.data, box, filler))
    return replace(element, fields=fields)


def padding(dtype, value):
    """What fills boxes of this type; a string is for texts alone."""
    if dtype == "bytes":
        return (value or "").encode()
    number = 0 if isinstance(value, str) else value or 0
    return expression.convert(Value("int64", number), dtype).data


def fill_box(item, box, filler):
    """The item in a box of this shape; filler where it has nothing."""
    if not box:
        return filler if item is None else item
    parts = item or []
    return [
        fill_box(parts[i] if i < len(parts) else None, box[1:], filler) for i in range(box[0])
    ]


@dataclass
class CycledGroup(Group):
    """Of which every element has the next of these sizes, over and over."""

    sizes: list = None

    def take(self):
        taken = super().take()
        self.sizes = [*self.sizes[1:], self.sizes[0]]
        self.size = self.shift = self.sizes[0]
        return taken


def op_rebatch(node, path, batch_size, drop_remainder=False):
    """Batches of another size, or of several in turn; build puts unbatch before it."""
    sizes = batch_size if isinstance(batch_size, list) else [batch_size]

    def group_of(fields):
        return 0, lambda: CycledGroup(sizes[0], sizes[0], sizes=sizes)

    return gathered(node, path, group_of, lambda name, held: stack(node, held), drop_remainder)


def op_unbatch(node, path):
    """Entries of the first dimension as rows; those of a batch come from where its rows did."""
    for row in rows(node.inputs[0], path):
        if row.bad:
            yield row
            continue
        lengths = {len(value.data) for value in row.fields.values()}
        if len(lengths) > 1:
            yield replace(row, fields={}, bad="fields must be equally long")
            continue
        n = lengths.pop()
        for i in range(n):
            fields = {name: Value(v.dtype, v.data[i]) for name, v in row.fields.items()}
            origin = row.origin[i] if len(row.origin) == n else row.origin[0]
            yield Row(fields, key_make(*row.key, i), (origin,))


def stack(node, held):
    """A row of rows. Where one of them is a batch itself, the first of its rows stands for it."""
    fields = {
        name: Value(value.dtype, [row.fields[name].data for row in held])
        for name, value in held[0].fields.items()
    }
    key = key_make(*held[0].key, node.ordinal)
    return Row(fields, key, tuple(row.origin[0] for row in held))


def op_prefetch(node, path, buffer_size="auto"):
    """Changes when rows are made, never which."""
    return rows(node.inputs[0], path)


def op_cache(node, path, directory=None, compression="none"):
    """What comes before is in its first epoch for ever; what comes behind can tell epochs apart."""
    for row in rows(node.inputs[0], mix(0, 0)):
        yield replace(row, key=key_join(row.key, key_make(node.ordinal, path, 0)))


def by_row(change):
    """An op that changes good rows one by one."""

    def op(node, path, *args, **kwargs):
        return each_good_row(node, path, lambda fields: change(fields, *args, **kwargs))

    return op


def ops_of(names):
    return {name[3:]: function for name, function in names.items() if name.startswith("op_")}


from . import combining  # noqa: E402  it needs what is above

OPS = {**ops_of(globals()), **ops_of(vars(combining))}
for changes in (field_ops.CHANGES, text_ops.CHANGES):
    OPS.update((name, by_row(change)) for name, change in changes.items())


@dataclass
class Judge:
    """Decides about bad rows, in order: fail ends the run, skip drops the row, replace redraws it.

    Each pass of the batch that judges has a judge of its own. max_errors: an integer n lets n errors
    pass and fails at the next. A fraction f fails at a bad row once 100 rows were judged, or at the
    end of the pass, if more than f of its rows so far were bad.
    """

    on_error: str = "fail"
    max_errors: float = None
    n_judged: int = 0
    n_errors: int = 0

    def good_rows(self, source):
        if self.on_error == "replace":
            source = list(source)
        for row in source:
            self.n_judged += 1
            if row.bad:
                self.n_errors += 1
                self.check_limit(row)
                row = self.redraw(row, source) if self.on_error == "replace" else None
            if row:
                yield row

    def check_limit(self, row):
        limit = self.max_errors
        if self.on_error == "fail":
            raise Failure(row.bad)
        if isinstance(limit, int) and self.n_errors > limit:
            raise Failure(row.bad)
        if self.n_judged >= MIN_JUDGED and self.is_fraction_exceeded():
            raise self.fraction_failure()

    def is_fraction_exceeded(self):
        return isinstance(self.max_errors, float) and self.n_errors > self.max_errors * self.n_judged

    def fraction_failure(self):
        return Failure(f"{self.n_errors} of {self.n_judged} rows are bad")

    def redraw(self, bad, everything):
        """Another row of the same pass, chosen by the bad row's key: up to 16 tries."""
        for attempt in range(1, MAX_TRIES + 1):
            word = mix(mix(*bad.key), attempt)
            row = everything[below(word, len(everything))]
            if not row.bad:
                return row
        raise Failure(bad.bad)


@dataclass
class Run:
    """One iterator: a chain and its options. `delivered` and `error` are what the consumer sees."""

    text: str
    seed: int = 0
    epochs: int = 1
    rank: int = 0
    world: int = 1
    on_error: str = "fail"
    max_errors: float = None
    judge_node: Node = None
    failure: Exception = None
    delivered: list = dataclasses.field(default_factory=list)
    error: str = None

    def new_judge(self):
        return Judge(self.on_error, self.max_errors)

    def go(self):
        top = build(language.parse(self.text), self)
        self.judge_node = last_batch(top)
        try:
            for epoch in range(self.epochs):
                self.one_epoch(top, epoch)
        except Failure as failure:
            self.error = str(failure)
        return self

    def one_epoch(self, top, epoch):
        path = mix(0, epoch)
        judge = self.new_judge()
        elements = rows(top, path) if top is self.judge_node else judge.good_rows(rows(top, path))
        for ordinal, element in enumerate(elements):
            fields = {name: value.data for name, value in element.fields.items()}
            self.delivered.append(
                {
                    "epoch": epoch,
                    "batch": ordinal,
                    "rows": len(element.origin),
                    "fields": fields,
                    "origin": list(element.origin),
                }
            )
        if self.failure:
            raise self.failure
        if judge.is_fraction_exceeded():
            raise judge.fraction_failure()


def last_batch(node):
    """The batch that judges: the last one that no zip or concatenate follows."""
    while node and node.name not in BATCHES:
        node = node.inputs[0] if len(node.inputs) == 1 else None
    return node


def run(text, on_error="fail", max_errors=None, **options):
    return Run(text, on_error=on_error, max_errors=max_errors, **options).go()
