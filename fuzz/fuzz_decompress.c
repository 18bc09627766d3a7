/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_decompress.c: any bytes as gzip, zlib or zstd, in pieces of some size; the result does not
 * depend on how input and output are cut.
 *
 * Input: kind and how the data is made, size of the pieces, then the data: as it is, or what it is
 * compressed to, whole or with a byte that is changed, which gets behind headers and checksums. */
#include "io/decompress.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_OUT = 1 << 16, AT_ONCE = 1 << 12, MOST_PLAIN = 1 << 12 };
enum { IS_TO_PACK = 4, IS_DAMAGED = 8, REPEATS = 16 }; /* and above: how often the data repeats */

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
        r.code = stk__decompressor_pump(d, &pump, &err);
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

static size_t deflate_all(enum stk__compression kind, const uint8_t *data, size_t n, uint8_t *out,
                          size_t room)
{
    static z_stream stream[2];
    z_stream *z = &stream[kind == STK__COMPRESSION_GZIP];
    if (!z->state)
        check(deflateInit2(z, 6, Z_DEFLATED, kind == STK__COMPRESSION_GZIP ? 31 : 15, 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
    check(deflateReset(z) == Z_OK);
    z->next_in = (uint8_t *)(uintptr_t)data;
    z->avail_in = (uInt)n;
    z->next_out = out;
    z->avail_out = (uInt)room;
    check(deflate(z, Z_FINISH) == Z_STREAM_END);
    return room - z->avail_out;
}

static size_t zstd_all(const uint8_t *data, size_t n, uint8_t *out, size_t room)
{
    static ZSTD_CCtx *ctx;
    if (!ctx) {
        ctx = ZSTD_createCCtx();
        check(ctx && !ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1)));
    }
    size_t bytes = ZSTD_compress2(ctx, out, room, data, n);
    check(!ZSTD_isError(bytes));
    return bytes;
}

/* What the bytes, several times, are compressed to. */
static size_t pack(enum stk__compression kind, uint8_t how, const uint8_t *data, size_t n,
                   uint8_t *out, size_t room)
{
    static uint8_t plain[MOST_PLAIN];
    size_t bytes = 0;
    for (int i = 0; i <= how / REPEATS && n <= MOST_PLAIN - bytes; i++, bytes += n)
        memcpy(plain + bytes, data, n);
    return kind == STK__COMPRESSION_ZSTD ? zstd_all(plain, bytes, out, room)
                                         : deflate_all(kind, plain, bytes, out, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packed[2 * MOST_PLAIN];
    if (size < 4)
        return 0;
    enum stk__compression kind, seen;
    struct stk_error err;
    kind = (enum stk__compression)(STK__COMPRESSION_GZIP + (data[0] & 3) % 3);
    const uint8_t *src = data + 4;
    size_t step = 1 + data[1], n = size - 4;
    if (data[0] & IS_TO_PACK) {
        n = pack(kind, data[0], src, n, packed, sizeof packed);
        src = packed;
        if (data[0] & IS_DAMAGED)
            packed[data[2] % n] ^= data[3];
    }
    stk__compression_sniff(src, n, &seen, &err);
    struct result a = unpack(kind, src, n, AT_ONCE, AT_ONCE);
    struct result b = unpack(kind, src, n, step, 3 * step);
    /* where it is damaged or cut, more or less may have come out before; of pieces libzstd takes an
     * empty block for one of any kind, which changes nothing */
    bool is_lenient = kind == STK__COMPRESSION_ZSTD && a.code == STK_DATA && b.code == STK_END;
    if (a.bytes < MOST_OUT && b.bytes < MOST_OUT && !is_lenient)
        check(a.code == b.code && (a.code != STK_END || (a.bytes == b.bytes && a.hash == b.hash)));
    if ((data[0] & (IS_TO_PACK | IS_DAMAGED)) == IS_TO_PACK)
        check(a.code == STK_END);
    return 0;
}
