# SPDX-License-Identifier: Apache-2.0
"""One peer at one work, in its own process. Prints one JSON line: elements per second of the best epoch.

    peers.py PEER WORK [--images DIRECTORY] [--passes N] [--epochs N]

PEER is tf.data or opencv, WORK is seed, shuffle, buffer or map. An epoch of `seed` is N passes over the images. The
first epoch warms up and is not counted. Each peer is set up as its own documentation advises for speed.
"""
import argparse
import json
import os
import random
import resource
import time
from pathlib import Path

BATCH, SIZE = 32, 224
N_NUMBERS = 1_000_000
N_MAPPED = 100_000  # map: a tenth of what stoker does, because it takes minutes; the rate is per element


def image_files(directory):
    suffixes = (".jpg", ".jpeg")
    return sorted(str(path) for path in Path(directory).rglob("*") if path.suffix.lower() in suffixes)


def tf_dataset(tf, options):
    auto = tf.data.AUTOTUNE

    def load(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(image, [SIZE, SIZE]) / 255.0, label

    if options.work == "seed":
        files = image_files(options.images)
        data = tf.data.Dataset.from_tensor_slices((files, list(range(len(files)))))
        data = data.shuffle(len(files)).repeat(options.passes)
        return data.map(load, num_parallel_calls=auto).batch(BATCH).prefetch(auto)
    numbers = tf.data.Dataset.range(N_NUMBERS)
    if options.work == "shuffle":  # a buffer that holds everything: the nearest it has to a global shuffle
        data = numbers.shuffle(N_NUMBERS)
    elif options.work == "buffer":
        data = numbers.shuffle(10_000)
    else:
        data = numbers.take(N_MAPPED).map(lambda x: x + 1, num_parallel_calls=auto)
    return data.batch(256).prefetch(auto)


def tf_epoch(options):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    data = tf_dataset(tf, options)

    def epoch():
        n = 0
        for batch in data:
            first = batch[0] if isinstance(batch, tuple) else batch
            n += int(first.shape[0])
        return n

    return epoch


def opencv_epoch(options):
    import concurrent.futures

    import cv2
    import numpy

    cv2.setNumThreads(1)  # the threads below are the parallelism
    files = image_files(options.images)
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def load(path):
        with open(path, "rb") as file:
            encoded = numpy.frombuffer(file.read(), numpy.uint8)
        image = cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)
        return cv2.resize(image, (SIZE, SIZE)).astype(numpy.float32) * (1 / 255)

    def epoch():
        n, images = 0, []
        order = [path for _ in range(options.passes) for path in random.sample(files, len(files))]
        for image in pool.map(load, order):
            images.append(image)
            n += 1
            if len(images) == BATCH or n == len(order):
                numpy.stack(images)
                images = []
        return n

    return epoch


PEERS = {"tf.data": tf_epoch, "opencv": opencv_epoch}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("work", choices=["seed", "shuffle", "buffer", "map"])
    parser.add_argument("--images")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    epoch = PEERS[options.peer](options)
    epoch()
    best = 0
    for _ in range(options.epochs):
        start = time.perf_counter()
        n_elements = epoch()
        best = max(best, n_elements / (time.perf_counter() - start))
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"per_s": best, "rss_mb": rss_mb}))


if __name__ == "__main__":
    main()
