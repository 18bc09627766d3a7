/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_text.c: text of which nothing more is known: lines. */
#include "look/inspect.h"

#include <string.h>

enum { LOOKED_AT = 1 << 16 };

/* UTF-8 without control characters. The last character may be cut by our limit. */
static bool recognises(const struct stk__inspection *in)
{
    size_t n = in->n_head < LOOKED_AT ? in->n_head : LOOKED_AT;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        uint8_t c = in->head[i];
        bytes = stk__utf8_bytes((const char *)in->head + i, in->n_head - i);
        bool is_cut = !in->is_whole && in->n_head - i < 4;
        if ((!bytes && !is_cut) || (c < 0x20 && !strchr("\t\n\r\f\x1b", c)) || !c)
            return false;
        bytes += !bytes;
    }
    return n > 0;
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__sizes sizes = { 0 };
    size_t at = 0;
    (void)err;
    while (at < in->n_head) {
        const uint8_t *end = memchr(in->head + at, '\n', in->n_head - at);
        if (!end && !in->is_whole)
            break;
        size_t bytes = end ? (size_t)(end - in->head) - at : in->n_head - at;
        stk__sizes_add(&sizes, bytes);
        at += bytes + (end != NULL);
        if (sizes.n <= STK__PREVIEWED)
            in->sample_bytes = at;
    }
    in->format = "text";
    stk__inspect_sizes(in, "lines", &sizes, at);
    if (!sizes.n) {
        stk__inspect_note(in, "the first line does not end within the bytes that were looked at");
        return STK_OK;
    }
    in->source = "lines";
    stk__text_add(&in->rest, ")");
    return STK_OK;
}

const struct stk__inspector stk__inspect_text = { recognises, describe };
