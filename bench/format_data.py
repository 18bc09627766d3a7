# SPDX-License-Identifier: Apache-2.0
"""One set of pictures and one of numbers, each stored in every format that is compared.

A set is made once; a folder that has its name is complete. Pictures are sorted by class, as folders
are."""

import shutil
from pathlib import Path

import data
from jobs import escaped
from pictures import N_CLASSES, SIZE

QUALITY, SIDE = 90, 256
N_COLUMNS, N_SHARDS, PER_CHUNK = 20, 8, 16


def make_once(folder, fill):
    """The folder, filled by fill(path) unless it is there."""
    if not folder.is_dir():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        fill(part)
        part.rename(folder)
    return folder


# ---- pictures ----


def save_jpegs(place, images, count):
    """CLASS/NUMBER.jpg: the images at a smaller size, turned and mirrored while there are too few."""
    import stoker

    files = data.image_files(images)
    if not files:
        raise FileNotFoundError(f"there are no JPEG files below {images}")
    paths = [escaped(path) for path in files[:count]]
    small = stoker.files(paths).decode(channels=3).resize_side(SIDE, dtype="uint8")
    number = 0
    mirrored = small.flip()
    views = [small, mirrored, *(ds.rot90(k) for k in (1, 2, 3) for ds in (small, mirrored))]
    if len(files) * len(views) < count:
        raise ValueError(f"{count} pictures need {count // len(views) + 1} JPEG files below {images}")
    for view in views:
        for batch in view.encode_jpeg(quality=QUALITY).batch(1) if number < count else ():
            if number < count:
                path = place / f"{number * N_CLASSES // count}" / f"{number:06}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(bytes(batch["bytes"][0]))
                number += 1


def pixels_of(jpegs):
    """All pictures as one array, and their labels."""
    import numpy as np
    import stoker

    chain = stoker.image_folder(str(jpegs)).decode(channels=3).resize(SIZE, SIZE, dtype="uint8")
    batches = [(np.array(batch.image), np.array(batch.label)) for batch in chain.batch(64)]
    return tuple(np.concatenate(arrays) for arrays in zip(*batches))


def save_hdf5(path, arrays, **options):
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, **(options if array.ndim > 1 else {}))


def fill_pictures(place, images, count):
    import numpy as np
    import stoker

    save_jpegs(place / "jpegs", images, count)
    files = stoker.image_folder(str(place / "jpegs")).read().rename({"bytes": "image"})
    files.pack(str(place / "pictures.tfrecord"))
    files.pack(str(place / "shards" / "{shard}.tfrecord"), shards=N_SHARDS)
    files.pack(str(place / "pictures.tfrecord.gz"), compression="gzip")
    files.pack(str(place / "pictures.tar"), to="tar")
    image, label = pixels_of(place / "jpegs")
    both = {"image": image, "label": label}
    stoker.from_arrays(both).pack(str(place / "pixels.tfrecord"))
    np.savez(place / "pixels.npz", **both)
    save_hdf5(place / "pixels.h5", both)
    for name, rows in (("one", 1), ("some", PER_CHUNK)):
        chunks = (min(rows, count), *image.shape[1:])
        save_hdf5(place / f"pixels-gzip-{name}.h5", both, chunks=chunks, compression="gzip")
    remove_manifests(place)


# ---- numbers ----


def fill_numbers(place, count):
    import numpy as np
    import stoker

    rng = np.random.default_rng(data.SEED)
    x = rng.normal(size=(count, N_COLUMNS)).astype(np.float32)
    label = rng.integers(0, N_CLASSES, count)
    with (place / "numbers.csv").open("w", encoding="ascii") as file:
        file.write(",".join([*(f"x{i}" for i in range(N_COLUMNS)), "label"]) + "\n")
        for row, number in zip(x.tolist(), label.tolist()):
            file.write(",".join([*(f"{value:.6f}" for value in row), str(number)]) + "\n")
    both = {"x": x, "label": label}
    stoker.from_arrays(both).pack(str(place / "numbers.tfrecord"))
    np.savez(place / "numbers.npz", **both)
    save_hdf5(place / "numbers.h5", both)
    np.column_stack([x, label.astype(np.float32)]).tofile(place / "numbers.bin")
    remove_manifests(place)


def remove_manifests(place):
    for path in place.rglob("*.manifest.json"):
        path.unlink()


# ---- both ----


def make(cache, images, n_pictures, n_rows):
    """{kind: folder} of what is compared."""
    name = f"pictures-{Path(images).name}-{n_pictures}"
    pictures = make_once(
        cache / "formats" / name, lambda place: fill_pictures(place, images, n_pictures)
    )
    numbers = make_once(
        cache / "formats" / f"numbers-{n_rows}", lambda place: fill_numbers(place, n_rows)
    )
    return {"pictures": pictures, "pixels": pictures, "numbers": numbers}
