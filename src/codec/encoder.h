/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.h: the output that encoders write to; private to this room. */
#pragma once
#include "codec/encode.h"

struct stk__encoder {
    uint8_t *bytes;
    size_t n_bytes, cap;
    bool is_exhausted; /* there was no memory for more */
};

/* Empty again. */
void stk__encoder_start(struct stk__encoder *encoder);

/* Room for n more bytes; false when there is no memory. */
bool stk__encoder_reserve(struct stk__encoder *encoder, size_t n);

/* Appends; false when there is no memory. */
bool stk__encoder_write(struct stk__encoder *encoder, const void *bytes, size_t n);
