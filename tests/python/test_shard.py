# SPDX-License-Identifier: Apache-2.0
"""shard(): whose elements are whose, and who says which process this is."""

import pytest
import stoker

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
