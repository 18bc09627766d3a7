# SPDX-License-Identifier: Apache-2.0
"""Makes example.txt: what TensorFlow reads from serialized Examples and SequenceExamples; and two small files with
such records, for documents: records/examples.tfrecord and records/sequences.tfrecord.

    python3 tests/golden/make_example.py        (needs tensorflow, numpy)

A line is one record and one call, separated by tabs: the record in hex (`=`: that of the line before), the call, and
what it gives. That is the fields in the order of the call, `name=values` separated by blanks: integers as they are, float32 as the
hex of their bits, bytes as hex, all separated by commas; an empty list is empty. Lists of texts are [hex][hex], lists of
lists of numbers (1,2)(3). Or it is `!` and a part of
TensorFlow's message, which may be empty: the record is bad.
"""
import os
import pathlib
import re

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

import numpy as np
import tensorflow as tf

HERE = pathlib.Path(__file__).parent
T, io = tf.train, tf.io
rng = np.random.default_rng(6)
lines = []


# ---- features and records ----

def floats(*values):
    return T.Feature(float_list=T.FloatList(value=values))


def ints(*values):
    return T.Feature(int64_list=T.Int64List(value=values))


def strings(*values):
    return T.Feature(bytes_list=T.BytesList(value=values))


def example(**features):
    return T.Example(features=T.Features(feature=features)).SerializeToString(deterministic=True)


def sequence(context=None, **lists):
    return T.SequenceExample(
        context=T.Features(feature=context or {}),
        feature_lists=T.FeatureLists(feature_list={k: T.FeatureList(feature=v) for k, v in lists.items()}),
    ).SerializeToString(deterministic=True)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def piece(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def entry(key, feature):
    return piece(1, piece(1, key) + piece(2, feature))


def raw_example(*entries):
    return piece(1, b''.join(entries))


# ---- specs, as TensorFlow's and as text ----

DTYPES = {tf.float32: 'float32', tf.int64: 'int64', tf.string: 'bytes'}


def value_text(value):
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, bytes):
        return "'" + ''.join(f'\\x{b:02x}' for b in value) + "'"
    if isinstance(value, list) and isinstance(value[0], (bytes, str, list)):
        return '[' + ', '.join(map(value_text, value)) + ']'
    return repr(value)


PARTITIONS = {'RowSplits': 'row_splits', 'RowLengths': 'row_lengths', 'RowStarts': 'row_starts',
              'RowLimits': 'row_limits', 'ValueRowIds': 'value_rowids'}


def ragged_text(spec, dtype):
    parts = [dtype] + ([value_text(spec.value_key)] if spec.value_key else [])
    for partition in spec.partitions:
        name = type(partition).__name__
        parts.append(f'{PARTITIONS[name]}={value_text(partition.key)}' if name in PARTITIONS
                     else f'uniform_row_length={partition.length}')
    return f'ragged({", ".join(parts)})'


def spec_text(spec):
    dtype = DTYPES[spec.dtype]
    if isinstance(spec, io.FixedLenFeature):
        default = '' if spec.default_value is None else f', {value_text(spec.default_value)}'
        return f'fixed({list(spec.shape)}, {dtype}{default})'
    if isinstance(spec, io.FixedLenSequenceFeature):
        return f'fixed_sequence({list(spec.shape)}, {dtype}, {str(spec.allow_missing).lower()})'
    if isinstance(spec, io.RaggedFeature):
        return ragged_text(spec, dtype)
    if isinstance(spec, io.SparseFeature):
        return f'sparse({value_text(spec.index_key)}, {value_text(spec.value_key)}, {dtype}, {spec.size})'
    return f'varlen({dtype})'


def map_text(specs):
    return '{' + ', '.join(f"'{name}': {spec_text(spec)}" for name, spec in specs.items()) + '}'


def one_text(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.float32):
        return value.tobytes()[::-1].hex()
    return str(int(value))


def steps_text(value):
    """A sparse matrix: the numbers of every step."""
    rows = [[] for _ in range(value.dense_shape.numpy()[0])]
    for (row, _), number in zip(value.indices.numpy(), value.values.numpy()):
        rows[row].append(one_text(number))
    return ''.join(f"({','.join(row)})" for row in rows)


