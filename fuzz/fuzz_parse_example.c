/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_parse_example.c: any bytes as a row of parse_example, parse_sequence_example and decode_raw,
 * with every form of feature for the same few keys. */
#include "run_row_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_CALLS = 10 };

static const char *const texts[N_CALLS] = {
    "parse_example({a: varlen(int64), b: varlen(float32), c: fixed([], bytes, 'none'), "
    "d: fixed_sequence([2], int64, true, key=a), e: ragged(float32, b, 3)})",
    "parse_example({a: fixed([2], int64, [1, 2]), b: fixed([2, 2], float32, [1, 2, 3, 4]), "
    "c: fixed([], bytes, ''), d: fixed([], int64, 0, key=a)})",
    "parse_sequence_example({a: fixed([], int64, 5), b: varlen(float32)}, {s: fixed_sequence([], "
    "int64, true, key=a), t: fixed_sequence([3], float32, true, key=b), u: "
    "fixed_sequence([1000000], float32, true, key=c)})",
    "parse_example({a: varlen(bytes), b: fixed([2], bytes, ['x', '']), c: "
    "fixed_sequence([], bytes, true)})",
    "parse_sequence_example({a: ragged(bytes)}, {s: fixed_sequence([], bytes, true, key=a), t: "
    "varlen(float32, key=b), u: ragged(int64, c)})",
    "parse_example({a: fixed([2, 3], bytes, [['', '', ''], ['a', 'b', 'c']]), c: fixed([1, 2, 1], "
    "bytes), d: sparse([b, b], c, bytes, [3, 4])})",
    "parse_example({a: ragged(float32, b, row_splits=a), c: ragged(float32, b, 2, row_lengths=a), "
    "d: ragged(int64, a, row_starts=c), e: ragged(float32, b, row_limits=a), f: ragged(float32, b, "
    "value_rowids=a), g: ragged(int64, a, 3, value_rowids=c)})",
    "parse_example({a: sparse(a, b, float32, 100), b: sparse([a, c], b, float32, [10, 7], "
    "part=indices), c: sparse(a, b, float32, 1000000000000, part=values), d: sparse([c, a], b, "
    "float32, [50, 60], already_sorted=true, part=values), e: sparse(a, c, int64, 5)})",
    "decode_raw(int32, shape=[-1, 2])",
    "decode_raw(float64, little_endian=false)",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_calls(texts, N_CALLS, data, size);
    return 0;
}
