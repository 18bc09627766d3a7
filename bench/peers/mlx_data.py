# SPDX-License-Identifier: Apache-2.0
"""A buffer, `load_image`, `image_resize`, `batch`; `ordered_prefetch` with a thread per core."""

NAME = "mlx-data"
PLACE = 60
PACKAGES = ["mlx-data", "numpy"]
VERSION_OF = ["mlx-data"]
ANTIALIAS = "antialiases, which cannot be switched off, and rounds to uint8"
NOTES = {"seed": ANTIALIAS, "center_crop": ANTIALIAS, "rrc": ANTIALIAS}


def load():
    import mlx.data
    import numpy

    return mlx.data, numpy


def seed(loaded, job):
    np = loaded[1]
    factor = np.float32(1 / 255)

    def finish(images):
        return images.astype(np.float32) * factor

    def steps(files):
        images = files.shuffle().load_image("file", output_key="image")
        return images.image_resize("image", job.size, job.size)

    return _epoch(loaded, job, steps, finish)


def center_crop(loaded, job):

    def steps(files):
        images = files.load_image("file", output_key="image")
        images = images.image_resize("image", job.resized, job.resized)
        return images.image_center_crop("image", job.size, job.size)

    return _epoch(loaded, job, steps, _normalizer(loaded[1], job))


def rrc(loaded, job):
    def steps(files):
        images = files.shuffle().load_image("file", output_key="image")
        images = images.image_random_area_crop("image", tuple(job.area), tuple(job.ratio))
        images = images.image_resize("image", job.size, job.size)
        return images.image_random_h_flip("image", 0.5)

    return _epoch(loaded, job, steps, _normalizer(loaded[1], job))


def _normalizer(np, job):
    factor = np.array([1 / (255 * std) for std in job.std], np.float32)
    offset = np.array([-mean / std for mean, std in zip(job.mean, job.std)], np.float32)
    factor, offset = np.tile(factor, job.size), np.tile(offset, job.size)

    def finish(images):
        lines = images.reshape(len(images), job.size, -1) * factor
        np.add(lines, offset, out=lines)
        return lines.reshape(images.shape)

    return finish


def _epoch(loaded, job, steps, finish):
    files = loaded[0].buffer_from_vector([{"file": path.encode()} for path in job.files])

    def epoch():
        batches = steps(files).batch(job.batch).key_transform("image", finish)
        for batch in batches.ordered_prefetch(2 * job.workers, job.workers):
            yield batch["image"]

    return epoch
