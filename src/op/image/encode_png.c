/* SPDX-License-Identifier: Apache-2.0 */
/* encode_png.c: images become PNG files. */
#include "op/image/encode_op.h"

struct encode_png {
    int64_t level;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(encode_png, level, 6, 0, 9, 0, "0: not compressed, 1: fast, 9: small"),
    STK_TEXT_ROW(encode_png, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

static const struct stk__encode_limits limits = {
    stk__is_image_u8_u16, "an image [height, width, channels] of uint8 or uint16", "1234"
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct encode_png *p = inf->params;
    return stk__encode_infer(inf, p->field, &limits, err);
}

static int encode(struct stk__encoder *encoder, const void *op_params,
                  const struct stk__pixels *pixels, struct stk__encoded *out, struct stk_error *err)
{
    const struct encode_png *p = op_params;
    return stk__encode_png(encoder, pixels, (int)p->level, out, err);
}

static int run(struct stk_rows *rows)
{
    return stk__encode_run(rows, encode);
}

static const char doc[] =
    "The image, uint8 or uint16 with 1 to 4 channels (2 and 4 with alpha), is replaced by the "
    "bytes "
    "of a PNG file, from which decode gives the same pixels. A field named image is called bytes "
    "afterwards; other names stay.\n"
    "\n"
    "    files('*.jpg').decode().resize(64, 64, dtype=keep).encode_png()\n"
    "    files('scans/*.png').decode(channels=1, dtype=uint16).encode_png(level=9)\n";

const struct stk__op stk__op_encode_png = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "encode_png", 1, "Encode images as PNG.", doc, params, sizeof(struct encode_png) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { stk__encode_thread_open, stk__encode_thread_close, run },
};
