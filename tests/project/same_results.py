#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a change of the code change what users get? Records results of one build and compares another with them.

    same_results.py record DIR --stoker build/stoker     before the change
    same_results.py compare DIR --stoker build/stoker    after it

DIR holds `work`, where it is run, with the files that are read, `chains.jsonl` (a chain, its options, the digest of all that is delivered or the error) and
`models.jsonl` (a recipe and the losses of its first 20 steps, with all their digits). Chains are random trees of combiners over every source, random orders and
batches, and the examples of every op's page on images; models have every layer, loss and optimizer in all precisions.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "support")]
from model.random_chain import Maker, write_files  # noqa: E402
from model.random_mixture import MixtureMaker  # noqa: E402

DATA = pathlib.Path("data")
N_MIXTURES, N_CHAINS, N_STEPS = 220, 180, 20
LIMIT_S = 120
IMAGES = "image_folder('data/classes').decode()"
SMALL = f"{IMAGES}.resize(24, 20)"
FIELDS = "range(40).map('y = cast(x, float32) * 0.5 - 3')"


# ---- what is recorded ----


def write_classes(folder):
    """Pictures of five classes whose pixels are a rule, in every format that keeps them."""
    from PIL import Image

    for i in range(100):
        width, height, shape = 20 + i % 13, 18 + i % 7, i % 5
        pixels = bytes((x * (shape + 2) + y * 3 + i + c * 40) % 256 for y in range(height) for x in range(width) for c in range(3))
        place = folder / f"class{shape}"
        place.mkdir(parents=True, exist_ok=True)
        ending = ("png", "bmp", "jpg")[i % 3]
        Image.frombytes("RGB", (width, height), pixels).save(place / f"{i:03}.{ending}")


def random_chains():
    for number in range(N_MIXTURES):
        text, options = MixtureMaker(number, DATA).make()
        yield text, list(map(str, options.words()))
    for number in range(N_CHAINS):
        text, options = Maker(number, DATA).make()
        yield text, list(map(str, options.words()))


def example_chains(stoker):
    """The calls of the examples on the pages of ops, behind pictures and behind numbers."""
    ops = json.loads(stoker("ops", "--json").stdout)
    for op in ops:
        calls = set(re.findall(rf"\.({op['name']}\((?:[^()]|\([^()]*\))*\))", op["doc"]))
        for call in sorted(calls | {f"{op['name']}()"}):
            for begin, end in ((IMAGES, ".resize(16, 16).batch(7)"), (SMALL, ".batch(7)"), (f"{SMALL}.batch(8)", ""), (FIELDS, ".batch(7)")):
                yield f"{begin}.{call}{end}", ["--seed", "5", "--epochs", "2"]


MODELS = [
    "conv2d(8, 3, activation=relu).flatten().dense(5)",
    "conv2d(7, 5, strides=2, padding=same, use_bias=false).batchnorm().activation(relu).flatten().dense(5)",
    "separable_conv2d(16, 3, activation=relu6).maxpool(2).flatten().dense(5)",
    "depthwise_conv2d(3, depth_multiplier=2, activation=swish).avgpool(2).flatten().dense(5)",
    "conv2d(16, 1).global_avgpool().dense(5)",
    "conv2d(16, 3).global_avgpool(keepdims=true).conv2d(8, 1, activation=gelu).flatten().dense(5)",
    "conv2d(8, 3, padding=same, activation=relu).residual(conv2d(8, 3, padding=same)).global_avgpool().dense(5)",
    "concat([conv2d(4, 3, padding=same), conv2d(6, 1), identity()]).activation(tanh).global_avgpool().dense(5)",
    "flatten().dense(33, activation=leaky_relu(0.1)).dropout(0.3).dense(5)",
    "conv2d(12, 3, dilation_rate=2, activation=sigmoid).maxpool(3, strides=2, padding=same).flatten().dense(5)",
    "conv2d(16, 3, padding=same, activation=relu).conv2d(16, 3, padding=same, activation=relu).conv2d(16, 3, padding=same).global_avgpool().dense(5)",
    "batchnorm().conv2d(9, 3).batchnorm().activation(relu).depthwise_conv2d(3).batchnorm().global_avgpool().dense(5)",
]
OPTIMIZERS = ["adam(0.003)", "sgd(0.05, momentum=0.9)", "adamw(0.002)", "sgd(0.05, momentum=0.9, nesterov=true)", "adam(0.002, form=pytorch, weight_decay=0.01)", "adam(cosine(0.004, steps=20, warmup=3), global_clipnorm=1)"]
LOSSES = ["cross_entropy()", "cross_entropy(label_smoothing=0.1)", "cross_entropy(class_weights=[1, 2, 1, 0.5, 3])"]
NUMBERS = ["mse()", "binary_cross_entropy()"]  # of one output
PRECISIONS = ["float32", "mixed_float16", "mixed_bfloat16"]


