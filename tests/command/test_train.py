# SPDX-License-Identifier: Apache-2.0
"""stoker train, eval, predict and export: recipes carried out, their files, and what is said of bad ones."""

import fcntl
import json
import os
import pathlib
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import termios
import time

import numpy as np
import pytest
from PIL import Image

MODEL = "input(8, 8, 1).conv2d(4, 3, activation=relu).dropout(0.1).flatten().dense(2)"


def draw(rows, seed):
    """Bright above or bright below, with noise."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows).astype(np.int64)
    image = rng.normal(0, 0.3, (rows, 8, 8, 1)).astype(np.float32)
    image[:, :4] += label[:, None, None, None]
    return {"image": image, "label": label}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    np.savez(folder / "train.npz", **draw(160, 1))
    np.savez(folder / "valid.npz", **draw(64, 2))
    return folder


def recipe_of(data, *lines, model=MODEL, train="shuffle().batch(16)"):
    given = {line.split("=")[0].strip() for line in lines}
    preset = {
        "train": f"npz('{data}/train.npz').{train}",
        "valid": f"npz('{data}/valid.npz').batch(20)",
        "model": model,
        "optimizer": "adam(0.01)",
        "epochs": "3",
        "deterministic": "true",
        "threads": "2",
    }
    return "\n".join([*(f"{k} = {v}" for k, v in preset.items() if k not in given), *lines])


def tensors(path):
    """The bytes of each tensor of a file, by name, and its texts."""
    raw = pathlib.Path(path).read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])
    texts = header.pop("__metadata__")
    at = 8 + n
    return {k: raw[at + v["data_offsets"][0] : at + v["data_offsets"][1]] for k, v in header.items()}, texts


def test_learns_and_tells(stoker, data, tmp_path):
    recipe = tmp_path / "recipe.stk"
    recipe.write_text(
        recipe_of(data, f"checkpoint = '{tmp_path}/run'", f"log = '{tmp_path}/log.jsonl'", "epochs = 6",
                  f"tensorboard = '{tmp_path}/events'", "log_every = 4", "keep = 2", "checkpoint_every = 7")
    )  # fmt: skip
    done = stoker("train", recipe, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["epochs"] == 6 and found["steps"] == 60
    assert found["train"]["rows"] == 160 and found["valid"]["rows"] == 64
    assert found["best_valid"]["accuracy"] >= 0.95
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    steps = [line for line in lines if line["event"] == "step"]
    epochs = [line for line in lines if line["event"] == "epoch"]
    assert [line["step"] for line in steps] == list(range(1, 61, 4))
    assert [line["epoch"] for line in epochs] == list(range(6))
    assert epochs[-1]["valid"]["accuracy"] == pytest.approx(found["valid"]["accuracy"])
    assert steps[-1]["loss"] < steps[0]["loss"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "best.safetensors", "step-00000056.safetensors", "step-00000060.safetensors",
    ]  # fmt: skip
    assert any("tfevents" in path.name for path in (tmp_path / "events").iterdir())

    evaluated = stoker("eval", recipe, "--json")
    assert evaluated.returncode == 0, evaluated.stderr
    assert json.loads(evaluated.stdout)["valid"]["accuracy"] == pytest.approx(found["best_valid"]["accuracy"])
    newest = stoker("eval", recipe, "--json", "--checkpoint", tmp_path / "run/step-00000060.safetensors")
    assert json.loads(newest.stdout)["valid"]["loss"] == pytest.approx(found["valid"]["loss"], rel=1e-6)


def test_texts_for_people(stoker, data, tmp_path):
    done = stoker("train", recipe_of(data, f"checkpoint = '{tmp_path}/run'"), "--progress", "lines")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("epoch 1  loss ") and "valid loss" in lines[0] and "waits" in lines[0]
    assert lines[2].startswith("epoch 3 ")
    assert any(line.startswith("best: epoch ") for line in lines)
    assert any(line.startswith("newest checkpoint: ") for line in lines)
    assert "verdict" in done.stdout.lower() or "step" in done.stdout


def on_terminal(stoker, columns, *words):
    """What is drawn on a terminal of that width: all bytes, as text."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    process = stoker(*words, start=True, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            read = os.read(master, 1 << 16)
        except OSError:  # nobody has the other end any more
            break
        if not read:
            break
        shown += read
    os.close(master)
    assert process.wait() == 0, shown
    return shown.decode()


