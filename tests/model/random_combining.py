# SPDX-License-Identifier: Apache-2.0
"""What Maker writes of the ops in combining.py."""


class Combining:
    """Part of Maker. `draft` is the chain that is being written."""

    SOURCES = ["counter", "drawn"]

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

    def combine(self, draft):
        """enumerate or ignore_errors."""
        return self.random.choice([self.number, self.ignore_errors])(draft)

    def number(self, draft):
        if "index" in draft.fields:
            return
        draft.then(self.random.choice(["enumerate()", "enumerate(7)", "enumerate(start=-2)"]))
        draft.fields["index"] = "int"

    def ignore_errors(self, draft):
        draft.then("ignore_errors()")
        draft.is_indexed = False
