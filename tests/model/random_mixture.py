# SPDX-License-Identifier: Apache-2.0
"""Random trees of combiners over every source, valid by construction.

All chains of a tree have the same one field: t (texts), x (int64), v (three int64) or p (pictures), so that
any of them can be an input of any combiner. Values are numbered through, so that a row in another one's
place shows. SOURCES and COMBINERS are checked against the list of ops (test_model_mixture.py).
"""

import gzip
import io
import pathlib
import re
import struct
import zipfile

from . import damage
from .draft import Draft
from .language import show
from .random_chain import MAX_ROWS, Maker

KINDS = {"t": "bytes", "x": "int", "v": "vector", "p": "narrow"}

# What each source can give. Of files, all but `files` and `image_folder` can be given a field.
SOURCES = {
    "range": "x", "counter": "x", "random": "x", "values": "txv", "generator": "tx",
    "files": "tp", "image_folder": "tp", "lines": "t", "tfrecord": "t", "fixed_length": "t",
    "tar": "tx", "csv": "tx", "jsonl": "tx", "npy": "txv", "npz": "txv", "hdf5": "v",
}  # fmt: skip
OPENED = ["lines", "tfrecord", "fixed_length", "tar", "csv", "jsonl", "npy", "npz", "hdf5"]
COMBINERS = ["zip", "concatenate", "sample_from", "choose_from", "interleave", "flat_map"]
EXCEPTIONS = {"element": "stands for what another op opens a chain for; in every tree of those"}
PICTURES = pathlib.Path(__file__).resolve().parent.parent / "golden"
# What makes vectors of another shape.
OTHER_SHAPES = ["slice(0, 2)", "slice(1)", "ensure_shape([none])", "ensure_shape([none], v, ragged=true)",
                "ensure_shape([3])"]  # fmt: skip
LONG = 260  # rows of a file that fill several groups, tickets and rings


