# SPDX-License-Identifier: Apache-2.0
"""TFRecord files for the works that read them, packed by stoker; TensorFlow reads them, too."""

from pictures import SIZE, draw

N_FLOATS = 10


def make_small(setup, count):
    """Examples of a label and ten floats."""
    import numpy as np
    import stoker

    folder = setup.cache / f"examples-{count}"
    rng = np.random.default_rng(7)
    data = stoker.from_arrays(
        {"label": np.arange(count) % 10, "x": rng.random((count, N_FLOATS), np.float32)}
    )
    folder.mkdir(exist_ok=True)
    data.pack(str(folder / "small.tfrecord"), force=True)
    return folder / "small.tfrecord"


def make_pictures(setup, count, shards=4):
    """Examples of a label and a picture in plain bytes, in several files; gives their folder."""
    import numpy as np
    import stoker

    folder = setup.cache / f"raw-pictures-{count}"
    folder.mkdir(exist_ok=True)
    if len(list(folder.glob("raw-*.tfrecord"))) != shards:
        pictures = np.stack(list(draw(count)))
        data = stoker.from_arrays({"label": np.arange(count) % 10, "image": pictures})
        data.pack(str(folder / "raw-{shard}.tfrecord"), shards=shards, force=True)
    return folder
