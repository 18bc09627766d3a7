/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.h: the output that encoders write to; private to this room. */
#pragma once
#include "base/memory/arena.h"
#include "codec/image/encode.h"

struct stk__encoder {
    struct stk_arena output, work; /* of one picture: the file, and what making it takes */
    uint8_t *bytes;                /* in the output */
    size_t n_bytes, cap;
    bool is_exhausted; /* there was no memory for more */
};

/* Empty again. What a picture will take is asked for: `work_bytes` of the work, `library_bytes` by malloc. */
void stk__encoder_start(struct stk__encoder *encoder, const struct stk__pixels *pixels,
                        size_t work_bytes, size_t library_bytes);

/* The file is there, in `out`, and what making it took is free again. */
void stk__encoder_finish(struct stk__encoder *encoder, struct stk__encoded *out);

/* Room for n more bytes; false when there is no memory. */
bool stk__encoder_reserve(struct stk__encoder *encoder, size_t n);

/* Appends; false when there is no memory. */
bool stk__encoder_write(struct stk__encoder *encoder, const void *bytes, size_t n);

size_t stk__pixels_bytes(const struct stk__pixels *pixels);