def npz(name, array, is_packed):
    """An array of a name in a file as numpy.savez writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        method = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
        file.writestr(zipfile.ZipInfo(f"{name}.npy"), array, method)
    return out.getvalue()


class MixtureMaker(Maker):
    """Writes one chain. `objects` are what its @names stand for, for the model and the package.

    `has_model`: what the chain delivers is known. It is not where files are damaged in ways of which
    nobody says what is left, nor of pictures; then all ways to run it must agree.
    """

    def __init__(self, seed, folder, may_call=False):
        super().__init__(seed, folder)
        self.may_call = may_call
        self.objects = {}
        self.has_model = True
        self.is_wild = self.bad_one_in > 0 and self.random.random() < 0.25
        self.n_values = 0
        self.n_open = 0  # chains around this one that are opened for each element
        self.leaves = {family: [] for family in KINDS}

    def source(self):
        pick = self.random
        family = pick.choice("ttttxxxxvvp")
        draft = self.tree(family, pick.choice([1, 1, 2, 2, 3]))
        self.has_model &= family != "p"
        return draft

    # trees

    def tree(self, family, depth):
        pick = self.random
        if depth == 0 or pick.random() < 0.15:
            draft = self.leaf(family)
        else:
            draft = getattr(self, f"mixed_{pick.choice(COMBINERS)}")(family, depth - 1)
        for _ in range(pick.choice([0, 0, 0, 1, 1, 2])):
            self.change(draft)
        return draft

    def trees(self, family, depth):
        """Inputs of a combiner; of vectors, some may be shorter, or lists. `joined` makes them equal again."""
        pick = self.random
        parts = [self.tree(family, depth) for _ in range(pick.choice([1, 2, 2, 2, 3]))]
        for part in parts if family == "v" and pick.random() < 0.5 else []:
            part.then(pick.choice(OTHER_SHAPES))
        return parts

    def change(self, draft):
        """An op that leaves the type of elements as it is."""
        pick = self.random
        kinds = [self.reorder, self.reorder, self.keep, self.keep, self.again, self.unbatched]
        kinds += [self.break_values] * 2 * (self.bad_one_in > 0) + [self.ignore_errors]
        kinds += [self.cache] * 2 * (self.n_open == 0)
        pick.choice(kinds)(draft)

    def keep(self, draft):
        """As elsewhere; texts are filtered by their length. Parts that are opened have no known length."""
        pick = self.random
        if draft.fields.get("t") == "bytes" and pick.random() < 0.3:
            draft.then(f"filter('len(t) % {pick.choice([2, 3, 5])} != 1')")
            draft.is_indexed = False
        elif self.n_open:
            draft.then(pick.choice(["take(2)", "take(50)", "skip(1)", "skip(3)", "shard(2, 1)", "shard()"]))
        else:
            super().keep(draft)

    def cache(self, draft):
        if "generator(" in draft.text:
            draft.then("cache()")  # on disk it would need a key
        else:
            super().cache(draft)

    def reorder(self, draft):
        """As elsewhere; all of a chain that is opened can be shuffled only where it is no stream."""
        if self.n_open:
            draft.then(self.random.choice(["shuffle(3)", "shuffle(20)", "repeat(2)", "repeat(0)"]))
            draft.is_indexed = False
        else:
            super().reorder(draft)

    def again(self, draft):
        if 2 * draft.n <= MAX_ROWS:
            draft.then(self.random.choice(["repeat(2)", "prefetch(3).repeat(2)"]))
            draft.n *= 2
            draft.is_constant = False

    def unbatched(self, draft):
        size = self.random.choice([1, 2, 3, 7, 40])
        draft.then(f"batch({size}).unbatch()")
        draft.is_indexed = draft.is_constant = False

    def break_values(self, draft):
        """Bad rows: a division by zero."""
        name = next(iter(draft.fields))
        if name in "xv":
            draft.then(f"map('{name} = {name} + 100 // ({name} % {3 * self.bad_one_in})')")
        elif name == "t":
            draft.then(f"filter('100 // (len(t) % {3 * self.bad_one_in}) > 0')")
            draft.is_indexed = False
        draft.is_constant = False

    # combiners

    def joined(self, parts, text):
        draft = Draft(text, dict(parts[0].fields), sum(part.n for part in parts))
        draft.is_indexed = all(part.is_indexed for part in parts)
        if any(part.text.endswith(tuple(OTHER_SHAPES)) for part in parts):
            draft.then("pad([3])")
        return draft

    def mixed_concatenate(self, family, depth):
        parts = self.trees(family, depth)
        first, *others = [part.text for part in parts]
        forms = [f"concatenate({', '.join([first, *others])})"]
        forms += [f"{first}.concatenate({', '.join(others)})"] * bool(others)
        return self.joined(parts, self.random.choice(forms))

    def mixed_sample_from(self, family, depth):
        pick, parts = self.random, self.trees(family, depth)
        args = [f"[{', '.join(part.text for part in parts)}]"]
        if pick.random() < 0.5:
            weights = [pick.choice([0, 0.25, 1, 3]) for _ in parts]
            args.append(f"weights={show(weights if any(weights) else [1] * len(parts))}")
        args += pick.choice([[], ["seed=9"]]) + pick.choice([[], [], ["stop_on_empty=true"]])
        draft = self.joined(parts, f"sample_from({', '.join(args)})")
        draft.is_indexed = False
        return draft

    def mixed_choose_from(self, family, depth):
        pick, parts = self.random, self.trees(family, depth)
        numbers = self.tree("x", 0) if pick.random() < 0.4 else Draft(f"range({pick.choice([9, 100, 400])})", n=400)
        wrong = self.bad_one_in > 0 and pick.random() < 0.3
        numbers.then(f"map('x = x % {len(parts) + wrong}')")
        stop = pick.choice(["", "", ", stop_on_empty=false"])
        text = f"{numbers.text}.choose_from([{', '.join(part.text for part in parts)}]{stop})"
        draft = self.joined(parts, text)
        draft.is_indexed = False  # or not: the numbers decide
        draft.n = min(draft.n, numbers.n) if not stop else draft.n
        return draft

    def mixed_zip(self, family, depth):
        """Rows of two or three trees, which become one by an op that needs all of them."""
        pick = self.random
        parts = [self.tree(family, depth) for _ in range(pick.choice([2, 2, 3]))]
        names = [f"{family}{i}" if i else family for i in range(len(parts))]
        texts = [part.text + (f".rename({{{family}: {name}}})" if name != family else "")
                 for part, name in zip(parts, names)]
        draft = self.joined(parts, f"zip({', '.join(texts)})")
        draft.n = min(part.n for part in parts)
        if family == "t":
            draft.then(f"text_join([{', '.join(names)}], '+', into=j).select(j).rename({{j: t}})")
        else:
            sums = {"p": " // 2 + ".join(names[:2]) + " // 2"}.get(family, " * 1000 + ".join(names))
            draft.then(f"map('{family} = {sums}').select({family})")
        return draft

    def mixed_flat_map(self, family, depth):
        return self.mixed_interleave(family, depth, "flat_map")

    def mixed_interleave(self, family, depth, name="interleave"):
        """A chain for each file, for each element of a tree, or with elements among others."""
        pick = self.random
        kinds = [kind for kind in OPENED if family in SOURCES[kind]]
        if kinds and pick.random() < 0.5:
            outer, chain, n = self.files_to_open(family, pick.choice(kinds))
        else:
            outer = self.tree(family, max(depth - 1, 0))
            outer.then(f"take({pick.choice([0, 1, 3, 10, 30])})")
            self.n_open += 1
            chain, n = self.chain_to_open(family, depth), 150
            self.n_open -= 1
            outer = outer.text
        self.n_open += 1
        for _ in range(pick.choice([0, 0, 1, 2])):
            self.change(chain)
        self.n_open -= 1
        args = ""
        if name == "interleave":
            args = pick.choice(["", ", 1", ", 2", ", cycle_length=3", ", 1000"])
            args += pick.choice(["", ", block_length=2", ", block_length=4"])
        text = f"{outer}.{name}({chain.text}{args}).take({max(n, 1)})"
        return Draft(text, {family: KINDS[family]}, max(n, 1), is_indexed=False)

    def files_to_open(self, family, kind):
        """Files of one kind, and the chain that is opened for each."""
        pick = self.random
        draft = self.leaf_of(family, kind)
        found = re.fullmatch(r"(\w+)\((\[.*?\]|'.*?')(.*)", draft.text)
        _, names, rest = found.groups()
        names = names.strip("[]").split(", ")
        is_missing = self.bad_one_in > 0 and pick.random() < 0.3
        if is_missing:
            names.insert(pick.randrange(len(names) + 1), f"'{self.folder}/{self.seed}-{self.name()}.nowhere'")
        outer = Draft(f"files([{', '.join(names)}])", n=len(names))
        for _ in range(pick.choice([0, 0, 1, 1])):
            outer.then(pick.choice(["shuffle()", "repeat(2)", "shuffle(2)", "shard()", "skip(1)", "unique()"]))
        is_indexed = draft.is_indexed and not is_missing and "(2)" not in outer.text and "unique" not in outer.text
        chain = Draft(f"{kind}(path{rest}", draft.fields, draft.n, is_indexed)
        return outer.text, chain, 2 * draft.n + 4

    def chain_to_open(self, family, depth):
        pick = self.random
        element = Draft("element()", {family: KINDS[family]}, 1, is_indexed=False)
        if pick.random() < 0.3:
            return element
        inner = self.tree(family, max(depth - 1, 0))
        if pick.random() < 0.4:
            return inner
        both = pick.choice([f"concatenate(element(), {inner.text})", f"sample_from([{inner.text}, element()])",
                            f"range(20).map('x % 2').choose_from([element(), {inner.text}])"])
        return Draft(both, element.fields, inner.n + 1, is_indexed=False)

    # leaves

    def leaf(self, family):
        """A new source, or one that is there already once more."""
        pick = self.random
        known = self.leaves[family]
        if known and pick.random() < 0.4:
            return self.copied(pick.choice(known))
        kinds = [kind for kind, families in SOURCES.items() if family in families]
        kinds = [kind for kind in kinds if kind != "generator" or self.may_call]
        draft = self.leaf_of(family, pick.choice(kinds))
        draft.is_constant = False
        self.leaves[family].append(draft)
        return self.copied(draft)

    def copied(self, draft):
        return Draft(draft.text, dict(draft.fields), draft.n, draft.is_indexed)

    def leaf_of(self, family, kind):
        draft = getattr(self, f"leaf_{kind}")(family)
        draft.fields = {family: KINDS[family]}
        return draft

    def next_number(self):
        self.n_values += 1
        return self.n_values

    def next_text(self):
        return b"%d" % self.next_number() + b"x" * self.random.choice([0, 0, 1, 5, 40])

    def next_value(self, family):
        """The next value, as it is written out."""
        make = {"t": lambda: self.next_text().decode(), "x": self.next_number, "v": lambda: [self.next_number(), -1, 2]}
        return make[family]()

    def size(self):
        return self.random.choice([1, 2, 7, 7, 33, 33, LONG])

    def named(self, text, n, old, family, is_indexed=True):
        """A leaf whose field gets the family's name."""
        return Draft(text + (f".rename({{{old}: {family}}})" if old != family else ""), {}, n, is_indexed)

    def files_of(self, ending, make, may_pack=True, least=1):
        """The names of one to three files, perhaps twice; how many elements, and whether it is a stream."""
        pick = self.random
        is_packed = may_pack and pick.random() < 0.25
        names, total = [], 0
        for _ in range(pick.choice([1, 1, 2, 3])):
            n = pick.choice([least, self.size(), self.size()])
            path = self.folder / f"{self.seed}-{self.name()}.{ending}{'.gz' * is_packed}"
            data = self.hurt(make(n))
            path.write_bytes(gzip.compress(data) if is_packed else data)
            names.append(str(path))
            total += n
        if pick.random() < 0.2:
            names.append(names[0])
            total *= 2
        return show(names if len(names) > 1 else names[0]), total, is_packed

    def hurt(self, data):
        """Bytes changed or missing anywhere, where nobody says what is left then."""
        pick = self.random
        if not self.is_wild or not data or pick.random() < 0.5:
            return data
        self.has_model = False
        for _ in range(pick.choice([0, 1, 1, 3])):
            at = pick.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << pick.randrange(8)]) + data[at + 1 :]
        return data[: pick.randrange(len(data))] if pick.random() < 0.3 else data

    def leaf_range(self, family):
        first, n = self.n_values, self.size()
        self.n_values += n
        step = self.random.choice([1, 1, 2])
        return Draft(f"range({first}, {first + n * step}, {step})", {}, n)

    def leaf_counter(self, family):
        n = self.size()
        return Draft(f"counter({self.next_number()}, 7).take({n})", {}, n)

    def leaf_random(self, family):
        n = self.size()
        return Draft(f"random(seed={self.next_number()}).take({n}).map('x = x % 1000')", {}, n)

    def leaf_values(self, family):
        n = min(self.size(), 33)
        return Draft(f"values({show({family: [self.next_value(family) for _ in range(n)]})})", {}, n)

    def leaf_generator(self, family):
        name, n = f"g{len(self.objects)}", self.size()
        rows = [self.next_value(family) for _ in range(n)]
        self.objects[name] = (lambda: iter(rows), {family: str if family == "t" else "int64"})
        return Draft(f"generator(@{name})", {}, n, is_indexed=False)

    def leaf_files(self, family):
        pick = self.random
        if family == "p":
            names = [str(pick.choice(sorted((PICTURES / "decode").glob("*")))) for _ in range(pick.choice([1, 4, 9]))]
            text = f"files({show(names)}).decode(channels=3).resize(4, 4).cast(uint8).rename({{image: p}})"
            return Draft(text, {}, len(names))
        names = []
        for _ in range(pick.choice([1, 2, 7, 33])):
            path = self.folder / f"{self.seed}-{self.name()}.txt"
            names.append(str(path))
            if not self.damager.hits():
                path.write_bytes(self.next_text())
        return self.named(f"files({show(names)}).read()", len(names), "bytes", family)

    def leaf_image_folder(self, family):
        """Of texts, files that are named as if they were pictures."""
        pick = self.random
        folder, n = self.folder / f"{self.seed}-{self.name()}", pick.choice([1, 5, 12])
        pictures = [path for path in sorted((PICTURES / "decode").glob("*")) if path.suffix in (".jpg", ".png")]
        for i in range(n):
            picture = pick.choice(pictures)
            path = folder / f"class{pick.randrange(3)}" / f"{i}{picture.suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.hurt(picture.read_bytes()) if family == "p" else self.next_text())
        if family == "p":
            rest = "decode(channels=3).resize(4, 4).cast(uint8).select(image).rename({image: p})"
            return Draft(f"image_folder({show(str(folder))}).{rest}", {}, n)
        return self.named(f"image_folder({show(str(folder))}).read().select(bytes)", n, "bytes", family)

    def leaf_lines(self, family):
        end = self.random.choice([b"\n", b"\r\n"])
        names, n, _ = self.files_of("lines", lambda n: b"".join(self.next_text() + end for _ in range(n)), least=0)
        return self.named(f"lines({names})", n, "text", family, is_indexed=False)

    def leaf_tfrecord(self, family):
        def make(n):
            return damage.tfrecord(self.damager, [self.next_text() for _ in range(n)])

        names, n, is_packed = self.files_of("tfrecord", make)
        return self.named(f"tfrecord({names})", n, "record", family, not is_packed)

    def leaf_fixed_length(self, family):
        def make(n):
            return b"head" + b"".join(b"%06d" % self.next_number() for _ in range(n))

        names, n, is_packed = self.files_of("bin", make)
        packed = ", compression=gzip" * is_packed
        text = f"fixed_length({names}, 6, header=4{packed})"
        return self.named(text, n, "record", family, not is_packed)

    def leaf_tar(self, family):
        def sample():
            number = "one" if self.damager.hits() else str(self.next_number())
            return {"txt": self.next_text(), "cls": number.encode()}

        names, n, is_packed = self.files_of("tar", lambda n: damage.tar(self.damager, [sample() for _ in range(n)]))
        return Draft(f"tar({names}, {{{family}: '{'txt' if family == 't' else 'cls'}'}})", {}, 4 * n, not is_packed)

    def leaf_csv(self, family):
        def row():
            text = self.next_text().decode() + self.random.choice(["", "", ", and", 'a "quoted" one', "\nline"])
            return self.next_number(), text, 0.5

        def make(n):
            return damage.csv(self.damager, [row() for _ in range(n)])

        names, n, is_packed = self.files_of("csv", make, least=0)
        column, dtype = ("s", "text") if family == "t" else ("i", "int64")
        return self.named(f"csv({names}, {{{column}: {dtype}}})", n, column, family, not is_packed)

    def leaf_jsonl(self, family):
        def item():
            return {"i": self.next_number(), "s": self.next_text().decode()}

        def make(n):
            return damage.jsonl(self.damager, [item() for _ in range(n)])

        names, n, _ = self.files_of("jsonl", make, least=0)
        column, dtype = ("s", "text") if family == "t" else ("i", "int64")
        return self.named(f"jsonl({names}, {{{column}: {dtype}}})", n, column, family, is_indexed=False)

    def array(self, family, n):
        """The bytes of an array file."""
        if family == "t":
            return damage.npy("|S6", [n], b"".join((b"%d" % self.next_number()).ljust(6, b"\0") for _ in range(n)))
        numbers = [self.next_number() for _ in range(n * (3 if family == "v" else 1))]
        shape = [n, 3] if family == "v" else [n]
        return damage.npy("<i8", shape, struct.pack(f"<{len(numbers)}q", *numbers))

    def leaf_npy(self, family):
        names, n, _ = self.files_of("npy", lambda n: self.array(family, n), may_pack=False)
        return Draft(f"npy({names}, field={family})", {}, n)

    def leaf_npz(self, family):
        is_packed = self.random.random() < 0.5
        names, n, _ = self.files_of("npz", lambda n: npz("a", self.array(family, n), is_packed), may_pack=False)
        return Draft(f"npz({names}, {{{family}: a}})", {}, n)

    def leaf_hdf5(self, family):
        chunk = self.random.choice([5, 8, 64])

        def make(n):
            return damage.hdf5(self.damager, [[self.next_number(), -1, 2] for _ in range(n)], chunk)

        names, n, _ = self.files_of("h5", make, may_pack=False)
        return self.named(f"hdf5({names}{self.random.choice(['', ', hold=0'])})", n, "x", family)
