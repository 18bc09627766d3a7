/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_filters.c: filters are undone last to first. A step writes to one half of the spare memory
 * and the next to the other; the last one writes to the chunk's destination. */
#include "codec/array/hdf5_filters.h"

#include "codec/array/lzf.h"

#include <string.h>

enum { CHECKSUM_BYTES = 4, ALIGN = 64 };

/* ---- shuffle ---- */

/* `n` values whose bytes are `n` apart. Sizes known to the compiler become straight code. */
static inline void gather(const uint8_t *src, size_t n, size_t item_bytes, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < item_bytes; b++)
            dst[i * item_bytes + b] = src[b * n + i];
}

static void unshuffle(const uint8_t *src, size_t bytes, size_t item_bytes, uint8_t *dst)
{
    size_t n = bytes / item_bytes, whole = n * item_bytes;
    if (item_bytes == 2)
        gather(src, n, 2, dst);
    else if (item_bytes == 4)
        gather(src, n, 4, dst);
    else if (item_bytes == 8)
        gather(src, n, 8, dst);
    else
        gather(src, n, item_bytes, dst);
    memcpy(dst + whole, src + whole, bytes - whole);
}

/* ---- checksum ---- */

/* Fletcher's sums of 16-bit words, first byte high, as the library computes them: 360 words fit
 * before a sum of sums overflows. */
static uint32_t fletcher32(const uint8_t *data, size_t n)
{
    uint32_t sum1 = 0, sum2 = 0;
    for (size_t words = n / 2; words;) {
        size_t run = words < 360 ? words : 360;
        words -= run;
        for (; run; run--, data += 2)
            sum2 += sum1 += (uint32_t)data[0] << 8 | data[1];
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (n % 2) {
        sum2 += sum1 += (uint32_t)data[0] << 8;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

/* Libraries before 1.6.3 wrote the bytes of each half the other way round. */
static bool is_checked(const uint8_t *data, size_t n)
{
    const uint8_t *p = data + n - CHECKSUM_BYTES;
    uint32_t stored = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    uint32_t sum = fletcher32(data, n - CHECKSUM_BYTES);
    uint32_t old = (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
    return stored == sum || stored == old;
}

/* ---- the pipeline ---- */

/* What a chunk can grow to on the way: checksums may lie inside compressed data. */
static size_t most_bytes(const struct stk__hdf5_filters *filters, size_t chunk_bytes)
{
    size_t most = chunk_bytes + CHECKSUM_BYTES * (size_t)filters->n;
    return (most + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_check(const struct stk__hdf5_filters *filters, int i)
{
    return filters->item[i].kind == STK__HDF5_FLETCHER32;
}

size_t stk__hdf5_spare_bytes(const struct stk__hdf5_filters *filters, size_t chunk_bytes)
{
    size_t state = (stk__inflate_state_bytes() + ALIGN - 1) / ALIGN * ALIGN;
    return filters->n ? state + 2 * most_bytes(filters, chunk_bytes) : 0;
}

/* Steps that write bytes; the others only look. */
static int count_steps(const struct stk__hdf5_filters *filters, uint32_t left_out)
{
    int n = 0;
    for (int i = 0; i < filters->n; i++)
        n += !is_check(filters, i) && !(left_out >> i & 1);
    return n;
}

/* One step: job->n bytes become job->written. */
static const char *undo(const struct stk__hdf5_filters *filters, int i, void *state,
                        struct stk__inflation *job)
{
    switch (filters->item[i].kind) {
    case STK__HDF5_DEFLATE:
        return stk__inflate(state, job);
    case STK__HDF5_LZF:
        return stk__lzf_decompress(job->src, job->n, job->dst, job->room, &job->written)
                   ? NULL
                   : "the lzf data is damaged";
    default:
        if (job->n > job->room)
            return "there is more shuffled data than the chunk holds";
        unshuffle(job->src, job->n, filters->item[i].item_bytes, job->dst);
        job->written = job->n;
        return NULL;
    }
}

const char *stk__hdf5_unfilter(const struct stk__hdf5_filters *filters,
                               const struct stk__hdf5_stored *chunk, uint8_t *dst, uint8_t *spare,
                               const uint8_t **out)
{
    const uint8_t *at = chunk->src;
    size_t n = chunk->n, most = most_bytes(filters, chunk->bytes);
    int left = count_steps(filters, chunk->left_out);
    for (int i = filters->n - 1; i >= 0; i--) {
        if (chunk->left_out >> i & 1)
            continue;
        if (is_check(filters, i)) {
            if (n < CHECKSUM_BYTES || !is_checked(at, n))
                return "the checksum of the chunk is wrong";
            n -= CHECKSUM_BYTES;
            continue;
        }
        bool is_last = --left == 0;
        struct stk__inflation job = { .format = STK__INFLATE_ZLIB, .src = at, .n = n };
        job.dst = is_last ? dst : spare + (left % 2 ? most : 0);
        job.room = is_last ? chunk->bytes : most;
        const char *cause = undo(filters, i, spare + 2 * most, &job);
        if (cause)
            return cause;
        at = job.dst;
        n = job.written;
    }
    *out = at;
    return n == chunk->bytes ? NULL : "the chunk does not have the size it should have";
}
