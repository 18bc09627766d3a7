/* SPDX-License-Identifier: Apache-2.0 */
/* cut.c: copying windows, and what lies around the image. */
#include "op/image/cut.h"

#include "op/dtype_value.h"

#include <string.h>

/* ---- types ---- */

static int take_fill(struct stk_infer *inf, const struct stk_numbers *fill, struct stk__cut *cut,
                     struct stk_error *err)
{
    static const double zero = 0;
    const struct stk_field *field = &inf->out->field[cut->field];
    cut->n_fill = fill->n ? fill->n : 1;
    if (cut->n_fill > 1 && field->shape[2] >= 0 && cut->n_fill != field->shape[2])
        return stk_fail(err, STK_VALUE, "fill has %d values, but images have %lld channels",
                        cut->n_fill, (long long)field->shape[2]);
    uint8_t *values = stk_arena_alloc(inf->arena, (size_t)cut->n_fill * cut->value_bytes);
    if (!values)
        return stk_fail(err, STK_MEMORY, "out of memory");
    const double *numbers = fill->n ? fill->item : &zero;
    for (int i = 0; i < cut->n_fill; i++)
        stk__dtype_put(field->dtype, numbers[i], values + (size_t)i * cut->value_bytes);
    cut->fill = values;
    return STK_OK;
}

int stk__cut_infer(struct stk_infer *inf, const struct stk__cut_words *words, const int64_t size[2],
                   struct stk__cut *cut, struct stk_error *err)
{
    const struct stk_numbers *fill = &words->fill;
    const char *image = stk__follow_image(inf, words->field, &words->follow, stk__is_image);
    int code = stk__image_infer(inf, image, stk__is_image, &cut->field, err);
    if (code)
        return code;
    struct stk_field *out = &inf->out->field[cut->field];
    cut->value_bytes = stk_dtype_bytes(out->dtype);
    stk__image_set_size(out, size[0], size[1]);
    inf->state = cut;
    code = take_fill(inf, fill, cut, err);
    return code ? code : stk__follow_infer(inf, &words->follow, cut->field, &cut->followers, err);
}

int stk__cut_check(const struct stk_infer *inf, const struct stk__cut *cut, const int64_t least[2],
                   struct stk_error *err)
{
    const int64_t *shape = inf->in[0]->field[cut->field].shape;
    if ((shape[0] < 0 || shape[0] >= least[0]) && (shape[1] < 0 || shape[1] >= least[1]))
        return STK_OK;
    return stk_fail(err, STK_VALUE,
                    "images of %lld x %lld (height x width; -1: any) are smaller than "
                    "the crop of %lld x %lld",
                    (long long)shape[0], (long long)shape[1], (long long)least[0],
                    (long long)least[1]);
}

int stk__cut_too_small(const int32_t size[2], const int64_t least[2], struct stk_error *err)
{
    return stk_fail(err, STK_DATA,
                    "the image is %d x %d pixels (height x width), smaller than the crop of "
                    "%lld x %lld; resize it first",
                    size[0], size[1], (long long)least[0], (long long)least[1]);
}

/* ---- what lies outside ---- */

