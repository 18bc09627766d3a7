# SPDX-License-Identifier: Apache-2.0
"""What the torch peers have in common: the transforms, and a DataLoader with a process per core."""


def load():
    import torch
    import torchvision.io
    from torchvision.transforms import v2

    torch.set_num_threads(1)  # the worker processes are the parallelism
    return torch, torchvision, v2


def seed(loaded, job, decode):
    torch, _, v2 = loaded
    steps = [
        v2.ToImage(),
        v2.Resize((job.size, job.size), antialias=False),
        v2.ToDtype(torch.float32, scale=True),
    ]
    return epoch(loaded, job, decode, v2.Compose(steps), is_shuffled=True)


def center_crop(loaded, job, decode):
    torch, _, v2 = loaded
    steps = [
        v2.ToImage(),
        v2.Resize((job.resized, job.resized), antialias=False),
        v2.CenterCrop(job.size),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(job.mean, job.std),
    ]
    return epoch(loaded, job, decode, v2.Compose(steps), is_shuffled=False)


def rrc(loaded, job, decode):
    torch, _, v2 = loaded
    steps = [
        v2.ToImage(),
        v2.RandomResizedCrop(job.size, tuple(job.area), tuple(job.ratio), antialias=False),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(job.mean, job.std),
    ]
    return epoch(loaded, job, decode, v2.Compose(steps), is_shuffled=True)


def augment(loaded, job, decode):
    torch, _, v2 = loaded
    steps = [
        v2.ToImage(),
        v2.Resize((job.size, job.size), antialias=False),
        v2.ColorJitter(job.jitter, job.jitter, job.jitter, job.hue),
        v2.RandAugment(job.changes, job.magnitude),
        v2.ToDtype(torch.float32, scale=True),
    ]
    return epoch(loaded, job, decode, v2.Compose(steps), is_shuffled=True)


def geometry(loaded, job, decode):
    torch, _, v2 = loaded
    change = v2.RandomAffine(
        job.degrees,
        tuple(job.moved),
        tuple(job.scaled),
        job.shear,
        interpolation=v2.InterpolationMode.BILINEAR,
    )
    steps = [
        v2.ToImage(),
        v2.Resize((job.size, job.size), antialias=False),
        change,
        v2.ToDtype(torch.float32, scale=True),
    ]
    return epoch(loaded, job, decode, v2.Compose(steps), is_shuffled=True)


class Images:
    """A map-style data set."""

    def __init__(self, files, decode, transform):
        self.files, self.decode, self.transform = files, decode, transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.transform(self.decode(self.files[i]))


def epoch(loaded, job, decode, transform, is_shuffled):
    torch = loaded[0]
    loader = torch.utils.data.DataLoader(
        Images(job.files, decode, transform),
        batch_size=job.batch,
        shuffle=is_shuffled,
        num_workers=job.workers,
        persistent_workers=True,
    )
    return lambda: iter(loader)
