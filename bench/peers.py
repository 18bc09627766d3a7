# SPDX-License-Identifier: Apache-2.0
"""One peer at one work, in its own process. Prints one JSON line: elements per second of the best epoch.

    peers.py PEER WORK IMAGES

Each peer is set up as its own documentation advises for speed.
"""
import json
import os
import random
import resource
import sys
import time
from pathlib import Path

BATCH, SIZE, EPOCHS = 32, 224, 3


def image_files(folder):
    return sorted(str(path) for path in Path(folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))


def tf_dataset(work, folder):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    auto = tf.data.AUTOTUNE

    def load(path):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, [SIZE, SIZE]) / 255.0

    numbers = tf.data.Dataset.range(1_000_000)
    if work == "seed":
        files = image_files(folder)
        data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
        return data.map(load, num_parallel_calls=auto).batch(BATCH).prefetch(auto)
    if work == "map":  # a tenth of the elements: it takes long enough
        return numbers.take(100_000).map(lambda x: x + 1, num_parallel_calls=auto).batch(256).prefetch(auto)
    return numbers.shuffle(10_000).batch(256).prefetch(auto)


def tf_epoch(work, folder):
    data = tf_dataset(work, folder)
    return lambda: sum(int(batch.shape[0]) for batch in data)


def opencv_epoch(_work, folder):
    import concurrent.futures

    import cv2
    import numpy

    cv2.setNumThreads(1)
    files = image_files(folder)
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def load(path):
        image = cv2.imdecode(numpy.fromfile(path, numpy.uint8), cv2.IMREAD_COLOR_RGB)
        return cv2.resize(image, (SIZE, SIZE)).astype(numpy.float32) * (1 / 255)

    def epoch():
        images = []
        for image in pool.map(load, random.sample(files, len(files))):
            images.append(image)
            if len(images) == BATCH:
                numpy.stack(images)
                images = []
        return len(files)

    return epoch


PEERS = {"tf.data": tf_epoch, "opencv": opencv_epoch}


def main():
    peer, work, folder = sys.argv[1:4]
    epoch = PEERS[peer](work, folder)
    epoch()
    best = 0
    for _ in range(EPOCHS):
        start = time.perf_counter()
        n_elements = epoch()
        best = max(best, n_elements / (time.perf_counter() - start))
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"per_s": best, "rss_mb": rss_mb}))


if __name__ == "__main__":
    main()
