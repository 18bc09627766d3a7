/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.h: gzip and zlib streams made block by block, blocks in parallel.
 *
 *     head | block, block, … | tail         each block ends at a byte; the tail has the checksum
 *
 * A block knows nothing of those before it, so any thread may compress any of them, and the stream is
 * one stream that every reader of gzip takes. The bytes are those of zlib at its default level; they
 * do not depend on the processor.
 */
#pragma once
#include "base/text.h"

#include <stoker/stoker.h>

enum stk__stream_form { STK__FORM_PLAIN, STK__FORM_GZIP, STK__FORM_ZLIB };

/* What a stream's tail must know of its content. */
struct stk__deflate_sum {
    uint32_t check;
    uint64_t bytes;
};

struct stk__deflater;

/* One per thread. Returns new, NULL when out of memory. */
struct stk__deflater *stk__deflater_new(enum stk__stream_form form);
void stk__deflater_free(struct stk__deflater *deflater); /* NULL is fine */

/* Appends a compressed block to out (out->failed without memory) and says what it holds. */
void stk__deflate_block(struct stk__deflater *deflater, const void *data, size_t bytes,
                        struct stk__text *out, struct stk__deflate_sum *sum);

void stk__deflate_head(enum stk__stream_form form, struct stk__text *out);
void stk__deflate_tail(enum stk__stream_form form, struct stk__deflate_sum sum,
                       struct stk__text *out);

/* What a stream of nothing holds, and what one holds when a block is put behind it. */
struct stk__deflate_sum stk__deflate_sum_begin(enum stk__stream_form form);
struct stk__deflate_sum stk__deflate_sum_join(enum stk__stream_form form,
                                              struct stk__deflate_sum first,
                                              struct stk__deflate_sum second);
