# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: from any batch on, what comes is what would have come."""

import json

import numpy as np
import pytest
import stoker
from places import GOLDEN



def content(batch):
    """A batch as bytes and shapes, with its place."""
    fields = []
    for name, value in batch.numpy().items():
        value = np.asarray(value)
        fields.append((name, value.shape, value.tolist() if value.dtype == object else value.tobytes()))
    place = batch.position
    return place.epoch, place.batch, place.rows, place.errors, tuple(fields), tuple(batch.origins)


def run(ds, **options):
    with ds.iterate(epoch=0, **options) as batches:
        return [(content(batch), batch.state_dict()) for batch in batches]


def check(ds, epochs, **options):
    """Cuts a run behind every batch; the rest must be the same with other numbers of workers."""
    whole = run(ds, workers=2, epochs=epochs, **options)
    assert len(whole) > 1
    for i, (_, state) in enumerate(whole):
        with ds.resume(state, workers=i % 3, **options) as batches:
            rest = [content(batch) for batch in batches]
        assert rest == [batch for batch, _ in whole[i + 1 :]], f"behind batch {i}"
    return whole


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("state")
    (path / "words.txt").write_text("".join(f"line {i}\n" for i in range(50)))
    for i in range(12):
        good = (GOLDEN / "decode" / "gray_420.jpg", next((GOLDEN / "decode").glob("*.jpg")))
        data = next(file for file in good if file.exists()).read_bytes()
        (path / f"{i:02}.jpg").write_bytes(data[:40] if i in (0, 4, 5, 11) else data)
    return path


CHAINS = [
    "range(40).batch(3)",
    "range(40).shuffle().batch(3, drop_remainder=true)",
    "range(40).shuffle(7).batch(3)",
    "range(40).shuffle(7).map('x * 2').filter('x % 3 != 0').batch(4)",
    "range(40).filter('x % 3 != 0').batch(4)",
    "range(40).filter('x % 3 != 0').shuffle(9).map('x + 1').batch(4)",
    "range(10).repeat(3).shuffle(9).batch(4)",
    "range(10).shuffle(4).repeat(3).batch(4)",
    "range(10).shuffle(4).batch(4).repeat(3)",
    "range(10).batch(3).take(2).repeat(3).skip(1)",
    "range(10).shuffle(3).batch(3).shard(2, 1)",
    "range(9).batch(2).map('x * 2').batch(2)",
    "range(9).shuffle(3).batch(2).shuffle(2)",
    "zip(range(9).shuffle(3), range(20).filter('x > 4').rename({x: y})).batch(2)",
    "range(5).shuffle(2).concatenate(range(9).filter('x > 4')).batch(2)",
    "sample_from([range(9), range(20, 40)], seed=3).batch(4)",
    "sample_from([range(9).filter('x > 2'), range(20, 40)], seed=3).batch(4)",
    "sample_from([range(5).shuffle(3), range(20, 40)]).repeat(2).batch(4)",
    "range(3).repeat(4).choose_from([range(9), range(20, 40), range(50, 60).filter('x > 52')]).batch(2)",
    "range(3).repeat().choose_from([range(9), range(20, 40), range(50, 60).shuffle()]).batch(2)",
    "range(2).repeat().choose_from([range(4), range(20, 40)], stop_on_empty=false).shuffle(5).batch(2)",
    "range(20).map('y = x % 3').balance(y).batch(4)",
    "range(20).map('y = x % 3').rejection_resample(y, [1, 1, 1]).batch(3)",
    "range(20).enumerate().shuffle(5).batch(4)",
    "range(20).filter('x % 3 != 0').enumerate().batch(4)",
    "range(20).map('12 // (x - 7)').ignore_errors().batch(4)",
    "range(20).batch(3).unbatch().shuffle(4).batch(4)",
    "range(20).batch(3).rebatch(4)",
    "range(20).batch(3).padded_batch(2)",
    "range(20).batch(3).ragged_batch(2).take(3)",
    "range(20).shuffle(5).batch(3).padded_batch(2).map('x * 2')",
    "counter().shuffle(5).batch(4).take(5)",
    "range(9).shuffle().interleave(element().repeat(3), cycle_length=4).batch(4)",
    "range(9).interleave(element().repeat(5).shuffle(), 3, 2).filter('x % 3 != 0').batch(4)",
    "range(5).repeat().flat_map(range(4).shuffle()).shuffle(7).batch(4).take(9)",
    "random().take(20).batch(4)",
    "range(12)",
    "range(6).filter('x > 1').repeat(2)",
]