def field_text(value):
    if isinstance(value, tf.RaggedTensor):
        return ''.join('(' + ','.join(one_text(v) for v in row.numpy().reshape(-1)) + ')' for row in value)
    if isinstance(value, tf.SparseTensor) and len(value.dense_shape) == 2:
        return steps_text(value)
    if isinstance(value, tf.SparseTensor):
        value = value.values
    value = value.numpy()
    if not isinstance(value, bytes) and value.dtype == object:
        return ''.join(f'[{one_text(text)}]' for text in value.reshape(-1))
    return one_text(value) if isinstance(value, bytes) else ','.join(one_text(v) for v in value.reshape(-1))


def message(error):
    """The part of a message that is about the record."""
    text = re.sub(r' \[Op:.*', '', str(error).split('}} ', 1)[-1], flags=re.S)
    if text.startswith(('Could not parse', 'Unsupported')) or "Can't parse" in text:
        return re.search(r"Could not parse example input|Unsupported datatype|Can't parse serialized Example", text)[0]
    if "Data types don't match" in text:
        return "Data types don't match."  # in two wordings
    text = text.replace('Name: <unknown>, ', '')
    return text.split('Index: 0.  ', 1)[-1] if 'Index: 0.  ' in text else text


def add(record, call, result, specs, error=''):
    fields = ' '.join(f'{name}={field_text(result[name])}' for name in specs) if result else '!' + error
    lines.append([record.hex(), call, fields])


def check(record, **specs):
    """The values are those of a single Example; the words are those for a batch, which say more."""
    call = f'parse_example({map_text(specs)})'
    try:
        add(record, call, io.parse_single_example(record, specs), specs)
    except tf.errors.InvalidArgumentError as error:
        try:
            io.parse_example([record], specs)
            words = message(error)
        except tf.errors.InvalidArgumentError as batch_error:
            words = message(batch_error)
        if '_list slice was not parsed' in str(error) or 'Parsing bytes_list failed' in str(error):
            words = words if words.startswith('Number') else ''  # too many strings: no good words
        add(record, call, None, specs, words)


def check_sequence(record, context, lists):
    parts = [f'context={map_text(context)}'] if context else []
    parts += [f'sequence={map_text(lists)}'] if lists else []
    call = f'parse_sequence_example({", ".join(parts)})'
    try:
        found = io.parse_single_sequence_example(record, context or None, lists or None)
        add(record, call, {**found[0], **found[1]}, [*context, *lists])
    except tf.errors.InvalidArgumentError:
        add(record, call, None, {})


# ---- cases ----

def fixed(shape, dtype, default=None):
    return io.FixedLenFeature(shape, dtype, default)


def steps(shape, dtype, allow_missing=True):
    return io.FixedLenSequenceFeature(shape, dtype, allow_missing=allow_missing)


def make_kinds():
    everything = example(
        f=floats(1.5, -2.25, 3e38, float('inf'), 0.1, -0.0), i=ints(0, 1, -1, 2**63 - 1, -(2**63), 300),
        s=strings(b'one'), e=T.Feature(), z=floats(), y=ints(), x=strings(), many=strings(b'a', b'', b'ccc'),
        **{'image/encoded': strings(bytes(range(256)))})
    f32, i64, text = tf.float32, tf.int64, tf.string
    check(everything, f=fixed([6], f32), i=fixed([6], i64), s=fixed([], text))
    check(everything, f=fixed([2, 3], f32), i=fixed([3, 2], i64))
    check(everything, f=io.VarLenFeature(f32), i=io.VarLenFeature(i64), z=io.VarLenFeature(f32), y=io.VarLenFeature(i64))
    check(everything, f=steps([2], f32), i=steps([3], i64), e=steps([2], f32), z=steps([2], f32), q=steps([], i64))
    check(everything, f=io.RaggedFeature(f32), q=io.RaggedFeature(i64))
    check(everything, **{'image/encoded': fixed([], text)})
    for name in ('f', 'i', 's', 'e', 'z', 'y', 'x', 'many', 'q'):
        for spec in (fixed([6], f32), fixed([6], i64), fixed([], text), fixed([], f32), fixed([2], i64, [7, -8]),
                     fixed([], text, b'de\x00f'), fixed([2, 2], f32, [[1.0, 2.0], [3.0, 4.5]]), io.VarLenFeature(f32),
                     io.VarLenFeature(i64), steps([4], f32), steps([2], i64)):
            check(everything, **{name: spec})


