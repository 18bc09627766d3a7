# SPDX-License-Identifier: Apache-2.0
"""shard(): whose elements are whose, and who says which process this is."""

import pickle
import sys
import types
import warnings

import pytest
import stoker
from stoker import _ranks, _show

LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE"),
    "mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "hydra": ("PMI_RANK", "PMI_SIZE"),
    "srun": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
}


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for names in LAUNCHERS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("LOCAL_RANK", raising=False)


def elements(ds, **options):
    with ds.iterate(epoch=0, **options) as rows:
        return [int(row.x) for row in rows]


@pytest.mark.parametrize("rank, world", LAUNCHERS.values(), ids=LAUNCHERS)
def test_a_launcher_says_which_process_this_is(monkeypatch, rank, world):
    monkeypatch.setenv(rank, "1")
    monkeypatch.setenv(world, "3")
    ds = stoker.range(8).shard()
    assert elements(ds) == [1, 4, 7]
    assert elements(ds, rank=0, world=2) == [0, 2, 4, 6]
    assert elements(ds, rank=2) == [2, 5]


def test_half_of_what_a_launcher_says_is_nothing(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    assert elements(stoker.range(4).shard()) == [0, 1, 2, 3]
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "4")  # asked for, but this is no task of a step
    assert elements(stoker.range(4).shard()) == [0, 1, 2, 3]


@pytest.mark.parametrize("rank, world", [("one", "3"), ("1", ""), ("-1", "3"), ("1", "1e3")])
def test_what_is_no_number(monkeypatch, rank, world):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world)
    with pytest.raises(stoker.Error, match="the environment has (RANK|WORLD_SIZE)="):
        elements(stoker.range(4).shard())
    assert elements(stoker.range(4).shard(), rank=0, world=2) == [0, 2]


def test_a_rank_outside_the_world(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(stoker.Error, match="no rank 3 in a world of 3"):
        elements(stoker.range(4).shard())


@pytest.mark.parametrize("n", [0, 1, 5, 7, 8, 9])
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_remainders(n, world):
    for remainder in ("uneven", "drop", "pad"):
        ds = stoker.range(n).shard(remainder=remainder)
        parts = [elements(ds, rank=r, world=world) for r in range(world)]
        sizes = {len(part) for part in parts}
        together = sorted(x for part in parts for x in part)
        if remainder == "uneven":
            assert together == list(range(n)) and max(sizes) - min(sizes) <= 1
        else:
            assert len(sizes) == 1
        if remainder == "drop":
            assert together == list(range(n // world * world))
        if remainder == "pad" and n:
            assert set(together) == set(range(n)) and len(together) == -(-n // world) * world


def test_epochs_are_dealt_out_jointly():
    ds = stoker.range(12).shuffle().shard(remainder="drop")
    epochs = []
    for epoch in range(3):
        parts = [[int(e.x) for e in ds.iterate(epoch=epoch, rank=r, world=3)] for r in range(3)]
        assert sorted(sum(parts, [])) == list(range(12))
        epochs.append(parts)
    assert epochs[0] != epochs[1] != epochs[2]


@pytest.mark.parametrize("remainder", ["drop", "pad"])
def test_remainders_need_positions(remainder):
    with pytest.raises(stoker.Error, match="put it before filter"):
        stoker.range(9).filter("x > 3").shard(2, 0, remainder=remainder)
    with pytest.raises(stoker.Error, match="put it before batch"):
        stoker.range(9).batch(2).shard(2, 0, remainder=remainder)


# ---- PyTorch knows it ----


@pytest.fixture
def group(monkeypatch):
    """A stand-in for torch.distributed with an initialised process group of three."""
    module = types.ModuleType("torch.distributed")
    module.rank, module.is_on = 1, True
    module.is_available = lambda: True
    module.is_initialized = lambda: module.is_on
    module.get_rank = lambda: module.rank
    module.get_world_size = lambda: 3
    monkeypatch.setitem(sys.modules, "torch.distributed", module)
    monkeypatch.setattr(_ranks, "_has_warned", False)
    monkeypatch.setattr(_ranks, "_chains_seen", set())
    return module


def test_a_process_group_says_which_process_this_is(group):
    ds = stoker.range(8).shard()
    assert elements(ds) == [1, 4, 7] and len(ds) == 3 and int(ds[1].x) == 4
    assert [int(row.x) for row in ds.head(2)] == [1, 4]
    assert elements(ds, rank=0, world=2) == [0, 2, 4, 6]
    group.rank = 2  # asked when a loop begins, not when the chain is built
    assert elements(ds) == [2, 5] and len(ds) == 2 == ds.cardinality
    assert len(stoker.range(8).shard(remainder="pad")) == 3
    assert len(stoker.range(8).shard().batch(2).options(rank=0, world=2)) == 2


def test_all_that_reads_data_asks_the_group(group, tmp_path):
    """Rank 1 of 3 has 1, 4 and 7."""
    ds = stoker.range(8).shard()
    assert ds.stats().elements == 3 and ds.plan().json["count"] == 3
    ds.pack(tmp_path / "part.tfrecord")
    assert len(stoker.tfrecord(tmp_path / "part.tfrecord")) == 3
    seen = set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.map(lambda e: seen.add(int(e["x"])) or e, {"x": "int64"}).profile(0.05, trials=False)
    assert seen == {1, 4, 7}
    images = stoker.values({"image": [[[[n]]] for n in range(8)]}).cast("uint8").shard()
    assert _show.first_batch(images).image.tolist() == [[[1]]]


def test_steps_that_differ_get_one_warning(group):
    ds = stoker.range(31).shard().batch(5)
    with pytest.warns(stoker.StokerWarning, match="rank 0 takes 3 steps.*last rank 2") as seen:
        assert [len(list(ds)) for _ in range(2)] == [2, 2]
    assert len(seen) == 1 and seen[0].filename == __file__


@pytest.mark.parametrize(
    "ds",
    [
        stoker.range(30).shard().batch(5),
        stoker.range(32).shard().batch(20),  # 11 or 10 elements, but one step
        stoker.range(31).shard(remainder="pad").batch(5),
        stoker.range(31).shard(remainder="drop").batch(5),
        stoker.range(31).shard().batch(5).repeat().take(9),
    ],
    ids=str,
)
def test_no_warning_where_steps_are_equal(group, ds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(ds)


def test_a_group_before_the_launcher(group, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    ds = stoker.range(8).shard()
    assert elements(ds) == [1, 4, 7]
    group.is_on = False
    assert elements(ds) == [0, 2, 4, 6] and len(ds) == 4


def test_the_rank_goes_along_with_a_pickle(group):
    there = pickle.dumps(stoker.range(8).shard())
    group.is_on = False  # as in a worker process
    ds = pickle.loads(there)
    assert elements(ds) == [1, 4, 7] and len(ds) == 3


def test_data_that_nobody_deals_out_gets_one_warning(group):
    with pytest.warns(stoker.StokerWarning, match="one of 3 processes.*no shard") as seen:
        assert len(elements(stoker.range(8))) == 8
        assert len(elements(stoker.range(9))) == 9
    assert len(seen) == 1 and seen[0].filename == __file__


@pytest.mark.parametrize("ds", [stoker.range(9).shard(), stoker.range(8).options(rank=0, world=3)])
def test_no_warning_where_it_is_said(group, ds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        elements(ds)


def test_a_process_of_lightning_gets_the_warning(monkeypatch):
    monkeypatch.setattr(_ranks, "_has_warned", False)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.warns(stoker.StokerWarning, match="one of 2 processes"):
        elements(stoker.range(8))