@pytest.mark.parametrize("text", CHAINS)
def test_any_batch(text):
    check(stoker.parse(text), epochs=2)


@pytest.mark.parametrize(
    "text",
    ["lines('{}/words.txt').shuffle(8).batch(3)", "lines('{}/words.txt').repeat(2).batch(4)"],
)
def test_streams(folder, text):
    check(stoker.parse(text.format(folder)), epochs=2)


def test_errors_before_the_place_are_counted_but_not_told_again():
    ds = stoker.range(30).map("6 // (x % 10)").batch(4)
    with ds.iterate(on_error="skip") as batches:
        state = [next(batches) for _ in range(4)][-1].state_dict()
    with ds.resume(state, on_error="skip") as batches:
        assert sum(1 for _ in batches) == 3
        assert batches.stats().errors == 3
        assert ["element 20" in str(error) for error in batches.errors()] == [True]


@pytest.mark.parametrize("order", ["", ".shuffle()", ".shuffle(5)"])
def test_bad_elements_are_left_out_as_before(folder, order):
    ds = stoker.parse(f"files('{folder}/*.jpg'){order}.decode().resize(8, 8).batch(3)")
    whole = check(ds, epochs=3, on_error="skip")
    assert whole[-1][0][3] == 3 * 4  # errors


def test_replaced_elements(folder):
    check(
        stoker.files(f"{folder}/*.jpg").shuffle().decode().resize(8, 8).batch(3),
        epochs=2,
        on_error="replace",
    )


def test_a_resumed_run_counts_errors_on(folder):
    ds = stoker.files(f"{folder}/*.jpg").decode().resize(8, 8).batch(3)
    it = ds.iterate(epoch=0, on_error="skip")
    next(it)
    again = ds.resume(it.state_dict(), on_error="skip")
    list(again)
    list(it)
    assert again.stats().errors == it.stats().errors == 4


def test_states_are_small_and_survive_json():
    ds = stoker.range(10_000_000).shuffle().batch(32)
    buffered = stoker.range(10_000_000).shuffle(100_000).batch(32)
    for chain in (ds, buffered):
        it = chain.iterate(epoch=0)
        for _ in range(100):
            next(it)
        text = json.dumps(it.state_dict())
        assert len(text) < 4096
        resumed = chain.resume(json.loads(text))
        assert content(next(resumed)) == content(next(it))


def test_a_state_before_the_first_batch_and_behind_the_last():
    ds = stoker.range(10).batch(4)
    it = ds.iterate(epoch=0)
    assert [b.x.tolist() for b in ds.resume(it.state_dict())] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    batches = list(it)
    assert list(ds.resume(it.state_dict())) == []
    assert [b.x.tolist() for b in ds.resume(batches[0].state_dict())] == [[4, 5, 6, 7], [8, 9]]


def test_load_state_dict_and_epochs():
    ds = stoker.range(10).shuffle().batch(4)
    first, second, third = ([b.x.tolist() for b in ds] for _ in range(3))
    again = stoker.range(10).shuffle().batch(4)
    list(again)
    it = iter(again)
    begun = next(it).x.tolist()
    other = stoker.range(10).shuffle().batch(4)
    other.load_state_dict(it.state_dict())
    assert [begun] + [b.x.tolist() for b in other] == second
    assert [b.x.tolist() for b in other] == third
    assert first != second


def test_the_end_of_the_run_is_kept():
    ds = stoker.range(4).batch(2)
    it = ds.iterate(epoch=0, epochs=3)
    next(it)
    assert len(list(ds.resume(it.state_dict()))) == 5
    assert len(list(ds.resume(it.state_dict(), epochs=1))) == 1
    endless = ds.iterate(epoch=0, epochs=None)
    next(endless)
    rest = ds.resume(endless.state_dict())
    assert [next(rest).position.epoch for _ in range(4)] == [0, 1, 1, 2]


