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
    (
        "choose_from",
        "range(3).repeat(3).choose_from([values({w: ['foo']}).repeat(), "
        "values({w: ['bar']}).repeat(), values({w: ['baz']}).repeat()])",
        ["foo", "bar", "baz"] * 3,
    ),
    ("counter", "counter().take(5)", [0, 1, 2, 3, 4]),
    ("counter", "counter(2).take(5)", [2, 3, 4, 5, 6]),
    ("counter", "counter(2, 5).take(5)", [2, 7, 12, 17, 22]),
    ("counter", "counter(start=10, step=-1).take(5)", [10, 9, 8, 7, 6]),
    (
        "enumerate",
        "values({x: [1, 2, 3]}).enumerate(start=5)",
        [{"x": 1, "index": 5}, {"x": 2, "index": 6}, {"x": 3, "index": 7}],
    ),
    (
        "enumerate",
        "values({x: [[7, 8], [9, 10]]}).enumerate()",
        [{"x": [7, 8], "index": 0}, {"x": [9, 10], "index": 1}],
    ),
    (
        "ignore_errors",
        "values({x: [1, 2, 0, 4]}).map('4 // x').ignore_errors()",
        [4, 2, 1],
    ),
]
