# SPDX-License-Identifier: Apache-2.0
"""What people say about formats, and what measure_formats.py found: every figure and every verdict
is computed from its readings. A claim whose readings are missing says so."""

from typing import NamedTuple

from format_data import N_SHARDS, PER_CHUNK
from format_rows import ROWS
from report import rate_text, ratio_text, seconds_text

CLEARLY = 1.2  # a ratio from which on one is said to be faster than the other
HELD, IN_PART, NOT_HELD = "Held.", "Held in part.", "Did not hold."
NOT_MEASURED = "Not measured."


class Claim(NamedTuple):
    text: str
    verdict: str
    why: str


class Readings:
    """Numbers by row and measurement; a KeyError where one is missing."""

    def __init__(self, results):
        self.results = results

    def rate(self, row, name):
        return self.results["readings"][row][name]["per_s"]

    def rate_text(self, row, name):
        return rate_text({"per_s": self.rate(row, name)})

    def ratio(self, row, other, name, other_name=None):
        """How many times as fast a row is as another."""
        return self.rate(row, name) / self.rate(other, other_name or name)

    def size_ratio(self, row, other):
        sizes = self.results["sizes"]
        return sizes[row]["disk_bytes"] / sizes[other]["disk_bytes"]

    def opened(self, row, name):
        return opening_text(self.results["readings"][row]["open"][name])

    def number(self, group, name, key):
        return self.results["readings"][group][name][key]


def opening_text(seconds):
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.01 else seconds_text(seconds)


def verdict(ratios):
    """Of "this is faster", by how many times it was, case by case."""
    n = sum(ratio >= CLEARLY for ratio in ratios)
    return HELD if n == len(ratios) else IN_PART if n else NOT_HELD


def verdict_of_equals(ratios):
    """Of "this is as fast", the same way."""
    n = sum(ratio >= 1 / CLEARLY for ratio in ratios)
    return HELD if n == len(ratios) else IN_PART if n else NOT_HELD


def times(ratio):
    return ratio_text(ratio).replace("×", " times")


# ---- claims ----


def tfrecord_is_faster(r):
    cases = {"from the page cache": "order", "cold": "cold", "slow": "slow"}
    ratios = {text: r.ratio("tfrecord", "files", name) for text, name in cases.items()}
    found = ", ".join(f"{text} {times(ratio)}" for text, ratio in ratios.items())
    shuffled = ", ".join(
        f"{text} {times(r.ratio('tfrecord', 'files', name))}"
        for text, name in (("from the cache", "shuffled"), ("slow", "slow_shuffled"))
    )
    return (
        verdict(list(ratios.values())),
        f"Read in order, a TFRecord file is this many times as fast as files in folders: {found}. "
        f"Shuffled: {shuffled}. Made ready for a network, which includes decoding: "
        f"{times(r.ratio('tfrecord', 'files', 'ready'))}.{tfrecord_by_tensorflow(r)}",
    )


def tfrecord_by_tensorflow(r):
    """The same with tf.data, which many have it from; nothing where it was not measured."""
    try:
        order, ready, slow = (
            times(r.ratio("tf_tfrecord", "tf_files", name)) for name in ("order", "ready", "slow")
        )
    except KeyError:
        return ""
    return f" With tf.data it is {order} from the page cache, {slow} slow, {ready} made ready."


def format_decides(r):
    rows = ("files", "tfrecord", "shards", "tar")
    rates = [r.rate(row, "ready") for row in rows]
    spread = max(rates) / min(rates)
    slowest = min(r.rate(row, "shuffled") for row in rows)
    return (
        verdict([spread]),
        f"From the page cache, pictures are made ready at {r.rate_text('files', 'ready')} out of "
        f"files; between the fastest and the slowest way to store the JPEGs there is a factor of "
        f"{spread:.2f}. Alone, the slowest way delivers {slowest / max(rates):.1f} times as many "
        "pictures as decoding and resizing can take.",
    )


def tar_is_as_good(r):
    ratios = [r.ratio("tar", "tfrecord", name) for name in ("order", "shuffled", "slow")]
    return (
        verdict_of_equals(ratios),
        f"Compared with TFRecord, tar is {times(ratios[0])} as fast in order, {times(ratios[1])} "
        f"shuffled, {times(ratios[2])} slow, and "
        f"{r.size_ratio('tar', 'tfrecord'):.2f} times as large. Opening "
        f"takes {r.opened('tar', 'first_open_s')} the first time and {r.opened('tar', 'open_s')} "
        f"then, TFRecord {r.opened('tfrecord', 'first_open_s')} and "
        f"{r.opened('tfrecord', 'open_s')}.",
    )


