/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_parse_json.c: any bytes as a row of parse_json, with every form of field for the same few
 * values. fuzz_json.c has the scanner alone. */
#include "run_row_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_CALLS = 4 };

static const char *const texts[N_CALLS] = {
    "parse_json({t: value('a', text, ''), i: value('b', int64, 1), f: value('c', float32, 0.5), "
    "d: value('d', float64, 2), o: value('e', bool, true)})",
    "parse_json({i: list('a', int64, default_value=[]), f: list('b', float32, [2], "
    "default_value=[]), t: list('c', text, default_value=['x'])})",
    "parse_json({m: array('a', float64, [2, 2], [[1, 2], [3, 4]]), o: array('b', bool, [2], [true, "
    "false]), t: array('c', text, [2], ['x', ''])})",
    "parse_json({x: value('$[1].a[0]', text)})",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run_calls(texts, N_CALLS, data, size);
    return 0;
}
