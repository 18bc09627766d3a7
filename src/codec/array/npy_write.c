/* SPDX-License-Identifier: Apache-2.0 */
/* npy_write.c: the head of a .npy file, version 1.0:
 *
 *     \x93NUMPY 01 00 | uint16 length | a Python dict as text, spaces, newline; all a multiple of 64
 *
 * NumPy leaves room for the first dimension to grow to 21 digits, and so does this.
 */
#include "base/type.h"
#include "codec/record/record_out.h"

#include <stdio.h>

enum { ALIGN = 64, PREFIX_BYTES = 10, GROWTH_DIGITS = 21 };

static void add_descr(struct stk__text *out, int dtype)
{
    char kind = stk__dtype_kind(dtype);
    size_t bytes = stk_dtype_bytes(dtype);
    stk__text_add(out, "{'descr': '%c%c%zu', ", bytes == 1 ? '|' : '<', kind, bytes);
}

static void add_shape(struct stk__text *out, int rank, const int64_t *shape)
{
    stk__text_add(out, "'fortran_order': False, 'shape': (");
    for (int d = 0; d < rank; d++)
        stk__text_add(out, "%s%lld", d ? ", " : "", (long long)shape[d]);
    stk__text_add(out, "%s), }", rank == 1 ? "," : "");
    int digits = rank ? snprintf(NULL, 0, "%lld", (long long)shape[0]) : GROWTH_DIGITS;
    stk__text_add(out, "%*s", digits < GROWTH_DIGITS ? GROWTH_DIGITS - digits : 0, "");
}

void stk__npy_head(int dtype, int rank, const int64_t *shape, struct stk__text *out)
{
    size_t at = out->len;
    stk__text_add_n(out, "\x93NUMPY\x01\x00\x00\x00", PREFIX_BYTES);
    add_descr(out, dtype);
    add_shape(out, rank, shape);
    size_t used = out->len - at + 1;
    stk__text_add(out, "%*s\n", (int)((ALIGN - used % ALIGN) % ALIGN), "");
    if (out->failed)
        return;
    size_t len = out->len - at - PREFIX_BYTES;
    out->data[at + PREFIX_BYTES - 2] = (char)len;
    out->data[at + PREFIX_BYTES - 1] = (char)(len >> 8);
}
