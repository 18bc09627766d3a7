# SPDX-License-Identifier: Apache-2.0
"""The documented examples of tf.data's ops, as chains and what they yield: (op, chain, expected).

Expected are the values of elements with one field, else elements as dicts. Sorted by op; run by
test_tfdata_examples.py.
"""

EXAMPLES = [
    ("batch", "range(8).batch(3)", [[0, 1, 2], [3, 4, 5], [6, 7]]),
    ("batch", "range(8).batch(3, drop_remainder=true)", [[0, 1, 2], [3, 4, 5]]),
    (
        "bucket_by_length",
        "values({x: [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], "
        "[21, 22]]}).bucket_by_length(x, boundaries=[3, 5], batch_sizes=[2, 2, 2])",
        [
            [[1, 2, 3, 4], [5, 6, 7, 0]],
            [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]],
            [[0, 0], [21, 22]],
        ],
    ),
    (
        "choose_from",
        "range(3).repeat(3).choose_from([values({w: ['foo']}).repeat(), "
        "values({w: ['bar']}).repeat(), values({w: ['baz']}).repeat()])",
        ["foo", "bar", "baz"] * 3,
    ),
    (
        "concat_fields",
        "values({a: [[[1, 2, 3], [4, 5, 6]]], b: [[[7, 8, 9], [10, 11, 12]]]})"
        ".concat_fields([a, b], into=c).select(c)",
        [[[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]],
    ),
    (
        "concat_fields",
        "values({a: [[[1, 2, 3], [4, 5, 6]]], b: [[[7, 8, 9], [10, 11, 12]]]})"
        ".concat_fields([a, b], into=c, axis=1).select(c)",
        [[[1, 2, 3, 7, 8, 9], [4, 5, 6, 10, 11, 12]]],
    ),
    (
        "concat_fields",
        "values({a: [[[[1, 2], [2, 3]], [[4, 4], [5, 3]]]],"
        " b: [[[[7, 4], [8, 4]], [[2, 10], [15, 11]]]]})"
        ".concat_fields([a, b], into=c, axis=-1).select(c)",
        [[[[1, 2, 7, 4], [2, 3, 8, 4]], [[4, 4, 2, 10], [5, 3, 15, 11]]]],
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
        "flat_map",
        "values({x: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}).unbatch()",
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ),
    (
        "flat_map",
        "values({x: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}).flat_map(element().unbatch())",
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ),
    (
        "flat_map",
        "range(100000).window(5, shift=1)"
        ".flat_map(element().unbatch().batch(5, drop_remainder=true)).take(5)",
        [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 5, 6, 7], [4, 5, 6, 7, 8]],
    ),
    (
        "group_by_window",
        "range(10).group_by_window('x % 2', window_size=5)",
        [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]],
    ),
    (
        "ignore_errors",
        "values({x: [1, 2, 0, 4]}).map('4 // x').ignore_errors()",
        [4, 2, 1],
    ),
    (
        "interleave",
        "range(1, 6).interleave(element().repeat(6), cycle_length=2, block_length=4)",
        [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5],
    ),
    (
        "interleave",  # the same, opened as elements come
        "range(1, 6).filter('x > 0').interleave(element().repeat(6), cycle_length=2, block_length=4)",
        [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5],
    ),
    (
        "lookup",
        "values({t: ['emerson', 'lake', 'palmer', 'king', 'crimson']})"
        ".lookup([emerson, lake, palmer], oov=3).filter('t < 3')",
        [0, 1, 2],
    ),
    (
        "one_hot",
        "values({x: [0, 1, 2]}).one_hot(3)",
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    (
        "one_hot",
        "values({x: [0, 2, -1, 1]}).one_hot(3, on=5.0, off=0.0)",
        [[5.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]],
    ),
    (
        "one_hot",
        "values({x: [[0, 2], [1, -1]]}).one_hot(3, on=1.0, off=0.0)",
        [[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]],
    ),
    (
        "padded_batch",
        "values({x: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]}).padded_batch(2)",
        [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]],
    ),
    (
        "padded_batch",
        "values({x: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]}).padded_batch(2, padded_shapes=5)",
        [[[1, 0, 0, 0, 0], [2, 2, 0, 0, 0]], [[3, 3, 3, 0, 0], [4, 4, 4, 4, 0]]],
    ),
    (
        "padded_batch",
        "values({x: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]}).padded_batch(2, 5, -1)",
        [[[1, -1, -1, -1, -1], [2, 2, -1, -1, -1]], [[3, 3, 3, -1, -1], [4, 4, 4, 4, -1]]],
    ),
    (
        "padded_batch",
        "values({x: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]}).padded_batch(2, 5, -1)"
        ".padded_batch(2, padding_values=100)",
        [[[[1, -1, -1, -1, -1], [2, 2, -1, -1, -1]], [[3, 3, 3, -1, -1], [4, 4, 4, 4, -1]]]],
    ),
    (
        "padded_batch",
        "values({a: [[1, 2, 3], [4, 5]], b: [[10], [11, 12]]})"
        ".padded_batch(2, padded_shapes={a: [4], b: [none]}, padding_values={a: -1, b: 100})",
        [{"a": [[1, 2, 3, -1], [4, 5, -1, -1]], "b": [[10, 100], [11, 12]]}],
    ),
    (
        "padded_batch",
        "values({a: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]], b: [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]]})"
        ".padded_batch(2, padding_values=-1)",
        [
            {"a": [[1, -1], [2, 2]], "b": [[1, -1], [2, 2]]},
            {"a": [[3, 3, 3, -1], [4, 4, 4, 4]], "b": [[3, 3, 3, -1], [4, 4, 4, 4]]},
        ],
    ),
    (
        "ragged_batch",
        "values({x: [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]}).ragged_batch(2)",
        [[[], [0]], [[0, 1], [0, 1, 2]], [[0, 1, 2, 3], [0, 1, 2, 3, 4]]],
    ),
    ("rebatch", "range(6).batch(2).rebatch(3)", [[0, 1, 2], [3, 4, 5]]),
    ("rebatch", "range(8).batch(4).rebatch(3)", [[0, 1, 2], [3, 4, 5], [6, 7]]),
    ("rebatch", "range(8).batch(4).rebatch(3, drop_remainder=true)", [[0, 1, 2], [3, 4, 5]]),
    ("rebatch", "range(7).batch(4).rebatch(3)", [[0, 1, 2], [3, 4, 5], [6]]),
    ("rebatch", "range(7).batch(2).rebatch(3, drop_remainder=true)", [[0, 1, 2], [3, 4, 5]]),
    ("reduce", "range(5).reduce({n: 0}, 'n = n + 1')", [5]),
    ("reduce", "range(5).reduce({sum: 0}, 'sum = sum + x')", [10]),
    (
        "scan",
        "range(10).scan({state: 0}, 'state = state + x').select(state)",
        [0, 1, 3, 6, 10, 15, 21, 28, 36, 45],
    ),
    ("take_while", "range(10).take_while('x < 5')", [0, 1, 2, 3, 4]),
    (
        "text_join",
        "values({a: ['abc', '123'], b: ['def', '456'], c: ['ghi', '789']})"
        ".text_join([a, b, c]).select(a)",
        ["abcdefghi", "123456789"],
    ),
    (
        "text_join",
        "values({a: ['abc', '123'], b: ['def', '456'], c: ['ghi', '789']})"
        ".text_join([a, b, c], sep=' ').select(a)",
        ["abc def ghi", "123 456 789"],
    ),
    (
        "text_lower",
        "values({t: ['CamelCase string and ALL CAPS']}).text_lower()",
        ["camelcase string and all caps"],
    ),
    (
        "text_regex_full_match",
        "values({t: ['TF lib', 'lib TF']}).text_regex_full_match('.*lib$')",
        [True, False],
    ),
    (
        "text_regex_full_match",
        "values({t: ['TF lib', 'lib TF']}).text_regex_full_match('.*TF$')",
        [False, True],
    ),
    (
        "text_regex_replace",
        "values({t: ['Text with tags.<br /><b>contains html</b>']})"
        ".text_regex_replace('<[^>]+>', ' ')",
        ["Text with tags.  contains html "],
    ),
    (
        "text_split",
        "values({t: ['hello world', 'a b c']}).text_split('')",
        [["hello", "world"], ["a", "b", "c"]],
    ),
    (
        "text_split",
        "values({t: ['hello world']}).text_split('', [a, b]).select(a, b)",
        [{"a": "hello", "b": "world"}],
    ),
    (
        "text_split",
        "values({t: ['hello world', 'a b c']}).text_split('', [a, b, c], missing='').select(a, b, c)",
        [{"a": "hello", "b": "world", "c": ""}, {"a": "a", "b": "b", "c": "c"}],
    ),
    (
        "text_strip",
        "values({t: ['\\nTensorFlow', '     The python library    ']}).text_strip()",
        ["TensorFlow", "The python library"],
    ),
    (
        "text_to_hash_bucket",
        "values({t: ['Hello', 'TensorFlow', '2.x']}).text_to_hash_bucket(3)",
        [0, 2, 2],
    ),
    ("text_to_number", "values({t: ['1.55']}).text_to_number()", [1.55]),
    ("text_to_number", "values({t: ['3']}).text_to_number(int32)", [3]),
    (
        "text_upper",
        "values({t: ['CamelCase string and ALL CAPS']}).text_upper()",
        ["CAMELCASE STRING AND ALL CAPS"],
    ),
    (
        "unbatch",
        "values({x: [[1, 2, 3], [1, 2], [1, 2, 3, 4]]}).unbatch()",
        [1, 2, 3, 1, 2, 1, 2, 3, 4],
    ),
    ("unique", "values({x: [1, 37, 2, 37, 2, 1]}).unique()", [1, 37, 2]),
    ("window", "range(7).window(3)", [[0, 1, 2], [3, 4, 5], [6]]),
    (
        "window",
        "range(7).window(3, shift=1, drop_remainder=true)",
        [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]],
    ),
    (
        "window",
        "range(7).window(3, shift=1, stride=2, drop_remainder=true)",
        [[0, 2, 4], [1, 3, 5], [2, 4, 6]],
    ),
    (
        "window",
        "values({a: [1, 2, 3, 4, 5], b: [6, 7, 8, 9, 10]}).window(2)",
        [{"a": [1, 2], "b": [6, 7]}, {"a": [3, 4], "b": [8, 9]}, {"a": [5], "b": [10]}],
    ),
    (
        "window",
        "values({a: [1, 2, 3], b: [4, 5, 6], c: [7, 8, 9]}).window(2)",
        [{"a": [1, 2], "b": [4, 5], "c": [7, 8]}, {"a": [3], "b": [6], "c": [9]}],
    ),
]
