# SPDX-License-Identifier: Apache-2.0
"""Channels last, the fused Adam, and an allocator that keeps its memory (`MALLOC_MMAP_MAX_=0`)."""

import contextlib
import itertools
import json
import os
import tempfile

from train_models import batches, torch_model

NAME = "PyTorch, channels_last"
PLACE = 61
PACKAGES = ["torch", "torchvision"]
NOTES = {"train_half": "autocasts to bfloat16, which is faster here than float16"}


def load():
    import torch

    return torch


def train(torch, job):
    torch.set_num_threads(job.threads)
    model = torch_model(torch, job.model).to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    is_half = job.precision != "float32"
    made = []
    for images, labels in batches(job):
        images = torch.from_numpy(images).permute(0, 3, 1, 2)
        made.append(
            (images.contiguous(memory_format=torch.channels_last), torch.from_numpy(labels))
        )

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        half = torch.autocast("cpu", dtype=torch.bfloat16) if is_half else contextlib.nullcontext()
        with half:
            out = model(images)
        loss = torch.nn.functional.cross_entropy(out.float(), labels)
        loss.backward()
        optimizer.step()
        return float(loss)

    def epoch():
        for images, labels in itertools.islice(itertools.cycle(made), job.count // job.batch):
            step(images, labels)
            yield images

    def sizes():
        """The most that was allocated within a step, above what was there before it."""
        optimizer.zero_grad(set_to_none=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            step(*made[0])
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "trace.json")
            profile.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        events = [event["args"] for event in events if event.get("name") == "[memory]"]
        before = events[0]["Total Allocated"] - events[0]["Bytes"]
        most = max(event["Total Allocated"] for event in events)
        return {"tensor_mb": (most - before) / 2**20}

    epoch.sizes = sizes
    return epoch


def train_half(torch, job):
    return train(torch, job)
