/* SPDX-License-Identifier: Apache-2.0 */
/* encode_webp.c: images become WebP files. */
#include "op/image/encode_op.h"

struct encode_webp {
    double quality;
    bool lossless;
    const char *field;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(encode_webp, quality, 75, 0, 100, 0,
                 "0 to 100; with lossless, how hard to try for a small file"),
    STK_BOOL_ROW(encode_webp, lossless, false, 0, "keep every pixel as it is"),
    STK_TEXT_ROW(encode_webp, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

static const struct stk__encode_limits limits = { stk__is_image_u8,
                                                  "an image [height, width, channels] of uint8",
                                                  "134" };

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct encode_webp *p = inf->params;
    return stk__encode_infer(inf, p->field, &limits, err);
}

static int encode(struct stk__encoder *encoder, const void *op_params,
                  const struct stk__pixels *pixels, struct stk__encoded *out, struct stk_error *err)
{
    const struct encode_webp *p = op_params;
    return stk__encode_webp(encoder, pixels, p->quality, p->lossless, out, err);
}

static int run(struct stk_rows *rows)
{
    return stk__encode_run(rows, encode);
}

static const char doc[] =
    "The image, uint8 with 1, 3 or 4 channels (4 with alpha), is replaced by the bytes of a WebP "
    "file. "
    "A field named image is called bytes afterwards; other names stay. WebP has no gray: such "
    "images have three channels when decoded with channels=0.\n"
    "\n"
    "    files('*.jpg').decode().encode_webp(quality=80)\n"
    "    files('*.png').decode(channels=4).encode_webp(lossless=true)\n";

const struct stk__op stk__op_encode_webp = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "encode_webp", 1, "Encode images as WebP.", doc, params, sizeof(struct encode_webp) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { stk__encode_thread_open, stk__encode_thread_close, run },
};
