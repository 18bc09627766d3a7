/* SPDX-License-Identifier: Apache-2.0 */
/* slab.h: small pieces of bytes out of one buffer, so that rows need no allocation each. */
#pragma once
#include "base/memory/buffer.h"

/* Each piece holds a reference to the buffer it lies in; the slab holds one to the last. */
struct stk__slab {
    struct stk_buffer *buffer;
    size_t used;
};

/* A piece of its own buffer if it is large; 64-byte aligned, contents undefined. What the span had
 * is dropped. False when out of memory. */
bool stk__slab_take(struct stk__slab *slab, struct stk__pool *pool, size_t bytes,
                    struct stk_span *out);

/* Cuts what span[0] has into n spans, each of `bytes` and `step` behind the one before; what the
 * others had is dropped. */
void stk__span_cut(struct stk_span *span, int n, size_t bytes, size_t step);
void stk__slab_free(struct stk__slab *slab);
