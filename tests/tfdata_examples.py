# SPDX-License-Identifier: Apache-2.0
"""The documented examples of tf.data's ops, as chains and what they yield: (op, chain, expected).

Expected are the values of elements with one field, else elements as dicts. Sorted by op; run by
test_tfdata_examples.py.
"""

EXAMPLES = [
    ("batch", "range(8).batch(3)", [[0, 1, 2], [3, 4, 5], [6, 7]]),
    ("batch", "range(8).batch(3, drop_remainder=true)", [[0, 1, 2], [3, 4, 5]]),
    ("rebatch", "range(6).batch(2).rebatch(3)", [[0, 1, 2], [3, 4, 5]]),
    ("rebatch", "range(8).batch(4).rebatch(3)", [[0, 1, 2], [3, 4, 5], [6, 7]]),
    ("rebatch", "range(8).batch(4).rebatch(3, drop_remainder=true)", [[0, 1, 2], [3, 4, 5]]),
    (
        "unbatch",
        "values({x: [[1, 2, 3], [1, 2], [1, 2, 3, 4]]}).unbatch()",
        [1, 2, 3, 1, 2, 1, 2, 3, 4],
    ),
]
