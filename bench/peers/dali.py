# SPDX-License-Identifier: Apache-2.0
"""A CPU pipeline with a thread per core; each step is one operator."""

NAME = "DALI, CPU"
PLACE = 30
PACKAGES = ["nvidia-dali-cuda120", "numpy"]
VERSION_OF = ["nvidia-dali-cuda120"]
ROUNDS = "the resized image is rounded to uint8"
NOTES = {
    "seed": ROUNDS + "; an epoch is filled up to whole batches from the next",
    "rrc": ROUNDS + "; an epoch is filled up to whole batches from the next",
    "center_crop": ROUNDS + "; an epoch is filled up to whole batches from the next",
    "augment": "colours are changed by one matrix (color_twist) in a fixed order, contrast around "
    "a fixed gray; its own RandAugment; an epoch is filled up to whole batches from the next",
}


def load():
    import numpy
    from nvidia.dali import fn, pipeline_def, types

    return pipeline_def, fn, types, numpy


def seed(loaded, job):
    _, fn, types, _ = loaded

    def finish(image):
        return fn.crop_mirror_normalize(
            image, dtype=types.FLOAT, output_layout="HWC", mean=[0.0] * 3, std=[255.0] * 3
        )

    return _epoch(loaded, job, job.size, finish, shuffle_after_epoch=True)


def photos(loaded, job):
    return seed(loaded, job)


def center_crop(loaded, job):
    _, fn, types, _ = loaded

    def finish(image):
        return fn.crop_mirror_normalize(
            image,
            dtype=types.FLOAT,
            output_layout="HWC",
            crop=(job.size, job.size),
            mean=[255 * mean for mean in job.mean],
            std=[255 * std for std in job.std],
        )

    return _epoch(loaded, job, job.resized, finish)


def rrc(loaded, job):
    _, fn, types, _ = loaded

    def decode(encoded):
        return fn.decoders.image_random_crop(
            encoded,
            device="cpu",
            output_type=types.RGB,
            random_area=job.area,
            random_aspect_ratio=job.ratio,
        )

    def finish(image):
        return fn.crop_mirror_normalize(
            image,
            dtype=types.FLOAT,
            output_layout="HWC",
            mirror=fn.random.coin_flip(),
            mean=[255 * mean for mean in job.mean],
            std=[255 * std for std in job.std],
        )

    return _epoch(loaded, job, job.size, finish, decode, shuffle_after_epoch=True)


def augment(loaded, job):
    from nvidia.dali.auto_aug import rand_augment

    _, fn, types, _ = loaded

    def factor():
        return fn.random.uniform(range=[1 - job.jitter, 1 + job.jitter])

    def finish(image):
        hue = fn.random.uniform(range=[-360 * job.hue, 360 * job.hue])
        image = fn.color_twist(
            image, brightness=factor(), contrast=factor(), saturation=factor(), hue=hue
        )
        image = rand_augment.rand_augment(
            image,
            n=job.changes,
            m=job.magnitude,
            shape=(job.size, job.size),
            fill_value=0,
            interp_type=types.INTERP_NN,
        )
        return fn.crop_mirror_normalize(
            image, dtype=types.FLOAT, output_layout="HWC", mean=[0.0] * 3, std=[255.0] * 3
        )

    return _epoch(loaded, job, job.size, finish, shuffle_after_epoch=True)


def _epoch(loaded, job, side, finish, decode=None, **order):
    pipeline_def, fn, types, np = loaded

    def decode_all(encoded):
        return fn.decoders.image(encoded, device="cpu", output_type=types.RGB)

    # rand_augment needs conditionals
    @pipeline_def(
        batch_size=job.batch,
        num_threads=job.workers,
        device_id=None,
        seed=1,
        enable_conditionals=True,
    )
    def steps():
        encoded, _ = fn.readers.file(files=job.files, labels=[0] * len(job.files), **order)
        image = (decode or decode_all)(encoded)
        return finish(fn.resize(image, resize_x=side, resize_y=side, antialias=False))

    pipeline = steps()
    pipeline.build()
    n_batches = -(-len(job.files) // job.batch)

    def epoch():
        for _ in range(n_batches):
            yield np.asarray(pipeline.run()[0].as_tensor())

    return epoch
