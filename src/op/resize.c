/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: images to one size, bit for bit as tf.image.resize of TensorFlow 2.
 *
 * What depends on an image's size alone (its taps) is kept per worker for the sizes seen last, so
 * that a run over images of a few sizes prepares each once.
 */
#include "kernel/resize.h"

#include "kernel/kernel.h"
#include "op/image_op.h"

#include <stdlib.h>
#include <string.h>

enum method { BILINEAR, NEAREST, AREA };
static const char *const method_names[] = { "bilinear", "nearest", "area", NULL };

enum out_dtype { DTYPE_AUTO, DTYPE_FLOAT32, DTYPE_KEEP };
static const char *const dtype_names[] = { "auto", "float32", "keep", NULL };

enum { MAX_SIDE = 1 << 15, MAX_ROW_VALUES = 1 << 28 };

struct resize {
    int64_t height, width;
    int method;
    bool antialias;
    int dtype;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(resize, height, 0, 1, MAX_SIDE, STK_REQUIRED, "rows of the result"),
    STK_INT_ROW(resize, width, 0, 1, MAX_SIDE, STK_REQUIRED, "columns of the result"),
    STK_CHOICE_ROW(resize, method, method_names, BILINEAR, 0,
                   "bilinear, nearest, or area: the mean of the pixels covered"),
    STK_BOOL_ROW(resize, antialias, false, 0, "bilinear: average over all pixels when shrinking"),
    STK_CHOICE_ROW(resize, dtype, dtype_names, DTYPE_AUTO, 0,
                   "float32, keep (rounded to uint8), or auto: keep for nearest, else float32"),
    STK_TEXT_ROW(resize, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK_ROWS_END,
};

struct state {
    int field;
    enum stk__taps_kind kind;
    bool src_is_u8, dst_is_u8;
    struct stk__affine affine; /* of an op above; period 0: none */
};

/* ---- what a worker keeps ---- */

enum { N_SLOTS = 8 };

/* Taps from n_in pixels to those of the result. */
struct slot {
    int n_in, channels;
    uint64_t used_at;
    void *memory;
    size_t capacity;
    struct stk__taps taps;
    struct stk__lerp_row row;
};

struct worker {
    struct slot x[N_SLOTS], y[N_SLOTS];
    uint64_t clock;
    float *rows;
    size_t row_values; /* of each of three */
};

static int thread_open(const void *call, const void *state, void **thread, struct stk_error *err)
{
    (void)call, (void)state;
    *thread = calloc(1, sizeof(struct worker));
    return *thread ? STK_OK : stk_fail(err, STK_MEMORY, "out of memory");
}

static void thread_close(void *thread)
{
    struct worker *worker = thread;
    for (int i = 0; i < N_SLOTS; i++) {
        free(worker->x[i].memory);
        free(worker->y[i].memory);
    }
    free(worker->rows);
    free(worker);
}

/* The slot of these numbers, or the one unused for longest. */
static struct slot *find_slot(struct slot *slots, int n_in, int channels)
{
    struct slot *oldest = slots;
    for (struct slot *s = slots; s < slots + N_SLOTS; s++) {
        if (s->n_in == n_in && s->channels == channels)
            return s;
        if (s->used_at < oldest->used_at)
            oldest = s;
    }
    return oldest;
}

/* An axis of an image; channels 0: y, which has no row. */
struct axis {
    int n_in, n_out, channels;
};

/* NULL when out of memory. */
static struct slot *get_slot(struct worker *worker, struct slot *slots, enum stk__taps_kind kind,
                             struct axis axis)
{
    struct slot *slot = find_slot(slots, axis.n_in, axis.channels);
    slot->used_at = ++worker->clock;
    if (slot->n_in == axis.n_in && slot->channels == axis.channels)
        return slot;
    bool has_row = kind == STK__LERP && axis.channels;
    size_t taps_bytes = (stk__taps_bytes(kind, axis.n_in, axis.n_out) + 63) / 64 * 64;
    size_t bytes = taps_bytes + (has_row ? stk__lerp_row_bytes(axis.n_out, axis.channels) : 0);
    if (bytes > slot->capacity) {
        free(slot->memory);
        slot->memory = malloc(bytes);
        slot->capacity = slot->memory ? bytes : 0;
        slot->n_in = 0;
        if (!slot->memory)
            return NULL;
    }
    slot->n_in = axis.n_in;
    slot->channels = axis.channels;
    stk__taps_init(&slot->taps, kind, axis.n_in, axis.n_out, slot->memory);
    if (has_row)
        stk__lerp_row_init(&slot->row, &slot->taps, axis.channels,
                           (uint8_t *)slot->memory + taps_bytes);
    return slot;
}

static bool get_rows(struct worker *worker, struct stk__resize *resize)
{
    size_t n = (stk__resize_row_values(resize) + 15) / 16 * 16;
    if (n > worker->row_values) {
        free(worker->rows);
        worker->rows = aligned_alloc(64, n * 3 * sizeof *worker->rows);
        worker->row_values = worker->rows ? n : 0;
        if (!worker->rows)
            return false;
    }
    resize->row[0] = worker->rows;
    resize->row[1] = worker->rows + worker->row_values;
    resize->sum = worker->rows + 2 * worker->row_values;
    return true;
}

/* ---- the op ---- */

static bool keeps_dtype(const struct resize *resize)
{
    if (resize->dtype == DTYPE_AUTO)
        return resize->method == NEAREST;
    return resize->dtype == DTYPE_KEEP;
}

static enum stk__taps_kind kind_of(const struct resize *resize)
{
    if (resize->method == NEAREST)
        return STK__NEAREST;
    if (resize->method == AREA)
        return STK__AREA;
    return resize->antialias ? STK__TRIANGLE : STK__LERP;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct resize *resize = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__image_infer(inf, resize->field, stk__is_image_u8_f32, &state->field, err);
    if (code)
        return code;
    struct stk_field *field = &inf->out->field[state->field];
    state->kind = kind_of(resize);
    state->src_is_u8 = field->dtype == STK_U8;
    state->dst_is_u8 = state->src_is_u8 && keeps_dtype(resize);
    field->dtype = state->dst_is_u8 ? STK_U8 : STK_F32;
    if (state->src_is_u8 && !state->dst_is_u8)
        field->flags |= STK_FIELD_255;
    stk__image_set_size(field, resize->height, resize->width);
    inf->state = state;
    return STK_OK;
}

/* Whether the image can be resized at all; marks the row if not. */
static bool is_possible(struct stk_rows *rows, int row, struct stk__picture from)
{
    const struct resize *resize = rows->params;
    int64_t width = from.width > resize->width ? from.width : resize->width;
    if (from.height < 1 || from.width < 1 || from.channels < 1)
        stk_rows_fail(rows, row, STK_DATA, "the image is empty: %d x %d pixels of %d channels",
                      from.height, from.width, from.channels);
    else if (width * from.channels > MAX_ROW_VALUES)
        stk_rows_fail(rows, row, STK_DATA, "rows of %lld x %d values are too long",
                      (long long)width, from.channels);
    else
        return true;
    return false;
}

/* Nearest moves pixels; where floats of bytes are wanted they are converted after. */
static int nearest_to_floats(struct stk_rows *rows, struct stk__resize *resize, const uint8_t *src,
                             void *dst)
{
    size_t n = (size_t)resize->y->n_out * (size_t)resize->x->n_out * (size_t)resize->channels;
    uint8_t *bytes = stk_rows_alloc(rows, n);
    if (!bytes)
        return STK_MEMORY;
    resize->dst_is_u8 = true;
    stk__resize_image(resize, &stk__kernels()->image, src, bytes);
    stk__kernels()->elementwise.convert[STK_U8][STK_F32](dst, bytes, NULL, NULL, n);
    return STK_OK;
}

static int resize_row(struct stk_rows *rows, int row, struct stk__picture from)
{
    const struct resize *call = rows->params;
    const struct state *state = rows->state;
    struct worker *worker = rows->thread;
    struct stk__picture size = { NULL, (int32_t)call->height, (int32_t)call->width, from.channels };
    struct axis across = { from.width, size.width, from.channels };
    struct axis down = { from.height, size.height, 0 };
    struct slot *x = get_slot(worker, worker->x, state->kind, across);
    struct slot *y = get_slot(worker, worker->y, state->kind, down);
    void *dst = stk__picture_put(rows, state->field, row, size);
    if (!x || !y || !dst)
        return STK_MEMORY;
    struct stk__resize resize = { .kind = state->kind,
                                  .channels = from.channels,
                                  .src_is_u8 = state->src_is_u8,
                                  .dst_is_u8 = state->dst_is_u8,
                                  .x = &x->taps,
                                  .y = &y->taps,
                                  .lerp_x = &x->row,
                                  .affine = state->affine.period ? &state->affine : NULL };
    if (state->kind == STK__NEAREST && state->src_is_u8 && !state->dst_is_u8)
        return nearest_to_floats(rows, &resize, from.data, dst);
    if (!get_rows(worker, &resize))
        return STK_MEMORY;
    stk__resize_image(&resize, &stk__kernels()->image, from.data, dst);
    return STK_OK;
}

static int take_affine(const void *call, const void *given, struct stk_arena *arena,
                       const struct stk_affine *affine, void **new_state)
{
    const struct state *state = given;
    (void)call;
    if (affine->field != state->field || state->kind == STK__NEAREST || state->dst_is_u8)
        return STK_OK;
    struct state *fused = stk_arena_alloc(arena, sizeof *fused);
    void *memory = stk_arena_alloc(arena, stk__affine_bytes(affine->channels));
    if (!fused || !memory)
        return STK_MEMORY;
    *fused = *state;
    stk__affine_init(&fused->affine, affine->mul, affine->add, affine->channels, memory);
    *new_state = fused;
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__picture from = stk__picture_get(rows, state->field, i);
        if (!is_possible(rows, i, from))
            continue;
        int code = resize_row(rows, i, from);
        if (code)
            return code;
    }
    return STK_OK;
}

static const char doc[] =
    "Resizes uint8 or float32 images to height x width with the results of tf.image.resize in\n"
    "TensorFlow 2, bit for bit on the CPU: pixel centres at halves, no antialiasing unless\n"
    "asked for, and float32 that is not rounded, from 0 to 255 for uint8. As there, nearest\n"
    "keeps the dtype and ignores antialias, and area always averages. dtype=keep gives uint8\n"
    "for uint8: the value plus 0.5 in float32, cut off and limited to 0..255. The result is the\n"
    "same on every processor.\n"
    "\n"
    "    files('*.jpg').decode().resize(224, 224).scale(1/255)\n"
    "    files('*.jpg').decode().resize(224, 224, antialias=true, dtype=keep)\n";

const struct stk_op stk__op_resize = {
    .decl = { "resize", 1, "Resize images as tf.image.resize does.", doc, params,
              sizeof(struct resize) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .take_affine = take_affine,
    .row = { .thread_open = thread_open, .thread_close = thread_close, .run = run },
};
