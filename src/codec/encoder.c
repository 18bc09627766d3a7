/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c: the output that encoders write to: it grows, and stays for the next picture. */
#include "codec/encoder.h"

#include <stdlib.h>
#include <string.h>

struct stk__encoder *stk__encoder_new(void)
{
    return calloc(1, sizeof(struct stk__encoder));
}

void stk__encoder_free(struct stk__encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->bytes);
    free(encoder);
}

void stk__encoder_start(struct stk__encoder *encoder)
{
    encoder->n_bytes = 0;
    encoder->is_exhausted = false;
}

bool stk__encoder_reserve(struct stk__encoder *encoder, size_t n)
{
    if (encoder->cap - encoder->n_bytes >= n)
        return true;
    size_t cap = (encoder->n_bytes + n) * 2;
    uint8_t *bytes = realloc(encoder->bytes, cap);
    if (!bytes) {
        encoder->is_exhausted = true;
        return false;
    }
    encoder->bytes = bytes;
    encoder->cap = cap;
    return true;
}

bool stk__encoder_write(struct stk__encoder *encoder, const void *bytes, size_t n)
{
    if (!stk__encoder_reserve(encoder, n))
        return false;
    memcpy(encoder->bytes + encoder->n_bytes, bytes, n);
    encoder->n_bytes += n;
    return true;
}
