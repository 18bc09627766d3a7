# SPDX-License-Identifier: Apache-2.0
"""Ops that number, choose and remember, against tf.data on the same random chains. Where tf.data
draws at random only what does not depend on its numbers is compared."""
import gzip
import json
import os
import random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import pytest
import tensorflow as tf

Dataset = tf.data.Dataset


def delivered(stoker, chain, *words):
    done = stoker("run", chain, "--dump", "--quiet", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["fields"] for line in done.stdout.splitlines()]


def numbers(dataset):
    return [int(value) for value in dataset]


def xs(elements):
    return [element["x"] for element in elements]


@pytest.mark.parametrize("start, step", [(0, 1), (-5, 3), (7, -2), (3, 0)])
def test_counter(stoker, start, step):
    expected = numbers(Dataset.counter(start, step).take(20))
    assert xs(delivered(stoker, f"counter({start}, {step}).take(20)")) == expected


@pytest.mark.parametrize("start", [0, 5, -3])
def test_enumerate_with_a_filter_and_a_repeat(stoker, start):
    expected = Dataset.range(20).filter(lambda x: x % 3 != 1).enumerate(start).repeat(2)
    got = delivered(stoker, f"range(20).filter('x % 3 != 1').enumerate({start}).repeat(2)")
    assert [(e["index"], e["x"]) for e in got] == [(int(i), int(x)) for i, x in expected]


def test_ignored_errors_cost_their_own_elements(stoker):
    def divide(x):
        with tf.control_dependencies([tf.debugging.Assert(x % 4 != 0, [x])]):
            return 100 // (x % 4)

    expected = Dataset.range(17).map(divide).ignore_errors().enumerate()
    got = delivered(stoker, "range(17).map('100 // (x % 4)').ignore_errors().enumerate()")
    assert [(e["index"], e["x"]) for e in got] == [(int(i), int(x)) for i, x in expected]


@pytest.mark.parametrize("seed", range(10))
def test_unique_take_while_scan_and_reduce(stoker, seed):
    pick = random.Random(seed)
    values = [pick.randrange(12) for _ in range(pick.randint(1, 40))]
    given, table = Dataset.from_tensor_slices(tf.constant(values, tf.int64)), f"values({{x: {values}}})"
    zero, limit = tf.constant(0, tf.int64), pick.randrange(13)
    cases = {
        "unique()": given.unique(),
        f"take_while('x < {limit}')": given.take_while(lambda x: x < limit),
        "scan({s: 0}, 's = 3 * s - x').select(s).rename({s: x})": given.scan(
            zero, lambda s, x: (3 * s - x, 3 * s - x)
        ),
        "reduce({s: 0}, 's = 3 * s - x').rename({s: x})": [given.reduce(zero, lambda s, x: 3 * s - x)],
        "unique().repeat(2)": given.unique().repeat(2),
        f"repeat(2).take_while('x < {limit}').enumerate().select(index).rename({{index: x}})":
            given.repeat(2).take_while(lambda x: x < limit).enumerate().map(lambda i, x: i),
    }
    for rest, expected in cases.items():
        assert xs(delivered(stoker, f"{table}.{rest}")) == numbers(expected), rest


