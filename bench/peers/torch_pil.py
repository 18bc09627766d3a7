# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with a process per core; Pillow decodes, torchvision's v2 transforms do the rest."""

from peers import _torch

NAME = "torch, PIL"
PLACE = 20
PACKAGES = ["torch", "torchvision", "pillow"]
NOT_SAME = "batches have the channels first; the resized image is rounded to uint8"
NOTES = {"seed": NOT_SAME, "center_crop": NOT_SAME, "rrc": NOT_SAME}


def load():
    from PIL import Image

    return *_torch.load(), Image


def seed(loaded, job):
    return _torch.seed(loaded[:3], job, _decoder(loaded))


def center_crop(loaded, job):
    return _torch.center_crop(loaded[:3], job, _decoder(loaded))


def rrc(loaded, job):
    return _torch.rrc(loaded[:3], job, _decoder(loaded))


def _decoder(loaded):
    image = loaded[3]
    return lambda path: image.open(path).convert("RGB")
