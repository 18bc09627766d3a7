# SPDX-License-Identifier: Apache-2.0
"""A chain that is being written, and what is known of it."""

from dataclasses import dataclass, field


@dataclass
class Draft:
    """A chain that is being written."""

    text: str
    fields: dict = field(
        default_factory=dict
    )  # name → int, real, vector, narrow, bool, bytes, ragged (of int64), list (of others),
    # texts (lists of them), pair (lists of texts that always have the same length)
    n: int = 0  # at most so many rows
    is_indexed: bool = True
    is_batched: bool = False
    is_padded: bool = False  # to a size that differs between batches
    is_constant: bool = False  # rows are good, and the same in every epoch

    def then(self, text):
        self.text += "." + text

    def has_one_order(self):
        """The same in every epoch."""
        return "shuffle(" not in self.text and "balance(" not in self.text

    def of_kind(self, *kinds):
        return [name for name, kind in self.fields.items() if kind in kinds]
