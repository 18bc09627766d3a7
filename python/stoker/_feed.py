# SPDX-License-Identifier: Apache-2.0
"""Feed: a Dataset as PyTorch's IterableDataset, of tensors, with as many steps for every rank."""

try:
    from torch.utils.data import IterableDataset
except ImportError as error:
    raise ImportError("stoker.Feed is for PyTorch, which is not installed", name="torch") from error

from . import _ranks
from ._core import Batch, Chain
from ._dataset import INFINITE
from ._errors import Error, warn
from ._text import encode


class Feed(IterableDataset):
    """A Dataset for a DataLoader of PyTorch: dicts of tensors, and as many for every rank.

        feed = stoker.Feed(ds.shuffle().shard().batch(32))
        loader = torch.utils.data.DataLoader(feed, batch_size=None, num_workers=2)

    What waits for all ranks in each step would wait for ever if one had fewer. Where ranks would
    take different numbers of steps, shard() pads: those that have one element less get one of the
    first ones again, and a StokerWarning says so. shard(remainder='drop') leaves elements out
    instead.
    """

    def __init__(self, dataset):
        super().__init__()
        self.dataset, self._even = dataset, _padded(dataset)
        self._world, self._pads = 1, False

    def __iter__(self):
        return map(Batch.torch, iter(self._chosen()))

    def __len__(self):
        return len(self._chosen())

    def set_epoch(self, epoch):
        """As that of the Dataset: the next loop is this epoch."""
        self.dataset.set_epoch(epoch)
        self._even.set_epoch(epoch)

    def _chosen(self):
        """The dataset, or with padding if ranks would not be equal without; asked for when a loop
        begins, as rank and world are.
        """
        settings = _ranks.known(self.dataset._chain, self.dataset._settings)
        world = int(settings.get("world", 1))
        if world != self._world:
            self._world, self._pads = world, world > 1 and self._must_pad(settings)
        return self._even if self._pads else self.dataset

    def _must_pad(self, settings):
        most, fewest = _ranks.steps(self.dataset._chain, settings)
        if most == fewest and (most >= 0 or most == INFINITE):
            return False
        if self._even is self.dataset or self._even.cardinality < 0:
            warn(
                "nobody knows beforehand how many steps each rank takes over this dataset: training "
                "that waits for all ranks may wait for ever. repeat().take(n) behind batch gives "
                "each of them n"
            )
            return False
        warn(
            f"shard() pads: rank 0 takes {most} steps and the last rank would take {fewest}, so some "
            "elements come twice. shard(remainder='drop') leaves some out instead"
        )
        return True


def _padded(dataset):
    """The dataset itself where there is no shard(), or where it cannot pad."""
    text = dataset.canonical
    if _ranks.padded(text) == text:
        return dataset
    try:
        chain = Chain(encode(_ranks.padded(text)), dataset._chain.objects)
    except Error:  # behind filter or batch nobody knows what is left over
        return dataset
    return type(dataset).__new__(type(dataset))._set(chain, dataset._settings)