@pytest.mark.parametrize("seed", range(40))
def test_choose_from(stoker, seed):
    """Random numbers, inputs of random lengths, some of them streams."""
    pick = random.Random(seed)
    sizes = [pick.randrange(12) for _ in range(pick.randint(1, 4))]
    choices = [pick.randrange(len(sizes)) for _ in range(pick.randint(1, 30))]
    stops = pick.random() < 0.5
    inputs = [Dataset.range(100 * i, 100 * i + n) for i, n in enumerate(sizes)]
    expected = numbers(
        Dataset.choose_from_datasets(inputs, Dataset.from_tensor_slices(tf.constant(choices, tf.int64)),
                                     stop_on_empty_dataset=stops)
    )
    texts = [f"range({100 * i}, {100 * i + n}){pick.choice(['', '.shuffle(1)'])}"
             for i, n in enumerate(sizes)]
    rest = "" if stops else ", stop_on_empty=false"
    chain = f"values({{c: {choices}}}).choose_from([{', '.join(texts)}]{rest})"
    assert xs(delivered(stoker, chain)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_sample_from_takes_each_input_in_order_to_its_end(stoker, seed):
    pick = random.Random(seed)
    sizes = [pick.randrange(12) for _ in range(pick.randint(1, 4))]
    weights = [pick.choice([0.0, 1.0, 2.5]) for _ in sizes]
    weights = weights if any(weights) else [1.0] * len(sizes)
    inputs = [Dataset.range(100 * i, 100 * i + n) for i, n in enumerate(sizes)]
    expected = numbers(Dataset.sample_from_datasets(inputs, weights, seed=seed))
    texts = [f"range({100 * i}, {100 * i + n})" for i, n in enumerate(sizes)]
    got = xs(delivered(stoker, f"sample_from([{', '.join(texts)}], {weights}, seed={seed})"))
    for i in range(len(sizes)):
        mine = [x for x in got if x // 100 == i]
        assert mine == [x for x in expected if x // 100 == i] == sorted(mine)


def test_sample_from_draws_by_weight_as_tf_data_does(stoker):
    weights, n = [0.1, 0.6, 0.3], 6000
    inputs = [Dataset.range(100000 * i, 100000 * (i + 1)) for i in range(3)]
    texts = [f"range({100000 * i}, {100000 * (i + 1)})" for i in range(3)]
    theirs = numbers(Dataset.sample_from_datasets(inputs, weights, seed=1).take(n))
    ours = xs(delivered(stoker, f"sample_from([{', '.join(texts)}], {weights}).take({n})"))
    for i, weight in enumerate(weights):
        for drawn in (theirs, ours):
            share = sum(x // 100000 == i for x in drawn) / n
            assert abs(share - weight) < 5 * (weight * (1 - weight) / n) ** 0.5


@pytest.mark.parametrize("seed", range(20))
def test_choose_from_numbers_that_repeat(stoker, seed):
    """Some inputs, and the numbers, without an end. Every input is chosen now and then: tf.data looks
    for ever for one that is not.
    """
    pick = random.Random(seed)
    sizes = [pick.randrange(1, 12) for _ in range(pick.randint(1, 4))]
    choices = list(range(len(sizes))) + [pick.randrange(len(sizes)) for _ in range(pick.randrange(5))]
    pick.shuffle(choices)
    stop, passes = pick.random() < 0.5, [pick.choice([1, 1, 2, -1]) for _ in sizes]
    inputs = [Dataset.range(100 * i, 100 * i + n).repeat(p)
              for i, (n, p) in enumerate(zip(sizes, passes, strict=True))]
    texts = [f"range({100 * i}, {100 * i + n}).repeat({p})"
             for i, (n, p) in enumerate(zip(sizes, passes, strict=True))]
    numbers_there = Dataset.from_tensor_slices(tf.constant(choices, tf.int64)).repeat()
    expected = numbers(Dataset.choose_from_datasets(inputs, numbers_there, stop_on_empty_dataset=stop).take(60))
    chain = (f"values({{c: {choices}}}).repeat().choose_from([{', '.join(texts)}], "
             f"stop_on_empty={str(stop).lower()})")
    assert xs(delivered(stoker, f"{chain}.take(60)")) == expected


# ---- interleave ----


def nested(pick):
    """The same chain for each element, here and there: rows of files, repeats and takes."""
    ops = [pick.choice([("repeat", 2), ("repeat", 3), ("take", 2), ("take", 5), ("skip", 1)])
           for _ in range(pick.choice([0, 1, 2, 3]))]

    def there(first, size):
        dataset = Dataset.range(first, first + size)
        for name, n in ops:
            dataset = getattr(dataset, name)(n)
        return dataset

    return there, "".join(f".{name}({n})" for name, n in ops)


@pytest.mark.parametrize("n_parallel", [None, 2])
@pytest.mark.parametrize("seed", range(40))
def test_interleave(stoker, tmp_path, seed, n_parallel):
    """Files of random lengths, some without rows; cycles longer and shorter than there are files."""
    pick = random.Random(seed)
    sizes = [pick.choice([0, 1, 2, 3, 5, 8, 13]) for _ in range(pick.randint(1, 9))]
    for i, size in enumerate(sizes):
        rows = "".join(f"{100 * i + k}\n" for k in range(size))
        (tmp_path / f"{i}.csv").write_text("x\n" + rows)
    cycle, block, n_passes = pick.randint(1, 11), pick.randint(1, 4), pick.choice([1, 1, 2])
    there, here = nested(pick)
    lengths = tf.constant(sizes, tf.int64)
    expected = numbers(
        Dataset.range(len(sizes)).repeat(n_passes).interleave(
            lambda i: there(100 * i, lengths[i]), cycle_length=cycle, block_length=block,
            num_parallel_calls=n_parallel and min(n_parallel, cycle))
    )
    chain = (f"files('{tmp_path}/*.csv').repeat({n_passes})"
             f".interleave(csv(path, {{x: int64}}){here}, {cycle}, {block})")
    assert xs(delivered(stoker, chain)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_interleave_of_elements(stoker, seed):
    pick = random.Random(seed)
    n, times, cycle, block = (pick.randint(0, 9) for _ in range(4))
    cycle, block = cycle + 1, block + 1
    expected = numbers(
        Dataset.range(n).interleave(lambda x: Dataset.from_tensors(x).repeat(times),
                                    cycle_length=cycle, block_length=block)
    )
    chain = f"range({n}).interleave(element().repeat({times}), {cycle}, {block})"
    assert xs(delivered(stoker, chain)) == expected


@pytest.mark.parametrize("seed", range(10))
def test_flat_map(stoker, seed):
    pick = random.Random(seed)
    n, times = pick.randint(0, 9), pick.randint(0, 4)
    expected = numbers(Dataset.range(n).flat_map(lambda x: Dataset.from_tensors(x).repeat(times)))
    assert xs(delivered(stoker, f"range({n}).flat_map(element().repeat({times}))")) == expected


# ---- chains that are opened as elements come ----


STREAMED = [  # of the elements: here and there
    ("", lambda ds: ds),
    (".filter('x % 4 != 2')", lambda ds: ds.filter(lambda x: x % 4 != 2)),
    (".batch(3).unbatch()", lambda ds: ds.batch(3).unbatch()),
    (".take_while('x < 7')", lambda ds: ds.take_while(lambda x: x < 7)),
    (".repeat(2).unique()", lambda ds: ds.repeat(2).unique()),
]
OPENED = [  # for an element x; rows are numbers
    ("element().repeat(5).enumerate().take_while('index < x').map('x = 100 * x + index').select(x)",
     lambda x: Dataset.from_tensors(x).repeat(5).enumerate()
     .take_while(lambda i, x: i < x).map(lambda i, x: 100 * x + i)),
    ("range(9).filter('x % 3 != 1')", lambda x: Dataset.range(9).filter(lambda y: y % 3 != 1)),
    ("range(7).batch(3).unbatch()", lambda x: Dataset.range(7).batch(3).unbatch()),
    ("concatenate(element(), range(3))", lambda x: Dataset.from_tensors(x).concatenate(Dataset.range(3))),
    ("element().flat_map(range(4)).filter('x != 2')",
     lambda x: Dataset.from_tensors(x).flat_map(lambda _: Dataset.range(4)).filter(lambda y: y != 2)),
    ("range(4).filter('x > 0').interleave(element().repeat(3), 2, 2)",
     lambda x: Dataset.range(4).filter(lambda y: y > 0).interleave(
         lambda y: Dataset.from_tensors(y).repeat(3), cycle_length=2, block_length=2)),
    ("zip(element(), range(2).rename({x: y}).repeat()).map('x = 10 * x + y').select(x)",
     lambda x: Dataset.zip(Dataset.from_tensors(x), Dataset.range(2).repeat()).map(
         lambda x, y: 10 * x + y)),
]


@pytest.mark.parametrize("n_parallel", [None, 2])
@pytest.mark.parametrize("seed", range(60))
def test_woven_interleave(stoker, seed, n_parallel):
    pick = random.Random(seed)
    outer, outer_there = pick.choice(STREAMED)
    chain, chain_there = pick.choice(OPENED)
    n, cycle, block, workers = pick.randint(0, 12), pick.randint(1, 5), pick.randint(1, 4), pick.choice([0, 1, 4])
    expected = numbers(outer_there(Dataset.range(n)).interleave(
        chain_there, cycle_length=cycle, block_length=block,
        num_parallel_calls=n_parallel and min(n_parallel, cycle)))
    text = f"range({n}){outer}.interleave({chain}, {cycle}, {block})"
    assert xs(delivered(stoker, text, "--workers", workers)) == expected
    if cycle == 1 or block == 1:
        flat = numbers(outer_there(Dataset.range(n)).flat_map(chain_there))
        assert xs(delivered(stoker, f"range({n}){outer}.flat_map({chain})")) == flat


@pytest.mark.parametrize("packed", ["", "GZIP"])
@pytest.mark.parametrize("seed", range(10))
def test_interleaved_lines_and_records(stoker, tmp_path, seed, packed):
    """Files that are read from front to back, named by elements that were shuffled in a buffer of one."""
    pick = random.Random(seed)
    ending = ".gz" if packed else ""
    sizes = [pick.choice([0, 1, 2, 5, 30]) for _ in range(pick.randint(1, 7))]
    lines, records = [], []
    for i, size in enumerate(sizes):
        lines.append(f"{tmp_path}/{i}.txt{ending}")
        records.append(f"{tmp_path}/{i}.tfrecord{ending}")
        with (gzip.open if packed else open)(lines[-1], "wt") as file:
            file.writelines(f"{i} {k}\n" for k in range(size))
        with tf.io.TFRecordWriter(records[-1], packed) as writer:
            for k in range(size):
                writer.write(f"{i} {k}".encode())
    cycle, block = pick.randint(1, 4), pick.randint(1, 3)
    for names, source, field, there in [
        (lines, "lines", "text", lambda name: tf.data.TextLineDataset(name, packed).skip(1)),
        (records, "tfrecord", "record", lambda name: tf.data.TFRecordDataset(name, packed).skip(1)),
    ]:
        expected = Dataset.from_tensor_slices(names).interleave(there, cycle_length=cycle, block_length=block)
        chain = f"values({{p: {names}}}).shuffle(1).interleave({source}(p).skip(1), {cycle}, {block})"
        got = [element[field] for element in delivered(stoker, chain)]
        assert got == [value.numpy().decode() for value in expected]


def sized(n, size, first=0):
    """n vectors of a size, as both write them."""
    rows = [[first + 10 * i + k for k in range(size)] for i in range(n)]
    return Dataset.from_tensor_slices(tf.constant(rows, tf.int64)), f"values({{v: {rows}}})"


@pytest.mark.parametrize("seed", range(10))
def test_inputs_of_different_shapes(stoker, seed):
    pick = random.Random(seed)
    parts = [sized(pick.randint(1, 4), pick.randint(1, 3), 100 * k) for k in range(pick.randint(2, 4))]
    joined, text = parts[0]
    for dataset, chain in parts[1:]:
        joined, text = joined.concatenate(dataset), f"{text}.concatenate({chain})"
    size = joined.element_spec.shape[0]
    plan = json.loads(stoker("plan", text, "--json").stdout)
    assert plan["stages"][0]["nodes"][0]["type"] == f"{{v: int64[{'?' if size is None else size}]}}"
    assert [e["v"] for e in delivered(stoker, text)] == [v.numpy().tolist() for v in joined]
    padded = [batch.numpy().tolist() for batch in joined.padded_batch(3)]
    assert [e["v"] for e in delivered(stoker, f"{text}.padded_batch(3)")] == padded
    numbers_ = [pick.randrange(len(parts)) for _ in range(12)]
    chosen = Dataset.choose_from_datasets([d for d, _ in parts], Dataset.from_tensor_slices(tf.constant(numbers_, tf.int64)))
    chain = f"values({{i: {numbers_}}}).choose_from([{', '.join(c for _, c in parts)}])"
    assert [e["v"] for e in delivered(stoker, chain)] == [v.numpy().tolist() for v in chosen]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, [3, 3], [3, 1]])
@pytest.mark.parametrize("whole, drops", [(True, False), (True, True), (False, False)])
def test_what_is_known_of_rebatched_shapes(stoker, size, whole, drops):
    known = Dataset.range(12).batch(6, whole).rebatch(size, drops).element_spec.shape[0]
    text = f"range(12).batch(6, {str(whole).lower()}).rebatch({size}, {str(drops).lower()}).map('x + 0')"
    assert f"{{x: int64[{known or '?'}]}}" in stoker("plan", text).stdout.splitlines()[3]