def make_wire():
    f32, i64 = tf.float32, tf.int64
    one, two = np.float32(1).tobytes(), np.float32(2).tobytes()
    unpacked = raw_example(entry(b'f', piece(2, b'\x0d' + one + b'\x0d' + two)),
                           entry(b'i', piece(3, b'\x08\x05\x08' + varint(2**64 - 3))))
    assert list(T.Example.FromString(unpacked).features.feature['i'].int64_list.value) == [5, -3]
    check(unpacked, f=fixed([2], f32), i=fixed([2], i64))
    check(unpacked, f=io.VarLenFeature(f32), i=io.VarLenFeature(i64))
    packed = {n: entry(b'i', piece(3, piece(1, varint(n)))) for n in (5, 6, 7)}
    nothing = entry(b'i', b'')
    for entries in ((packed[5], packed[6]), (packed[5], nothing), (nothing, packed[6]), (packed[5], packed[6], nothing)):
        check(raw_example(*entries), i=fixed([], i64))
    check(raw_example(packed[5]) + raw_example(packed[6]), i=fixed([], i64))
    check(raw_example(packed[5]) + raw_example(nothing), i=fixed([], i64), q=fixed([], i64, 9))
    check(raw_example(entry(b'i', piece(2, one)), packed[6]), i=fixed([], i64))
    swapped = piece(1, piece(2, piece(3, piece(1, b'\x04'))) + piece(1, b'i'))
    check(raw_example(swapped), i=fixed([], i64))
    for unknown in (piece(3, b'zz'), b'\x18\x05', b'\x19' + bytes(8), b'\x1d' + bytes(4)):
        check(unknown + raw_example(packed[7]) + unknown, i=fixed([], i64))
    for group in (b'\x1b\x1c', b'\x1c', b'\x1f'):
        check(group + raw_example(packed[7]), i=fixed([], i64))
    check(b'', i=fixed([], i64, 4), v=io.VarLenFeature(i64))
    check(b'', i=fixed([], i64))
    check(raw_example(packed[5] + piece(3, b'')), i=fixed([], i64))
    check(raw_example(piece(1, piece(1, b'i'))), i=fixed([], i64, 3))
    check(raw_example(piece(1, piece(1, b'i') + piece(2, b'') + piece(3, b''))), i=fixed([], i64, 3))
    check(raw_example(entry(b'i', piece(4, b''))), i=fixed([], i64, 3))
    check(raw_example(entry(b'i', piece(4, b''))), j=fixed([], i64, 3))
    check(raw_example(entry(b'i', piece(3, piece(1, b'\xff' * 10 + b'\x01')))), i=io.VarLenFeature(i64))
    check(raw_example(entry(b'f', piece(2, b'\x0d' + one[:3]))), f=io.VarLenFeature(f32))
    check(raw_example(entry(b'', piece(3, piece(1, b'\x04')))), q=fixed([], i64, 1))


def make_sequences():
    f32, i64 = tf.float32, tf.int64
    record = sequence(
        {'l': ints(7), 'w': floats(1, 2), 's': strings(b'id'), 'e': T.Feature()},
        t=[ints(1), ints(2), ints(-3)], v=[floats(1, 2), floats(3, 4)], none=[], bad=[ints(1), floats(2), ints(3)],
        some=[ints(1), T.Feature(), ints(3)], uneven=[ints(1, 2), ints(3)])
    context = {'l': fixed([], i64), 'w': fixed([2], f32), 's': fixed([], tf.string)}
    check_sequence(record, context, {'t': steps([], i64, False), 'v': steps([2], f32, False)})
    check_sequence(record, {}, {'none': steps([], i64, False), 'q': steps([3], f32)})
    check_sequence(record, {'w': io.VarLenFeature(f32), 'q': fixed([], i64, 8), 'q2': io.VarLenFeature(i64)}, {})
    for name, spec in (('q', fixed([], i64)), ('l', fixed([2], i64)), ('l', fixed([], f32)), ('e', fixed([], i64))):
        check_sequence(record, {name: spec}, {})
    for name, spec in (('q', steps([], i64, False)), ('t', steps([], f32)), ('t', steps([2], i64)),
                       ('v', steps([3], f32)), ('bad', steps([], i64)), ('some', steps([], i64)),
                       ('uneven', steps([2], i64))):
        check_sequence(record, {}, {name: spec})
    more = sequence({'l': ints(9)}, t=[ints(5)])
    check_sequence(record + more, context, {'t': steps([], i64, False), 'v': steps([2], f32, False)})
    check_sequence(piece(3, b'zz') + record, {'l': fixed([], i64)}, {})
    check_sequence(b'', {'l': fixed([], i64, 3)}, {'t': steps([], i64)})
    check_sequence(b'\x0a\x09a', {'l': fixed([], i64, 3)}, {})


