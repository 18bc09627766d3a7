/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_quality.c: images as they are after having been a JPEG file. */
#include "codec/image/codec.h"
#include "codec/image/encode.h"
#include "op/augment/pixel_op.h"

#include <stdlib.h>

struct jpeg_quality {
    struct stk_numbers quality;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(jpeg_quality, quality, NULL, 1, 2, STK_REQUIRED,
                    "1 to 100, or [least, greatest] to draw from"),
    STK__CHANCE_ROWS(jpeg_quality),
    STK_ROWS_END,
};

struct state {
    struct stk__pixel_state pixel; /* first */
    int least, most;
};

struct thread {
    struct stk__encoder *encoder;
    struct stk__codec *codec;
};

static bool is_whole(double value)
{
    return value == (int)value;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct jpeg_quality *call = inf->params;
    struct stk__range range;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
    if (!code)
        code = stk__range_of(&call->quality, "quality", (struct stk__range){ 1, 100 }, &range, err);
    if (code)
        return code;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->pixel = *(const struct stk__pixel_state *)inf->state;
    state->least = (int)range.lo;
    state->most = (int)range.hi;
    inf->state = state;
    if (!is_whole(range.lo) || !is_whole(range.hi))
        return stk_fail(err, STK_VALUE, "quality must be a whole number");
    if (inf->in[0]->field[state->pixel.field].dtype != STK_U8)
        return stk_fail(err, STK_TYPE,
                        "only uint8 can be a JPEG; put this before what makes floats");
    return STK_OK;
}

static void thread_close(void *thread)
{
    struct thread *own = thread;
    stk__encoder_free(own->encoder);
    stk__codec_free(own->codec);
    free(own);
}

static int thread_open(const void *call, const void *state, void **thread, struct stk_error *err)
{
    struct thread *own = calloc(1, sizeof *own);
    (void)call, (void)state;
    if (!own)
        return stk_fail(err, STK_MEMORY, "out of memory");
    own->encoder = stk__encoder_new();
    own->codec = stk__codec_new();
    *thread = own;
    if (own->encoder && own->codec)
        return STK_OK;
    thread_close(own);
    return stk_fail(err, STK_MEMORY, "out of memory");
}

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    (void)err;
    image->data = ctx;
    return STK_OK;
}

static int encode_and_decode(const struct thread *own, const struct stk__raster *raster,
                             int quality, struct stk_error *err)
{
    const struct stk__pixels pixels = { .data = raster->src,
                                        .height = (uint32_t)raster->height,
                                        .width = (uint32_t)raster->width,
                                        .channels = raster->channels };
    const struct stk__jpeg_options options = { .quality = quality, .across = 2, .down = 2 };
    struct stk__encoded encoded;
    struct stk__image image;
    int code = stk__encode_jpeg(own->encoder, &pixels, &options, &encoded, err);
    if (code)
        return code;
    const struct stk__decode_request request = { .bytes = encoded.bytes,
                                                 .n_bytes = encoded.n_bytes,
                                                 .channels = raster->channels,
                                                 .max_pixels = INT64_MAX,
                                                 .place = place,
                                                 .ctx = raster->dst };
    return stk__codec_decode(own->codec, &request, &image, err);
}

static int change(struct stk__pixel_row *pixels)
{
    const struct state *state = pixels->rows->state;
    struct stk_error err;
    int quality = (int)stk__dice_whole(&pixels->dice, state->least, state->most + 1);
    int code = encode_and_decode(pixels->rows->thread, &pixels->raster, quality, &err);
    if (code == STK_MEMORY)
        return code;
    if (code)
        stk_rows_fail(pixels->rows, pixels->row, code, "%s", err.text);
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct jpeg_quality *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static const char doc[] =
    "Encodes uint8 images as JPEG in memory, with half as many samples of colour each way, and\n"
    "decodes them again, as torchvision's JPEG and tf.image.random_jpeg_quality do.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).jpeg_quality([30, 90], probability=0.5)\n"
    "    files('*.jpg').decode(channels=3).jpeg_quality(50)\n";

const struct stk__op stk__op_jpeg_quality = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "jpeg_quality", 1, "Give images the flaws of JPEG, all or some by chance.", doc,
              params, sizeof(struct jpeg_quality) },
    .flags = STK_OP_RANDOM | STK_OP_HEAVY,
    .infer = infer,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = run },
};