def recipe(layers, loss, optimizer, precision, labels=""):
    return f"""train = {SMALL}{labels}.scale(1/255, field='image').shuffle(30).repeat(4).batch(16)
model = input(24, 20, 3).{layers}
optimizer = {optimizer}
loss = {loss}
precision = {precision}
deterministic = true
threads = 2
seed = 3
steps_per_epoch = {N_STEPS}
log_every = 1"""


def recipes():
    for i, layers in enumerate(MODELS):
        for j, precision in enumerate(PRECISIONS):
            optimizer = OPTIMIZERS[(i + j) % len(OPTIMIZERS)]
            yield recipe(layers, LOSSES[(i + j) % len(LOSSES)], optimizer, precision)
    for loss in NUMBERS:
        labels = ".map('label = cast(label % 2, float32)')"
        yield recipe("conv2d(8, 3, activation=relu).flatten().dense(1)", loss, "adam(0.001)", "float32", labels)


# ---- running it ----


class Runs:
    def __init__(self, stoker, folder):
        self.stoker, self.folder = stoker, folder

    def __call__(self, *words):
        return subprocess.run([self.stoker, *words], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)

    def chain(self, case):
        done = self("run", case["chain"], *case["options"], "--digest", "--quiet", "--workers", "2", "--take", "60")
        return {"code": done.returncode, "digest": done.stdout.strip(), "error": done.stderr}

    def model(self, case):
        log = self.folder / f"log-{os.getpid()}-{case['number']}.jsonl"
        done = self("train", case["recipe"] + f"\nlog = '{log.name}'", "--quiet")
        steps = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        losses = [step["loss"] for step in steps if "loss" in step][:N_STEPS]
        return {"code": done.returncode, "losses": losses, "error": done.stderr}


def run_all(kind, run, cases):
    """The cases with their results; the machine has a core for each of two of them."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, found in zip(cases, pool.map(run, cases)):
            yield case, found
    print(f"{kind}: {len(cases)} cases", file=sys.stderr)


def record(runs, folder):
    (runs.folder / DATA).mkdir(parents=True)
    before = os.getcwd()
    os.chdir(runs.folder)  # chains name their files from there
    write_files(DATA)
    write_classes(DATA / "classes")
    texts = [*random_chains(), *example_chains(runs)]
    os.chdir(before)
    chains = [{"chain": text, "options": options} for text, options in texts]
    models = [{"number": i, "recipe": recipe} for i, recipe in enumerate(recipes())]
    for kind, run, cases in (("chains", runs.chain, chains), ("models", runs.model, models)):
        with open(folder / f"{kind}.jsonl", "w") as out:
            good = 0
            for case, found in run_all(kind, run, cases):
                good += found["code"] == 0
                print(json.dumps(case | {"result": found}), file=out)
        print(f"{good} of them end well; how the others fail is recorded, too", file=sys.stderr)


def compare(runs, folder):
    n_other = 0
    for kind, run in (("chains", runs.chain), ("models", runs.model)):
        cases = [json.loads(line) for line in open(folder / f"{kind}.jsonl")]
        for case, found in run_all(kind, run, cases):
            if found != case["result"]:
                n_other += 1
                print(f"{case.get('chain') or case['recipe']}\n  was {case['result']}\n  is  {found}")
    print(f"{n_other} differ", file=sys.stderr)
    return n_other == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stoker", type=pathlib.Path, required=True, help="the command that is run")
    given = parser.parse_args()
    runs = Runs(given.stoker.resolve(), given.folder.resolve() / "work")
    if given.what == "record":
        return record(runs, given.folder.resolve())
    return compare(runs, given.folder.resolve()) or sys.exit(1)


if __name__ == "__main__":
    main()