def make_random():
    """Some keys, some of them asked for, in any order."""
    for _ in range(40):
        features, specs = {}, {}
        for name in rng.permutation(list('abcdefgh'))[: rng.integers(1, 9)]:
            n = int(rng.integers(0, 6))
            kind = rng.integers(3)
            if kind == 0:
                features[name] = floats(*rng.normal(size=n))
                spec = fixed([n], tf.float32) if n and rng.random() < 0.5 else io.VarLenFeature(tf.float32)
            elif kind == 1:
                features[name] = ints(*(int(v) for v in rng.integers(-(2 ** rng.integers(1, 63)), 2**62, n)))
                spec = fixed([n], tf.int64) if n and rng.random() < 0.5 else io.VarLenFeature(tf.int64)
            else:
                features[name], spec = strings(rng.bytes(n)), fixed([], tf.string)
            if rng.random() < 0.6:
                specs[name] = spec
        if specs:
            check(example(**features), **specs)


def make_lists():
    """Lists of texts, and of lists."""
    f32, i64, text = tf.float32, tf.int64, tf.string
    record = example(two=strings(b'a\x00', b''), none=strings(), one=strings(b'only'), kindless=T.Feature(),
                     many=strings(*(rng.bytes(int(n)) for n in rng.integers(0, 9, 100))), i=ints(5))
    for name in ('two', 'none', 'one', 'kindless', 'many', 'i', 'q'):
        for spec in (io.VarLenFeature(text), io.RaggedFeature(text), fixed([2], text), fixed([2], text, [b'x', b'']),
                     fixed([100], text), fixed([1], text), steps([], text), fixed([2, 1], text, [[b'x'], [b'']]),
                     fixed([10, 2, 5], text)):
            check(record, **{name: spec})
    check(record, two=io.VarLenFeature(text), i=fixed([], i64), many=io.VarLenFeature(text))
    check(raw_example(entry(b't', piece(1, piece(1, b'a') + b'\x0a\x05b'))), t=io.VarLenFeature(text))
    check(raw_example(entry(b't', piece(1, b'\x08\x05'))), t=io.VarLenFeature(text))
    steps_record = sequence({'tags': strings(b'p', b'q')}, t=[strings(b'one'), strings(b''), strings(b'three')], none=[],
                            uneven=[ints(1, 2), ints(), ints(3)], some=[ints(1), T.Feature(), ints(-3, 2**63 - 1)],
                            f=[floats(1.5), floats(2.5, -0.0)], pairs=[strings(b'a', b'b')], bad=[ints(1), floats(2)],
                            mixed=[strings(b'a'), T.Feature()], long=[ints(*range(k)) for k in range(40)])
    check_sequence(steps_record, {'tags': io.VarLenFeature(text)}, {'t': steps([], text, False), 'f': io.VarLenFeature(f32)})
    for name in ('t', 'none', 'uneven', 'some', 'f', 'pairs', 'bad', 'mixed', 'long', 'q'):
        for spec in (steps([], text), steps([], text, False), io.VarLenFeature(i64), io.VarLenFeature(f32)):
            check_sequence(steps_record, {}, {name: spec})