static int64_t modulo(int64_t a, int64_t n)
{
    int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

/* The pixel of n that stands for position p; -1: none does. */
static int64_t pixel_at(enum stk__padding padding, int64_t p, int64_t n)
{
    if (p >= 0 && p < n)
        return p;
    if (padding == STK__PAD_CONSTANT || n == 0)
        return -1;
    if (padding == STK__PAD_EDGE || n == 1)
        return p < 0 ? 0 : n - 1;
    int64_t twice = padding == STK__PAD_REFLECT ? 2 * n - 2 : 2 * n, at = modulo(p, twice);
    if (at < n)
        return at;
    return twice - at - (padding == STK__PAD_SYMMETRIC);
}

/* ---- one image ---- */

/* An image on its way into a window. */
struct job {
    const struct stk__cut *cut;
    struct stk__picture from;
    struct stk__image_region window;
    size_t pixel_bytes;
};

static void put_fill(const struct job *job, uint8_t *dst)
{
    size_t bytes = job->cut->value_bytes;
    for (int32_t c = 0; c < job->from.channels; c++)
        memcpy(dst + (size_t)c * bytes, job->cut->fill + (job->cut->n_fill > 1 ? c : 0) * bytes,
               bytes);
}

/* Columns first to end of the window from a row of the image, one by one. */
static void put_outside(const struct job *job, const uint8_t *row, int64_t first, int64_t end,
                        uint8_t *dst)
{
    for (int64_t x = first; x < end; x++) {
        int64_t from = pixel_at(job->cut->padding, job->window.left + x, job->from.width);
        uint8_t *to = dst + (size_t)x * job->pixel_bytes;
        if (from < 0)
            put_fill(job, to);
        else
            memcpy(to, row + (size_t)from * job->pixel_bytes, job->pixel_bytes);
    }
}

static int64_t between(int64_t low, int64_t value, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void copy_window(const struct job *job, uint8_t *dst)
{
    const struct stk__image_region *window = &job->window;
    size_t in_bytes = (size_t)job->from.width * job->pixel_bytes;
    size_t out_bytes = (size_t)window->width * job->pixel_bytes;
    int64_t first = between(0, -(int64_t)window->left, window->width);
    int64_t end = between(first, (int64_t)job->from.width - window->left, window->width);
    for (int32_t y = 0; y < window->height; y++, dst += out_bytes) {
        int64_t from_y = pixel_at(job->cut->padding, (int64_t)window->top + y, job->from.height);
        if (from_y < 0) {
            for (int64_t x = 0; x < window->width; x++)
                put_fill(job, dst + (size_t)x * job->pixel_bytes);
            continue;
        }
        const uint8_t *row = job->from.data + (size_t)from_y * in_bytes;
        put_outside(job, row, 0, first, dst);
        if (end > first)
            memcpy(dst + (size_t)first * job->pixel_bytes,
                   row + (size_t)(window->left + first) * job->pixel_bytes,
                   (size_t)(end - first) * job->pixel_bytes);
        put_outside(job, row, end, window->width, dst);
    }
}

/* ---- running ---- */

/* The window of a row; false: marked bad. */
static bool choose(struct stk_rows *rows, int row, struct job *job)
{
    const struct stk__cut *cut = job->cut;
    const int32_t size[2] = { job->from.height, job->from.width };
    struct stk_error err;
    job->window = (struct stk__image_region){ 0, 0, size[0], size[1] };
    if (!cut->is_done && cut->choose(rows, row, size, &job->window, &err))
        stk_rows_fail(rows, row, err.code, "%s", err.text);
    else if (cut->n_fill > 1 && cut->n_fill != job->from.channels)
        stk_rows_fail(rows, row, STK_DATA, "fill has %d values, but the image has %d channels",
                      cut->n_fill, job->from.channels);
    else
        return true;
    return false;
}

/* Along one axis: n pixels of the image, of which the window takes some. */
static struct stk__axis_fit fit_axis(int32_t n, int32_t first, int32_t length)
{
    int32_t pad = (int32_t)between(0, -(int64_t)first, length);
    int32_t from = first + pad, n_kept = (int32_t)between(0, (int64_t)n - from, length - pad);
    return (struct stk__axis_fit){ .from = from,
                                   .n_from = n_kept,
                                   .n_scaled = n_kept,
                                   .n_kept = n_kept,
                                   .pad = pad,
                                   .n = length };
}

static int follow(struct stk_rows *rows, int row, const struct job *job)
{
    const struct stk__image_region *window = &job->window;
    struct stk__geometry g;
    stk__geometry_identity(&g, job->from.height, job->from.width);
    g.x = fit_axis(job->from.width, window->left, window->width);
    g.y = fit_axis(job->from.height, window->top, window->height);
    stk__geometry_fit(&g);
    return stk__follow_run(rows, row, &job->cut->followers, &g);
}

int stk__cut_run(struct stk_rows *rows)
{
    const struct stk__cut *cut = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct job job = { .cut = cut, .from = stk__picture_get(rows, cut->field, i) };
        if (!choose(rows, i, &job))
            continue;
        struct stk__picture size = { NULL, job.window.height, job.window.width, job.from.channels };
        uint8_t *dst = stk__picture_put(rows, cut->field, i, size);
        if (!dst)
            return STK_MEMORY;
        job.pixel_bytes = (size_t)job.from.channels * cut->value_bytes;
        copy_window(&job, dst);
        int rc = cut->followers.n ? follow(rows, i, &job) : STK_OK;
        if (rc)
            return rc;
    }
    return STK_OK;
}

/* ---- for other ops ---- */

static struct stk__image_part part_of(const void *params, const struct stk__cut *cut)
{
    return (struct stk__image_part){
        .field = cut->field, .choose = cut->choose, .params = params, .state = cut
    };
}

void stk__cut_finish(const void *params, const struct stk__cut *cut, const int64_t least[2],
                     struct stk__op_finish *out)
{
    out->kind = STK__FINISH_CROP;
    out->field = cut->field;
    out->height = least[0];
    out->width = least[1];
    out->crop = part_of(params, cut);
}

int stk__cut_part(const void *params, const void *state, struct stk_arena *arena,
                  struct stk__image_part *out)
{
    const struct stk__cut *cut = state;
    if (cut->followers.n) /* they need the size of the image */
        return STK_OK;
    struct stk__cut *done = stk_arena_alloc(arena, sizeof *done);
    if (!done)
        return STK_MEMORY;
    *done = *cut;
    done->is_done = true;
    *out = part_of(params, cut);
    out->state_for_parts = done;
    return STK_OK;
}