def shards_are_faster(r):
    names = ("order", "shuffled", "cold", "slow")
    ratios = [r.ratio("shards", "tfrecord", name) for name in names]
    return (
        verdict(ratios),
        f"{N_SHARDS} files instead of one: in order {times(ratios[0])} as fast, shuffled "
        f"{times(ratios[1])}, cold {times(ratios[2])}, slow {times(ratios[3])}. stoker reads many "
        "places of one file at a time.",
    )


def compression_pays(r):
    ratios = [r.ratio("gzip", "tfrecord", name) for name in ("order", "cold", "slow")]
    return (
        verdict(ratios),
        f"JPEGs in a gzip TFRecord take {r.size_ratio('gzip', 'tfrecord'):.2f} times the space; "
        f"reading is {times(ratios[0])} as fast from the cache, {times(ratios[1])} cold, "
        f"{times(ratios[2])} slow. There is no length and no shuffle over everything. Pixels in "
        f"HDF5 take {r.size_ratio('gzip_one', 'pixel_hdf5'):.2f} times the space with gzip, and "
        f"are read {times(r.ratio('gzip_one', 'pixel_hdf5', 'order'))} as fast from the cache, "
        f"{times(r.ratio('gzip_one', 'pixel_hdf5', 'cold'))} cold.",
    )


def hdf5_is_slow(r):
    crowd = {
        name: r.number("crowd", name, "per_s")
        for name in ("stoker_one", "stoker_two", "h5py_one", "h5py_threads", "h5py_processes")
    }
    threads = crowd["h5py_threads"] / crowd["h5py_one"]
    processes = crowd["h5py_processes"] / crowd["h5py_one"]
    stoker = crowd["stoker_two"] / crowd["stoker_one"]
    held = [threads < CLEARLY, processes < CLEARLY, stoker < CLEARLY]
    return (
        HELD if all(held) else IN_PART if any(held) else NOT_HELD,
        "libhdf5 admits one thread at a time, and unpacks under its lock. gzip, a picture per "
        f"chunk, shuffled: with h5py two threads do {times(threads)} what one does, two processes "
        f"{times(processes)}. stoker reads the chunks as they lie and unpacks them outside the "
        f"lock: two cores do {times(stoker)} what one does, and "
        f"{times(crowd['stoker_two'] / crowd['h5py_processes'])} what the two processes do.",
    )


def chunks_do_not_matter(r):
    order, shuffled = (r.ratio("gzip_some", "gzip_one", name) for name in ("order", "shuffled"))
    return (
        verdict_of_equals([order, shuffled]),
        f"With {PER_CHUNK} pictures per chunk instead of one, gzip HDF5 is "
        f"{times(order)} as fast in order and {times(shuffled)} shuffled. In order the pictures of "
        "a chunk share its unpacking; shuffled, each of them unpacks all of it.",
    )


def pixels_are_faster(r):
    ratios = [r.ratio("pixel_npz", "files", name) for name in ("ready", "cold", "slow_shuffled")]
    return (
        verdict(ratios),
        f"Ready for a network, pixels in an npz file come {times(ratios[0])} as fast as JPEG files "
        f"out of the page cache, but take {r.size_ratio('pixel_npz', 'files'):.1f} times the "
        f"space. Merely read, cold and in order, they come {times(ratios[1])} as fast, slow and "
        f"shuffled {times(ratios[2])}.",
    )


def csv_is_fine(r):
    ratios = [r.ratio("csv", other, "order") for other in ("row_tfrecord", "row_npz")]
    return (
        verdict_of_equals(ratios),
        f"stoker reads rows of CSV at {r.rate_text('csv', 'order')}, {times(ratios[0])} as fast as "
        f"TFRecord and {times(ratios[1])} as fast as npz, from "
        f"{r.size_ratio('csv', 'row_npz'):.1f} times the bytes of npz; shuffled, "
        f"{times(r.ratio('csv', 'row_npz', 'shuffled'))} as fast as npz. Opening it takes "
        f"{r.opened('csv', 'first_open_s')} the first time, because rows have to be found, and "
        f"{r.opened('csv', 'open_s')} then.",
    )


