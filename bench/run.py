# SPDX-License-Identifier: Apache-2.0
"""Compares stoker with its peers, side by side in one run, and writes docs/benchmarks.md with a plot.

    run.py --stoker build/stoker [--images DIRECTORY] [--rounds 3] [--no-write]

Every round runs stoker and each peer once, one after the other, in processes of their own; the fastest reading of
each counts. Absolute numbers belong to the machine, ratios carry further.
"""
import argparse
import json
import multiprocessing
import platform
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# work, what it is, chain, peers, the ratio that must be reached
WORKS = [
    ("seed", "JPEG files → decode → 224×224 → float32/255 → shuffled batches of 32",
     "image_folder('{images}').decode().resize(224, 224).scale(1/255).shuffle().batch(32).prefetch()",
     ["tf.data", "opencv"], 1.12),
    ("shuffle", "a million numbers, shuffled globally (tf.data: within 10 000), batches of 256",
     "range(1000000).shuffle().batch(256)", ["tf.data"], 40),
    ("buffer", "a million numbers, shuffled within 10 000, batches of 256",
     "range(1000000).shuffle(10000).batch(256)", ["tf.data"], 12),
    ("map", "a million numbers plus one, batches of 256",
     "range(1000000).map('x + 1').batch(256)", ["tf.data"], 1500),
]


def run_json(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_stoker(stoker, chain):
    answer = run_json([stoker, "run", chain, "--epochs", 4, "--json"])
    return {"per_s": answer["best_epoch_elements_per_s"], "rss_mb": answer["peak_rss_mb"]}


def measure(work, options):
    """The best reading of each, {name: {per_s, rss_mb}}."""
    name, _, chain, peers, _ = work
    best = {}
    for _ in range(options.rounds):
        readings = {"stoker": run_stoker(options.stoker, chain.format(images=options.images))}
        for peer in peers:
            readings[peer] = run_json([sys.executable, TOP / "bench" / "peers.py", peer, name, options.images])
        for who, reading in readings.items():
            if who not in best or reading["per_s"] > best[who]["per_s"]:
                best[who] = reading
    return best


def spin(_):
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < 1:
        n += 1
    return n


def core_scaling():
    """How much two busy processes get done compared with one: 2.0 where the machine really has two free cores."""
    with multiprocessing.Pool(2) as pool:
        alone = max(pool.map(spin, [0]))
        return sum(pool.map(spin, [0, 1], chunksize=1)) / alone


def describe_machine():
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {multiprocessing.cpu_count()} cores; two busy processes do {core_scaling():.2f}× the work of one"


def rows_of(work, readings):
    base = readings["stoker"]["per_s"]
    for who, reading in readings.items():
        ratio = "" if who == "stoker" else f"{base / reading['per_s']:.2f}×"
        yield who, f"{reading['per_s']:,.0f}", f"{reading['rss_mb']:.0f}", ratio


def markdown(machine, results):
    lines = ["# Benchmarks", "", "Written by `make bench`: stoker and its peers side by side in one run, the best epoch of",
             "several rounds, files in the page cache.", "", f"Machine: {machine}.", "", "![ratios](benchmarks.svg)", ""]
    for work, readings in results:
        lines += [f"## {work[0]}", "", work[1] + ".", "", f"    {work[2].format(images='shapes')}", "",
                  "| who | elements/s | peak RSS, MB | stoker is |", "|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows_of(work, readings)]
        lines.append("")
    return "\n".join(lines)


def plot(results):
    """Ratios as bars on a logarithmic axis, as SVG."""
    import math

    bars = [(f"{work[0]} / {who}", readings["stoker"]["per_s"] / reading["per_s"])
            for work, readings in results for who, reading in readings.items() if who != "stoker"]
    height = 30 * len(bars) + 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" font-family="sans-serif" '
           'font-size="13">', '<text x="10" y="20">times as fast as the peer (logarithmic)</text>']
    widest = max(max(ratio for _, ratio in bars), 10)
    for i, (label, ratio) in enumerate(bars):
        width = max(2, 420 * math.log(max(ratio, 1.01)) / math.log(widest))
        y = 36 + 30 * i
        out += [f'<text x="150" y="{y + 15}" text-anchor="end">{label}</text>',
                f'<rect x="160" y="{y}" width="{width:.0f}" height="20" fill="#3b6ea5"/>',
                f'<text x="{166 + width:.0f}" y="{y + 15}">{ratio:.2f}×</text>']
    return "\n".join(out + ["</svg>"]) + "\n"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stoker", type=Path, default=TOP / "build" / "stoker")
    parser.add_argument("--images", type=Path, help="folder of JPEGs by class (default: the demo's shapes)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    options = parser.parse_args()
    options.stoker = options.stoker.resolve()
    if options.images is None:
        options.images = options.stoker.parent / "demo" / "shapes"
        if not options.images.is_dir():
            subprocess.run([options.stoker.parent / "tools" / "make_shapes", options.images], check=True)
    return options


def main():
    options = parse_options()
    machine, results, n_short = describe_machine(), [], 0
    print(machine)
    for work in WORKS:
        readings = measure(work, options)
        results.append((work, readings))
        print(f"\n{work[0]}: {work[1]}")
        for row in rows_of(work, readings):
            print("  {:10} {:>14}/s {:>6} MB {:>10}".format(*row))
        slowest = min(readings["stoker"]["per_s"] / readings[peer]["per_s"] for peer in work[3])
        if slowest < work[4]:
            n_short += 1
            print(f"  below the bar of {work[4]}×")
    if not options.no_write:
        (TOP / "docs" / "benchmarks.md").write_text(markdown(machine, results), encoding="utf-8")
        (TOP / "docs" / "benchmarks.svg").write_text(plot(results), encoding="utf-8")
        print("\nwritten: docs/benchmarks.md, docs/benchmarks.svg")
    return 1 if n_short else 0


if __name__ == "__main__":
    sys.exit(main())