def global_order(world, batch, state=None, n=None):
    """Batches of all ranks, step by step; and the states behind step n."""
    ds = stoker.range(96).shuffle().shard().map("x * 2").batch(batch)
    ranks = [
        ds.resume(state, rank=r, world=world) if state else ds.iterate(epoch=0, rank=r, world=world)
        for r in range(world)
    ]
    steps = list(zip(*ranks)) if n is None else [[next(it) for it in ranks] for _ in range(n)]
    return [sorted(x for b in step for x in b.x.tolist()) for step in steps], ranks


@pytest.mark.parametrize("world, batch", [(1, 24), (2, 12), (3, 8), (6, 4)])
def test_another_world(world, batch):
    whole, _ = global_order(4, 6)
    begun, ranks = global_order(4, 6, n=2)
    state = ranks[0].state_dict()
    assert all(it.state_dict() != state for it in ranks[1:])
    rest, _ = global_order(world, batch, state)
    assert begun + rest == whole


def test_another_world_must_fit():
    _, ranks = global_order(4, 6, n=1)
    state = ranks[0].state_dict()
    ds = stoker.range(96).shuffle().shard().map("x * 2").batch(7)
    with pytest.raises(stoker.Error, match="no end of a batch"):
        ds.resume(state, rank=0, world=2)
    before = stoker.range(96).shard().shuffle().batch(6)
    it = before.iterate(epoch=0, rank=0, world=4)
    next(it)
    with pytest.raises(stoker.Error, match="world was 4, and is 2 now"):
        before.resume(it.state_dict(), rank=0, world=2)


@pytest.mark.parametrize(
    "other, options, message",
    [
        ("range(40).shuffle(3).batch(4)", {}, r"call 2 was shuffle\(\), and is shuffle\(3\) now"),
        ("range(40).shuffle().batch(8)", {}, r"call 3 was batch\(4\), and is batch\(8\) now"),
        ("range(40).shuffle()", {}, r"call 3 was batch\(4\), and is not there now"),
        ("range(40).shuffle().batch(4).take(2)", {}, r"call 4 was not there, and is take\(2\) now"),
        ("range(40).shuffle().batch(4)", {"seed": 1}, "seed was 0, and is 1 now"),
        ("range(40).shuffle().batch(4)", {"on_error": "skip"}, "on_error was fail, and is skip now"),
        ("range(40).shuffle().batch(4)", {"rank": 1, "world": 2}, None),
        ("range(40).shuffle().batch(4)", {"epoch": 0, "epochs": 4}, None),
    ],
)
def test_states_of_other_runs_are_refused(other, options, message):
    it = stoker.parse("range(40).shuffle().batch(4)").iterate(epoch=0)
    next(it)
    ds = stoker.parse(other)
    if message is None:
        assert len(list(ds.resume(it.state_dict(), **options))) == 10 * options.get("epochs", 1) - 1
        return
    with pytest.raises(stoker.Error, match=message):
        ds.resume(it.state_dict(), **options)


def test_prefetch_makes_no_other_chain():
    it = stoker.range(40).batch(4).prefetch(2).iterate(epoch=0)
    next(it)
    assert len(list(stoker.range(40).batch(4).resume(it.state_dict()))) == 9


