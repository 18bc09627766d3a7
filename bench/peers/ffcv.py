# SPDX-License-Identifier: Apache-2.0
"""A Loader with a thread per core, on its own file of re-encoded images."""

import os
from pathlib import Path

NAME = "FFCV"
PLACE = 50
PACKAGES = [
    "ffcv",
    "torch",
    "numba",
    "assertpy",
    "terminaltables",
    "tqdm",
    "opencv-python-headless",
    "pillow",
]
VERSION_OF = ["ffcv"]
WITHOUT_DEPENDENCIES = [
    "ffcv"
]  # it asks for opencv-python, which would replace opencv-python-headless
OWN_FILE = (
    "reads its own file: the images re-encoded at quality 90 with 4:2:0 chroma, about two thirds "
    "of the bytes; shrinks with an area filter, which cannot be chosen"
)
NOTES = {
    "seed": OWN_FILE,
    "rrc": OWN_FILE,
    "center_crop": OWN_FILE + "; crops before it resizes",
}


def install_environment(directory):
    """Lets it be built against two modules of OpenCV: all of it is 200 Debian packages."""
    include = Path(directory) / "opencv2"
    include.mkdir(parents=True, exist_ok=True)
    (include / "opencv.hpp").write_text(
        "#include <opencv2/core.hpp>\n#include <opencv2/imgproc.hpp>\n"
    )
    (Path(directory) / "opencv4.pc").write_text(
        "Name: opencv4\nDescription: core and imgproc\nVersion: 4\n"
        f"Cflags: -I{directory} -I/usr/include/opencv4\nLibs: -lopencv_imgproc -lopencv_core\n"
    )
    return {"PKG_CONFIG_PATH": str(directory)}


def load():
    os.environ.setdefault("NUMBA_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    import ffcv.fields.rgb_image
    import ffcv.loader
    import ffcv.transforms
    import numpy

    return ffcv, numpy


def prepare(loaded, job):
    import PIL.Image
    from ffcv.writer import DatasetWriter

    class Images:
        def __len__(self):
            return job.n_files

        def __getitem__(self, i):
            return (PIL.Image.open(job.files[i]).convert("RGB"),)

    path = Path(_file(job))
    if not path.exists():
        part = path.with_suffix(".part")
        field = loaded[0].fields.RGBImageField(write_mode="jpg", jpeg_quality=90)
        DatasetWriter(str(part), {"image": field}, num_workers=job.workers).from_indexed_dataset(
            Images()
        )
        part.rename(path)


def seed(loaded, job):
    np = loaded[1]
    return _epoch(loaded, job, _whole_images, (np.zeros(3), np.full(3, 255.0)), is_shuffled=True)


def center_crop(loaded, job):
    np = loaded[1]
    margin = (job.resized - job.size) / 2 / job.resized

    def middle(height, width, _scale, _ratio):
        top, left = int(height * margin), int(width * margin)
        return top, left, height - 2 * top, width - 2 * left

    scaling = (np.array(job.mean) * 255, np.array(job.std) * 255)
    return _epoch(loaded, job, middle, scaling, is_shuffled=False)


def rrc(loaded, job):
    ffcv, np = loaded
    scaling = (np.array(job.mean) * 255, np.array(job.std) * 255)
    crop = ffcv.fields.rgb_image.get_random_crop
    flip = [ffcv.transforms.RandomHorizontalFlip()]
    return _epoch(loaded, job, crop, scaling, is_shuffled=True, flip=flip)


def _whole_images(height, width, _scale, _ratio):
    return 0, 0, height, width


def _file(job):
    return os.path.join(job.cache, f"ffcv-{job.images_name}.beton")


def _epoch(loaded, job, crop, scaling, is_shuffled, flip=()):
    ffcv, np = loaded

    class Decoder(ffcv.fields.rgb_image.ResizedCropRGBImageDecoder):
        """Its own decoders crop to squares; this one takes the part that `crop` says."""

        scale = tuple(getattr(job, "area", (1.0, 1.0)))
        ratio = tuple(getattr(job, "ratio", (1.0, 1.0)))
        get_crop_generator = staticmethod(crop)

    order = ffcv.loader.OrderOption.RANDOM if is_shuffled else ffcv.loader.OrderOption.SEQUENTIAL
    steps = [
        Decoder((job.size, job.size)),
        *flip,
        ffcv.transforms.NormalizeImage(*scaling, np.float32),
        ffcv.transforms.ToTensor(),
    ]
    loader = ffcv.loader.Loader(
        _file(job),
        batch_size=job.batch,
        num_workers=job.workers,
        order=order,
        drop_last=False,
        os_cache=True,
        indices=np.tile(np.arange(job.n_files), job.passes),
        pipelines={"image": steps},
    )

    def epoch():
        for (image,) in loader:
            yield image

    return epoch
