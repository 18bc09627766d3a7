# SPDX-License-Identifier: Apache-2.0
"""`webdataset.TarWriter`, one sample at a time, as its documentation shows it."""

import os

NAME = "webdataset"
PLACE = 28
PACKAGES = ["webdataset"]
NOTES = {"pack": "writes a tar archive; syncs nothing"}


def load():
    import webdataset

    return webdataset


def pack(webdataset, job):
    paths = sorted(
        os.path.join(place, name) for place, _, names in os.walk(job.own) for name in names
    )
    out = f"{job.cache}/packed-by-webdataset-{os.getpid()}.tar"

    def epoch():
        with webdataset.TarWriter(out + ".part") as writer:
            for number, path in enumerate(paths):
                with open(path, "rb") as file:
                    image = file.read()
                label = int(os.path.basename(os.path.dirname(path)))
                writer.write({"__key__": f"{number:06}", "jpg": image, "cls": label})
        os.rename(out + ".part", out)
        yield range(len(paths))
        os.unlink(out)

    return epoch
