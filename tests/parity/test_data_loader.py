# SPDX-License-Identifier: Apache-2.0
"""Datasets inside PyTorch's DataLoader: what its workers give together is what a plain loop gives.

Importing torch takes seconds in every process that is spawned, so the cases of one start method
share a script.
"""

import os
import subprocess
import sys
import textwrap

import pytest

HANG_SECONDS = 300

BEGIN = """
    import sys
    import numpy as np
    import stoker
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    def numbers(batches):
        return [(b["x"] if isinstance(b, dict) else b.x).tolist() for b in batches]

    def epochs(ds, n):
        return [numbers(ds.iterate(epoch=epoch)) for epoch in range(n)]
    """


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed in this environment")

    def run(text, *args):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(BEGIN) + textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script, *args],
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        assert done.stdout.endswith("fine\n") and done.returncode == 0, done.stdout + done.stderr

    return run


def test_every_batch_comes_once_and_in_order(run):
    """Any number of workers, living for an epoch or longer, while threads of stoker run in the
    process that is forked."""
    run("""
        running = stoker.range(10**7).shuffle().batch(100).iterate()
        next(running)
        chains = [
            stoker.range(103).shuffle().batch(10),
            stoker.range(103).shuffle().batch(10, drop_remainder=True).prefetch(2),
            stoker.range(103).filter("x % 3 > 0").shuffle(20).batch(10),
            stoker.range(103).shuffle().shard().batch(10).options(rank=1, world=2),
            stoker.range(5).shuffle(),
        ]
        for chain in chains:
            plain = epochs(chain, 3)
            for n, lives_on in [(0, False), (1, False), (2, False), (2, True), (3, True)]:
                ds = stoker.parse(str(chain)).options(**chain._settings)
                loader = DataLoader(ds, batch_size=None, num_workers=n, persistent_workers=lives_on)
                assert [numbers(loader) for _ in range(3)] == plain, (str(chain), n, lives_on)
                ds.set_epoch(1)
                assert [numbers(loader) for _ in range(2)] == plain[1:], (str(chain), n, lives_on)
        assert next(running).position.batch == 1
        print("fine")
        """)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_are_not_forks(run, method):
    run(
        """
        class Feed(IterableDataset):
            def __init__(self, dataset):
                self.dataset = dataset

            def __iter__(self):
                for batch in self.dataset:
                    yield batch.torch()

        if __name__ == "__main__":
            method = sys.argv[1]
            chain = stoker.range(103).shuffle().batch(10)
            plain = epochs(chain, 3)
            options = {"batch_size": None, "num_workers": 2, "multiprocessing_context": method}
            loader = DataLoader(stoker.parse(str(chain)), **options)
            assert [numbers(loader) for _ in range(3)] == plain
            feed = Feed(stoker.parse(str(chain)))
            loader = DataLoader(feed, persistent_workers=True, **options)
            assert [numbers(loader) for _ in range(3)] == plain
            feed.dataset.set_epoch(1)
            assert [numbers(loader) for _ in range(2)] == plain[1:]
            del loader
            print("fine")
        """,
        method,
    )


def test_a_batch_arrives_whole(run):
    """Large arrays through shared memory, small ones and texts inside the pickle."""
    run("""
        images = np.random.default_rng(4).integers(0, 256, (8, 100, 100, 3), np.uint8)
        rows = {"image": images, "x": list(range(8)), "t": [f"n{i}" for i in range(8)]}
        ds = stoker.from_arrays(rows, half=images[..., 0].astype(np.float16)).batch(4)
        ds = ds.options(epoch=0)
        here = list(ds)
        kept = []
        for there, batch in zip(DataLoader(ds, batch_size=None, num_workers=2), here, strict=True):
            assert type(there) is stoker.Batch and there.origins == batch.origins
            assert there.t.tolist() == batch.t.tolist() and there.n_rows == 4
            for name in ("image", "x", "half"):
                assert np.array_equal(np.asarray(there[name]), np.asarray(batch[name]))
                tensor = there[name].torch()
                assert tensor.data_ptr() == there[name].address
                kept.append((tensor, batch[name].torch()))
        del there, ds
        for tensor, wanted in kept:
            assert torch.equal(tensor, wanted)
            tensor += 1
        print("fine")
        """)


def test_conversions_in_the_worker(run):
    run("""
        ds = stoker.range(40).shuffle().batch(10)
        plain = epochs(ds, 2)
        loader = DataLoader(
            ds, batch_size=None, num_workers=2, collate_fn=lambda batch: batch.torch()
        )
        for epoch in plain:
            got = list(loader)
            assert isinstance(got[0]["x"], torch.Tensor) and numbers(got) == epoch
        assert len(loader) == 4
        print("fine")
        """)


def test_who_deals_out_by_hand_gets_what_is_asked_for(run):
    run("""
        class Feed(IterableDataset):
            def __init__(self, ds, share):
                self.ds, self.share = ds, share

            def __iter__(self):
                return map(stoker.Batch.torch, self.share(self.ds, get_worker_info()))

        ds = stoker.range(40).shuffle().shard().batch(10)
        shares = [
            lambda ds, info: ds.iterate(epoch=0, rank=info.id, world=info.num_workers),
            lambda ds, info: ds.unbatch().shard(info.num_workers, info.id).batch(10),
            lambda ds, info: stoker.range(40).shard(info.num_workers, info.id).batch(10),
            lambda ds, info: stoker.range(40).batch(10),
        ]
        for share in shares:
            got = numbers(DataLoader(Feed(ds, share), batch_size=None, num_workers=2))
            assert sorted(sum(got, [])) == list(range(40)), got
        whole = Feed(ds, lambda ds, info: ds.iterate(rank=0, world=1))
        assert len(list(DataLoader(whole, batch_size=None, num_workers=2))) == 8
        print("fine")
        """)


def test_a_table_gets_all_of_a_dataset(run):
    """Only a worker that iterates gives a part."""
    run("""
        class Table(torch.utils.data.Dataset):
            def __init__(self):
                self.names = stoker.range(10).batch(5)

            def __len__(self):
                return 4

            def __getitem__(self, i):
                return i, sum(int(b.x.numpy().sum()) for b in self.names)

        for _, total in DataLoader(Table(), num_workers=2):
            assert total.tolist() == [45]
        print("fine")
        """)


def test_a_run_of_before_the_fork_says_so(run):
    run("""
        class Feed(IterableDataset):
            def __init__(self, batches):
                self.batches = batches

            def __iter__(self):
                return map(stoker.Batch.torch, self.batches)

        feed = Feed(iter(stoker.range(40).batch(10)))
        try:
            list(DataLoader(feed, batch_size=None, num_workers=2))
        except stoker.StateError as error:
            assert "before a fork" in str(error)
            print("fine")
        """)


def test_torch_may_come_later(run):
    """PyTorch is not imported with stoker, and a dataset may be older than it."""
    run("""
        import subprocess
        done = subprocess.run([sys.executable, "-c", '''if True:
            import sys, stoker
            ds = stoker.range(20).shuffle().batch(10)
            assert not isinstance(ds, int) and "torch" not in sys.modules
            from torch.utils.data import DataLoader, IterableDataset
            loader = DataLoader(ds, batch_size=None)
            assert isinstance(ds, IterableDataset) and not isinstance(ds, int)
            first, second = [[b.x.tolist() for b in loader] for _ in range(2)]
            assert first != second, "epoch 0 again"
            '''], capture_output=True, text=True)
        assert not done.returncode, done.stderr
        print("fine")
        """)
