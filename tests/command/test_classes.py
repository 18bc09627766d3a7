# SPDX-License-Identifier: Apache-2.0
"""Labels mean the same classes wherever they meet: in train and valid, in a checkpoint and its use, in inputs that are
put together."""

import json

import pytest

RECIPE = """
train = {train}.shuffle().decode().resize(8, 8).scale(1/255, field=image).batch(4)
valid = {valid}.decode().resize(8, 8).scale(1/255, field=image).batch(4)
model = input(8, 8, 3).flatten().dense(3)
optimizer = adam(0.05)
epochs = 8
checkpoint = 'run'
"""
COLOURS = {"cat": (250, 10, 10), "dog": (10, 250, 10), "eel": (10, 10, 250), "zebra": (90, 90, 90)}
FOLDERS = {"train": "cat dog eel", "valid": "dog eel", "last": "cat dog", "other": "cat dog zebra"}


@pytest.fixture
def folders(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    for folder, classes in FOLDERS.items():
        for name in classes.split():
            (tmp_path / folder / name).mkdir(parents=True)
            for i in range(4):
                image.new("RGB", (8, 8), COLOURS[name]).save(tmp_path / folder / name / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folders, train="image_folder('train')", valid="image_folder('valid')"):
    (folders / "recipe.stk").write_text(RECIPE.format(train=train, valid=valid))
    return folders / "recipe.stk"


@pytest.mark.parametrize(
    "train, valid, told",
    [
        ("image_folder('train')", "image_folder('valid')", "'cat' is in train alone, so label 0 is 'cat'"),
        ("image_folder('train')", "image_folder('last')", "label 2 is 'eel' in train and no class in valid"),
        ("image_folder('train')", "image_folder('other')", "'eel' is in train alone, 'zebra' is in valid alone"),
        ("image_folder('train')", "image_folder('train', classes=['dog', 'cat', 'eel'])", "label 0 is 'cat' in train"),
        ("files('train/*/*.png', labels=parent)", "files('valid/*/*.png', labels=parent)", "classes=@train"),
        ("image_folder('train')", "image_folder('valid').cast(int32, field=label)", "'cat' is in train alone"),
        ("image_folder('train').one_hot(3)", "image_folder('valid').one_hot(3)", "'cat' is in train alone"),
    ],
)  # fmt: skip
def test_train_and_valid(stoker, folders, train, valid, told):
    done = stoker("train", written(folders, train, valid), "--quiet")
    assert done.returncode != 0 and told in done.stderr, done.stderr


@pytest.mark.parametrize("source", ["image_folder('{}'{})", "files('{}/*/*.png', labels=parent{})"])
def test_numbers_are_kept(stoker, folders, source):
    recipe = written(folders, source.format("train", ""), source.format("valid", ", classes=@train"))
    done = stoker("train", recipe, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best_valid"]["accuracy"] == 1


@pytest.mark.parametrize("taken_apart", ["batch(3).unbatch()", "window(2).unbatch()", "batch(3).rebatch(2).unbatch()"])
def test_names_of_batches_that_are_taken_apart(stoker, folders, taken_apart):
    done = stoker("train", written(folders, valid=f"image_folder('valid').select(path, label).{taken_apart}"), "--quiet")
    assert done.returncode != 0 and "'cat' is in train alone" in done.stderr, done.stderr


def test_split_has_the_classes_of_its_source(stoker, folders):
    source = "image_folder('train').split([0.5, 0.5], {})"
    done = stoker("train", written(folders, source.format(0), source.format(1)), "--quiet")
    assert done.returncode == 0, done.stderr


def test_a_checkpoint_and_its_use(stoker, folders):
    assert stoker("train", written(folders, valid="image_folder('train')"), "--quiet").returncode == 0
    chain = "image_folder('{}'{}).decode().resize(8, 8).scale(1/255)"
    done = stoker("predict", "run/best.safetensors", chain.format("valid", ""))
    assert done.returncode != 0 and "classes=['cat', 'dog', 'eel']" in done.stderr
    done = stoker("predict", "run/best.safetensors", chain.format("valid", ", classes=['cat', 'dog', 'eel']"))
    assert done.returncode == 0 and "8 of 8 right" in done.stdout, done.stderr
    recipe = RECIPE.format(train="image_folder('valid')", valid="image_folder('valid')")
    (folders / "later.stk").write_text(recipe)
    done = stoker("eval", "later.stk")
    assert done.returncode != 0 and "'cat' is in the checkpoint alone" in done.stderr


def test_eval_needs_valid(stoker, folders):
    recipe = written(folders, valid="image_folder('train')")
    assert stoker("train", recipe, "--quiet").returncode == 0
    recipe.write_text("\n".join(line for line in recipe.read_text().splitlines() if "valid" not in line))
    done = stoker("eval", recipe)
    assert done.returncode != 0 and "no valid" in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "chain, told",
    [
        ("concatenate(image_folder('train'), image_folder('valid'))", "0 is 'cat' in the first and 'dog' in input 2"),
        ("sample_from([image_folder('train'), image_folder('last')])", "2 is 'eel' in the first and no class"),
        ("range(2).choose_from([image_folder('train'), image_folder('other')])", "2 is 'eel'"),
        ("image_folder('other', classes=image_folder('train'))", "the directory 'zebra' is not among the 3 classes"),
        ("image_folder('valid', classes=['dog', 'eel', 'dog'])", "'dog' twice"),
        ("image_folder('valid', classes=range(3))", "no class names are known"),
        ("image_folder('valid', classes=image_folder('absent'))", "image_folder: classes: image_folder: "),
        ("files('valid/*/*.png', classes=['dog'])", "labels=parent"),
    ],
)
def test_refused(stoker, folders, chain, told):
    done = stoker("run", chain, "--quiet")
    assert done.returncode != 0 and told in done.stderr, done.stderr


def test_put_together(stoker, folders):
    chain = "concatenate(image_folder('train'), image_folder('valid', classes=image_folder('train').batch(2)))"
    done = stoker("head", chain + ".skip(12)", "-n", "1")
    assert done.returncode == 0 and "1 (dog)" in done.stdout, done.stderr
    assert stoker("run", "concatenate(image_folder('train').select('path'), image_folder('valid').select('path'))",
                  "--quiet").returncode == 0  # fmt: skip


# ---- packed files ----

PACKED = "tfrecord('packed/t-*.tfrecord').parse_example({image: bytes, label: int64}).decode_raw(uint8, shape=[8, 8, 3], field=image)"


@pytest.fixture
def packed(stoker, folders):
    chain = "image_folder('train').decode().resize(8, 8, dtype=uint8)"
    done = stoker("pack", chain, "--out", "packed/t-{shard}.tfrecord", "--shards", "2")
    assert done.returncode == 0, done.stderr
    assert "class after class: read it with shuffle()" in done.stdout
    mixed = stoker("pack", chain + ".shuffle()", "--out", "mixed/t-{shard}.tfrecord")
    assert mixed.returncode == 0 and "class after class" not in mixed.stdout, mixed.stdout
    return folders


def test_packed_files_keep_the_names(stoker, packed):
    """The manifest has the names, and whoever reads the files with it finds them."""
    fields = json.loads((packed / "packed/t.manifest.json").read_text())["fields"]
    assert [field.get("classes") for field in fields] == [None, ["cat", "dog", "eel"]]
    assert "eel" in stoker("head", PACKED + ".skip(11)").stdout
    inspected = stoker("inspect", "packed/t-0.tfrecord")
    assert "3 in label: cat, dog, eel" in inspected.stdout, inspected.stdout
    recipe = written(packed, PACKED, "image_folder('valid')").read_text().replace(".decode().resize(8, 8)", ".cast(float32)", 1)
    recipe = recipe.replace(".shuffle()", "", 1)
    done = stoker("train", recipe)
    assert "'cat' is in train alone" in done.stderr, done.stderr
    done = stoker("train", recipe.replace("folder('valid'", "folder('valid', classes=@train"), "--quiet")
    assert done.returncode == 0, done.stderr
    predicted = stoker("predict", "run/best.safetensors", "--take", "1")
    assert "dog" in predicted.stdout, predicted.stdout
    both = f"concatenate({PACKED}, image_folder('valid').decode().resize(8, 8, dtype=uint8))"
    assert "number their classes differently" in stoker("run", both).stderr


def test_packed_files_without_their_manifest_have_no_names(stoker, packed):
    for name in ("t-0.tfrecord", "t-1.tfrecord"):
        (packed / "packed" / name).rename(packed / name)
    chain = PACKED.replace("packed/", "") + ".skip(11)"
    assert stoker("head", chain).returncode == 0 and "eel" not in stoker("head", chain).stdout
    (packed / "packed/t.manifest.json").rename(packed / "t.manifest.json")
    assert "eel" in stoker("head", chain).stdout
    (packed / "t-2.tfrecord").write_bytes((packed / "t-1.tfrecord").read_bytes())
    assert "eel" not in stoker("head", chain.replace("t-*", "t-[012]")).stdout  # the manifest does not list all
    (packed / "t-2.tfrecord").unlink()
    for text in ("", "{", '{"fields": 3}', '{"fields": [{"name": "label", "classes": [1]}], "shards": []}'):
        (packed / "t.manifest.json").write_text(text)
        done = stoker("head", chain)
        assert done.returncode == 0 and "eel" not in done.stdout, done.stderr
