/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c: channels last or channels first. */
#include "kernel/kernel.h"
#include "op/image/image_op.h"

enum order { NCHW, NHWC };
static const char *const order_names[] = { "NCHW", "NHWC", NULL };

struct layout {
    int order;
    const char *field;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(layout, order, order_names, NCHW, STK_REQUIRED,
                   "NCHW: [channels, height, width] from channels last; NHWC: the other way"),
    STK_TEXT_ROW(layout, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
    size_t value_bytes;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct layout *layout = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, layout->field, stk__is_image, &state->field, err);
    if (code)
        return code;
    const int64_t *from = inf->in[0]->field[state->field].shape;
    int64_t *to = inf->out->field[state->field].shape;
    bool to_planes = layout->order == NCHW;
    to[0] = from[to_planes ? 2 : 1];
    to[1] = from[to_planes ? 0 : 2];
    to[2] = from[to_planes ? 1 : 0];
    state->value_bytes = stk_dtype_bytes(inf->out->field[state->field].dtype);
    inf->state = state;
    return STK_OK;
}

/* The first dimension is height, or channels of what becomes channels last. */
static void rearrange(enum order order, struct stk__picture from, size_t value_bytes, uint8_t *dst)
{
    const struct stk__image_kernels *kernels = &stk__kernels()->image;
    bool to_planes = order == NCHW;
    int height = to_planes ? from.height : from.width;
    int width = to_planes ? from.width : from.channels;
    int channels = to_planes ? from.channels : from.height;
    size_t row_bytes = (size_t)width * value_bytes, plane_bytes = (size_t)height * row_bytes;
    for (int y = 0; y < height; y++) {
        size_t planar = (size_t)y * row_bytes, whole = planar * (size_t)channels;
        if (to_planes)
            kernels->split_planes(dst + planar, plane_bytes, from.data + whole, width, channels,
                                  (int)value_bytes);
        else
            kernels->join_planes(dst + whole, from.data + planar, plane_bytes, width, channels,
                                 (int)value_bytes);
    }
}

static int run(struct stk_rows *rows)
{
    const struct layout *layout = rows->params;
    const struct state *state = rows->state;
    bool to_planes = layout->order == NCHW;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i);
        struct stk__picture size = { NULL, from.width, from.channels, from.height };
        if (to_planes)
            size = (struct stk__picture){ NULL, from.channels, from.height, from.width };
        uint8_t *dst = stk__picture_put(rows, state->field, i, size);
        if (!dst)
            return STK_MEMORY;
        rearrange((enum order)layout->order, from, state->value_bytes, dst);
    }
    return STK_OK;
}

static bool finish(const void *call, const void *given, struct stk__op_finish *out)
{
    const struct layout *layout = call;
    const struct state *state = given;
    out->kind = STK__FINISH_PLANES;
    out->field = state->field;
    return layout->order == NCHW;
}

static const char doc[] =
    "Puts the channels of images of any dtype first (NCHW, as PyTorch has them) or last (NHWC, as\n"
    "TensorFlow has them); batch adds the N. Images come with channels last, and all ops on "
    "images\n"
    "want them so: put this one after them. After resize it costs next to nothing.\n"
    "\n"
    "    files('*.jpg').decode().resize(224, 224).normalize('imagenet').layout(NCHW).batch(32)\n";

const struct stk__op stk__op_layout = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "layout", 1, "Put channels first or last.", doc, params, sizeof(struct layout) },
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
