/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.c: blocks by zlib, which gives the same bytes on every machine; ISA-L, faster, does not. */
#include "codec/record/deflate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { RAW_WINDOW = -15, MEMORY_LEVEL = 8, PIECE = 64 << 10 };

struct stk__deflater {
    z_stream stream;
    enum stk__stream_form form;
};

struct stk__deflater *stk__deflater_new(enum stk__stream_form form)
{
    struct stk__deflater *deflater = calloc(1, sizeof *deflater);
    if (!deflater)
        return NULL;
    deflater->form = form;
    if (deflateInit2(&deflater->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return deflater;
    free(deflater);
    return NULL;
}

void stk__deflater_free(struct stk__deflater *deflater)
{
    if (!deflater)
        return;
    deflateEnd(&deflater->stream);
    free(deflater);
}

struct stk__deflate_sum stk__deflate_sum_begin(enum stk__stream_form form)
{
    return (struct stk__deflate_sum){ form == STK__FORM_ZLIB ? 1 : 0, 0 };
}

struct stk__deflate_sum stk__deflate_sum_join(enum stk__stream_form form,
                                              struct stk__deflate_sum first,
                                              struct stk__deflate_sum second)
{
    uLong (*const join)(uLong, uLong, z_off_t) =
        form == STK__FORM_ZLIB ? adler32_combine : crc32_combine;
    return (struct stk__deflate_sum){
        (uint32_t)join(first.check, second.check, (z_off_t)second.bytes),
        first.bytes + second.bytes,
    };
}

static void add_to_sum(enum stk__stream_form form, struct stk__deflate_sum *sum, const void *data,
                       uInt bytes)
{
    uLong (*const add)(uLong, const Bytef *, uInt) = form == STK__FORM_ZLIB ? adler32 : crc32;
    sum->check = (uint32_t)add(sum->check, data, bytes);
    sum->bytes += bytes;
}

/* Takes what the stream has; a sync flush ends at a byte. */
static void pump(z_stream *stream, int flush, struct stk__text *out)
{
    Bytef piece[PIECE];
    do {
        stream->next_out = piece;
        stream->avail_out = sizeof piece;
        deflate(stream, flush); /* fails only on a stream in disorder */
        stk__text_add_n(out, (const char *)piece, sizeof piece - stream->avail_out);
    } while (!stream->avail_out);
}

void stk__deflate_block(struct stk__deflater *deflater, const void *data, size_t bytes,
                        struct stk__text *out, struct stk__deflate_sum *sum)
{
    z_stream *stream = &deflater->stream;
    const Bytef *at = data;
    *sum = stk__deflate_sum_begin(deflater->form);
    deflateReset(stream);
    for (size_t n; bytes; at += n, bytes -= n) {
        n = bytes < INT_MAX ? bytes : INT_MAX;
        add_to_sum(deflater->form, sum, at, (uInt)n);
        stream->next_in = (Bytef *)(uintptr_t)at;
        stream->avail_in = (uInt)n;
        pump(stream, n == bytes ? Z_SYNC_FLUSH : Z_NO_FLUSH, out);
    }
}

/* No name, no time, no operating system; zlib: a window of 32 KB, the default level. */
void stk__deflate_head(enum stk__stream_form form, struct stk__text *out)
{
    if (form == STK__FORM_GZIP)
        stk__text_add_n(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    else if (form == STK__FORM_ZLIB)
        stk__text_add_n(out, "\x78\x9c", 2);
}

static void add_number(struct stk__text *out, uint32_t value, bool is_big_endian)
{
    char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(value >> 8 * (is_big_endian ? 3 - i : i));
    stk__text_add_n(out, bytes, sizeof bytes);
}

void stk__deflate_tail(enum stk__stream_form form, struct stk__deflate_sum sum,
                       struct stk__text *out)
{
    if (form == STK__FORM_PLAIN)
        return;
    stk__text_add_n(out, "\x03\0", 2); /* an empty block, the last */
    add_number(out, sum.check, form == STK__FORM_ZLIB);
    if (form == STK__FORM_GZIP)
        add_number(out, (uint32_t)sum.bytes, false);
}
