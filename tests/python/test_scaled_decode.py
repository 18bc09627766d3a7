# SPDX-License-Identifier: Apache-2.0
"""decode(scale=…): pictures that are decoded smaller, against Pillow's draft mode, which has
libjpeg-turbo do the same."""

import numpy as np
import pytest
import stoker
from PIL import Image

HEIGHT, WIDTH = 245, 331


@pytest.fixture(scope="module", params=["4:4:4", "4:2:2", "4:2:0", "gray"])
def photo(request, tmp_path_factory):
    rng = np.random.default_rng(7)
    coarse = rng.integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3), dtype=np.uint8)
    image = Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    file = tmp_path_factory.mktemp("photo") / "photo.jpg"
    if request.param == "gray":
        image.convert("L").save(file, quality=90)
    else:
        image.save(file, quality=90, subsampling=request.param)
    return file


def drafted(file, scale):
    image = Image.open(file)
    image.draft(image.mode, (WIDTH // scale, HEIGHT // scale))
    assert image.size == (-(-WIDTH // scale), -(-HEIGHT // scale))
    return np.asarray(image.convert("RGB"))


def only(chain):
    (element,) = stoker.parse(chain)
    return element.image.numpy()


@pytest.mark.parametrize("scale", [1, 2, 4, 8])
def test_pixels_are_those_of_libjpeg(photo, scale):
    ours = only(f"files('{photo}').decode(scale={scale})")
    assert (ours == drafted(photo, scale)).all()


@pytest.mark.parametrize(
    "call,scale",
    [
        ("resize(200, 200)", 1),
        ("resize(122, 100)", 2),
        ("resize(123, 100)", 1),
        ("resize(20, 80)", 4),
        ("resize(30, 41)", 8),
        ("resize(10, 10)", 8),
        ("resize_side(61)", 4),
        ("resize_with_pad(64, 60)", 4),
        ("resize_and_crop(100, 50)", 2),
        ("resize(50, 60).scale(1/255)", 4),
    ],
)
def test_auto_is_as_small_as_the_resize_lets_it(photo, call, scale):
    ours = only(f"files('{photo}').decode(scale=auto).{call}")
    assert (ours == only(f"files('{photo}').decode(scale={scale}).{call}")).all()


@pytest.mark.parametrize("call", ["flip()", "crop(0, 0, 50, 60)", "adjust_gamma(2)"])
def test_auto_is_whole_before_other_ops(photo, call):
    ours = only(f"files('{photo}').decode(scale=auto).{call}")
    assert (ours == only(f"files('{photo}').decode().{call}")).all()


def test_windows_are_drawn_in_the_smaller_picture(photo):
    window = "random_resized_crop(16, 16, scale=[0.9, 1])"
    ours = only(f"files('{photo}').decode(scale=auto).{window}")
    assert (ours == only(f"files('{photo}').decode(scale=8).{window}")).all()


def test_turned_pictures_are_scaled_as_they_are_shown(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (400, 100), (200, 10, 10)).save(tmp_path / "turned.jpg", exif=exif)
    chain = f"files('{tmp_path}/turned.jpg').decode(scale=auto, orientation=true)"
    # 400 x 100 as shown (height, width): 2 times smaller across, 8 times downwards
    assert only(chain + ".resize_side(25)").shape == (100, 25, 3)
    assert "as large as resize needs" in str(stoker.parse(chain + ".resize(50, 50)").plan())
    ours = only(chain + ".resize(50, 50)")
    fixed = f"files('{tmp_path}/turned.jpg').decode(scale=2, orientation=true).resize(50, 50)"
    assert (ours == only(fixed)).all()


def test_other_formats_stay_as_they_are(tmp_path):
    Image.new("RGB", (64, 48), (1, 2, 3)).save(tmp_path / "a.png")
    assert only(f"files('{tmp_path}/a.png').decode(scale=4)").shape == (48, 64, 3)
    only(f"files('{tmp_path}/a.png').decode(scale=auto).resize(4, 4)")


@pytest.mark.parametrize("scale", [0, 3, 5, 16])
def test_other_scales_are_refused(photo, scale):
    with pytest.raises(stoker.ChainError, match="scale"):
        stoker.files(str(photo)).decode(scale=scale)
