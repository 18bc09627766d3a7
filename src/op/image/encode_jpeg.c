/* SPDX-License-Identifier: Apache-2.0 */
/* encode_jpeg.c: images become JPEG files. */
#include "op/image/encode_op.h"

struct encode_jpeg {
    int64_t quality, subsampling;
    bool progressive, optimize;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(encode_jpeg, quality, 95, 1, 100, 0, "1 to 100, as libjpeg counts"),
    STK_INT_ROW(encode_jpeg, subsampling, 420, 420, 444, 0,
                "444: colours for every pixel; 422: for two side by side; 420: for two by two"),
    STK_BOOL_ROW(encode_jpeg, progressive, false, 0, "several scans, from coarse to fine"),
    STK_BOOL_ROW(encode_jpeg, optimize, false, 0, "make the code tables for each picture"),
    STK_TEXT_ROW(encode_jpeg, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

static const struct stk__encode_limits limits = { stk__is_image_u8,
                                                  "an image [height, width, channels] of uint8",
                                                  "13" };

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct encode_jpeg *p = inf->params;
    if (p->subsampling != 444 && p->subsampling != 422 && p->subsampling != 420)
        return stk_fail(err, STK_VALUE, "subsampling can be 444, 422 or 420, not %d",
                        (int)p->subsampling);
    return stk__encode_infer(inf, p->field, &limits, err);
}

static int encode(struct stk__encoder *encoder, const void *op_params,
                  const struct stk__pixels *pixels, struct stk__encoded *out, struct stk_error *err)
{
    const struct encode_jpeg *p = op_params;
    struct stk__jpeg_options options = { .quality = (int)p->quality,
                                         .across = p->subsampling == 444 ? 1 : 2,
                                         .down = p->subsampling == 420 ? 2 : 1,
                                         .is_progressive = p->progressive,
                                         .is_optimized = p->optimize };
    return stk__encode_jpeg(encoder, pixels, &options, out, err);
}

static int run(struct stk_rows *rows)
{
    return stk__encode_run(rows, encode);
}

static const char doc[] =
    "The image, uint8 with 1 or 3 channels, is replaced by the bytes of a JPEG file. The same "
    "image "
    "gives the same bytes. A field named image is called bytes afterwards; other names stay.\n"
    "\n"
    "    files('scans/*.png').decode().encode_jpeg(quality=90)\n"
    "    files('*.jpg').decode().resize(224, 224, dtype=keep).encode_jpeg(95, subsampling=444)\n"
    "\n"
    "The defaults are those of tf.io.encode_jpeg.";

const struct stk__op stk__op_encode_jpeg = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "encode_jpeg", 1, "Encode images as JPEG.", doc, params, sizeof(struct encode_jpeg) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { stk__encode_thread_open, stk__encode_thread_close, run },
};
