# SPDX-License-Identifier: Apache-2.0
"""Random chains that are valid by construction, with the options to run them under.

What is tracked while a chain grows: the kinds of its fields, whether it is still indexed (a global
shuffle needs that), whether rows are already batches, and a bound on the number of rows.
"""

import gzip
import random
import struct
from dataclasses import dataclass

from . import damage, example, random_fields
from .draft import Draft
from .language import Word, show
from .random_combining import Combining

SIZES = [0, 1, 2, 7, 7, 33, 33, 33, 100, 100, 100, 257, 257]
BATCHES = [1, 2, 3, 4, 7, 16, 33, 300]
MAX_ROWS = 800
LISTS = ("ragged", "list")  # kinds whose rows differ in length
TEXTS = ("texts", "pair")
WORKERS = [0, 1, 2, 3, 8]


# Words of calls behind which fewer or more elements may come than a draft counts.
CHANGES_COUNT = """take skip shard split filter pick batch window unique repeat balance resample zip
    concatenate choose sample interleave flat""".split()


def is_whole(text):
    """Whether as many elements come as the draft counts."""
    return text.startswith(("range(", "values(")) and not any(word in text for word in CHANGES_COUNT)


@dataclass
class Options:
    seed: int = 0
    epochs: int = 1
    on_error: str = "fail"
    max_errors: float = None
    rank: int = 0
    world: int = 1

    def words(self):
        words = ["--seed", self.seed, "--epochs", self.epochs, "--on-error", self.on_error]
        words += ["--rank", self.rank, "--world", self.world]
        return words + (["--max-errors", self.max_errors] if self.max_errors is not None else [])