@pytest.mark.parametrize("columns", [30, 60, 90, 160])
def test_the_bar(stoker, data, columns):
    """One line that is written over, within the width: epoch, loss, accuracy, rate, waits and what is left."""
    recipe = recipe_of(data, "epochs = 40")
    shown = on_terminal(stoker, columns, "train", recipe)
    bars = re.findall(r"\r(epoch \d+ of 40  [^\r\n]*?)\x1b\[K", shown)
    assert bars
    assert all(len(bar) < columns for bar in bars)
    steps = [bar for bar in bars if "validation" not in bar]
    assert steps
    parts = [r"epoch \d+ of 40", r"(?:\S+ +)?\d+ of 10", r"loss [\d.e+-]+", r"accuracy [\d.]+ %", r"[\d.]+k?/s",
             r"waits \d+ %", r"ETA \d+:\d\d"]
    least = {30: 2, 60: 4, 90: 6, 160: 7}[columns]  # where figures are wide, whole ones are left out
    whole = {"  ".join(parts[:n]) for n in range(least, len(parts) + 1)}
    assert [bar for bar in steps if not any(re.fullmatch(pattern, bar) for pattern in whole)] == []
    if columns == 160:
        assert any(set("█▏▎▍▌▋▊▉") & set(bar) for bar in steps)
    after = shown[shown.rindex("\x1b[K") :]
    assert "best: epoch" in after and "\r\x1b[K" in shown, "the bar is gone at the end"


def test_pictures_of_predictions_show_the_class_of_wrong_ones(stoker, data, tmp_path):
    recipe = recipe_of(data, f"checkpoint = '{tmp_path}/run'", "epochs = 1", "optimizer = sgd(0.0001)")
    assert stoker("train", recipe, "--quiet").returncode == 0
    picture = tmp_path / "seen.png"
    done = stoker("predict", tmp_path / "run/best.safetensors", "--json", "--png", picture)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()][:40]
    is_wrong = [row["class"] != row["label"] for row in rows]
    assert 0 < sum(is_wrong) < 40
    sheet = np.asarray(Image.open(picture)).astype(int)
    cells = [cell for band in np.split(sheet[6:], 5) for cell in np.split(band[:, 6:], 8, axis=1)]
    paper, n_caption = sheet[0, 0], 96 + 4 + 3  # an image is drawn 96 dots high, with a frame around it
    for cell, wrong in zip(cells, is_wrong):
        first, second = cell[n_caption : n_caption + 8], cell[n_caption + 8 : n_caption + 17]
        assert (first != paper).any() and (second != paper).any() == wrong
        inked = (cell[n_caption:] != paper).any(axis=2)
        reds, greens = cell[n_caption:][inked][:, 0], cell[n_caption:][inked][:, 1]
        assert ((reds > greens) == wrong).all()


