/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_decompress.c: any bytes as gzip, zlib or zstd, by the first byte, in pieces whose size is
 * the second; the result does not depend on how input and output are cut. */
#include "io/decompress.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_OUT = 1 << 16, AT_ONCE = 1 << 12 };

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

struct result {
    int code;
    uint64_t hash;
    size_t bytes;
};

/* Unpacks up to MOST_OUT bytes. Pieces end where their memory does. */
static struct result unpack(enum stk__compression kind, const uint8_t *data, size_t size,
                            size_t in_step, size_t out_step)
{
    struct stk__decompressor *d = stk__decompressor_new(kind);
    uint8_t *out = malloc(out_step), *in = malloc(in_step);
    struct stk_error err;
    struct result r = { 0 };
    check(d && in && out);
    struct stk__pump pump = { in, 0, out, out_step };
    for (size_t at = 0; !r.code && r.bytes < MOST_OUT;) {
        if (pump.in_bytes == 0 && at < size) {
            size_t n = size - at < in_step ? size - at : in_step;
            memcpy(in + (in_step - n), data + at, n);
            pump.in = in + (in_step - n);
            pump.in_bytes = n;
            at += n;
        }
        size_t in_before = pump.in_bytes;
        pump.out = out;
        pump.out_bytes = out_step;
        r.code = stk__decompress(d, &pump, &err);
        size_t got = out_step - pump.out_bytes;
        for (size_t i = 0; i < got; i++)
            r.hash = r.hash * 31 + out[i];
        r.bytes += got;
        check(pump.in_bytes <= in_before);
        if (!r.code && got == 0) {
            check(pump.in_bytes == 0); /* or it would stand still */
            if (at == size)
                r.code = stk__decompress_may_end(d) ? STK_END : STK_AGAIN;
        }
    }
    stk__decompressor_free(d);
    free(in);
    free(out);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum stk__compression kind, seen;
    struct stk_error err;
    kind = (enum stk__compression)(STK__COMPRESSION_GZIP + data[0] % 3);
    size_t step = 1 + data[1];
    stk__compression_sniff(data + 2, size - 2, &seen, &err);
    struct result a = unpack(kind, data + 2, size - 2, AT_ONCE, AT_ONCE);
    struct result b = unpack(kind, data + 2, size - 2, step, 3 * step);
    /* where it is damaged or cut, more or less may have come out before */
    if (a.bytes < MOST_OUT && b.bytes < MOST_OUT)
        check(a.code == b.code && (a.code != STK_END || (a.bytes == b.bytes && a.hash == b.hash)));
    return 0;
}
