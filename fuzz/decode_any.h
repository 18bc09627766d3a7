/* SPDX-License-Identifier: Apache-2.0 */
/* decode_any.h: what the fuzzers of picture formats do with their input. */
#pragma once
#include "codec/image/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    uint8_t **memory = ctx;
    *memory = image->data = malloc(stk__image_bytes(image));
    return image->data ? STK_OK : stk_fail(err, STK_MEMORY, "no memory");
}

/* One codec for all inputs: what a file leaves behind must not hurt the next. The options come from
 * the size, so that seeds are plain files. */
static int decode_any(const uint8_t *data, size_t size, enum stk__format format)
{
    static struct stk__codec *codec;
    static const int channels[] = { 0, 1, 3, 4 };
    if (!codec && !(codec = stk__codec_new()))
        return 0;
    uint8_t *memory = NULL;
    struct stk__decode_request request = {
        .bytes = data,
        .n_bytes = size,
        .channels = channels[size & 3],
        .is_oriented = size & 4,
        .is_wide = size & 8,
        .max_frames = size & 16 ? 7 : 0,
        .is_indexed = (size & 0x60) == 0x60,
        .on_truncated = (enum stk__on_truncated)(size / 128 % 3),
        .max_pixels = 1 << 14, /* all seeds are smaller; loops over pixels find nothing new */
        .place = place,
        .ctx = &memory,
    };
    struct stk__image image;
    struct stk__image_info info;
    struct stk_error err;
    stk__image_info(data, size, &info, &err);
    if (stk__image_format(data, size) == format)
        stk__codec_decode(codec, &request, &image, &err);
    free(memory);
    return 0;
}
