/* SPDX-License-Identifier: Apache-2.0 */
/* slab.c: pieces of a buffer, one behind the other. */
#include "base/memory/slab.h"

enum { SLAB_BYTES = 1 << 14, LARGEST_PIECE = SLAB_BYTES / 4, ALIGN = 64 };

bool stk__slab_take(struct stk__slab *slab, struct stk__pool *pool, size_t bytes,
                    struct stk_span *out)
{
    bool is_large = bytes > LARGEST_PIECE;
    if (!is_large && (!slab->buffer || bytes > SLAB_BYTES - slab->used)) {
        stk__slab_free(slab);
        slab->buffer = stk__buffer_new(pool, SLAB_BYTES);
    }
    struct stk_buffer *buffer = is_large ? stk__buffer_new(pool, bytes) : slab->buffer;
    if (!buffer)
        return false;
    uint8_t *data = buffer->data + (is_large ? 0 : slab->used);
    if (!is_large) {
        stk__buffer_ref(buffer);
        slab->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    stk__buffer_unref(out->owner);
    *out = (struct stk_span){ data, bytes, buffer };
    return true;
}

void stk__span_cut(struct stk_span *span, int n, size_t bytes, size_t step)
{
    struct stk_buffer *owner = stk__buffer_ref_n(span[0].owner, n - 1);
    uint8_t *data = span[0].data;
    span[0].bytes = bytes;
    for (int i = 1; i < n; i++) {
        stk__buffer_unref(span[i].owner);
        span[i] = (struct stk_span){ data + (size_t)i * step, bytes, owner };
    }
}

void stk__slab_free(struct stk__slab *slab)
{
    stk__buffer_unref(slab->buffer);
    *slab = (struct stk__slab){ 0 };
}
