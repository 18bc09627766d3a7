# SPDX-License-Identifier: Apache-2.0
"""Compares parse_example, parse_sequence_example and decode_raw with the installed TensorFlow, on random records
and specs: the same values, and the same records refused.

Damaged records are compared with protobuf's own reader too. TensorFlow's takes some that it should not: those whose
lengths reach too far, half floats, and features with two lists, of which it reads the first. Stoker refuses them.
Nothing that TensorFlow refuses is taken, unless protobuf takes it and means the same.
"""
import os
import random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import pytest
import stoker
import tensorflow as tf

io, train = tf.io, tf.train
KINDS = {"float_list": tf.float32, "int64_list": tf.int64, "bytes_list": tf.string}
KEYS = "abcdefgh"


# ---- random records and specs ----


ANY_KIND = ["float_list", "int64_list", "int64_list", "bytes_list", "bytes_list", None]


def random_feature(rng, n=None, kinds=ANY_KIND):
    n = rng.choice([0, 1, 1, 1, 2, 3, 8]) if n is None else n
    kind = rng.choice(kinds)
    feature = train.Feature()
    if kind == "float_list":
        feature.float_list.value.extend(rng.gauss(0, 100) for _ in range(n))
    elif kind == "int64_list":
        feature.int64_list.value.extend(rng.randint(-(2 ** rng.randint(0, 63)), 2 ** rng.randint(0, 63) - 1) for _ in range(n))
    elif kind == "bytes_list":
        feature.bytes_list.value.extend(rng.randbytes(rng.choice([0, 1, 5, 200])) for _ in range(n))
    elif rng.random() < 0.5:
        feature.float_list.SetInParent()
    return feature


def random_features(rng):
    keys = rng.sample(KEYS, rng.randint(0, len(KEYS)))
    return train.Features(feature={key: random_feature(rng) for key in keys})


def random_default(rng, shape, dtype):
    n = int(np.prod(shape, dtype=int))
    if dtype != tf.string:
        return np.array([rng.randint(-9, 9) for _ in range(n)]).reshape(shape).tolist()
    values = np.array([rng.choice([b"", b"default\x00"]) for _ in range(n)], object)
    return values.reshape(shape).tolist() if shape else values[0]


def random_spec(rng, lists_only=False):
    """Texts of a sequence are single."""
    dtype = rng.choice([tf.float32, tf.int64, tf.string])
    form = rng.choice(["fixed", "fixed", "varlen", "sequence", "ragged"])
    shape = rng.choice([[], [], [1], [2], [3], [2, 4], [8]])
    if lists_only and form == "varlen" and dtype != tf.string:
        return io.VarLenFeature(dtype)
    if lists_only or form == "sequence":
        shape = [] if dtype == tf.string else shape[:1]
        return io.FixedLenSequenceFeature(shape, dtype, allow_missing=lists_only is False or rng.random() < 0.7)
    if form == "fixed":
        return io.FixedLenFeature(shape, dtype, random_default(rng, shape, dtype) if rng.random() < 0.5 else None)
    return io.VarLenFeature(dtype) if form == "varlen" else io.RaggedFeature(dtype)


def random_specs(rng, lists_only=False):
    return {key: random_spec(rng, lists_only) for key in rng.sample(KEYS, rng.randint(1, 4))}


def damaged(rng, record):
    """Something is changed, put in, taken out, or moved."""
    record = bytearray(record)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(record) + 1)
        act = rng.choice(["flip", "flip", "set", "cut", "insert", "remove", "double"])
        if act == "cut":
            del record[at:]
        elif act == "insert":
            record[at:at] = rng.randbytes(rng.randint(1, 3))
        elif act == "double":
            record[at:at] = record[at : at + rng.randint(1, 20)]
        elif at < len(record):
            if act == "flip":
                record[at] ^= 1 << rng.randrange(8)
            elif act == "set":
                record[at] = rng.choice([0, 1, 0x0A, 0x12, 0x1A, 0x7F, 0x80, 0xFF])
            else:
                del record[at]
    return bytes(record)


# ---- three readers ----


def plain(value):
    """Values of any kind as one list, floats as their bits; those of steps as a list for each."""
    if isinstance(value, tf.SparseTensor) and len(value.dense_shape) == 2:
        steps = value.indices.numpy()[:, 0]
        return [plain(value.values.numpy()[steps == i]) for i in range(value.dense_shape.numpy()[0])]
    if isinstance(value, tf.SparseTensor):
        value = value.values
    if isinstance(value, tf.RaggedTensor):
        value = value.flat_values
    value = value.numpy() if hasattr(value, "numpy") else value
    if isinstance(value, bytes):
        return [value]
    array = np.asarray(value)
    return (array.view(np.uint32) if array.dtype == np.float32 else array).reshape(-1).tolist()


