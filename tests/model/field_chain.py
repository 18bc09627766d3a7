# SPDX-License-Identifier: Apache-2.0
"""Random chains mostly of ops that make a field out of others."""

from . import random_fields
from .language import show
from .random_chain import Draft, Maker

WORDS = ["line", "content", "a", "bb", "X", "Plain", "17", "-3", "2.5", "1e3", "\t", " ", ",", "", "aa"]


class FieldMaker(Maker):
    """Chains of these ops, over texts, lists and vectors."""

    def source(self):
        pick = self.random
        n = pick.choice([1, 2, 7, 33])
        words = WORDS + ["é", "Straße", "ΣΑΣ"] * (pick.random() < 0.2)

        def text():
            return pick.choice([" ", "", ","]).join(pick.choices(words, k=pick.randint(0, 6)))

        columns = {
            "t": ("bytes", [text() for _ in range(n)]),
            "u": ("bytes", [text() for _ in range(n)]),
            "l": ("ragged", [[pick.randint(-5, 9)] * pick.randint(0, 7) for _ in range(n)]),
            "v": ("vector", [[pick.randint(-2, 12) for _ in range(4)] for _ in range(n)]),
            "i": ("int", [pick.randint(-3, 12) for _ in range(n)]),
            "w": ("texts", [pick.choices(words, k=pick.randint(0, 4)) for _ in range(n)]),
            "p": ("pair", [pick.choices(words, k=2) for _ in range(n)]),
        }
        for name in "lw":
            if len({len(item) for item in columns[name][1]}) == 1:
                del columns[name]  # one length makes them vectors or pairs, of nothing perhaps
        names = pick.sample(list(columns), pick.randint(1, len(columns)))
        table = show({name: columns[name][1] for name in names})
        fields = {name: columns[name][0] for name in names}
        return Draft(f"values({table})", fields, n, is_constant=True)

    def compute(self, draft):
        if not random_fields.grow(self, draft):
            super().compute(draft)

    def grow(self, draft):
        self.random.choice([self.compute] * 8 + [self.keep, self.reorder])(draft)
