# SPDX-License-Identifier: Apache-2.0
"""TFRecord files for the works that read them, packed by stoker; TensorFlow reads them, too."""

from pictures import SIZE, draw

N_FLOATS = 10


def make_small(setup, count):
    """Examples of a label and ten floats."""
    import numpy as np
    import stoker

    folder = setup.cache / f"examples-{count}"
    if not (folder / "small.tfrecord").exists():
        rng = np.random.default_rng(7)
        data = stoker.from_arrays(
            {"label": np.arange(count) % 10, "x": rng.random((count, N_FLOATS), np.float32)}
        )
        folder.mkdir(exist_ok=True)
        data.pack(str(folder / "small.tfrecord"), force=True)
    return folder / "small.tfrecord"


def make_large(setup, count, record_bytes):
    """Examples of `record_bytes` random bytes each."""
    import numpy as np
    import stoker

    path = setup.cache / f"large-{count}x{record_bytes}.tfrecord"
    if path.exists():
        return path
    plain = path.with_suffix(".plain")
    rng, n_parts = np.random.default_rng(7), 16
    with plain.open("wb") as file:
        for _ in range(n_parts):
            file.write(rng.bytes(count // n_parts * record_bytes))
    stoker.fixed_length(str(plain), record_bytes).pack(str(path), force=True)
    plain.unlink()
    return path


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


def make_progressive(setup, count, side=2048):
    """Progressive JPEG files of 4 megapixels without subsampling, which take most memory; gives their folder."""
    import numpy as np
    from PIL import Image

    folder = setup.cache / f"progressive-{count}x{side}"
    folder.mkdir(exist_ok=True)
    y, x = np.mgrid[0:side, 0:side]
    for i in range(count):
        path = folder / f"{i:03}.jpg"
        if path.exists():
            continue
        planes = [128 + 90 * np.sin(x / (9 + i) + k) * np.cos(y / (7 + k)) for k in range(3)]
        image = Image.fromarray(np.stack(planes, axis=-1).astype(np.uint8))
        image.save(path, quality=80, progressive=True, subsampling=0)
    return folder


def make_compressed(setup, count):
    """Examples of a picture as JPEG, in one compressed file."""
    import numpy as np
    import stoker

    path = setup.cache / f"jpegs-{count}.tfrecord.gz"
    if not path.exists():
        data = stoker.from_arrays({"image": np.stack(list(draw(count)))}).encode_jpeg(quality=95)
        data.pack(str(path), compression="gzip", force=True)
    return path