def by_tensorflow(parse, record):
    try:
        return {name: plain(value) for name, value in parse(record).items()}
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # the latter of its own message
        return None


def by_stoker(records, parse):
    """What each record gives; a text where it is bad."""
    results = [None] * len(records)
    ds = parse(stoker.range(len(records)).rename({"x": "number"}).zip(stoker.values({"record": records})))
    for element in ds.iterate(on_error="skip"):
        fields = dict(element.items())
        number = int(np.asarray(fields.pop("number")))
        results[number] = {name: plain_field(value) for name, value in fields.items()}
    return results


def plain_field(field):
    if isinstance(field, bytes):
        return [field]
    if isinstance(field, stoker.Bytes):
        return field.numpy().reshape(-1).tolist()
    return [plain(row) for row in field.numpy()] if isinstance(field, stoker.Ragged) else plain(np.asarray(field))


def message(record, specs):
    with pytest.raises(stoker.DataError) as caught:
        list(stoker.values({"record": [record]}).parse_example(specs))
    return str(caught.value)


def by_rules(features, specs):
    """What the features mean by the rules of the specs; None: bad."""
    found = {}
    for key, spec in specs.items():
        feature = features.feature[key] if key in features.feature else train.Feature()
        kind = feature.WhichOneof("kind")
        is_fixed = isinstance(spec, io.FixedLenFeature)
        if kind is None:
            if is_fixed and spec.default_value is None:
                return None
            value = spec.default_value if is_fixed else []
            found[key] = [value] if isinstance(value, bytes) else plain(np.array(value, spec.dtype.as_numpy_dtype))
            continue
        values = getattr(feature, kind).value
        n = int(np.prod(getattr(spec, "shape", []), dtype=int))
        if KINDS[kind] != spec.dtype or (len(values) != n if is_fixed else len(values) % n):
            return None
        found[key] = list(values) if kind == "bytes_list" else plain(np.array(values, spec.dtype.as_numpy_dtype))
    return found


def by_protobuf(record, specs):
    try:
        return by_rules(train.Example.FromString(record).features, specs)
    except Exception:  # protobuf's own
        return None


# ---- examples ----


@pytest.mark.parametrize("seed", range(30))
def test_whole_examples(seed):
    rng = random.Random(seed)
    specs = random_specs(rng)
    records = [train.Example(features=random_features(rng)).SerializeToString() for _ in range(60)]
    got = by_stoker(records, lambda ds: ds.parse_example(specs))
    for record, result in zip(records, got, strict=True):
        assert result == by_tensorflow(lambda one: io.parse_single_example(one, specs), record)
        assert result == by_protobuf(record, specs)


def check_damaged(record, result, specs):
    wanted = by_tensorflow(lambda one: io.parse_single_example(one, specs), record)
    meant = by_protobuf(record, specs)
    if result is not None:
        assert result in (wanted, meant), record
    elif wanted is not None and meant is not None:
        assert "has more than one list" in message(record, specs), record


@pytest.mark.parametrize("seed", range(60))
def test_damaged_examples(seed):
    rng = random.Random(1000 + seed)
    specs = random_specs(rng)
    whole = [train.Example(features=random_features(rng)).SerializeToString() for _ in range(60)]
    records = [damaged(rng, record) for record in whole]
    got = by_stoker(records, lambda ds: ds.parse_example(specs))
    for record, result in zip(records, got, strict=True):
        check_damaged(record, result, specs)


def test_joined_examples():
    rng = random.Random(5)
    specs = random_specs(rng)
    records = [
        b"".join(train.Example(features=random_features(rng)).SerializeToString() for _ in range(3)) for _ in range(100)
    ]
    got = by_stoker(records, lambda ds: ds.parse_example(specs))
    for record, result in zip(records, got, strict=True):
        assert result == by_tensorflow(lambda one: io.parse_single_example(one, specs), record)


# ---- partitions and sparse features ----


R = io.RaggedFeature
PARTITIONS = [R.RowSplits, R.RowLengths, R.RowStarts, R.RowLimits, R.ValueRowIds]


