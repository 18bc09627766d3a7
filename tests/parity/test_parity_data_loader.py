# SPDX-License-Identifier: Apache-2.0
"""Datasets inside PyTorch's DataLoader: what its workers give together is what a plain loop gives.

Importing torch takes seconds in every process that is spawned, so the cases of one start method
share a script.
"""

import importlib.util
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

    def run(text, *args, n_fine=1):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(BEGIN) + textwrap.dedent(text), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script, *args],
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            cwd=tmp_path,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        assert not done.returncode, done.stdout + done.stderr
        assert done.stdout.split().count("fine") == n_fine, done.stdout + done.stderr
        return done

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


# ---- ranks ----

RANKS = """
    import os
    import warnings
    import torch.distributed as dist
    import torch.multiprocessing as mp

    def gathered(thing):
        everything = [None] * dist.get_world_size()
        dist.all_gather_object(everything, thing)
        return everything

    def chain(n):
        return stoker.range(n).shuffle().shard().batch(10)

    def loop(batches):
        seen = []
        for batch in batches:
            dist.all_reduce(torch.ones(1))  # waits for all ranks
            seen += batch["x"].tolist()
        return seen

    def as_many_elements_and_no_more():
        ds = chain(100)
        assert len(ds) == 5 and len(stoker.Feed(ds)) == 5
        assert len(stoker.range(41).shard()) == 21 - dist.get_rank()
        first, second = [gathered(loop(stoker.Feed(ds))) for _ in range(2)]
        assert sorted(sum(first, [])) == list(range(100)) and first != second
        assert ds.stats().elements == 50
        for n in (0, 2):
            feed = stoker.Feed(chain(100))
            loader = DataLoader(feed, batch_size=None, num_workers=n)
            assert [gathered(loop(loader)) for _ in range(2)] == [first, second], n
            assert len(loader) == 5

    def uneven_ranks_are_padded():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            feed = stoker.Feed(chain(81))
            for n in (0, 2):
                loader = DataLoader(feed, batch_size=None, num_workers=n)
                assert len(loader) == len(feed) == 5
                seen = gathered(loop(loader))
                assert len(seen[0]) == len(seen[1]) == 41 and set(sum(seen, [])) == set(range(81))
        assert [str(w.message)[:12] for w in told if w.category is stoker.StokerWarning] == [
            "shard() pads"]

    def a_plain_loop_is_exact_and_warns():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            counts = [gathered(sum(1 for _ in ds)) for ds in [chain(81)] * 2]
            assert counts == [[5, 4]] * 2 and not sum(1 for _ in stoker.range(3).take(0))
        texts = [str(w.message) for w in told if w.category is stoker.StokerWarning]
        assert len(texts) == 2 and "rank 0 takes 5 steps" in texts[0], texts
        assert "this is one of 2 processes" in texts[1], texts
        assert all(w.filename == __file__ for w in told), [w.filename for w in told]

    def work(rank, port):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("gloo", rank=rank, world_size=2)
        as_many_elements_and_no_more()
        uneven_ranks_are_padded()
        a_plain_loop_is_exact_and_warns()
        dist.barrier()
        print("fine")
        dist.destroy_process_group()

    if __name__ == "__main__":
        import socket
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(work, (port,), nprocs=2)
    """


def test_ranks_of_a_process_group(run):
    run(RANKS, n_fine=2)


LIGHTNING = """
    import warnings
    try:
        import lightning
    except ImportError:
        import pytorch_lightning as lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen = []

        def training_step(self, batch, i):
            self.seen.append(batch["x"].tolist())
            return self.layer(batch["x"].float()[:, None]).mean()

        def on_train_epoch_end(self):
            everything = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(everything, sum(self.seen, []))
            assert len(self.seen) == 5 and len(everything[0]) == len(everything[1]) == 41
            assert set(sum(everything, [])) == set(range(81))
            self.epochs = [*getattr(self, "epochs", []), self.seen]
            self.seen = []

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    if __name__ == "__main__":
        warnings.simplefilter("ignore")
        feed = stoker.Feed(stoker.range(81).shuffle().shard().batch(10))
        loader = DataLoader(feed, batch_size=None, num_workers=int(sys.argv[1]))
        trainer = lightning.Trainer(
            strategy="ddp", accelerator="cpu", devices=2, max_epochs=2, logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )
        model = Model()
        trainer.fit(model, loader)
        assert model.epochs[0] != model.epochs[1]
        print("fine")
    """


@pytest.mark.parametrize("n_workers", [0, 2])
def test_lightning(run, n_workers):
    if not (importlib.util.find_spec("lightning") or importlib.util.find_spec("pytorch_lightning")):
        pytest.skip("Lightning is not installed in this environment")
    run(LIGHTNING, str(n_workers), n_fine=2)