class Maker(Combining):
    """Writes one chain. `folder` holds files: some named in chains exist, some do not."""

    def __init__(self, seed, folder):
        self.random = random.Random(seed)
        self.folder = folder
        self.n_names = 0
        self.seed = seed
        self.bad_one_in = self.random.choice([0, 0, 0, 3, 10, 40])
        self.damager = damage.Damager(self.random, self.bad_one_in)

    def make(self):
        pick = self.random
        draft = self.source()
        for _ in range(pick.choice([0, 1, 1, 2, 2, 3, 4])):
            self.grow(draft)
        if self.bad_one_in and pick.random() < 0.8:
            self.break_rows(draft)
            if pick.random() < 0.5:
                self.grow(draft)
        options = self.options(draft)
        if pick.random() < 0.8:
            self.batch(draft, may_compute=options.on_error != "replace")
        if pick.random() < 0.2:
            draft.then(pick.choice(["prefetch()", "prefetch(2)", "prefetch(auto)"]))
        return draft.text, options

    def options(self, draft):
        pick = self.random
        options = Options(
            seed=pick.choice([0, 1, 12345, 2**40 + 1]), epochs=pick.choice([1, 1, 2, 3])
        )
        if pick.random() < 0.2:
            options.rank, options.world = 1, 3
        if self.bad_one_in:
            policies = ["fail", "skip", "skip"] + ["replace"] * 2 * draft.is_indexed
            options.on_error = pick.choice(policies)
        if options.on_error != "fail":
            options.max_errors = pick.choice([None, None, 0, 1, 5, 0.05, 0.2])
        return options

    def name(self):
        self.n_names += 1
        return f"f{self.n_names}"

    # sources

    def source(self):
        kind = self.random.choice(
            ["range"] * 6
            + ["values"] * 3
            + ["files", "lines", "zip", "concatenate", "examples"]
            + ["tfrecord", "tar", "csv", "jsonl", "fixed_length", "npy", "hdf5"]
            + self.SOURCES
        )
        return getattr(self, kind)()

    def range(self):
        n = self.random.choice(SIZES)
        step = self.random.choice([1, 1, 1, 2, -3])
        start = self.random.choice([0, 0, -5, 1000])
        text = f"range({start}, {start + n * step}, {step})"
        text = f"range({n})" if (start, step) == (0, 1) else text
        return Draft(text, {"x": "int"}, n, is_constant=True)

    def values(self):
        pick = self.random
        n = pick.choice([1, 2, 7, 33])
        columns = {
            "i": ("int", [pick.randint(-100, 100) for _ in range(n)]),
            "r": ("real", [pick.randint(-400, 400) / 8 + 0.5**9 for _ in range(n)]),
            "s": ("bytes", [pick.choice("abcdef") * pick.randint(0, 40) for _ in range(n)]),
            "b": ("bool", [pick.choice([Word("true"), Word("false")]) for _ in range(n)]),
            "v": ("vector", [[pick.randint(0, 9) for _ in range(3)] for _ in range(n)]),
            "g": ("ragged", [[i] * pick.randint(0, 4) for i in range(n)]),
            "w": ("texts", [["q" * i] * pick.choice([0, 1, 1, 2, 5]) for i in range(n)]),
            "p": ("pair", [["one", pick.choice(["", "two"])] for _ in range(n)]),
        }
        for name in "gw":
            if len({len(item) for item in columns[name][1]}) == 1:
                del columns[name]  # one length makes them vectors or pairs, of nothing perhaps
        names = pick.sample(list(columns), pick.randint(1, 3))
        table = show({name: columns[name][1] for name in names})
        fields = {name: columns[name][0] for name in names}
        return Draft(f"values({table})", fields, n, is_constant=True)

    def examples(self):
        """Records whose bytes are all ASCII; some are cut short where the chain may have bad rows."""
        pick = self.random
        n = pick.choice([1, 2, 7, 33])
        records = []
        for i in range(n):
            features = {"label": (3, [pick.randint(0, 127)]), "list": (3, [i] * pick.randint(0, 5))}
            features["v"] = (2, [pick.choice([0.5, 2.0, 8.0]) for _ in range(4)])
            if pick.random() < 0.7:
                features["name"] = (1, [b"n" * pick.randint(0, 9)])
            keys = pick.sample(list(features), len(features))
            record = example.write({key: features[key] for key in keys})
            if self.bad_one_in and pick.randrange(self.bad_one_in) == 0:
                record = record[: pick.randrange(1, len(record))]
            records.append(record.decode())
        specs = {
            "label": ("int", "int64"),
            "l": ("ragged", "varlen(int64, key=list)"),
            "list": ("list", "fixed_sequence([1], int64)"),
            "v": ("narrow", pick.choice(["fixed([4], float32)", "fixed([2, 2], float32)"])),
            "name": ("bytes", "fixed([], bytes, 'none')"),
            "missing": ("narrow", "fixed([2], int64, [7, -8])"),
        }
        names = pick.sample(list(specs), pick.randint(1, 4))
        table = ", ".join(f"{name}: {specs[name][1]}" for name in names)
        fields = {name: specs[name][0] for name in names}
        text = f"values({show({'record': records})}).parse_example({{{table}}})"
        return Draft(text, fields, n, is_constant=not self.bad_one_in)

    def partition(self, step=1):
        kind = self.random.choice(["splits", "lengths", "starts", "limits", "rowids"])
        return f"{'value' if kind == 'rowids' else 'row'}_{kind}={kind}{step}"

    def parts_of_four(self):
        """Partitions of four values, or of two pairs of them, and indices."""
        pick = self.random
        parts = {"ix": pick.sample(range(20), 4), "iy": [pick.randint(0, 2) for _ in range(4)]}
        for step in (1, 2):
            n = 4 // step
            lengths = []
            while sum(lengths) < n:
                lengths.append(pick.randint(0, n - sum(lengths)))
            splits = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
            parts[f"splits{step}"], parts[f"lengths{step}"] = splits, lengths
            parts[f"starts{step}"], parts[f"limits{step}"] = splits[:-1], splits[1:]
            parts[f"rowids{step}"] = [row for row, k in enumerate(lengths) for _ in range(k)]
        for key in parts:
            if self.damager.hits() and parts[key]:
                parts[key][pick.randrange(len(parts[key]))] = pick.choice([0, 1, 3, 99])
        return {key: (3, numbers) for key, numbers in parts.items()}

    def files(self):
        """Some of the files do not exist where the chain may have bad rows."""
        n = self.random.choice([1, 2, 7, 33])
        names = []
        for i in range(n):
            is_missing = self.bad_one_in and self.random.randrange(self.bad_one_in) == 0
            names.append(str(self.folder / (f"missing{i}" if is_missing else f"{i}.txt")))
        self.random.shuffle(names)
        if self.random.random() < 0.5:
            return Draft(f"files({show(names)}).read()", {"bytes": "bytes"}, n)
        labels = [self.random.randint(0, 9) for _ in names]
        text = f"files({show(names)}, labels={show(labels)}).read()"
        return Draft(text, {"bytes": "bytes", "label": "int"}, n)

    def lines(self):
        n = self.random.choice([0, 1, 7, 33])
        packed = self.random.choice(["", ".gz"])
        return Draft(
            f"lines('{self.folder / f'{n}.lines{packed}'}')", {"text": "bytes"}, n, not packed
        )

    # files in other formats, new ones; some are damaged where the chain may have bad rows

    def write(self, ending, make, may_pack=True):
        """One to three files, each of at most 33 elements: make(n) are the bytes of one. Returns
        their names, a bound on the elements of all, and whether they are packed."""
        pick = self.random
        is_packed = may_pack and pick.random() < 0.3
        names, total = [], 0
        for _ in range(pick.choice([1, 1, 2, 3])):
            n = pick.choice([1, 2, 7, 33])
            path = self.folder / f"{self.seed}-{self.name()}.{ending}{'.gz' * is_packed}"
            data = make(n)
            path.write_bytes(gzip.compress(data) if is_packed else data)
            names.append(str(path))
            total += n
        return show(names if len(names) > 1 else names[0]), total, is_packed

    def tfrecord(self):
        """Records that are texts, or Examples with a number and lists of texts."""
        pick = self.random
        is_text = pick.random() < 0.5

        def content():
            if is_text:
                return b"r" * pick.randint(0, 40)
            features = {"label": (3, [pick.randint(0, 127)])}
            features["words"] = (1, [b"w" * k for k in range(pick.choice([0, 1, 1, 3, 40]))])
            if pick.random() < 0.7:
                features["two"] = (1, [b"first", b""])
                features["grid"] = (1, [b"g" * pick.choice([0, 1, 9]) for _ in range(6)])
            if not self.bad_one_in or pick.random() < 0.9:  # rows of v, and its places in arrays
                features["v"] = (2, [pick.choice([0.5, 2.0, 8.0]) for _ in range(4)])
                features.update(self.parts_of_four())
            return example.write(features)

        def make(n):
            return damage.tfrecord(self.damager, [content() for _ in range(n)])

        names, n, is_packed = self.write("tfrecord", make)
        if is_text:
            return Draft(f"tfrecord({names})", {"record": "bytes"}, n, not is_packed)
        grid = "sparse([iy, ix], v, float32, [3, 20]"
        specs = {
            "label": ("int", "int64"),
            "w": ("texts", "varlen(bytes, key=words)"),
            "words": ("texts", "fixed_sequence([], bytes)"),
            "two": ("pair", "fixed([2], bytes, ['', 'second'])"),
            "grid": ("grid", "fixed([2, 3], bytes, [['a', 'b', ''], ['', 'c', 'd']])"),
            "cube": ("cube", "fixed([3, 1, 2], bytes, [[['a', 'b']], [['', 'c']], [['d', 'e']]], key=grid)"),
            "rows": ("lists", f"ragged(float32, v, {self.partition()})"),
            "pairs": ("lists", f"ragged(float32, v, 2, {self.partition(2)})"),
            "dense": ("narrow", pick.choice(["sparse(ix, v, float32, 20)", f"{grid})"])),
            "ix": ("ragged", "sparse(ix, v, float32, 20, part=indices)"),
            "ordered": ("list", f"{grid}, {pick.choice(['true', 'false'])}, values)"),
            "places": ("list", f"{grid}, part=indices)"),
        }
        wanted = pick.sample(list(specs), pick.randint(1, 4))
        table = ", ".join(f"{name}: {specs[name][1]}" for name in wanted)
        fields = {name: specs[name][0] for name in wanted}
        return Draft(f"tfrecord({names}).parse_example({{{table}}})", fields, n, not is_packed)

    def tar(self):
        """What is damaged may be more elements than there were samples: three of one at most."""
        pick = self.random

        def sample():
            number = "one" if self.damager.hits() else str(pick.randint(-99, 99))
            return {"txt": b"t" * pick.randint(0, 600), "cls": number.encode(), "no": b"no"}

        names, n, is_packed = self.write(
            "tar", lambda n: damage.tar(self.damager, [sample() for _ in range(n)])
        )
        text = f"tar({names}, {{t: 'txt', n: 'cls'{pick.choice(['', ', k: __key__'])}}})"
        fields = {"t": "bytes", "n": "int", "k": "bytes"}
        fields = {name: kind for name, kind in fields.items() if name != "k" or "__key__" in text}
        return Draft(text, fields, 4 * n, not is_packed)

    def csv(self):
        pick = self.random

        def row():
            text = pick.choice(["", "plain", 'a "quoted" one', "two\nlines", "a, b"])
            real = pick.choice([None, pick.randint(-400, 400) / 7, 1e-5, 12345678.9])
            return pick.randint(-999, 999), text, real

        names, n, is_packed = self.write(
            "csv", lambda n: damage.csv(self.damager, [row() for _ in range(n)])
        )
        columns = {"i": ("int", "int64"), "s": ("bytes", "text"), "r": ("real", "float32")}
        wanted = pick.sample(list(columns), pick.randint(1, 3))
        table = ", ".join(f"{name}: {columns[name][1]}" for name in wanted)
        fields = {name: columns[name][0] for name in wanted}
        return Draft(f"csv({names}, {{{table}}})", fields, n, not is_packed)

    def jsonl(self):
        pick = self.random

        def item():
            made = {"i": pick.randint(-999, 999), "l": [pick.randint(0, 9)] * pick.randint(0, 3)}
            made["w"] = [pick.choice(["", "é", "two words"]) for _ in range(pick.randint(0, 3))]
            if pick.random() < 0.7:
                made["s"] = pick.choice(["", "plain", "é", 'a "quoted" one'])
            return dict(pick.sample(list(made.items()), len(made)))

        names, n, is_packed = self.write(
            "jsonl", lambda n: damage.jsonl(self.damager, [item() for _ in range(n)])
        )
        lists = "l: list('l', int64), w: list('w', text)"
        text = f"jsonl({names}, {{i: int64, s: value('s', text, 'none'), {lists}}})"
        fields = {"i": "int", "s": "bytes", "l": "ragged", "w": "texts"}
        return Draft(text, fields, n, not is_packed)

    def fixed_length(self):
        pick = self.random
        size, header, footer = pick.choice([1, 4, 9]), pick.choice([0, 3]), pick.choice([0, 2])

        def make(n):
            letters = bytes(pick.choice(b"abcdef") for _ in range(n * size))
            return b"H" * header + letters + b"F" * footer

        names, n, is_packed = self.write("bin", make)
        packed = ", compression=gzip" * is_packed
        text = f"fixed_length({names}, {size}, header={header}, footer={footer}{packed})"
        return Draft(text, {"record": "bytes"}, n, not is_packed)

    def npy(self):
        pick = self.random
        kind, descr, shape, code = pick.choice(
            [
                ("int", "<i8", [], "<q"),
                ("vector", ">i8", [3], ">q"),
                ("real", ">f4", [], ">f"),
                ("narrow", "<i2", [2, 2], "<h"),
                ("bytes", "|S5", [], "5s"),
            ]
        )

        def make(n):
            items = n
            for size in shape:
                items *= size
            values = [pick.randint(0, 99) for _ in range(items)]
            made = [struct.pack(code, b"%d" % v if code == "5s" else v) for v in values]
            return damage.npy(descr, [n, *shape], b"".join(made))

        names, n, _ = self.write("npy", make, may_pack=False)
        return Draft(f"npy({names}, field=a)", {"a": kind}, n)

    def hdf5(self):
        pick = self.random
        width, chunk = pick.choice([1, 4]), pick.choice([1, 3, 8])

        def make(n):
            rows = [[pick.randint(-9, 99) for _ in range(width)] for _ in range(n)]
            return damage.hdf5(self.damager, rows, chunk)

        names, n, _ = self.write("h5", make, may_pack=False)
        hold = pick.choice(["", ", hold=0"])
        return Draft(f"hdf5({names}{hold})", {"x": "vector"}, n)

    def zip(self):
        """Inputs get fields of their own names; one of them may be bad where the other is not."""
        parts = [self.range() for _ in range(self.random.choice([1, 2, 2, 3]))]
        for part in parts:
            new = self.name()
            part.then(f"rename({{x: {new}}})")
            part.fields = {new: "int"}
            self.grow(part)
            if self.bad_one_in and self.random.random() < 0.5:
                self.break_rows(part)
        return Draft(
            f"zip({', '.join(part.text for part in parts)})",
            {name: kind for part in parts for name, kind in part.fields.items()},
            min(part.n for part in parts),
            all(part.is_indexed for part in parts),
        )

    def concatenate(self):
        parts = [self.range() for _ in range(self.random.choice([1, 2, 2, 3]))]
        for part in parts:
            self.reorder(part)
        first, *others = [part.text for part in parts]
        forms = (
            f"{first}.concatenate({', '.join(others)})",
            f"concatenate({', '.join([first, *others])})",
        )
        return Draft(
            self.random.choice(forms),
            {"x": "int"},
            sum(part.n for part in parts),
            all(part.is_indexed for part in parts),
        )

    # ops

    def grow(self, draft):
        kinds = [self.compute, self.compute, self.keep, self.reorder, self.reorder, self.combine]
        self.random.choice(kinds)(draft)
        if self.random.random() < 0.15:
            self.cache(draft)

    def cache(self, draft):
        """In memory, or on disk: the first run fills it, and those that follow find it there. Then
        nobody reads a stream, and in which file of several an element was is not known."""
        where = repr(str(self.folder / f"{self.seed}-{self.name()}.cache"))
        is_read = any(word in draft.text for word in (".gz'", "interleave(", "flat_map("))
        draft.then(f"cache({self.random.choice(['', '', where, where + ', zstd'][:2 if is_read else 4])})")

    def compute(self, draft):
        """map, cast, scale, select, rename, or an op that makes fields of others."""
        pick = self.random
        numbers = draft.of_kind("int", "real", "vector")
        texts = draft.of_kind("bytes")
        if texts and not draft.is_batched and pick.random() < 0.3:
            name = pick.choice(texts)
            dtypes = ["uint8", "int8", "bool"] + ["uint16"] * (self.bad_one_in > 0)
            order = pick.choice(["", ", little_endian=false"])
            draft.then(f"decode_raw({pick.choice(dtypes)}{order}, field={name})")
            draft.is_constant = False
            draft.fields[name] = "list"
            return None
        if pick.random() < 0.4 and random_fields.grow(self, draft):
            return None
        counted = draft.of_kind("bytes", "ragged", "texts")
        if counted and not draft.is_batched and pick.random() < 0.2:
            new = self.name()
            draft.then(f"map('{new} = len({pick.choice(counted)})')")
            draft.fields[new] = "int"
            return None
        if not numbers or pick.random() < 0.2:
            return self.reshape(draft)
        name = pick.choice(numbers)
        if pick.random() < 0.3:
            return self.convert(draft, name)
        if draft.fields[name] == "vector":
            new, kind, text = name, "vector", f"{name} * 3 - 1"
        elif draft.fields[name] == "int":
            new, kind, text = pick.choice(
                [
                    (name, "int", f"{name} * {pick.randint(-9, 9)} + 3"),
                    (name, "int", f"{name} * 4611686018427387905 - {name} // 3"),
                    (self.name(), "int", f"where({name} % 3 == 1, {name}, -{name} // 2)"),
                    (self.name(), "int", f"min(abs({name}), 50) | max({name}, 3) & 7"),
                    (self.name(), "bool", f"{name} > 3 and not {name} == 8 or {name} < -4"),
                    (self.name(), "real", f"{name} / {pick.choice([2, 3, 255])}"),
                    (self.name(), "real", f"float32({name}) * 0.1 - 1"),
                ]
            )
        else:
            new, kind, text = pick.choice(
                [
                    (name, "real", f"{name} * 0.3 + 1"),
                    (name, "real", f"where({name} > 0.5, {name}, -{name}) / 3"),
                    (self.name(), "int", f"int64(where({name} < 1000, {name}, 0) * 2)"),
                ]
            )
        draft.fields[new] = kind
        draft.then(f"map('{new} = {text}')")

    def convert(self, draft, name):
        """cast or scale; what becomes narrow is not computed with any more."""
        kind = draft.fields[name]
        to, text = self.random.choice(
            [
                ("real", f"cast(float32, {name})"),
                ("int", f"cast(int64, {name})"),
                ("narrow", f"cast(uint8, {name})"),
                ("narrow", f"cast(int16, field={name})"),
                ("narrow", f"cast(float64, {name})"),
                ("real", f"scale(1/255, field={name})"),
                ("narrow", f"scale(0.5, -3, {name}, dtype=int8)"),
            ]
        )
        draft.then(text)
        draft.fields[name] = "narrow" if kind == "vector" else to

    def must_keep(self, draft):
        """True if a row may be bad for a field that nobody would look at if it were left out."""
        made = ("csv(", "jsonl(", "parse_", ".read(", "decode_raw(", "npz(", "hdf5(", "tar(")
        return self.bad_one_in and any(word in draft.text for word in made)

    def reshape(self, draft):
        """Fields come, go and change their names or types."""
        pick = self.random
        names = list(draft.fields)
        if pick.random() < 0.5:
            old, new = pick.choice(names), self.name()
            draft.then(f"rename({{{old}: {new}}})")
            draft.fields = {new if n == old else n: kind for n, kind in draft.fields.items()}
        else:
            least = len(names) if self.must_keep(draft) else 1
            kept = pick.sample(names, pick.randint(least, len(names)))
            draft.then(f"select({', '.join(repr(n) for n in kept)})")
            draft.fields = {n: draft.fields[n] for n in kept}

    def keep(self, draft):
        """filter, take, skip, shard or split."""
        pick = self.random
        ints = draft.of_kind("int")
        if ints and pick.random() < 0.4:
            draft.then(f"filter('{pick.choice(ints)} % {pick.choice([2, 3, 10])} != 1')")
            draft.is_indexed = False
        elif draft.of_kind(*TEXTS) and not draft.is_batched and pick.random() < 0.3:
            draft.then(f"filter('len({pick.choice(draft.of_kind(*TEXTS))}) != {pick.choice([0, 1])}')")
            draft.is_indexed = False
        elif pick.random() < 0.3:
            n = pick.choice([1, 2, 3])
            numbers = pick.choice([f"{n}, {pick.randrange(n)}", ""])
            is_counted = draft.is_indexed and "repeat()" not in draft.text
            left = pick.choice(["", "remainder=drop", "remainder=pad"]) if is_counted else ""
            draft.then(f"shard({', '.join(word for word in (numbers, left) if word)})")
        elif draft.is_indexed and draft.has_one_order() and pick.random() < 0.3:
            extra = pick.choice(["", ", seed=3"])
            names = draft.of_kind("int", "bytes", "vector", *TEXTS)
            if names and draft.is_constant and pick.random() < 0.5:
                extra += f", by={pick.choice(names)}"
            draft.then(f"split([0.6, 0.3, 0.1], {pick.randrange(3)}{extra})")
        elif draft.is_indexed and 0 < draft.n and is_whole(draft.text) and pick.random() < 0.3:
            numbers = [pick.randrange(draft.n) for _ in range(pick.choice([1, 2, 5, 20]))]
            draft.then(f"pick({numbers})")
            draft.n = len(numbers)
        else:
            most = max(1, draft.n)
            limit = pick.choice([-1, 0, 1, 300, *(pick.randrange(most) for _ in range(8))])
            draft.then(f"{pick.choice(['take', 'skip'])}({limit})")

    def reorder(self, draft):
        """shuffle or repeat."""
        pick = self.random
        chance = pick.random()
        draft.is_constant = False
        extra = pick.choice(["", "", "seed=4", "reshuffle_each_iteration=false"])
        if draft.is_indexed and not draft.is_batched and chance < 0.4:
            draft.then(f"shuffle({extra})")
        elif chance < 0.7:
            size = pick.choice([1, 2, 10, 64, 500])
            draft.then(f"shuffle({', '.join([str(size), extra] if extra else [str(size)])})")
            draft.is_indexed = False
        elif chance < 0.9:
            count = pick.choice([0, 1, 1, 2, 2, 2, 3, 3])
            if count * draft.n <= MAX_ROWS:
                draft.then(f"repeat({count})")
                draft.n *= count
        elif draft.n:
            limit = pick.choice([1, 40, 2 * draft.n])
            draft.then(f"repeat().take({limit})")
            draft.n = limit

    def break_rows(self, draft):
        """A division by zero now and then."""
        ints = draft.of_kind("int")
        if not ints:
            return
        name, new = self.random.choice(ints), self.name()
        draft.is_constant = False
        draft.then(f"map('{new} = 100 // ({name} % {self.bad_one_in})')")
        draft.fields[new] = "int"

    def first_batch(self, draft, size, rest):
        """Batch, ragged_batch or padded_batch; what is padded is not computed with any more."""
        pick = self.random
        name = pick.choice(["batch", "batch", "ragged_batch", "padded_batch"])
        if name == "padded_batch" and draft.of_kind("lists"):
            name = "batch"  # lists of lists are not padded
        if name != "padded_batch":
            return f"{name}({size}{rest})"
        ragged, texts = draft.of_kind("ragged"), draft.of_kind("texts")
        grids, all_texts = draft.of_kind("grid"), draft.of_kind(*TEXTS, "grid", "cube")
        extra = pick.choice(["", f", padding_values={show('-') if all_texts else 1}"])
        if ragged + texts and "fixed_sequence" not in draft.text:
            padded = pick.choice(ragged + texts)
            longest = pick.choice([1, 2, 3]) if self.bad_one_in else "none"
            most = pick.choice(["none", longest])
            extra += f", padded_shapes={{{padded}: [{most}]}}"
            if padded in texts and most != "none":
                draft.fields[padded] = "pair"
        elif grids and pick.random() < 0.5:
            extra += f", padded_shapes={{{grids[0]}: [{pick.choice(['none', 3])}, 4]}}"
        draft.is_padded = bool(draft.of_kind(*LISTS))
        draft.fields = {n: "narrow" if k in LISTS else k for n, k in draft.fields.items()}
        return f"padded_batch({size}{extra}{rest})"

    def group(self, draft, size, rest):
        """window, group_by_window or bucket_by_length."""
        pick = self.random
        ints, lists = draft.of_kind("int"), draft.of_kind("ragged", "bytes", "grid", *TEXTS)
        kind = pick.choice(["window", "window"] + ["group"] * bool(ints))
        if lists and not draft.of_kind("lists"):
            kind = pick.choice([kind, kind, "bucket"])
        if kind == "group":
            name = pick.choice(ints)
            return f"group_by_window({pick.choice([name, repr(name + ' % 4 - 1')])}, {size}{rest})"
        if kind == "bucket":
            sizes = [pick.choice([1, 2, 3, size]) for _ in range(3)]
            draft.is_padded = bool(draft.of_kind(*LISTS))
            draft.fields = {n: "narrow" if k in LISTS else k for n, k in draft.fields.items()}
            return f"bucket_by_length({pick.choice(lists)}, [2, 5], {sizes}{rest})"
        names = draft.of_kind("int", "bytes", "bool")
        by = f", by={pick.choice(names)}" if names and pick.random() < 0.4 else ""
        shift, stride = pick.choice([1, 1, 2, size, size + 2]), pick.choice([1, 1, 2, 3])
        draft.n *= size
        return f"window({size}, {shift}, {stride}{rest}{by})"

    def nest(self, draft, rest):
        """Batches of batches, of which the last may be shorter."""
        pick = self.random
        if draft.of_kind("bytes", "grid", "cube", "lists", *LISTS, *TEXTS):
            return
        extra = pick.choice(["", ", padding_values=1"])
        size = pick.choice([1, 2, 3, 7])
        names = ["padded_batch"] + ["ragged_batch"] * (not draft.is_padded)
        name = pick.choice(names)
        draft.then(f"{name}({size}{extra if name == 'padded_batch' else ''}{rest})")

    def batch(self, draft, may_compute):
        """batch, and what may follow it; only repeat and prefetch where bad rows are replaced."""
        pick = self.random
        rest = pick.choice(["", "", "", "", ", drop_remainder=true"])
        size = pick.choice([n for n in BATCHES if n <= draft.n / 4] + [3, pick.choice(BATCHES)])
        if may_compute and pick.random() < 0.3:
            draft.then(self.group(draft, min(size, 7), rest))
        else:
            draft.then(self.first_batch(draft, size, rest))
        draft.is_batched, draft.is_indexed = True, False
        for _ in range(pick.choice([0, 0, 0, 1, 2])):
            kinds = ["limit", "shuffle", "repeat", "compute", "cache"]
            kinds += ["rebatch", "nest"] * draft.is_batched
            kind = pick.choice(kinds if may_compute else ["repeat"])
            if kind == "repeat":
                draft.then("repeat(2)" if 2 * draft.n <= MAX_ROWS else "repeat(1)")
                draft.n *= 2
            elif kind == "shuffle":
                draft.then(f"shuffle({pick.choice([1, 2, 5, 100])})")
            elif kind == "compute":
                self.compute(draft)
            elif kind == "cache":
                self.cache(draft)
            elif kind == "nest":
                return self.nest(draft, rest)
            elif kind == "rebatch":
                draft.is_batched = not draft.is_padded and pick.random() < 0.5
                size = pick.choice([*BATCHES, "[2, 3]", "[1, 4, 2]"])
                draft.then(f"rebatch({size}{rest})" if draft.is_batched else "unbatch()")
            else:
                draft.then(
                    pick.choice(["take(0)", "take(1)", "take(3)", "take(5)", "skip(1)", "assert_cardinality(-2)"])
                )


def write_files(folder):
    """The files that chains of Maker name."""
    for i in range(33):
        (folder / f"{i}.txt").write_text("content " * i)
    for n in [0, 1, 7, 33]:
        text = "".join(f"line {i} {'x' * i}\n" for i in range(n))
        (folder / f"{n}.lines").write_text(text)
        (folder / f"{n}.lines.gz").write_bytes(gzip.compress(text.encode()))
