# SPDX-License-Identifier: Apache-2.0
"""The same DataLoader; `torchvision.io.decode_jpeg` decodes."""

from peers import _torch

NAME = "torch, torchvision.io"
PLACE = 21
PACKAGES = ["torch", "torchvision"]
NOT_SAME = "batches have the channels first; the resized image is rounded to uint8"
NOTES = {
    "seed": NOT_SAME,
    "center_crop": NOT_SAME,
    "rrc": NOT_SAME,
    "augment": "batches have the channels first",
    "geometry": "batches have the channels first",
}

load = _torch.load


def seed(loaded, job):
    return _torch.seed(loaded, job, _decoder(loaded))


def photos(loaded, job):
    return seed(loaded, job)


def center_crop(loaded, job):
    return _torch.center_crop(loaded, job, _decoder(loaded))


def rrc(loaded, job):
    return _torch.rrc(loaded, job, _decoder(loaded))


def augment(loaded, job):
    return _torch.augment(loaded, job, _decoder(loaded))


def geometry(loaded, job):
    return _torch.geometry(loaded, job, _decoder(loaded))


def _decoder(loaded):
    io = loaded[1].io
    return lambda path: io.decode_jpeg(io.read_file(path), mode=io.ImageReadMode.RGB)
