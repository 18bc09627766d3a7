/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jpeg.c: any bytes to the JPEG decoder and the header probe. Seeds: tests/golden/decode/
 * *.jpg. */
#include "codec/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    uint8_t **memory = ctx;
    *memory = image->data = malloc(image->stride * image->height);
    return image->data ? STK_OK : stk_fail(err, STK_MEMORY, "no memory");
}

/* One codec for all inputs: what a file leaves behind must not hurt the next. The options come
 * from the last bytes, so that seeds are plain files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct stk__codec *codec;
    static const int channels[] = { 0, 1, 3, 4 };
    if (!codec && !(codec = stk__codec_new()))
        return 0;
    unsigned options = size ? data[size - 1] : 0;
    uint8_t *memory = NULL;
    struct stk__decode_request request = { .bytes = data,
                                           .n_bytes = size,
                                           .channels = channels[options & 3],
                                           .is_fast_dct = options & 4,
                                           .is_oriented = options & 8,
                                           .max_pixels = 1 << 18,
                                           .place = place,
                                           .ctx = &memory };
    struct stk__image image;
    struct stk__image_info info;
    struct stk_error err;
    stk__image_info(data, size, &info, &err);
    if (stk__image_format(data, size) == STK__FORMAT_JPEG)
        stk__codec_decode(codec, &request, &image, &err);
    free(memory);
    return 0;
}