def random_partition(rng, kind, n, may_be_wrong):
    """Numbers that partition n entries, or should."""
    lengths = []
    while sum(lengths) < n or rng.random() < 0.2:
        lengths.append(rng.randint(0, n - sum(lengths)))
    splits = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    while kind is R.ValueRowIds and lengths and not lengths[-1]:
        lengths.pop()  # which cannot be said
    numbers = {
        R.RowSplits: splits,
        R.RowLengths: lengths,
        R.RowStarts: splits[:-1],
        R.RowLimits: splits[1:],
        R.ValueRowIds: [row for row, k in enumerate(lengths) for _ in range(k)],
    }[kind]
    if numbers and may_be_wrong and rng.random() < 0.3:
        numbers[rng.randrange(len(numbers))] += rng.choice([-1, 1, 5])
    return numbers


def nested(value):
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.tolist() if hasattr(value, "tolist") else value


def rows_of(ragged):
    """A list of lists; None where TensorFlow took splits that are none."""
    splits, values = ragged.row_splits.numpy().tolist(), nested(ragged.values)
    if not splits or splits != sorted(splits) or (splits[0], splits[-1]) != (0, len(values)):
        return None
    return [values[a:b] for a, b in zip(splits, splits[1:])]


@pytest.mark.parametrize("kind", PARTITIONS)
@pytest.mark.parametrize("length", [None, 2])
def test_partitions(kind, length):
    """As with validate=True: what does not fit the values is bad."""
    rng = random.Random(str((kind.__name__, length)))
    inner = [R.UniformRowLength(length)] if length else []
    spec = {"r": R(tf.int64, "v", [kind("p"), *inner], validate=True)}
    records = []
    for _ in range(200):
        n = rng.randint(0, 6)
        values = list(range(n * (length or 1)))
        parts = {"v": values, "p": random_partition(rng, kind, n, True)}
        if n == 0 and rng.random() < 0.3:
            del parts["v"]
        features = {key: train.Feature(int64_list=train.Int64List(value=some)) for key, some in parts.items()}
        records.append(train.Example(features=train.Features(feature=features)).SerializeToString())
    ds = stoker.range(len(records)).rename({"x": "number"}).zip(stoker.values({"record": records}))
    got = {int(e.number): e.r.tolist() for e in ds.parse_example(spec).iterate(on_error="skip")}
    good = []
    for number, record in enumerate(records):
        try:
            wanted = rows_of(io.parse_single_example(record, spec)["r"])
        except (tf.errors.InvalidArgumentError, ValueError):
            wanted = None
        assert got.get(number) == wanted, record
        if wanted is not None:
            good.append(record)
    assert 20 < len(good) < len(records)
    batch = next(iter(stoker.values({"record": good}).parse_example(spec).batch(len(good)))).r
    wanted = io.parse_example(good, {"r": R(tf.int64, "v", [kind("p"), *inner])})["r"]
    assert batch.tolist() == wanted.to_list()
    given = batch.tensorflow()
    assert nested(given.flat_values) == nested(wanted.flat_values)
    assert list(map(nested, given.nested_row_splits)) == list(map(nested, wanted.nested_row_splits))


def test_uniform_rows():
    record = train.Example(features=train.Features(feature={
        "v": train.Feature(float_list=train.FloatList(value=range(12)))})).SerializeToString()
    for lengths in ([3], [2, 3]):
        spec = {"v": R(tf.float32, partitions=[R.UniformRowLength(n) for n in lengths])}
        got = next(iter(stoker.values({"record": [record]}).parse_example(spec))).v
        assert got.numpy().tolist() == nested(io.parse_single_example(record, spec)["v"])


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.string])
def test_sparse_features(rank, dtype):
    rng = random.Random(str((rank, dtype.name)))
    size = [5, 7][:rank]
    keys = ["i", "j"][:rank]
    for already_sorted in (False, True):
        spec = {"s": io.SparseFeature(keys if rank > 1 else "i", "v", dtype, size if rank > 1 else 5, already_sorted)}
        records = []
        for _ in range(60):
            places = [(i, j) for i in range(size[0]) for j in range(size[-1] if rank > 1 else 1)]
            places = rng.sample(places, rng.randint(0, len(places)))
            features = {key: train.Feature(int64_list=train.Int64List(value=[p[d] for p in places]))
                        for d, key in enumerate(keys)}
            kind = {tf.float32: "float_list", tf.int64: "int64_list", tf.string: "bytes_list"}[dtype]
            features["v"] = random_feature(rng, len(places), [kind])
            records.append(train.Example(features=train.Features(feature=features)).SerializeToString())
        ds = stoker.values({"record": records})
        name = "bytes" if dtype == tf.string else dtype.name
        dense = ds.parse_example({"s": stoker.sparse(keys, "v", name, size)})
        for record, parts, whole in zip(records, ds.parse_example(spec), dense, strict=True):
            wanted = io.parse_single_example(record, spec)["s"]
            indices = np.asarray(parts.s_indices).reshape(-1, rank)
            assert indices.tolist() == wanted.indices.numpy().tolist()
            assert nested(parts.s_values) == wanted.values.numpy().tolist()
            wanted = io.parse_single_example(record, {"s": spec["s"]._replace(already_sorted=False)})["s"]
            assert nested(whole.s) == tf.sparse.to_dense(wanted).numpy().tolist()


