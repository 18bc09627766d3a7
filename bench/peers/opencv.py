# SPDX-License-Identifier: Apache-2.0
"""NumPy and OpenCV by hand: a thread per core, each makes whole batches; a few are in flight."""

import collections
import concurrent.futures
import math
import random

NAME = "OpenCV, threads"
PLACE = 40
PACKAGES = ["opencv-python-headless", "numpy"]
VERSION_OF = ["opencv-python-headless"]
ROUNDS = "the resized image is rounded to uint8"
NOTES = {"seed": ROUNDS, "center_crop": ROUNDS, "rrc": ROUNDS}


def load():
    import cv2
    import numpy

    cv2.setNumThreads(1)  # the threads below are the parallelism
    return cv2, numpy


def seed(loaded, job):
    np = loaded[1]
    factor = np.float32(1 / 255)

    def fill(path, row):
        np.multiply(_resized(loaded, path, job.size), factor, out=row)

    return _epoch(np, job, fill, is_shuffled=True)


def photos(loaded, job):
    return seed(loaded, job)


def center_crop(loaded, job):
    np = loaded[1]
    first = (job.resized - job.size) // 2
    middle = slice(first, first + job.size)
    factor, offset = _scaling(np, job)

    def fill(path, row):
        row[:] = _resized(loaded, path, job.resized)[middle, middle]
        _scale(np, row, factor, offset)

    return _epoch(np, job, fill, is_shuffled=False)


def rrc(loaded, job):
    cv2, np = loaded
    factor, offset = _scaling(np, job)

    def fill(path, row):
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
        top, left, height, width = _random_part(job, *image.shape[:2])
        part = image[top : top + height, left : left + width]
        part = cv2.resize(part, (job.size, job.size))
        row[:] = cv2.flip(part, 1) if random.random() < 0.5 else part
        _scale(np, row, factor, offset)

    return _epoch(np, job, fill, is_shuffled=True)


def _random_part(job, height, width):
    """As torchvision's RandomResizedCrop chooses it."""
    low, high = (math.log(ratio) for ratio in job.ratio)
    for _ in range(10):
        area = height * width * random.uniform(*job.area)
        ratio = math.exp(random.uniform(low, high))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    return 0, 0, height, width


def _resized(loaded, path, side):
    cv2, np = loaded
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
    return cv2.resize(image, (side, side))


def _scaling(np, job):
    factor = _line(np, job, [1 / (255 * std) for std in job.std])
    return factor, _line(np, job, [-mean / std for mean, std in zip(job.mean, job.std)])


def _scale(np, row, factor, offset):
    lines = row.reshape(len(row), -1)
    np.multiply(lines, factor, out=lines)
    np.add(lines, offset, out=lines)


def _line(np, job, channels):
    """A value for each channel, for a line of pixels: NumPy is slow on a last dimension of 3."""
    return np.tile(np.array(channels, np.float32), job.size)


def _epoch(np, job, fill, is_shuffled):
    pool = concurrent.futures.ThreadPoolExecutor(job.workers)

    def make(files):
        batch = np.empty((len(files), job.size, job.size, 3), np.float32)
        for path, row in zip(files, batch):
            fill(path, row)
        return batch

    def epoch():
        files = random.sample(job.files, len(job.files)) if is_shuffled else job.files
        waiting = collections.deque()
        for first in range(0, len(files), job.batch):
            waiting.append(pool.submit(make, files[first : first + job.batch]))
            if len(waiting) > 2 * job.workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    return epoch
