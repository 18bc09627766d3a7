/* SPDX-License-Identifier: Apache-2.0 */
/* encoder.c: the output that encoders write to: it grows, and stays for the next picture. */
#include "codec/image/encoder.h"

#include "base/memory/gauge.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 << 10 };

struct stk__encoder *stk__encoder_new(void)
{
    struct stk__encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    stk__arena_init(&encoder->output, FIRST_BYTES);
    stk__arena_init(&encoder->work, FIRST_BYTES);
    stk__gauge_join(&encoder->output);
    stk__gauge_join(&encoder->work);
    return encoder;
}

void stk__encoder_free(struct stk__encoder *encoder)
{
    if (!encoder)
        return;
    stk__gauge_part(&encoder->output);
    stk__gauge_part(&encoder->work);
    stk__arena_free(&encoder->output);
    stk__arena_free(&encoder->work);
    free(encoder);
}

size_t stk__pixels_bytes(const struct stk__pixels *pixels)
{
    size_t n_pixels = (size_t)pixels->width * pixels->height;
    return n_pixels * (size_t)pixels->channels << pixels->is_wide;
}

/* The arenas keep what the last picture took. The next file is as long as the last one, or about a quarter of its
 * pixels. */
void stk__encoder_start(struct stk__encoder *encoder, const struct stk__pixels *pixels,
                        size_t work_bytes, size_t library_bytes)
{
    size_t likely = stk__pixels_bytes(pixels) / 4;
    size_t output_bytes = likely > encoder->n_bytes ? likely : encoder->n_bytes;
    size_t kept = encoder->output.total_bytes + encoder->work.total_bytes;
    size_t needed = output_bytes + work_bytes;
    stk__arena_reset(&encoder->output);
    stk__arena_reset(&encoder->work);
    if (needed > kept) { /* else they would be there beside the new ones */
        stk__arena_free(&encoder->output);
        stk__arena_free(&encoder->work);
    }
    if (encoder->output.gauge)
        stk__gauge_expect_more(needed > kept ? needed : 0, library_bytes);
    encoder->bytes = NULL;
    encoder->cap = encoder->n_bytes = 0;
    encoder->is_exhausted = false;
    if (output_bytes)
        stk__encoder_reserve(encoder, output_bytes); /* else when it is written */
}

static void free_all(struct stk_arena *arena)
{
    stk__arena_rewind(arena, (struct stk__arena_mark){ NULL, 0 });
}

void stk__encoder_finish(struct stk__encoder *encoder, struct stk__encoded *out)
{
    *out = (struct stk__encoded){ encoder->bytes, encoder->n_bytes };
    free_all(&encoder->work);
}

void stk__encoder_rest(struct stk__encoder *encoder)
{
    free_all(&encoder->output);
}

/* What was written before moves along; where it was stays taken until the next picture. */
bool stk__encoder_reserve(struct stk__encoder *encoder, size_t n)
{
    if (encoder->cap - encoder->n_bytes >= n)
        return true;
    size_t cap = encoder->n_bytes + n + (encoder->n_bytes ? encoder->n_bytes + n : 0);
    uint8_t *bytes = stk__arena_take(&encoder->output, cap);
    if (!bytes) {
        encoder->is_exhausted = true;
        return false;
    }
    if (encoder->n_bytes)
        memcpy(bytes, encoder->bytes, encoder->n_bytes);
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
