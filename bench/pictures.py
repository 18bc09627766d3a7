# SPDX-License-Identifier: Apache-2.0
"""Pictures for the works that read record files: soft shapes and a little noise, which compress
about as photographs do."""

SIZE, SEED = 224, 20260101
N_CLASSES = 10


def draw(count):
    """uint8 pictures, one at a time."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    for _ in range(count):
        waves = rng.normal(0, 0.02, (2, 1, 1, 3))
        soft = np.sin(waves[0] * y[..., None] + waves[1] * x[..., None] + rng.random(3) * 6)
        yield np.clip(128 + 90 * soft + rng.normal(0, 1.5, soft.shape), 0, 255).astype(np.uint8)


def make_hdf5(setup, count, compression):
    """A file with a dataset `image`, one picture per chunk."""
    import h5py

    path = setup.cache / f"pictures-{compression or 'plain'}-{count}.h5"
    if not path.exists():
        half = path.with_suffix(".part")
        with h5py.File(half, "w") as out:
            shape = (count, SIZE, SIZE, 3)
            image = out.create_dataset(
                "image", shape, "u1", chunks=(1, *shape[1:]), compression=compression
            )
            for i, picture in enumerate(draw(count)):
                image[i] = picture
        half.rename(path)
    return path


def make_jpegs(folder, count, quality=95):
    """The same as JPEG files, CLASS/NUMBER.jpg, made once."""
    from PIL import Image

    if folder.is_dir():
        return folder
    half = folder.with_name(folder.name + ".part")
    for number, picture in enumerate(draw(count)):
        path = half / f"{number % N_CLASSES}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path, quality=quality)
    half.rename(folder)
    return folder
