#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed runs of the command and of Python for so many minutes: `soak.py --minutes 60`.

A trial is one chain run in one way, both drawn from a seed. The chain is one of a list, or a random tree of combiners
over every source (tests/model/random_mixture.py). The way: many workers, a small budget, slow or failing storage, a
pipe, a signal, kill -9, a resumed run in another process, a long-lived Python process. What it delivers is
compared with a reference run (one worker, no budget). Failures are printed and written to a file with their
seed; `soak.py --again SEED` runs one of them again. Works in a temporary directory that it removes.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import random
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests"), str(TREE / "tests" / "support")]
import record_files  # noqa: E402
from model.random_mixture import MixtureMaker  # noqa: E402

HANG_SECONDS = 120
MB = 1 << 20
SLACK = 1.05
LEAST_MEASURED = 16 * MB  # below it the pages of Python itself are more than the slack
GROWTH_BYTES = 48 * MB  # of a long-lived process, after it is warm
WARM_RUNS = 20


class Failure(Exception):
    """What a trial found; the command is in it."""


# ---- data ----


def write_pictures(folder, rng):
    from PIL import Image

    for kind in ("good", "damaged"):
        (folder / kind).mkdir()
    for i in range(48):
        width, height = rng.randrange(16, 400), rng.randrange(16, 400)
        picture = Image.effect_noise((width, height), 40).convert("RGB")
        out = io.BytesIO()
        picture.save(out, "JPEG" if i % 4 else "PNG", **({"progressive": i % 3 == 0} if i % 4 else {}))
        data = out.getvalue()
        (folder / f"good/{i:02}").write_bytes(data)
        (folder / f"damaged/{i:02}").write_bytes(data if i % 5 else data[: len(data) // 3])


def write_records(folder, rng):
    frames = []
    for i in range(600):
        data = struct.pack("<I", i) + bytes(rng.randrange(0, 300))
        head = struct.pack("<Q", len(data))
        frames.append(
            head + struct.pack("<I", record_files.masked(head)) + data + struct.pack("<I", record_files.masked(data))
        )
    whole = b"".join(frames)
    (folder / "records.tfrecord").write_bytes(whole)
    (folder / "records.tfrecord.gz").write_bytes(gzip.compress(whole, mtime=0))
    hurt = bytearray(whole)
    for at in range(5000, len(hurt), 20011):
        hurt[at] ^= 0x40
    (folder / "hurt.tfrecord").write_bytes(hurt)


def write_texts(folder, rng):
    words = ["coal", "fire", "steam", "boiler", "é", "日本"]
    lines = [" ".join(rng.choices(words, k=rng.randrange(1, 30))) for _ in range(3000)]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{i},{rng.random():.6f},{rng.choice(words)}" for i in range(3000)]
    (folder / "table.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "bare.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_data(folder):
    rng = random.Random(20)
    write_pictures(folder, rng)
    write_records(folder, rng)
    write_texts(folder, rng)


# ---- what is run ----

CHAINS = [
    "files('good/*').decode().resize(16, 16).batch(5)",
    "files('good/*').decode().random_resized_crop(24, 24).flip().shuffle().batch(7)",
    "files('damaged/*').decode().resize(16, 16).shuffle().batch(4)",
    "files('good/*').decode().resize(24, 24).cache().shuffle().batch(5)",
    "files('good/*').decode().cache(auto).resize(16, 16).shuffle().batch(5)",
    "files('damaged/*').decode().resize(16, 16).cache('kept-{trial}').shuffle().batch(5)",
    "files('good/*').decode().center_crop(12, 12).encode_png().decode().batch(5)",
    "tfrecord('records.tfrecord').shuffle().batch(9)",
    "tfrecord('records.tfrecord.gz').shuffle(50).batch(9)",
    "tfrecord('hurt.tfrecord').shuffle(64).batch(8)",
    "tfrecord('records.tfrecord').filter('len(record) > 60').cache('kept-{trial}').shuffle(40).batch(8)",
    "lines('lines.txt').filter('len(text) > 20').shuffle(100).batch(16)",
    "csv('table.csv', {a: int64, b: float32}).shuffle().batch(32)",
    "csv('table.csv', {a: int64, b: float32}).filter('a % 3 > 0').cache().shuffle(99).batch(32)",
    "range(20000).map('y = x * x').filter('y % 7 > 0').shuffle(500).batch(64).take(200)",
    "range(5000).shuffle().batch(16).repeat(2)",
    "range(3000).window(7, 3, drop_remainder=true).batch(4)",
    "range(400).flat_map(range(5)).batch(16)",
    "sample_from([range(3000), range(50).repeat()], seed=3).take(4000).batch(16)",
    "zip(range(900), lines('lines.txt')).shuffle(30).batch(8)",
]


# Chains over a pipe, {pipe}, and the file that goes through it.
PIPED = [
    ("lines({pipe}).filter('len(text) > 20').shuffle(100).batch(16)", "lines.txt"),
    ("lines({pipe}).cache().batch(16).take(99)", "lines.txt"),
    ("tfrecord({pipe}).shuffle(50).batch(9)", "records.tfrecord"),
    ("tfrecord({pipe}).batch(7)", "records.tfrecord.gz"),
    ("csv({pipe}, {a: int64, b: float32}, header=[a, b, c]).shuffle(99).batch(32)", "bare.csv"),
    ("fixed_length({pipe}, 4).decode_raw(uint8).batch(50)", "records.tfrecord"),
    ("zip(range(900), lines({pipe})).batch(8)", "lines.txt"),
    ("sample_from([lines({pipe}), lines('lines.txt')]).batch(8)", "lines.txt"),
]
KEEPS_VALUES = re.compile(r"unique\(|group_by_window\(|\bby=")  # needs memory that nobody knows before
MADE_SHARE = 0.5  # of trials run a random chain


class Trial:
    """One way to run one chain, drawn from a seed."""

    def __init__(self, seed, folder):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.chain = rng.choice(CHAINS).replace("{trial}", str(seed))
        self.has_damage = "damaged/" in self.chain or "hurt." in self.chain
        if rng.random() < MADE_SHARE:
            self.make_chain(folder)
        self.epochs = rng.choice([1, 1, 2, 3])
        self.workers = rng.choice([0, 1, 2, 3, 5, 8, 16, 32])
        self.budget = rng.choice([None, 1.0, 1.05, 1.5, 3, 10])
        self.io = rng.choice(["auto", "threads", "uring"])
        if KEEPS_VALUES.search(self.chain):
            self.budget = None
        ways = [plain, plain, faulty, failing, interrupted, interrupted, killed, lasting, measured]
        self.way = piped if rng.random() < 0.1 else rng.choice(ways)
        if self.way is measured and "; " in self.chain:  # which would be several chains there
            self.way = plain

    def make_chain(self, folder):
        """A random chain whose files lie in a directory of the trial."""
        place = folder / f"made-{self.seed}"
        place.mkdir()
        maker = MixtureMaker(self.seed, place)
        maker.is_wild = False  # it might be refused
        self.chain, _ = maker.make()
        self.has_damage = maker.bad_one_in > 0

    def cached_in_memory(self):
        """The chain without directories of caches, which the trial's own run fills."""
        return re.sub(r"\.cache\('[^']*'(, zstd)?\)", ".cache()", self.chain)

    def fixed(self):
        """Options that what is delivered depends on."""
        words = ["--epochs", str(self.epochs), "--seed", "3"]
        return words + (["--on-error", "skip"] if self.has_damage else [])


class Soak:
    def __init__(self, args, folder):
        self.stoker = pathlib.Path(args.stoker).resolve()
        self.interpose = self.stoker.with_name("libinterpose.so")
        self.folder = folder
        self.references = {}
        self.minima = {}
        self.process = None  # the long-lived one
        self.n_lasting = 0
        self.warm = None
        self.command = ""

    def call(self, words, env=None, codes=(0,)):
        self.command = shlex.join([str(word) for word in words])
        if env:
            self.command = " ".join(f"{k}={v}" for k, v in env.items()) + " " + self.command
        try:
            done = subprocess.run(words, cwd=self.folder, capture_output=True, timeout=HANG_SECONDS,
                                  env={**os.environ, **(env or {})}, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"hangs for {HANG_SECONDS} s") from None
        if done.returncode not in codes:
            raise Failure(f"exit status {done.returncode}: {done.stderr.decode(errors='replace')[-600:]}")
        return done

    def reference(self, trial):
        """The lines of a dump, by one worker without a budget, and the digest."""
        chain = trial.cached_in_memory()
        key = (chain, trial.epochs)
        if key not in self.references:
            words = [self.stoker, "run", chain, *trial.fixed(), "--workers", "1", "--dump", "--digest", "--quiet"]
            *lines, digest = self.call(words).stdout.splitlines()
            self.references[key] = ([hashlib.sha1(line).digest() for line in lines], digest)
        return self.references[key]

    def minimum(self, trial):
        if trial.chain not in self.minima:
            words = [self.stoker, "plan", trial.chain, "--json", "--memory", "2G"]
            self.minima[trial.chain] = json.loads(self.call(words).stdout)["minimum_bytes"]
        return self.minima[trial.chain]

    def varied(self, trial):
        """Options that what is delivered must not depend on."""
        words = ["--workers", str(trial.workers), "--io", trial.io]
        if trial.budget:
            words += ["--memory", str(int(self.minimum(trial) * trial.budget) + 4096)]
        return words


# ---- ways to run ----


def check_digest(soak, trial, env=None):
    _, digest = soak.reference(trial)
    words = [soak.stoker, "run", trial.chain, *trial.fixed(), *soak.varied(trial), "--digest", "--quiet"]
    found = soak.call(words, env).stdout.splitlines()[-1]
    if found != digest:
        raise Failure(f"{found.decode()}, but the reference has {digest.decode()}")


def plain(soak, trial):
    check_digest(soak, trial)


def faulty(soak, trial):
    """Reads that are short, slow or interrupted change nothing."""
    env = {"LD_PRELOAD": str(soak.interpose), "STOKER_FAIL_PREFIX": str(soak.folder)}
    for name, most in (("SHORT_READ", 9), ("INTERRUPT_READ", 9), ("DELAY_READ_US", 2000), ("DELAY_OPEN_US", 2000)):
        if trial.rng.random() < 0.6:
            env[f"STOKER_{name}"] = str(trial.rng.randrange(2, most))
    check_digest(soak, trial, env)


def failing(soak, trial):
    """A read that fails is an error, never a crash; without on_error=skip it ends the run."""
    env = {"LD_PRELOAD": str(soak.interpose), "STOKER_FAIL_PREFIX": str(soak.folder),
           "STOKER_FAIL_READ": str(trial.rng.randrange(1, 80))}
    words = [soak.stoker, "run", trial.chain, *trial.fixed(), *soak.varied(trial), "--quiet"]
    try:
        soak.call(words, env, codes=(0, 1))
    except Failure as failure:
        if "this chain needs at least" not in str(failure):  # sizes that cannot be read are guessed
            raise
    check_digest(soak, trial)  # what a cache keeps of the run that failed is good


def feed(data, path, rng):
    """Writes data to a pipe in pieces of any size, now and then slowly, until nobody reads it any more."""
    try:
        with open(path, "wb", buffering=0) if isinstance(path, pathlib.Path) else path as pipe:
            while data:
                n = rng.choice([1, 7, 500, 4096, 100_000])
                pipe.write(data[:n])
                data = data[n:]
                time.sleep(rng.choice([0, 0, 0, 0.001]))
    except BrokenPipeError:
        pass


def piped(soak, trial):
    """What comes through a named pipe, or standard input, is what is in the file."""
    text, name = trial.rng.choice(PIPED)
    data, path = (soak.folder / name).read_bytes(), soak.folder / f"pipe-{trial.seed}"
    trial.chain, trial.epochs, trial.has_damage = text.replace("{pipe}", repr(name)), 1, False
    trial.budget = trial.budget and max(trial.budget, 1.5)  # the plan of a pipe may need a little more
    _, digest = soak.reference(trial)
    is_named, varied = trial.rng.random() < 0.5, soak.varied(trial)
    chain = text.replace("{pipe}", repr(str(path)) if is_named else "'-'")
    words = [soak.stoker, "run", chain, *trial.fixed(), *varied, "--digest", "--quiet"]
    soak.command = shlex.join([str(word) for word in words])
    if is_named:
        os.mkfifo(path)
    process = subprocess.Popen(words, cwd=soak.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL if is_named else subprocess.PIPE)
    writer = threading.Thread(target=feed, args=(data, path if is_named else process.stdin, trial.rng), daemon=True)
    writer.start()
    process.stdin = None  # the writer closes it
    try:
        out, err = process.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failure(f"hangs for {HANG_SECONDS} s") from None
    if process.returncode:
        raise Failure(f"exit status {process.returncode}: {err.decode(errors='replace')[-600:]}")
    if out.splitlines()[-1] != digest:
        raise Failure(f"{out.decode()}, but the reference has {digest.decode()}")


def part_of_run(soak, trial, how):
    """Starts or resumes a run with a checkpoint, ends it by a signal after a while; (ended by itself, lines)."""
    place = soak.folder / f"place-{trial.seed}"
    words = [soak.stoker, "run", trial.chain, *trial.fixed(), *soak.varied(trial), "--dump", "--quiet",
             "--checkpoint", place, "--every", str(trial.rng.randrange(1, 20)), "--resume"]
    soak.command = shlex.join([str(word) for word in words])
    out_path = soak.folder / f"out-{trial.seed}"
    with open(out_path, "wb") as out:
        process = subprocess.Popen(words, cwd=soak.folder, stdout=out, stderr=subprocess.PIPE)
        try:
            if how:
                time.sleep(trial.rng.random() ** 2 * 0.4)
                process.send_signal(how)
            _, err = process.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"hangs for {HANG_SECONDS} s") from None
    code = process.returncode
    if code not in (0, -how, 128 + how):
        raise Failure(f"exit status {code}: {err.decode(errors='replace')[-600:]}")
    return code == 0, out_path.read_bytes()


def hashes(data):
    return [hashlib.sha1(line).digest() for line in data.splitlines()]


def interrupted(soak, trial):
    """Ctrl-C and another process that goes on, several times: together they deliver everything once."""
    lines, _ = soak.reference(trial)
    found, is_done = [], False
    for i in range(4):
        how = 0 if i == 3 else trial.rng.choice([signal.SIGINT, signal.SIGTERM])
        is_done, out = part_of_run(soak, trial, how)
        found += hashes(out)
        if is_done:
            break
    if found != lines:
        at = next((i for i, (a, b) in enumerate(zip(found, lines)) if a != b), min(len(found), len(lines)))
        raise Failure(f"{len(found)} batches after signals, the reference has {len(lines)}; they differ from {at} on")


def killed(soak, trial):
    """kill -9: the next process goes on at the last checkpoint, so it delivers an end of the reference."""
    lines, _ = soak.reference(trial)
    for _ in range(trial.rng.randrange(1, 4)):
        is_done, _ = part_of_run(soak, trial, signal.SIGKILL)
        if is_done:
            return
    _, out = part_of_run(soak, trial, 0)
    found = hashes(out)
    if found != lines[len(lines) - len(found) :]:
        raise Failure(f"the last {len(found)} batches after kill -9 are not those of the reference")


LASTING = """
import hashlib, json, numpy, os, stoker, sys
def state():
    with open('/proc/self/status') as file:
        rows = dict(line.split(':', 1) for line in file)
    rss = 1024 * (int(rows['RssAnon'].split()[0]) + int(rows['RssShmem'].split()[0]))
    return {'rss': rss, 'descriptors': len(os.listdir('/proc/self/fd'))}
def content(value):
    if isinstance(value, list):
        return b','.join(content(item) for item in value)
    try:
        return numpy.asarray(value).tobytes()
    except ValueError:  # of different lengths
        return repr(value.tolist()).encode()
def digest(chain, options, stop):
    total, n = hashlib.sha1(), 0
    with stoker.parse(chain).iterate(**options) as run:
        for batch in run:
            for name, value in batch.items():
                total.update(name.encode() + content(value))
            n += 1
            if n == stop:
                break
    return total.hexdigest()
for line in sys.stdin:
    task = json.loads(line)
    try:
        answer = {'digest': digest(task['chain'], task['options'], task['stop'])}
    except Exception as failed:
        answer = {'error': repr(failed)}
    print(json.dumps({**answer, **state()}), flush=True)
"""


def ask(soak, task):
    """One task of the long-lived process, which is started where there is none."""
    if not soak.process:
        soak.process = subprocess.Popen([sys.executable, "-c", LASTING], cwd=soak.folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    soak.command = f"{sys.executable} (long-lived): {json.dumps(task)}"
    soak.process.stdin.write(json.dumps(task) + "\n")
    soak.process.stdin.flush()
    if not select.select([soak.process.stdout], [], [], HANG_SECONDS)[0]:
        soak.process.kill()
        soak.process = soak.warm = None
        raise Failure(f"hangs for {HANG_SECONDS} s")
    line = soak.process.stdout.readline()
    if not line:
        code = soak.process.wait()
        soak.process = soak.warm = None
        soak.n_lasting = 0
        raise Failure(f"the process ended with {code}")
    answer = json.loads(line)
    if "error" in answer:
        raise Failure(answer["error"])
    return answer


def lasting(soak, trial):
    """Runs in one process: the same batches as with one worker, and its memory and descriptors stay."""
    chain = trial.cached_in_memory()
    fixed = {"epochs": trial.epochs, "seed": 3, **({"on_error": "skip"} if trial.has_damage else {})}
    stop = trial.rng.choice([0, 0, 3])
    expected = ask(soak, {"chain": chain, "options": {**fixed, "workers": 1}, "stop": stop})
    options = {**fixed, "workers": trial.workers, "io": trial.io}
    if trial.budget:
        options["memory"] = int(soak.minimum(trial) * trial.budget) + 4096
    found = ask(soak, {"chain": chain, "options": options, "stop": stop})
    if found["digest"] != expected["digest"]:
        raise Failure(f"digest {found['digest']}, with one worker {expected['digest']}")
    soak.n_lasting += 1
    if soak.n_lasting == WARM_RUNS:
        soak.warm = found
    if soak.warm and found["descriptors"] > soak.warm["descriptors"]:
        raise Failure(f"{found['descriptors']} descriptors, {soak.warm['descriptors']} when it was warm")
    if soak.warm and found["rss"] > soak.warm["rss"] + GROWTH_BYTES:
        raise Failure(f"{found['rss'] / MB:.1f} MB resident, {soak.warm['rss'] / MB:.1f} MB when it was warm")


def measured(soak, trial):
    """The most that a process grows by, as tests/python/test_budget.py measures it."""
    budget = max(LEAST_MEASURED, int(soak.minimum(trial) * (trial.budget or 2)) + 4096)
    words = [sys.executable, TREE / "tests/python/memory_peak.py", trial.chain, f"memory={budget}",
             f"workers={trial.workers}", f"io={trial.io}", "epochs=2", "on_error=skip"]
    peak = json.loads(soak.call(words).stdout)["peak"]
    if peak > SLACK * budget:
        raise Failure(f"{peak / MB:.1f} MB taken, the budget is {budget / MB:.1f} MB ({peak / budget:.2f})")


# ---- the loop ----


def run_trial(soak, seed):
    trial = Trial(seed, soak.folder)
    try:
        trial.way(soak, trial)
        return trial, None
    except Failure as failure:
        is_too_long = "needs more than 48 stages" in str(failure)  # a random chain may be
        return trial, None if is_too_long else str(failure)
    finally:
        for path in soak.folder.glob(f"*-{seed}"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        for known in (soak.references, soak.minima):  # of random chains, which do not come again
            for key in [key for key in known if f"made-{seed}" in str(key)]:
                del known[key]


def report(args, soak, trial, why):
    text = f"seed {trial.seed} ({trial.way.__name__}): {why}\n  {soak.command}\n"
    sys.stdout.write("\nFAILED " + text)
    with open(args.failures, "a", encoding="utf-8") as file:
        file.write(text)


def soak_until(args, soak):
    end, began, told = time.monotonic() + 60 * args.minutes, time.monotonic(), 0
    counts, n_failed, seed = {}, 0, args.seed
    while time.monotonic() < end:
        trial, why = run_trial(soak, seed)
        counts[trial.way.__name__] = counts.get(trial.way.__name__, 0) + 1
        if why:
            n_failed += 1
            report(args, soak, trial, why)
        seed += 1
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{(told - began) / 60:5.1f} min  {seed - args.seed} trials, {n_failed} failed", flush=True)
    ways = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    print(f"soak: {seed - args.seed} trials in {args.minutes:g} minutes ({ways}), {n_failed} failed")
    return n_failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000_000, help="of the first trial")
    parser.add_argument("--again", type=int, help="run the trial of this seed alone")
    parser.add_argument("--stoker", default=TREE / "build/stoker", help="the command")
    parser.add_argument("--failures", default="soak-failures.txt", help="where failing commands are written")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    with tempfile.TemporaryDirectory(prefix="stoker-soak-") as name:
        soak = Soak(args, pathlib.Path(name))
        write_data(soak.folder)
        print(f"soak: first seed {args.seed}, failures go to {args.failures}", flush=True)
        try:
            if args.again is None:
                return 1 if soak_until(args, soak) else 0
            trial, why = run_trial(soak, args.again)
            print(f"seed {args.again} ({trial.way.__name__}): {why or 'passed'}\n  {soak.command}")
            return 1 if why else 0
        finally:
            if soak.process:
                soak.process.kill()
                soak.process.wait()


if __name__ == "__main__":
    sys.exit(main())
