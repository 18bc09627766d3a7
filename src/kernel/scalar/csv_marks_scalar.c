/* SPDX-License-Identifier: Apache-2.0 */
/* csv_marks_scalar.c: the marks of delimited text, byte by byte. */
#include "kernel/csv_kernel.h"

int stk__csv_marks_scalar(const uint8_t *data, uint32_t *from, uint32_t to,
                          const uint8_t byte[STK__CSV_N_MARKS], uint32_t *out, int room)
{
    int n = 0;
    uint32_t at = *from;
    while (at < to && room - n >= STK__CSV_BLOCK) {
        uint32_t stop = to - at < STK__CSV_BLOCK ? to : at + STK__CSV_BLOCK;
        for (; at < stop; at++) {
            uint8_t c = data[at];
            out[n] = at;
            n += c == byte[0] || c == byte[1] || c == byte[2] || c == byte[3];
        }
    }
    *from = at;
    return n;
}
