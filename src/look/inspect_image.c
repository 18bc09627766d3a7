/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_image.c: one picture. */
#include "codec/image/codec.h"
#include "look/inspect.h"

static bool recognises(const struct stk__inspection *in)
{
    return stk__image_format(in->head, in->n_head) != STK__FORMAT_UNKNOWN;
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    static const char *const names[] = { "picture", "JPEG", "PNG", "GIF", "WebP", "BMP" };
    struct stk__image_info info;
    in->format = names[stk__image_format(in->head, in->n_head)];
    if (stk__image_info(in->head, in->n_head, &info, err)) {
        in->is_damaged = true;
        stk__inspect_note(in, "damaged: %s", err->text);
        return STK_OK;
    }
    stk__inspect_count(in, "width", info.width);
    stk__inspect_count(in, "height", info.height);
    stk__inspect_count(in, "channels", (uint64_t)info.channels);
    if (info.orientation > 1)
        stk__inspect_count(in, "orientation", (uint64_t)info.orientation);
    in->source = "files";
    stk__text_add(&in->rest, ").decode()");
    return STK_OK;
}

const struct stk__inspector stk__inspect_image = { recognises, describe };