def shuffle_needs_buffer(r):
    classes = {name: r.number("mix", name, "classes") for name in ("none", "100", "1000", "all")}
    ratio = r.ratio("tfrecord", "tfrecord", "shuffled", "order")
    slow = r.ratio("tfrecord", "tfrecord", "slow_shuffled", "slow")
    rows = r.ratio("row_tfrecord", "row_tfrecord", "slow_shuffled", "slow")
    against = {HELD: NOT_HELD, IN_PART: IN_PART, NOT_HELD: HELD}
    return (
        against[verdict_of_equals([ratio, slow, rows])],
        "Not where records can be reached by number. Of ten classes that lie sorted in a TFRecord "
        f"file, a batch of 32 has {classes['none']:.1f} without a shuffle, {classes['100']:.1f} "
        f"with a buffer of 100, {classes['1000']:.1f} with one of 1,000, {classes['all']:.1f} with "
        f"stoker's shuffle over everything. From the page cache that is {times(ratio)} as fast as "
        f"reading in order. Where every read waits, it is {times(slow)} as fast for pictures and "
        f"{times(rows)} for rows of numbers: small records want to be read in order there, or "
        "copied first.",
    )


CLAIMS = [
    ("TFRecord is faster than many small files.", tfrecord_is_faster),
    ("The format decides how fast training is.", format_decides),
    ("tar shards are as good as TFRecord.", tar_is_as_good),
    ("Split the data into many files, so that they can be read in parallel.", shards_are_faster),
    ("Compress: fewer bytes are read faster.", compression_pays),
    ("Store decoded pixels, decoding is what takes time.", pixels_are_faster),
    ("HDF5 is slow with many workers.", hdf5_is_slow),
    ("How HDF5 is chunked does not matter.", chunks_do_not_matter),
    ("CSV is fine.", csv_is_fine),
    ("Shuffling needs a buffer.", shuffle_needs_buffer),
]


def all_of(results):
    readings, made = Readings(results), []
    for text, function in CLAIMS:
        try:
            made.append(Claim(text, *function(readings)))
        except KeyError:
            made.append(Claim(text, NOT_MEASURED, "A reading that it needs is missing."))
    return made


# ---- what to choose ----


def fastest(results, kind, name, rows=None):
    """(row, rate) of stoker's fastest row of a kind."""
    found = [
        (row, results["readings"][row.key][name]["per_s"])
        for row in ROWS
        if row.kind == kind and row.is_stoker and (rows is None or row.key in rows)
    ]
    return max(found, key=lambda pair: pair[1])


def rated(pair):
    row, rate = pair
    return f"{row.name} with {rate_text({'per_s': rate})}"


def advise_cached(r):
    files, ready = r.rate("files", "shuffled"), r.rate("files", "ready")
    plenty = files / ready >= CLEARLY
    end = (
        f"{files / ready:.1f} times what decoding and resizing can take: leave them as they are."
        if plenty
        else "too few for decoding and resizing: pack them."
    )
    return (
        "Pictures that fit into memory",
        f"JPEG files, shuffled, come at {r.rate_text('files', 'shuffled')}, {end}",
    )


def advise_network(r):
    ratio = r.ratio("tfrecord", "files", "slow")
    choice = "Pack them" if ratio >= CLEARLY else "Packing brings little"
    return (
        "Pictures behind a network",
        f"{choice}: read in order, TFRecord comes {times(ratio)} as fast as files, tar "
        f"{times(r.ratio('tar', 'files', 'slow'))}; shuffled over everything "
        f"{times(r.ratio('tfrecord', 'files', 'slow_shuffled'))} and "
        f"{times(r.ratio('tar', 'files', 'slow_shuffled'))}. Shuffle once while packing, and "
        "with a buffer while reading, where the difference counts.",
    )


def advise_pixels(r):
    best = fastest(r.results, "pixels", "ready")
    is_worth_it = best[1] / r.rate("files", "ready") >= CLEARLY
    choice = "Pixels, if there is room for" if is_worth_it else "Leave them as JPEG. Pixels take"
    return (
        "Pictures of one size that are read many times",
        f"{choice} {r.size_ratio('pixel_npz', 'files'):.1f} times the space. Ready for a network, "
        f"the fastest is {rated(best)}; JPEG files are at {r.rate_text('files', 'ready')}.",
    )


def advise_numbers(r):
    order, shuffled = (fastest(r.results, "numbers", name) for name in ("order", "shuffled"))
    return (
        "Rows of numbers",
        f"In order the fastest is {rated(order)}, shuffled {rated(shuffled)}; CSV does "
        f"{r.rate_text('csv', 'order')} and {r.rate_text('csv', 'shuffled')}, TFRecord "
        f"{r.rate_text('row_tfrecord', 'order')} and {r.rate_text('row_tfrecord', 'shuffled')}.",
    )


def advice(results):
    readings, lines = Readings(results), []
    for function in (advise_cached, advise_network, advise_pixels, advise_numbers):
        try:
            title, text = function(readings)
            lines.append(f"- **{title}.** {text}")
        except KeyError:
            continue
    return lines or ["Nothing was measured."]