def test_wrong_sparse_features():
    def record(indices, n_values):
        features = {"i": train.Feature(int64_list=train.Int64List(value=indices)),
                    "v": train.Feature(float_list=train.FloatList(value=range(n_values)))}
        return train.Example(features=train.Features(feature=features)).SerializeToString()

    spec = {"s": io.SparseFeature("i", "v", tf.float32, 4)}
    for one in (record([0, 1], 1), record([0], 2)):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            tf.sparse.to_dense(io.parse_single_example(one, spec)["s"])
        assert "indices for" in message(one, spec)
    for one in (record([0, 4], 2), record([-1], 1)):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            tf.sparse.to_dense(io.parse_single_example(one, spec)["s"])
        assert "is outside of the size, 4" in message(one, spec)
    twice = record([2, 1, 2], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is repeated"):
        tf.sparse.to_dense(io.parse_single_example(twice, spec)["s"])
    assert "indices[2] is repeated" in message(twice, {"s": stoker.sparse("i", "v", "float32", 4)})


# ---- sequences ----


def random_sequence(rng):
    lists = {}
    for key in rng.sample(KEYS, rng.randint(0, len(KEYS))):
        step = random_feature(rng, rng.choice([1, 1, 2, 3]))
        steps = [step] * rng.randint(0, 4)
        if rng.random() < 0.3:
            kinds = [step.WhichOneof("kind")]
            steps = [random_feature(rng, kinds=kinds) for _ in steps]
        lists[key] = train.FeatureList(feature=steps)
        if rng.random() < 0.2:
            lists[key].feature.append(random_feature(rng, 1))
    return train.SequenceExample(
        context=random_features(rng), feature_lists=train.FeatureLists(feature_list=lists)
    ).SerializeToString()


def is_kindless_default(record, context):
    """TensorFlow refuses context features without a kind even where there is a default, and ragged ones too."""
    features = train.SequenceExample.FromString(record).context.feature
    return any(key in features and features[key].WhichOneof("kind") is None for key in context)


def step_spec(spec, key):
    dtype = "bytes" if spec.dtype == tf.string else spec.dtype.name
    if isinstance(spec, io.VarLenFeature):
        return stoker.varlen(dtype, key=key)
    return stoker.fixed_sequence(list(spec.shape), dtype, spec.allow_missing, key=key)


@pytest.mark.parametrize("seed", range(30))
def test_whole_sequences(seed):
    rng = random.Random(2000 + seed)
    context, lists = random_specs(rng), random_specs(rng, lists_only=True)
    context = {key: spec for key, spec in context.items() if not isinstance(spec, io.FixedLenSequenceFeature)}
    lists = {"seq_" + key: spec for key, spec in lists.items()}
    records = [random_sequence(rng) for _ in range(60)]

    def parse_tf(record):
        found = io.parse_single_sequence_example(
            record, context, {key.removeprefix("seq_"): spec for key, spec in lists.items()}
        )
        return {**found[0], **{"seq_" + key: value for key, value in found[1].items()}}

    steps = {key: step_spec(spec, key.removeprefix("seq_")) for key, spec in lists.items()}
    got = by_stoker(records, lambda ds: ds.parse_sequence_example(context or None, steps))
    for record, result in zip(records, got, strict=True):
        wanted = by_tensorflow(parse_tf, record)
        if result != wanted:
            assert wanted is None and is_kindless_default(record, context), record


# ---- raw bytes ----


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("little_endian", [True, False])
def test_decode_raw(dtype, little_endian):
    rng = random.Random(3)
    texts = [rng.randbytes(8 * rng.randint(0, 9)) for _ in range(50)]
    got = stoker.values({"x": texts}).decode_raw(dtype, little_endian=little_endian)
    for text, element in zip(texts, got, strict=True):
        wanted = io.decode_raw(text, dtype, little_endian=little_endian).numpy()
        found = np.asarray(element.x)
        assert found.dtype == wanted.dtype
        if dtype == "bool":  # TensorFlow leaves the bytes as they are, which are no bools of C
            wanted = wanted.view(np.uint8) != 0
        assert found.tobytes() == wanted.tobytes()