def check_parts(record, name, spec):
    """As check; a sparse tensor as an array. TensorFlow's words for what does not fit are others."""
    call = f'parse_example({map_text({name: spec})})'
    try:
        value = io.parse_single_example(record, {name: spec})[name]
        if isinstance(value, tf.SparseTensor):
            value = tf.sparse.to_dense(value)
        add(record, call, {name: value}, [name])
    except (tf.errors.InvalidArgumentError, ValueError):
        add(record, call, None, [])


def make_parts():
    """Lists of lists by partitions, and sparse features."""
    R, i64 = io.RaggedFeature, tf.int64
    record = example(
        v=ints(*range(6)), none=ints(), s=ints(0, 2, 2, 6), short=ints(0, 2), falls=ints(0, 4, 3, 6), late=ints(1, 6),
        n=ints(2, 0, 4), less=ints(2, 1), minus=ints(7, -1), starts=ints(0, 2, 2), ends=ints(2, 2, 6), rows=ints(0, 0, 2, 2, 2, 5),
        back=ints(0, 0, 2, 1, 1, 1), below=ints(-1, 0, 0, 0, 0, 0), pairs=ints(1, 2), zero=ints(0), f=floats(.5, 2, -1.5),
        i=ints(5, 0, 3), j=ints(1, 0, 1), k=ints(3, 3, 3), far=ints(0, 1, 6), t=strings(b'a', b'', b'ccc'))
    partitions = (R.RowSplits, R.RowLengths, R.RowStarts, R.RowLimits, R.ValueRowIds)
    for kind in partitions:
        for key in ('s', 'short', 'falls', 'late', 'n', 'less', 'minus', 'starts', 'ends', 'rows', 'back', 'below', 'f'):
            check_parts(record, 'r', R(i64, 'v', [kind(key)], validate=True))
        if kind is not R.RowSplits:
            check_parts(record, 'r', R(i64, 'none', [kind('none')], validate=True))
    check_parts(record, 'r', R(i64, 'none', [R.RowSplits('zero')], validate=True))
    check_parts(record, 'r', R(i64, 'v', [R.RowLengths('pairs'), R.UniformRowLength(2)], validate=True))
    check_parts(record, 'r', R(i64, 'v', [R.UniformRowLength(3)], validate=True))
    for index, size in (('i', 6), ('i', 5), ('k', 6), ('far', 6), ('far', 9), ('none', 4), ('n', 5), ('q', 3)):
        for value, dtype in (('f', tf.float32), ('i', i64), ('t', tf.string), ('none', i64)):
            check_parts(record, 'd', io.SparseFeature(index, value, dtype, size))
    check_parts(record, 'd', io.SparseFeature(['i', 'j'], 't', tf.string, [6, 2]))
    check_parts(record, 'd', io.SparseFeature(['k', 'i', 'j'], 'f', tf.float32, [4, 6, 3]))
    check_parts(record, 'd', io.SparseFeature(['j', 'k'], 'f', tf.float32, [2, 4]))


def make_files():
    """For documents: six Examples as people have them, and six SequenceExamples."""
    with io.TFRecordWriter(str(HERE / 'records/examples.tfrecord')) as out:
        for i in range(6):
            picture = io.encode_png(np.full((4, 5, 3), 40 * i, np.uint8)).numpy()
            out.write(example(
                label=ints(i % 3), x=floats(*(i + k / 10 for k in range(10))), words=ints(*range(i)),
                **{'image/encoded': strings(picture), 'image/raw': strings(bytes([i] * 12))}))
    with io.TFRecordWriter(str(HERE / 'records/sequences.tfrecord')) as out:
        for i in range(6):
            out.write(sequence({'label': ints(i % 3)}, words=[ints(k) for k in range(i)],
                               boxes=[floats(k, k, k + 1, k + 2) for k in range(i % 3)]))


make_files()
make_kinds()
make_wire()
make_sequences()
make_random()
make_lists()
make_parts()
for before, line in zip(lines[-2::-1], lines[:0:-1]):
    line[0] = '=' if line[0] == before[0] else line[0]
text = ''.join('\t'.join(line) + '\n' for line in lines)
(HERE / 'example.txt').write_text(text)
print(f'TensorFlow {tf.__version__}: {len(lines)} records, {len(text)} bytes')
