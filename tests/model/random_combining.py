# SPDX-License-Identifier: Apache-2.0
"""What Maker writes of the ops in combining.py."""

import re


from .draft import Draft
from .language import show


class Combining:
    """Part of Maker. `draft` is the chain that is being written."""

    SOURCES = ["counter", "drawn", "sample", "choose", "balanced", "nested", "nested", "nested_files"]

    def counter(self):
        draft = self.range()
        args = self.random.choice(["", "5", "-3, 7", "9223372036854775805", "step=-1"])
        draft.text = f"counter({args}).take({draft.n})"
        return draft

    def drawn(self):
        draft = self.range()
        args = self.random.choice(["", "3", "seed=-1"])
        draft.text = f"random({args}).take({draft.n}).map('x % 1000')"
        draft.is_constant = False
        return draft

    def balanced(self):
        draft = self.range()
        self.balance(draft)
        return draft

    def parts(self):
        """Chains of one field x, indexed or not, some with bad rows."""
        parts = [self.range() for _ in range(self.random.choice([1, 2, 2, 3]))]
        for part in parts:
            self.random.choice([self.reorder, self.keep, lambda part: None])(part)
            if self.bad_one_in and self.random.random() < 0.3:
                part.then(f"map('100 // (x % {self.bad_one_in})')")
        return parts

    def sample(self):
        pick, parts = self.random, self.parts()
        n = sum(part.n for part in parts)
        if pick.random() < 0.2 and parts[0].n:
            parts[0].then("repeat()")
            n = 2 * n
        args = [f"[{', '.join(part.text for part in parts)}]"]
        if pick.random() < 0.6:
            weights = [pick.choice([0, 0.25, 1, 3]) for _ in parts]
            args.append(f"weights={show(weights if any(weights) else [1] * len(parts))}")
        args += pick.choice([[], ["seed=9"]]) + pick.choice([[], ["stop_on_empty=true"]])
        draft = Draft(f"sample_from({', '.join(args)})", {"x": "int"}, n, is_indexed=False)
        if "repeat()," in draft.text or "repeat()]" in draft.text:
            draft.then(f"take({n})")
        return draft

    def choose(self):
        """Numbers of inputs, a few of which do not exist where the chain may have bad rows. Numbers
        without an end are bounded by the inputs.
        """
        pick, parts = self.random, self.parts()
        first, n = self.range(), sum(part.n for part in parts)
        is_known = not self.bad_one_in or pick.random() < 0.3
        first.then(f"map('x % {len(parts) + (not is_known)}')")
        is_endless = first.n > 0 and pick.random() < 0.3
        if is_endless:
            first.then("repeat()")
        args = [f"[{', '.join(part.text for part in parts)}]"]
        args += pick.choice([[], ["field=x"]] + [["stop_on_empty=false"]] * (not is_endless))
        text = f"{first.text}.choose_from({', '.join(args)})"
        is_indexed = is_known and all(part.is_indexed for part in parts)
        is_indexed &= ".shard()" not in text  # how many there are is another number for every rank
        return Draft(text, {"x": "int"}, n if is_endless else first.n, is_indexed)

    def nested(self):
        """A chain for each number; some numbers are bad where the chain may have bad rows."""
        pick, outer = self.random, self.range()
        outer.then(f"take({pick.choice([0, 1, 3, 10, 30])})")
        self.order_elements(outer)
        is_endless = outer.text.endswith("repeat()")
        is_stream = not is_endless and pick.random() < 0.3
        if is_stream:
            outer.then(pick.choice(["filter('x % 3 != 1')", "shuffle(4)", "take_while('x < 900')"]))
        if self.bad_one_in and pick.random() < 0.5:
            outer.then(f"map('100 // (x % {self.bad_one_in})')")
        chain = pick.choice(["element()", "element()", "element()", "range(3)", "range(7).shuffle()"])
        is_stream &= chain == "element()"
        if not is_endless and pick.random() < 0.4:
            is_stream = True
            chain = pick.choice([
                "element().repeat(4).enumerate().take_while('index < 3').select(x)",
                "range(9).filter('x % 4 != 2').shuffle(3)",
                "element().repeat(3).batch(2).unbatch()",
                "concatenate(element(), range(4).shuffle())",
                "range(5).shuffle(3).flat_map(element().repeat(2).filter('x > 1'))",
                "element().flat_map(range(3)).filter('x != 1')",
                "range(12).batch(5).shuffle(2).flat_map(element().unbatch())",
            ])
        return self.open_for_each(outer.text, chain, {"x": "int"}, is_stream)

    def nested_files(self):
        """Files of different lengths, some damaged."""
        make = self.random.choice([self.tfrecord, self.csv, self.fixed_length, self.npy])
        draft = make()
        kind, names, rest = re.fullmatch(r"(\w+)\((\[.*?\]|'.*?')(.*)", draft.text).groups()
        outer = Draft(f"files([{names.strip('[]')}])")
        self.order_elements(outer)
        is_stream = not draft.is_indexed
        is_endless = outer.text.endswith("repeat()")
        if not is_endless and self.random.random() < 0.3:
            outer.then(self.random.choice(["shuffle(2)", "unique()", "take(9)"]))
            is_stream |= not outer.text.endswith("take(9)")
        chain = f"{kind}(path{rest}"
        if not is_endless and self.random.random() < 0.3:
            chain += self.random.choice([".shuffle(3)", ".ignore_errors()"])
            is_stream = True
        return self.open_for_each(outer.text, chain, draft.fields, is_stream)

    def order_elements(self, outer):
        orders = ["", "shuffle()", "repeat(2)", "shuffle().repeat(2)", "repeat(2).shuffle()"]
        orders += ["skip(1)", "shard(2, 1)", "shuffle().take(2)", "repeat()", "shard()"]
        order = self.random.choice(orders)
        if order:
            outer.then(order)

    def open_for_each(self, outer, chain, fields, is_stream=False):
        pick, most = self.random, 150
        for _ in range(pick.choice([0, 1, 1, 2, 3])):
            ops = ["repeat(2)", "repeat(3)", "take(2)", "take(5)", "skip(1)", "skip(3)"]
            ops += ["shuffle(4)"] if is_stream else ["shuffle()"]
            ops += ["shard(2, 0)", "shard()", "prefetch()"]
            ops += ["map('x = x * 2 + 1')"] * (fields == {"x": "int"})
            chain += "." + pick.choice(ops)
        chain += pick.choice([""] * 5 + [".repeat()"])
        args = pick.choice(["", ", 1", ", 2", ", cycle_length=3", ", 1000"])
        args += pick.choice(["", ", block_length=2", ", block_length=4"])
        name = pick.choice(["interleave", "interleave", "interleave", "flat_map"])
        text = f"{outer}.{name}({chain}{args if name == 'interleave' else ''}).take({most})"
        return Draft(text, dict(fields), most, is_indexed=False)

    def combine(self, draft):
        """One of the ops that follow a chain."""
        kinds = [self.number, self.ignore_errors, self.balance, self.reject]
        kinds += [self.unique, self.take_while, self.scan, self.reduce]
        return self.random.choice(kinds)(draft)

    def number(self, draft):
        if "index" in draft.fields:
            return
        draft.then(self.random.choice(["enumerate()", "enumerate(7)", "enumerate(start=-2)"]))
        draft.fields["index"] = "int"

    def ignore_errors(self, draft):
        draft.then("ignore_errors()")
        draft.is_indexed = False

    def balance(self, draft):
        """Classes of a few values, if elements are the same in every epoch."""
        pick = self.random
        names = draft.of_kind("int", "bytes", "vector", "texts", "pair")
        if not names or not (draft.is_constant and draft.is_indexed and draft.has_one_order()):
            return
        name = pick.choice(names)
        if draft.fields[name] == "int":
            draft.then(f"map('{name} = {name} % {pick.choice([2, 3, 7])}')")
        draft.then(f"balance({name}{pick.choice(['', ', seed=5'])})")
        draft.n *= 3
        draft.is_constant = False

    def reject(self, draft):
        """Classes 0 to 2, or 0 and 1, which leaves bad rows."""
        pick = self.random
        names = draft.of_kind("int")
        if not names or draft.is_batched:
            return
        name = pick.choice(names)
        draft.then(f"map('{name} = {name} % 3')")
        target = pick.choice(["[1, 1, 1]", "[0.2, 0, 0.8]"])
        if self.bad_one_in and pick.random() < 0.5:
            target = "[0.5, 0.5]"
        is_known = draft.is_constant and draft.is_indexed and draft.n >= 33
        initial = f", initial=[{', '.join(['2', '1', '0.5'][: target.count(',') + 1])}]"
        is_range = draft.text.startswith("range(") and "-3)" not in draft.text  # of all classes
        is_counted = is_known and is_range and draft.text.count(".") < 2
        draft.then(f"rejection_resample({name}, {target}{'' if is_counted else initial})")
        draft.is_indexed = draft.is_constant = False

    def unique(self, draft):
        pick = self.random
        names = draft.of_kind("int", "bytes", "vector", "ragged", "texts", "pair")
        if draft.is_batched or len(names) < len(draft.fields):
            return
        name = pick.choice(names)
        if draft.fields[name] == "int":
            draft.then(f"map('{name} = {name} % {pick.choice([2, 7, 40])}')")
        draft.then(f"unique({pick.choice(['', name])})")
        draft.is_indexed = draft.is_constant = False

    def take_while(self, draft):
        names = draft.of_kind("int")
        if not names or draft.is_batched:
            return
        name, limit = self.random.choice(names), self.random.choice([-5, 0, 20, 200, 1000])
        texts = [f"{name} < {limit}", f"{name} % 50 != 7"]
        if self.bad_one_in:
            texts.append(f"100 // ({name} % {self.bad_one_in}) < {limit}")
        draft.then(f"take_while('{self.random.choice(texts)}')")
        draft.is_indexed = draft.is_constant = False

    def state(self, draft):
        """An initial state and statements that change it; the names of its fields."""
        names = draft.of_kind("int")
        if not names or draft.is_batched:
            return None
        pick, x, a, b = self.random, self.random.choice(names), self.name(), self.name()
        texts = [f"{a} = {a} + {x}", f"{b} = {b} * 3 + {x}"]
        texts.append(f"{a} = {x} - {a}; {b} = max({b}, {a})")
        if self.bad_one_in:
            texts.append(f"{a} = {a} + 100 // ({x} % {self.bad_one_in}); {b} = {x}")
        return f"{{{a}: {pick.randint(-9, 9)}, {b}: 1}}, '{pick.choice(texts)}'", [a, b]

    def scan(self, draft):
        made = self.state(draft)
        if not made:
            return
        draft.then(f"scan({made[0]})")
        draft.fields |= {name: "int" for name in made[1]}
        draft.is_indexed = draft.is_constant = False

    def reduce(self, draft):
        made = self.state(draft)
        if not made or self.must_keep(draft) or self.random.random() < 0.5:
            return
        draft.then(f"reduce({made[0]})")
        draft.fields = {name: "int" for name in made[1]}
        draft.is_indexed = draft.is_constant = False
        draft.n = max(draft.n, 1)