def test_predict_and_export(stoker, data, tmp_path):
    recipe = recipe_of(data, f"checkpoint = '{tmp_path}/run'", "epochs = 6")
    assert stoker("train", recipe, "--quiet").returncode == 0
    best = tmp_path / "run/best.safetensors"
    done = stoker("predict", best, "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 64
    assert all(0.5 <= row["probability"] <= 1 for row in rows)
    right = sum(row["class"] == row["label"] for row in rows) / 64
    assert right == pytest.approx(json.loads(stoker("eval", recipe, "--json").stdout)["valid"]["accuracy"])
    few = stoker("predict", best, f"npz('{data}/valid.npz').select(image)", "--take", 3)
    assert few.returncode == 0, few.stderr
    assert len(few.stdout.splitlines()) == 3
    exported = stoker("export", best, tmp_path / "model.onnx", "--softmax")
    assert exported.returncode == 0, exported.stderr
    assert b"probabilities" in (tmp_path / "model.onnx").read_bytes()


# A last layer, a loss, and what the probability or the value of a row is, of the outputs of the model.
KINDS = {
    "dense(1)": ("binary_cross_entropy()", lambda x: 1 / (1 + np.exp(-x))),
    "dense(1, activation=sigmoid)": ("binary_cross_entropy()", lambda x: x),
    "dense(1, name=value)": ("mse()", None),
    "dense(2, activation=softmax)": ("cross_entropy()", lambda x: x.max(1)),
    "dense(2, name=logits)": ("cross_entropy()", lambda x: np.exp(x.max(1)) / np.exp(x).sum(1)),
}


@pytest.mark.parametrize("last", KINDS)
def test_predict_knows_what_outputs_mean(stoker, data, tmp_path, last):
    loss, probability = KINDS[last]
    model = f"input(8, 8, 1).flatten().{last}"
    rows = draw(160, 1)
    if loss != "cross_entropy()":
        rows["label"] = rows["label"].astype(np.float32)[:, None]
    np.savez(tmp_path / "rows.npz", **rows)
    chain = f"npz('{tmp_path}/rows.npz').batch(16)"
    recipe = recipe_of(
        data, f"train = {chain}", f"valid = {chain}", f"loss = {loss}", "epochs = 4", f"checkpoint = '{tmp_path}/run'", model=model
    )
    trained = stoker("train", recipe, "--quiet")
    assert trained.returncode == 0, trained.stderr
    best = tmp_path / "run/best.safetensors"
    done = stoker("predict", best, f"npz('{data}/valid.npz')", "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    raw = best.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + n])

    def weight(name):
        (key,) = [k for k in header if k.count("/") == 1 and k.endswith(f"/{name}")]
        begin, end = header[key]["data_offsets"]
        return np.frombuffer(raw[8 + n + begin : 8 + n + end], np.float32).reshape(header[key]["shape"])

    valid = draw(64, 2)
    x = valid["image"].reshape(64, 64).astype(np.float64) @ weight("kernel") + weight("bias")
    if "sigmoid" in last:
        x = 1 / (1 + np.exp(-x))
    if "softmax" in last:
        x = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    if not probability:
        assert [row["values"][0] for row in rows] == pytest.approx(list(x[:, 0]), abs=1e-4)
        assert "class" not in rows[0]
        text = stoker("predict", best, f"npz('{data}/valid.npz')", "--take", 1).stdout
        assert f"is {valid['label'][0]}" in text and "%" not in text
        return
    want = probability(x if x.shape[1] > 1 else x[:, 0])
    classes = x.argmax(1) if x.shape[1] > 1 else (want > 0.5).astype(int)
    if x.shape[1] == 1:
        want = np.where(classes, want, 1 - want)
        assert len(set(classes)) == 2
    assert [row["class"] for row in rows] == list(classes)
    assert [row["probability"] for row in rows] == pytest.approx(list(want), abs=1e-4)


@pytest.mark.parametrize("last", KINDS)
def test_accuracy_where_there_is_right_and_wrong(stoker, data, tmp_path, last):
    """What eval and the log say is the share of rows that predict gets right; of values nobody says one."""
    loss, probability = KINDS[last]
    rows = draw(160, 1)
    if loss != "cross_entropy()":
        rows["label"] = rows["label"].astype(np.float32)[:, None]
    np.savez(tmp_path / "rows.npz", **rows)
    chain = f"npz('{tmp_path}/rows.npz').batch(16)"
    more = [f"train = {chain}", f"valid = {chain}", f"loss = {loss}", "epochs = 2", f"checkpoint = '{tmp_path}/run'", f"log = '{tmp_path}/log'"]
    recipe = recipe_of(data, *more, model=f"input(8, 8, 1).flatten().{last}")
    trained = stoker("train", recipe, "--quiet")
    assert trained.returncode == 0, trained.stderr
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    found = json.loads(stoker("eval", recipe, "--json").stdout)["valid"]
    text = stoker("eval", recipe).stdout
    if not probability:
        assert found["accuracy"] is None and found["top5"] is None and "accuracy" not in text
        assert {line["accuracy"] for line in logged if line["event"] == "step"} == {None}
        refused = stoker("train", recipe + "\nmonitor = valid_accuracy", "--restart", "--quiet")
        assert refused.returncode == 2 and "mse knows no accuracy" in refused.stderr
        return
    weights = tmp_path / "run" / "best.safetensors"
    done = stoker("predict", weights, f"npz('{tmp_path}/rows.npz')", "--json")
    answers = [json.loads(line)["class"] for line in done.stdout.splitlines()]
    right = sum(a == int(b) for a, b in zip(answers, rows["label"].reshape(-1))) / 160
    best = [line["valid"] for line in logged if line["event"] == "epoch"]
    assert right in [pytest.approx(valid["accuracy"]) for valid in best]
    assert f"accuracy {found['accuracy'] * 100:.2f} %" in text
    assert (found["top5"] is None) == (loss != "cross_entropy()") == ("top 5" not in text)


def test_early_stop(stoker, data, tmp_path):
    recipe = recipe_of(data, "epochs = 50", "early_stop = 2", "optimizer = sgd(0.0)", "seed = 5")
    done = stoker("train", recipe, "--json", "--progress", "none")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"] == 3
    assert "2 epochs were not better than epoch 1" in done.stderr


def test_steps_per_epoch(stoker, data):
    recipe = recipe_of(data, "steps_per_epoch = 4", "epochs = 7", train="repeat().batch(16)")
    done = stoker("train", recipe, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["epochs"], found["steps"]) == (7, 28)


def test_bytes_are_multiplied_by_the_step(stoker, tmp_path):
    """scale before batch is left to the step where images are uint8, with the same bits; behind other calls it is
    not."""
    rows = draw(64, 1)
    rows["image"] = np.clip(rows["image"] * 100 + 60, 0, 255).astype(np.uint8)
    np.savez(tmp_path / "bytes.npz", **rows)
    found = []
    for name, calls in (("folded", "scale(1/255, field=image).batch(16)"), ("plain", "scale(1/255, field=image).take(-1).batch(16)")):
        recipe = recipe_of(tmp_path, f"train = npz('{tmp_path}/bytes.npz').shuffle().{calls}", "valid = none",
                           f"checkpoint = '{tmp_path}/{name}'")  # fmt: skip
        assert stoker("train", recipe, "--quiet").returncode == 0
        found.append(tensors(max((tmp_path / name).glob("step-*"))))
    assert found[0][0] == found[1][0]
    states = [texts["pipeline"] for _, texts in found]
    assert "scale" not in states[0] and "scale" in states[1]


# ---- going on ----


def run_whole(stoker, recipe, folder):
    done = stoker("train", recipe, "--quiet")
    assert done.returncode == 0, done.stderr
    return tensors(max(folder.glob("step-*.safetensors")))


def stochastic(data, folder, epochs=5):
    """Everything that could differ: shuffles, augmentation, dropout, batch statistics, sums in the middle of
    epochs."""
    return recipe_of(
        data, f"checkpoint = '{folder}'", "checkpoint_every = 4", f"epochs = {epochs}", f"log = '{folder}.jsonl'",
        model="input(8, 8, 1).conv2d(6, 3, use_bias=false).batchnorm().activation(relu).dropout(0.3).flatten().dense(2)",
        train="flip(horizontal, 0.5).shuffle().batch(16)",
    )  # fmt: skip


def without_times(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    for line in lines:
        for name in ("seconds", "rows_per_second", "waiting"):
            line.pop(name)
    return lines


def test_killed_at_any_moment(stoker, data, tmp_path):
    """SIGKILL at 200 random moments: whatever is on disk then, going on ends with the same bits."""
    want, texts = run_whole(stoker, stochastic(data, tmp_path / "whole"), tmp_path / "whole")
    rng, n_kills, n_runs = random.Random(7), 0, 0
    while n_kills < 200:
        folder = tmp_path / f"run{n_runs}"
        n_runs += 1
        recipe = stochastic(data, folder)
        while True:
            process = stoker("train", recipe, "--resume", "--quiet", start=True, stderr=subprocess.PIPE)
            try:
                process.wait(rng.uniform(0.005, 0.12))
            except subprocess.TimeoutExpired:
                process.kill()
                n_kills += 1
            error = process.communicate()[1]
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, error
        got, saved = tensors(max(folder.glob("step-*.safetensors")))
        assert got == want
        assert saved["step"] == texts["step"] and saved["batches"] == texts["batches"]
        assert without_times(f"{folder}.jsonl") == without_times(tmp_path / "whole.jsonl")
        assert not [path for path in folder.iterdir() if path.name.endswith(".part")]
        shutil.rmtree(folder)
    assert n_runs >= 2


def test_interrupted(stoker, data, tmp_path):
    recipe = stochastic(data, tmp_path / "run", 100000)
    process = stoker("train", recipe, start=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (line := process.stdout.readline()).startswith(b"epoch 2"):
        assert line, process.communicate()[1]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert b"--resume" in errors
    assert list((tmp_path / "run").glob("step-*"))


def fill(pipe):
    """Until nobody could write."""
    os.set_blocking(pipe, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    os.set_blocking(pipe, True)


def test_interrupted_while_nobody_reads(stoker, tmp_path):
    """Others may have filled the pipe; a step takes longer than the thread for signals waits for it."""
    image = np.zeros((32, 96, 96, 16), np.float32)
    np.savez(tmp_path / "data.npz", image=image, label=np.zeros(len(image), np.int64))
    recipe = (f"train = npz('{tmp_path}/data.npz').repeat().batch(32)\n"
              "model = input(96, 96, 16).conv2d(64, 5).conv2d(64, 5).flatten().dense(2)\n"
              f"steps_per_epoch = 1000\nlog = '{tmp_path}/run.jsonl'\ncheckpoint = '{tmp_path}/run'\n")
    reader, writer = os.pipe()
    fill(writer)
    process = stoker("train", recipe, "--quiet", start=True, stdout=subprocess.DEVNULL, stderr=writer)
    log = tmp_path / "run.jsonl"
    while not (log.exists() and log.stat().st_size):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    os.close(reader)
    os.close(writer)
    assert list((tmp_path / "run").glob("step-*"))


def test_more_epochs(stoker, data, tmp_path):
    """A training that is over goes on where epochs is raised."""
    want, _ = run_whole(stoker, stochastic(data, tmp_path / "whole"), tmp_path / "whole")
    short = stochastic(data, tmp_path / "run", 2)
    assert stoker("train", short, "--quiet").returncode == 0
    done = stoker("train", stochastic(data, tmp_path / "run"), "--quiet", "--resume")
    assert done.returncode == 0, done.stderr
    got, _ = tensors(max((tmp_path / "run").glob("step-*.safetensors")))
    assert got == want


# ---- bad files ----


@pytest.fixture
def trained(stoker, data, tmp_path):
    recipe = recipe_of(data, f"checkpoint = '{tmp_path}/run'")
    assert stoker("train", recipe, "--quiet").returncode == 0
    return recipe, max((tmp_path / "run").glob("step-*.safetensors"))


def refused(stoker, recipe, *says):
    done = stoker("train", recipe, "--resume", "--quiet")
    assert done.returncode != 0
    for part in says:
        assert part in done.stderr, done.stderr


def test_checkpoints_that_are_cut(stoker, trained):
    recipe, path = trained
    whole = path.read_bytes()
    for n in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:n])
        refused(stoker, recipe, path.name)
    path.write_bytes(whole)
    assert stoker("train", recipe, "--resume", "--quiet").returncode == 0


def test_checkpoints_of_others(stoker, data, trained):
    recipe, path = trained
    refused(stoker, recipe.replace("conv2d(4, 3", "conv2d(5, 3"), path.name, "another model", "a checkpoint directory of its own")
    refused(stoker, recipe.replace("adam(0.01)", "sgd(0.01)"), "another optimizer", "adam", "sgd")
    refused(stoker, recipe + "\nloss = cross_entropy(0.1)", "another loss")
    more = recipe.replace("epochs = 3", "epochs = 9")
    refused(stoker, more.replace("shuffle()", "shuffle(32)"), "chain")


def test_a_damaged_checkpoint_and_the_one_before(stoker, trained):
    """The newest is cut: it is named with the one before, from which --resume-older goes on to the same end."""
    recipe, path = trained
    want, _ = tensors(path)
    whole, before = path.read_bytes(), sorted(path.parent.glob("step-*"))[-2]
    path.write_bytes(whole[: len(whole) // 2])
    refused(stoker, recipe, str(path), str(before), "--resume-older")
    done = stoker("train", recipe, "--resume-older")
    assert done.returncode == 0, done.stderr
    assert f"{path} is damaged: the training goes on from {before}" in done.stderr
    assert "epoch 3 " in done.stdout and "epoch 2 " not in done.stdout
    assert tensors(path)[0] == want
    for each in path.parent.glob("step-*"):
        each.write_bytes(b"")
    refused(stoker, recipe, str(path), "--resume-older")
    done = stoker("train", recipe, "--resume-older")
    assert done.returncode == 1 and "no checkpoint is whole" in done.stderr and "--restart" in done.stderr, done.stderr


def test_a_training_that_is_over(stoker, data, trained, tmp_path):
    recipe, path = trained
    done = stoker("train", recipe, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert f"{path} is of a training that is finished, with 3 epochs" in done.stderr
    found = json.loads(done.stdout)
    assert found["epochs"] == 3 and found["steps"] == 30
    early = recipe_of(data, f"checkpoint = '{tmp_path}/early'", "epochs = 20", "early_stop = 1", "min_delta = 1")
    assert stoker("train", early, "--quiet").returncode == 0
    done = stoker("train", early, "--resume")
    assert done.returncode == 0 and "has ended early, after epoch 2" in done.stderr, done.stderr


def test_a_directory_in_use(stoker, data, trained):
    """A training begins anew only where it is told to, and then its checkpoints are the ones that stay."""
    recipe, path = trained
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    short = recipe.replace("epochs = 3", "epochs = 1") + "\nkeep = 1"
    done = stoker("train", short, "--quiet")
    assert done.returncode == 2 and done.stdout == ""
    for part in (str(path), "--resume", "--restart"):
        assert part in done.stderr, done.stderr
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    assert stoker("eval", short).returncode == 0
    assert "not both" in stoker("train", short, "--restart", "--resume").stderr
    done = stoker("train", short, "--restart", "--quiet")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert [each.name for each in path.parent.glob("step-*")] == ["step-00000010.safetensors"]
    goes_on = stoker("train", recipe, "--resume")
    assert goes_on.returncode == 0, goes_on.stderr
    assert "epoch 2" in goes_on.stdout and "epoch 1 " not in goes_on.stdout


def small_files(limit):
    """What a disk does that is full: no file grows beyond so many bytes."""

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return small


def test_a_disk_of_logs_that_is_full(stoker, data, tmp_path):
    """The training goes on without further lines, says so once, and its checkpoints are written."""
    recipe = recipe_of(
        data, f"checkpoint = '{tmp_path}/run'", f"log = '{tmp_path}/log.jsonl'", f"tensorboard = '{tmp_path}/events'",
        "log_every = 1", "epochs = 20", model="input(8, 8, 1).flatten().dense(2)",
    )  # fmt: skip
    done = stoker("train", recipe, preexec_fn=small_files(9000))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("log.jsonl") == 1 and done.stderr.count("tfevents") == 1, done.stderr
    assert "the training goes on" in done.stderr
    assert (tmp_path / "run/step-00000200.safetensors").exists()
    text = (tmp_path / "log.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert text.endswith("}\n") and 8000 < len(text) <= 9000 and lines[0]["step"] == 1
    (events,) = (tmp_path / "events").iterdir()
    raw, at = events.read_bytes(), 0
    while at < len(raw):
        at += 16 + struct.unpack("<Q", raw[at : at + 8])[0]
    assert at == len(raw) > 8000
    more = stoker("train", recipe.replace("epochs = 20", "epochs = 21"), "--resume", "--quiet")
    assert more.returncode == 0, more.stderr
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(steps) and steps[-1] == 210


def test_a_log_need_not_be_a_file(stoker, data, tmp_path):
    """Devices and pipes have no length that could be cut."""
    lines = ["log_every = 1", "epochs = 2"]
    done = stoker("train", recipe_of(data, "log = '/dev/stdout'", *lines), "--quiet")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["step"] == 1
    full = stoker("train", recipe_of(data, "log = '/dev/full'", *lines))
    assert full.returncode == 0 and full.stderr.count("the training goes on") == 1, full.stderr


def test_a_disk_that_is_full(stoker, data, tmp_path):
    """No room for another checkpoint: the run ends with a message, and the old ones are there."""
    recipe = recipe_of(data, f"checkpoint = '{tmp_path}/run'", "keep = 5")
    assert stoker("train", recipe, "--quiet").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}

    more = recipe.replace("epochs = 3", "epochs = 9")
    done = stoker("train", more, "--quiet", "--resume", preexec_fn=small_files(2000))
    assert done.returncode == 1
    assert "was not written, older ones are there" in done.stderr
    assert f"the newest checkpoint is {tmp_path}/run/step-00000030.safetensors; --resume goes on from it" in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_small_disk(stoker, data, tmp_path):
    """The same on a file system of 20 KB, which needs the right to mount one."""
    place = tmp_path / "small"
    place.mkdir()
    script = (
        f"mount -t tmpfs -o size=20k none '{place}' || exit 77\n"
        f"\"$0\" train \"$1\" --quiet; echo $?; ls '{place}/run'; \"$0\" eval \"$1\" --json >/dev/null; echo $?"
    )
    recipe = recipe_of(data, f"checkpoint = '{place}/run'", "keep = 9", "epochs = 40")
    path = pathlib.Path(os.environ.get("STOKER", "build/stoker")).resolve()
    command = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c", script, path, recipe]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"nothing may be mounted here: {done.stderr.strip()}")
    code, *files, evaluated = done.stdout.split()
    assert code == "1" and "No space left on device" in done.stderr, done
    assert any(name.startswith("step-") for name in files)
    assert not [name for name in files if not name.endswith(".safetensors")]
    assert evaluated == "0", "what is there is whole"


# ---- bad data ----


@pytest.fixture
def pictures(tmp_path):
    """Two classes of pictures; three of them are no PNGs."""
    for n in range(40):
        path = tmp_path / "images" / "ab"[n % 2] / f"{n}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), n * 6, np.uint8)).save(path)
    for name in ("a/4.png", "b/11.png", "b/29.png"):
        (tmp_path / "images" / name).write_bytes(b"no picture")
    return tmp_path / "images"


def test_bad_elements_are_counted(stoker, pictures, tmp_path):
    """on_error = skip: how many were left out is told for each epoch and at the end, with the first one."""
    images = f"image_folder('{pictures}').decode(channels=1).resize(8, 8)"
    recipe = (
        f"train = {images}.shuffle().batch(8)\nvalid = {images}.take(20).batch(2)\n"
        "model = input(8, 8, 1).flatten().dense(2)\non_error = skip\nthreads = 1\nepochs = 3\n"
        f"checkpoint = '{tmp_path}/run'\nlog = '{tmp_path}/log.jsonl'"
    )
    done = stoker("train", recipe.replace("epochs = 3", "epochs = 2"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("a bad element of ") == 1 and ".png" in done.stderr, done.stderr
    assert done.stdout.count("  4 bad elements") == 2, done.stdout
    assert re.search(r"^bad elements, left out or replaced: 8, the first: .*\.png", done.stdout, re.M), done.stdout
    more = stoker("train", recipe, "--resume", "--json")
    found = json.loads(more.stdout)
    assert found["bad"] == 12 and ".png" in found["first_bad"]
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["bad"] for line in lines if line["event"] == "epoch"] == [4, 4, 4]
    replaced = stoker("train", recipe.replace("= skip", "= replace"), "--restart", "--json")
    assert json.loads(replaced.stdout)["bad"] == 12, replaced.stderr


# ---- bad recipes ----


def test_faults_have_their_place(stoker, data):
    def told(recipe, place, *says):
        done = stoker("train", recipe)
        assert done.returncode == 2, done.stdout
        for part in says:
            assert part in done.stderr, done.stderr
        line, marks = done.stderr.splitlines()[-2:]
        assert line[marks.index("^") :].startswith(place), done.stderr

    told(recipe_of(data, "epoks = 3"), "epoks", "epochs")
    told(recipe_of(data, "epochs = 0"), "0", "epochs")
    told(recipe_of(data, "optimizer = adem()"), "adem", "did you mean adam? There are adam, adamw, ")
    told(recipe_of(data, "optimizer = shampoo()"), "shampoo", "; there are adam, adamw, ")
    told(recipe_of(data, "optimizer = adam(ramp(1))"), "ramp", "; there are ", "cosine")
    told(recipe_of(data, "loss = hinge()"), "hinge", "; there are binary_cross_entropy, cross_entropy, mse")
    told(recipe_of(data, train="transmogrify()"), "transmogrify", "stoker ops lists all of them")
    told(recipe_of(data, model="input(8, 8, 1).conv2(4, 3)"), "conv2", "did you mean conv2d?")
    told(recipe_of(data, train="shufle().batch(16)"), "shufle", "did you mean shuffle?")
    told(recipe_of(data, model=MODEL.replace("8, 8, 1", "8, 9, 1")), "input", "the model takes 8×9×1, but train gives float32 8×8×1")
    told(recipe_of(data, model="input(8, 8, 1).conv2d(2, 3)"), "conv2d", "conv2d, puts out 6×6×2", "flatten()")
    told(recipe_of(data, model="input(8, 8, 1).flatten().dense(2, activation=sigmoid)"), "dense", "ends in sigmoid",
         "loss=binary_cross_entropy()")  # fmt: skip
    told(recipe_of(data, train="shuffle()"), "npz", "one element at a time; batch(32)")
    told(recipe_of(data, "label = lable"), "npz", "no field lable; it has image, label")
    floats = "cast(float32, field=label).batch(16)"
    told(recipe_of(data, train=floats), "npz", "cross_entropy takes labels that are integers", "train gives one float32",
         "cast(int64, field=label)")  # fmt: skip
    told(recipe_of(data, "loss = mse()"), "npz", "mse takes a value for each of the model's 2 outputs", "one int64")
    told(recipe_of(data, "loss = cross_entropy(class_weights=[1, 2, 3])"), "cross_entropy", "3 class weights", "2 outputs")
    told(recipe_of(data, "classes = [a, b, c]"), "[a, b, c]", "names of 3 classes", "2 outputs")
    told(recipe_of(data, "monitor = valid_loss", "valid = none"), "valid_loss", "has no valid")
    for name in ("checkpoint", "log", "tensorboard", "weights", "image", "label"):
        told(recipe_of(data, f"{name} = ''"), "''", f"{name} is empty; it takes ")
    for line in ("keep = 2", "checkpoint_every = 5", "log_every = 5", "weights_map = {conv2d: 'x'}"):
        told(recipe_of(data, line), line.split()[0], "does nothing without")
    told(recipe_of(data, "optimizer = adam(1e300)"), "1e300", "no larger than a float32 holds")
    told(recipe_of(data, "threads = 300"), "300", "outside [1, 256]")


def test_fields_of_the_recipe(stoker, tmp_path):
    """What was trained on is what predict looks at."""
    rows = draw(32, 5)
    np.savez(tmp_path / "d.npz", kind=rows["label"], pixels=rows["image"])
    recipe = (
        f"train = npz('{tmp_path}/d.npz').batch(8)\nvalid = npz('{tmp_path}/d.npz').batch(8)\nmodel = {MODEL}\n"
        f"image = pixels\nlabel = kind\nepochs = 8\noptimizer = adam(0.01)\ncheckpoint = '{tmp_path}/run'"
    )
    assert stoker("train", recipe, "--quiet").returncode == 0
    for chain in ([], [f"npz('{tmp_path}/d.npz')"]):
        done = stoker("predict", tmp_path / "run/best.safetensors", *chain, "--quiet")
        assert done.returncode == 0, done.stderr
        assert "of 32 right" in done.stdout


def test_predict_says_what_fits(stoker, data, trained):
    _, path = trained
    for chain, says in (
        ("range(4)", "8×8×1, but the chain gives int64 in its field x"),
        (f"npz('{data}/valid.npz').resize(9, 9)", "float32 9×9×1 in its field image; resize(8, 8) makes it so"),
        (f"npz('{data}/valid.npz').cast(float16, field=image)", "float16 8×8×1 in its field image; cast(float32) makes it so"),
    ):
        done = stoker("predict", path, chain)
        assert done.returncode == 2 and says in done.stderr, done.stderr


def test_names_for_later_lines(stoker, data):
    recipe = recipe_of(data, "both = batch(16)", f"train = npz('{data}/train.npz').batch(16)", "valid = none")
    done = stoker("train", recipe)
    assert done.returncode == 2 and "both" in done.stderr
    recipe = f"rows = npz('{data}/train.npz')\n" + recipe_of(data, "train = @rows.batch(16)", "valid = @rows.batch(4)")
    assert stoker("train", recipe, "--quiet").returncode == 0


def test_labels_out_of_range(stoker, data, tmp_path):
    rows = draw(20, 3)
    rows["label"][13] = 7
    np.savez(tmp_path / "bad.npz", **rows)
    done = stoker("train", recipe_of(data, f"train = npz('{tmp_path}/bad.npz').batch(8)"))
    assert done.returncode == 1
    assert "epoch 1, step 2" in done.stderr and "bad.npz" in done.stderr and "7" in done.stderr


def test_losses_that_are_not_finite(stoker, data, tmp_path):
    rows = draw(64, 3)
    rows["image"][40, 0, 0, 0] = np.nan
    np.savez(tmp_path / "bad.npz", **rows)
    recipe = recipe_of(data, f"train = npz('{tmp_path}/bad.npz').batch(16)")
    done = stoker("train", recipe)
    assert done.returncode == 1
    assert "epoch 1, step 3: the loss is nan; input: the output is not finite (row 8); " in done.stderr
    assert "on_nonfinite=skip leaves such steps out" in done.stderr
    skipped = stoker("train", recipe + "\non_nonfinite = skip", "--json")
    assert skipped.returncode == 0, skipped.stderr
    assert json.loads(skipped.stdout)["skipped"] == 3


def test_losses_that_explode(stoker, data):
    """A rate that is far too high: the step and the layer are named, or such steps are counted."""
    recipe = recipe_of(data, "optimizer = sgd(1e30)")
    done = stoker("train", recipe)
    assert done.returncode == 1
    assert "epoch 1, step 2: the loss is nan; dense: the output is not finite" in done.stderr
    skipped = stoker("train", recipe + "\non_nonfinite = skip", "--json")
    assert skipped.returncode == 0, skipped.stderr
    assert json.loads(skipped.stdout)["skipped"] == 29


def test_models_that_are_too_large(stoker, data):
    """What would fit is said, before anything is allocated."""
    whole = recipe_of(data, model="input(8, 8, 1).flatten().dense(60000).dense(200000).dense(2)")
    done = stoker("train", whole)
    assert done.returncode == 1
    assert "not enough for one image" in done.stderr and "alone take" in done.stderr, done.stderr


def test_no_data(stoker, data):
    done = stoker("train", recipe_of(data, train="take(0).batch(16)"))
    assert done.returncode != 0 and "no batches" in done.stderr
    done = stoker("train", "epochs = 3")
    assert done.returncode == 2 and "model" in done.stderr


@pytest.mark.parametrize("n", [4, 50])
@pytest.mark.parametrize("packed", [False, True])
def test_one_class_after_the_other_is_told(stoker, tmp_path, n, packed):
    """Folders are listed one after the other, and packed so; a chain that mixes them needs no hint."""
    for name in "abc":
        (tmp_path / name).mkdir()
        for i in range(n):
            Image.new("L", (8, 8), 5 * i).save(tmp_path / name / f"{i}.png")
    source = f"image_folder('{tmp_path}')"
    if packed:
        assert stoker("pack", f"{source}.read()", "--out", f"{tmp_path}/x.tfrecord").returncode == 0
        source = f"tfrecord('{tmp_path}/x.tfrecord').parse_example({{bytes: bytes, label: int64}})"
    lines = "model = input(8, 8, 1).flatten().dense(3)\nepochs = 2"
    tail = "decode(channels=1).resize(8, 8).scale(1/255).batch(4)"
    said = []
    for mixing in ("", "shuffle()."):
        done = stoker("train", f"train = {source}.{mixing}{tail}\n{lines}")
        assert done.returncode == 0, done.stderr
        said.append(done.stderr.count("one class after the other"))
    assert said == [1, 0]


def test_numbers_that_are_no_classes_may_come_in_order(stoker, tmp_path):
    rows = np.arange(400)
    np.savez(tmp_path / "x.npz", x=np.float32(rows / 400)[:, None], y=rows // 40)
    for loss, outputs, n in (("mse()", 1, 0), ("cross_entropy()", 10, 1)):
        lines = f"model = input(1).dense({outputs})\nloss = {loss}\nlabel = y\nepochs = 1"
        done = stoker("train", f"train = npz('{tmp_path}/x.npz').batch(4)\n{lines}")
        assert done.returncode == 0 and done.stderr.count("one class after the other") == n, done.stderr
