# SPDX-License-Identifier: Apache-2.0
"""Trains small nets by stoker, in each precision, and by Keras, and compares how well they end; how hard the
data of `make demo` is. Needs the peers (build/venv-peers) and a build.

    accuracy.py                    everything, 5 seeds; prints the tables and writes them into docs/training.md
    accuracy.py --only digits      one data set: digits, shapes, demo; writes nothing
    accuracy.py --seeds 1          to see that it works; writes nothing

All get the same batches in the same order, and begin with the weights that Keras drew: with
others, accuracies of five trainings differ by more than what is looked for. What was trained is kept in BUILD/accuracy.jsonl, so the same call goes
on where it was ended; --again begins anew."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
TOP = pathlib.Path(__file__).parents[1]
sys.path.append(str(TOP / "tests/golden"))

import numpy as np

BATCH = 32
DIGITS = 1050  # of them are trained on
WAYS = ("float32", "mixed_float16", "mixed_bfloat16", "keras")
FIRST = 50  # losses that are compared

# Bars: points of accuracy, mean of the seeds; share of a loss.
KERAS_POINTS, HALF_POINTS, HALF_LOSSES = 0.5, 0.3, 0.02


def call(layer, *args, **named):
    return layer, args, named


def separable(filters, stride=1):
    yield call("separable_conv2d", filters, 3, stride, "same", use_bias=False)
    yield call("batchnorm")
    yield call("activation", "relu")


# Calls of layers, epochs, learning rate and steps of its warm-up; tests/golden/make_models.py turns them into a text and into Keras.
TASKS = {
    "digits": ([
        call("input", 8, 8, 1), call("conv2d", 16, 3, padding="same", activation="relu"), call("maxpool", 2),
        call("conv2d", 32, 3, padding="same", activation="relu"), call("flatten"), call("dense", 10),
    ], 25, 0.001, 0),
    "shapes": ([
        call("input", 48, 48, 3), call("conv2d", 16, 3, 2, "same", use_bias=False), call("batchnorm"),
        call("activation", "relu"), *separable(32), *separable(64, 2), *separable(64), *separable(128, 2), *separable(128),
        call("global_avgpool"), call("dense", 8),
    ], 12, 0.004, 200),  # the demo's
}  # fmt: skip

# ---- data: steps of a training, its batches by seed and epochs, and what is looked at in the end ----


def digits(args, epochs):
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    images = (found.images[order, ..., None] / 16).astype(np.float32)
    labels = found.target[order].astype(np.int64)

    def batches(seed):
        rng = np.random.default_rng(seed)
        for _ in range(epochs):
            order = rng.permutation(DIGITS)
            for at in range(0, DIGITS, BATCH):
                yield images[order[at : at + BATCH]], labels[order[at : at + BATCH]]

    return epochs * -(-DIGITS // BATCH), batches, (images[DIGITS:], labels[DIGITS:])


def shapes_records(build, count=8000):
    """The data of `make demo`, packed; drawn where it is not there."""
    folder, records = build / "demo/shapes", build.resolve() / "demo/shapes.tfrecord"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([build / "tools/make_shapes", folder, str(count)], check=True)
        (folder.parent / "shapes.count").write_text(f"{count}\n")
    if not records.exists():
        chain = f"image_folder('{folder}').decode().resize(48, 48, antialias=true, dtype=uint8)"
        subprocess.run([build / "stoker", "pack", chain, "--out", records, "--quiet"], check=True)
    return records


def shapes(args, epochs):
    """Turned, mirrored and moved as in the demo."""
    import stoker

    data = (
        f"tfrecord('{shapes_records(args.build)}').parse_example({{image: bytes, label: int64}})"
        ".decode_raw(uint8, shape=[48, 48, 3], field=image)"
    )
    moved = (
        ".split([0.8, 0.2], 0).shuffle().rot90([0, 1, 2, 3]).flip(horizontal, 0.5).random_affine(20, translate=[0.08, 0.08], "
        f"scale=[0.9, 1.1], interpolation=bilinear, fill=[128, 128, 128]).scale(1/255, field=image).batch({BATCH})"
    )

    def batches(seed):
        for batch in stoker.Dataset(data + moved).iterate(epochs=epochs, seed=seed, epoch=0):
            yield batch.image.numpy(), batch.label.numpy()

    test = list(stoker.Dataset(data + ".split([0.8, 0.2], 1).scale(1/255, field=image).batch(200)"))
    steps = sum(1 for _ in stoker.Dataset(data + f".split([0.8, 0.2], 0).batch({BATCH})")) * epochs
    return steps, batches, tuple(np.concatenate([b[field].numpy() for b in test]) for field in ("image", "label"))


# ---- one training ----


def keras_model(calls, seed):
    import keras
    import make_models

    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    return make_models.sequence(calls)


def begin_as_keras(trainer, model):
    import make_models

    taken = {f"{make_models.our_name(layer.name)}/{v.name}": v.numpy() for layer in model.layers for v in layer.weights}
    assert set(taken) == set(trainer.weights)
    for name, weight in trainer.weights.items():
        weight[...] = taken[name]
    trainer.changed()


def by_stoker(calls, batches, test, rate, seed, precision):
    import make_models
    import stoker

    trainer = stoker.Trainer(make_models.chain_text(calls), "adam(cosine({}, steps={}, warmup={}))".format(*rate), precision=precision,
                             max_batch=BATCH, seed=seed, threads=2, deterministic=True)  # fmt: skip
    begin_as_keras(trainer, keras_model(calls, seed))
    losses = [trainer.step(*batch) for batch in batches]
    return losses, trainer.predict(test)


def by_keras(calls, batches, test, rate, seed):
    import keras

    model = keras_model(calls, seed)
    most, steps, warmup = rate
    cosine = keras.optimizers.schedules.CosineDecay
    schedule = cosine(0.0, steps, warmup_target=most, warmup_steps=warmup) if warmup else cosine(most, steps)
    model.compile(keras.optimizers.Adam(schedule), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    losses = [float(model.train_on_batch(*batch)) for batch in batches]
    return losses, model.predict(test, verbose=0, batch_size=500)


def train(name, way, seed, args):
    calls, epochs, rate, warmup = TASKS[name]
    steps, batches, (images, labels) = {"digits": digits, "shapes": shapes}[name](args, epochs)
    given = (calls, batches(seed), images, (rate, steps - warmup, warmup), seed)
    losses, outputs = by_keras(*given) if way == "keras" else by_stoker(*given, way)
    accuracy = float((outputs.argmax(1) == labels).mean())
    return {"task": name, "way": way, "seed": seed, "accuracy": accuracy, "losses": losses[:FIRST]}


# ---- how hard the demo is ----

SMALL_NETS = {
    "linear": "input(48, 48, 3).flatten().dense(8)",
    "three convolutions, not augmented": "input(48, 48, 3).conv2d(16, 3, activation=relu).maxpool(2).conv2d(32, 3, activation=relu)"
    ".maxpool(2).conv2d(64, 3, activation=relu).maxpool(2).flatten().dense(8)",
}


def demo_recipe(name, records):
    text = (TOP / "examples/shapes.stk").read_text().replace("shapes.tfrecord", str(records))
    if name not in SMALL_NETS:
        return "\n".join(line for line in text.splitlines() if not line.startswith(("checkpoint", "log")))
    data = text[: text.index("train =")]
    return (
        f"{data}\ntrain = @data.split([0.875, 0.125], 0).shuffle().scale(1/255, field=image).batch(32)\n"
        f"valid = @data.split([0.875, 0.125], 1).scale(1/255, field=image).batch(50)\n"
        f"model = {SMALL_NETS[name]}\noptimizer = adam(cosine(0.001, steps=2628))\nepochs = 12\n"
    )


def train_demo(name, seed, args):
    records = shapes_records(args.build)
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log.jsonl"
        recipe = demo_recipe(name, records) + f"\nseed = {seed}\nlog = '{log}'\n"
        subprocess.run([args.build / "stoker", "train", recipe, "--quiet"], check=True)
        last = [json.loads(line) for line in open(log) if '"event":"epoch"' in line]
    best = max(line["valid"]["accuracy"] for line in last)
    return {"task": "demo", "way": name, "seed": seed, "accuracy": best}


# ---- tables ----


def points(rows):
    values = [100 * row["accuracy"] for row in rows]
    return f"{np.mean(values):.2f} ({min(values):.1f} to {max(values):.1f})"


def mean(rows):
    return 100 * np.mean([row["accuracy"] for row in rows])


def apart(rows, base):
    """The greatest distance of a loss from that of float32, as a share of it."""
    return max(abs(a / b - 1) for row, other in zip(rows, base) for a, b in zip(row["losses"], other["losses"]))


def table(found):
    """Text, and what is out of bounds."""
    lines = ["| data | who | accuracy, mean of 5 seeds | beside | first 50 losses |", "|---|---|---|---|---|"]
    faults = []
    for task in TASKS:
        of = {way: [row for row in found if (row["task"], row["way"]) == (task, way)] for way in WAYS}
        if not all(of.values()):
            continue
        float32, keras = mean(of["float32"]), mean(of["keras"])
        lines.append(f"| {task} | Keras 3, float32 | {points(of['keras'])} | | |")
        lines.append(f"| | stoker, float32 | {points(of['float32'])} | {float32 - keras:+.2f} | |")
        if float32 < keras - KERAS_POINTS:
            faults.append(f"{task}: Keras is {keras - float32:.2f} points better")
        for way in WAYS[1:3]:
            away, most = mean(of[way]) - float32, apart(of[way], of["float32"])
            lines.append(f"| | stoker, {way} | {points(of[way])} | {away:+.2f} | within {100 * most:.2f} % |")
            if abs(away) > HALF_POINTS or most > HALF_LOSSES:
                faults.append(f"{task}: {way} is {away:+.2f} points and {100 * most:.2f} % of a loss from float32")
    return lines, faults


def demo_table(found):
    lines = ["| net | best accuracy of 12 epochs |", "|---|---|"]
    for name in (*SMALL_NETS, "the demo's"):
        rows = [row for row in found if (row["task"], row["way"]) == ("demo", name)]
        if rows:
            lines.append(f"| {name} | {mean(rows):.1f} |")
    return lines


def write_down(parts):
    path = TOP / "docs/training.md"
    text = path.read_text()
    for name, lines in parts.items():
        begin, end = f"<!-- measured: {name} -->\n", "<!-- /measured -->"
        head, rest = text.split(begin)
        text = head + begin + "\n" + "\n".join(lines) + "\n\n" + rest[rest.index(end) :]
    path.write_text(text)


def jobs(args):
    for seed in range(args.seeds):
        for task in TASKS:
            for way in WAYS:
                yield task, way, seed
    for way in (*SMALL_NETS, "the demo's"):
        yield "demo", way, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=[*TASKS, "demo"])
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    kept = args.build / "accuracy.jsonl"
    if args.again:
        kept.unlink(missing_ok=True)
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for task, way, seed in jobs(args):
        if args.only not in (None, task) or any((r["task"], r["way"], r["seed"]) == (task, way, seed) for r in found):
            continue
        found.append(train_demo(way, seed, args) if task == "demo" else train(task, way, seed, args))
        print(f"{task}, {way}, seed {seed}: {100 * found[-1]['accuracy']:.2f} %", flush=True)
        with kept.open("a") as out:
            out.write(json.dumps(found[-1]) + "\n")
    lines, faults = table(found)
    print("\n".join([*lines, "", *demo_table(found), *faults]))
    if not args.only and args.seeds == 5:
        write_down({"accuracy": lines, "demo": demo_table(found)})
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