def test_data_that_has_become_less(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("one\n" * 40)
    ds = stoker.lines(str(words)).batch(4)
    it = ds.iterate(epoch=0)
    for _ in range(5):
        next(it)
    words.write_text("one\n" * 10)
    with pytest.raises(stoker.Error):
        list(stoker.lines(str(words)).batch(4).resume(it.state_dict()))


@pytest.mark.parametrize(
    "state",
    [
        {"state": ""},
        {"state": "range(3)"},
        {"state": "state@1(seed=0)"},
        {"state": "state@2(seed=0)"},
        {"state": "state(", "more": 1},
    ],
)
def test_what_is_no_state(state):
    with pytest.raises(stoker.Error):
        stoker.range(3).resume(state)
    with pytest.raises(stoker.Error):
        stoker.range(3).load_state_dict(state)


@pytest.mark.parametrize("state", [None, 3, {}, {"state": 3}, []])
def test_what_is_no_dict_of_a_state(state):
    with pytest.raises(TypeError):
        stoker.range(3).resume(state)


# ---- the place of a dataset, and what is left ----


def numbers_of(batches):
    return [batch.x.tolist() for batch in batches]


def fresh():
    return stoker.range(10).shuffle().batch(3)


def test_a_dataset_says_where_its_run_is():
    whole = numbers_of(fresh().iterate(epochs=3))
    for n in range(1, 12):
        ds, seen = fresh(), []
        while len(seen) < n:
            for batch in ds:
                seen.append(batch.x.tolist())
                if len(seen) == n:
                    break
        state = json.loads(json.dumps(ds.state_dict()))
        del batch
        again = fresh()
        again.load_state_dict(state)
        assert again.state_dict() == state
        for _ in range(3):
            seen += numbers_of(again)
        assert seen[: len(whole)] == whole, n


def test_a_dataset_that_has_not_begun_or_is_at_an_end():
    ds, again = fresh(), fresh()
    again.load_state_dict(ds.state_dict())
    assert numbers_of(again) == numbers_of(fresh())
    ds = fresh()
    first = numbers_of(ds)
    again = fresh()
    again.load_state_dict(ds.state_dict())  # the epoch is over: the next one comes
    second = numbers_of(again)
    assert len(second) == 4 and first + second == numbers_of(fresh().iterate(epochs=2))
    it = iter(ds)
    next(it)
    it.close()
    again.load_state_dict(ds.state_dict())
    assert numbers_of(again) == numbers_of(ds.iterate(epoch=1))[1:]
    with pytest.raises(TypeError, match="state_dict"):
        ds.resume("place")


def test_len_of_an_iterator():
    ds = stoker.range(10).batch(3)
    it = ds.iterate(epochs=2)
    left = [len(it)]
    for batch in it:
        left.append(len(it))
    assert left == [8, 7, 6, 5, 4, 3, 2, 1, 0] and it
    assert len(ds.resume(ds.iterate(epochs=2).state_dict())) == 8
    part = stoker.range(10).shard().batch(2).iterate(rank=1, world=3)
    assert len(part) == 2 and len(list(part)) == 2 and len(part) == 0
    for endless in (ds.iterate(epochs=None), ds.repeat().iterate(), ds.filter("any(x > 3)").iterate()):
        with pytest.raises(TypeError, match="endless|nobody knows"):
            len(endless)
        assert endless


@pytest.mark.parametrize("chain, mixer", [
    ("range(96).shuffle().shard()", None),
    ("range(96).shuffle(10).shard()", "shuffle"),
    ("range(96).shard().shuffle(10)", "shuffle"),
    ("range(96).shard().shuffle(10).map('x + 1')", "shuffle"),
    ("range(96).filter('x >= 0').shard()", "filter"),
    ("range(96).shard().unique()", "unique"),
    ("range(96).shard().filter('x >= 0')", "filter"),
])  # fmt: skip
def test_another_number_of_processes_continues_exactly_or_is_refused(chain, mixer):
    ds = stoker.parse(chain)
    four = [ds.batch(6).iterate(rank=rank, world=4) for rank in range(4)]
    state = [(next(it), it.state_dict()) for it in four][0][1]
    if mixer:
        wanted = f"world was 4, and is 2 now; behind ({mixer}) the place .* with world=4 to the end of the epoch"
        for n_rows in [6, 12]:
            with pytest.raises(stoker.StateError, match=wanted):
                ds.batch(n_rows).resume(state, rank=0, world=2)
        return
    two = [ds.batch(12).resume(state, rank=rank, world=2) for rank in range(2)]
    rest = [sorted(int(x) for it in its for batch in it for x in batch.x) for its in (two, four)]
    assert rest[0] == rest[1] and len(rest[0]) == 72
