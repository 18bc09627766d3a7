/* SPDX-License-Identifier: Apache-2.0 */
/* resize_rows.c: an image row by row.
 *
 *     pick    source row ─pick─▶
 *     lerp    source rows ─lerp_x─▶ two rows of floats ─lerp_y─▶, or at once ─lerp_line─▶, two
 *             output rows at a time ─lerp_pair─▶
 *     sum xy  source rows ─sum_x─▶ rows of floats ─sum_y─▶ (─mul─▶)
 *     sum yx  source rows ─sum_y─▶ a row of floats ─sum_x─▶
 *     fixed   as sum xy and sum yx, with integers, and bytes between
 *     blend   source rows ─blend_x─▶ two rows of int16 ─blend_y─▶
 *     wide    source rows ─wide_x─▶ rows of int32 ─wide_y─▶
 *     halve   two source rows ─halve─▶
 *     block   source rows, summed as integers
 *
 * Order and arithmetic are the library's, and with them every rounding. Taps of neighbouring
 * output rows are neighbouring source rows, so a ring of as many rows as an output row may need is
 * all that is ever used again: a source row goes through its x kernel once. The last arrow ends in
 * the destination, or in a row that finish.c carries there.
 */
#include "kernel/resize_rows.h"
#include "base/cancel.h"

#include <string.h>

struct pass {
    const struct stk__resize *resize;
    const struct stk__kernels *kernels;
    const uint8_t *src;
    struct stk__target dst;
    int n;               /* values of an output row as the y kernels make it */
    size_t row_bytes;    /* of a row of the ring */
    int32_t *kept;       /* [span] which source row lies in each place of the ring */
    const void **rows;   /* [span] the rows an output row is made of */
    uint8_t *ring;       /* [span] rows */
    void *sum;           /* of source rows */
    void *result;        /* an output row on its way */
    void *more, *finish; /* work space */
};

/* ---- work space ---- */

static size_t align_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int channels_of(const struct stk__resize *resize)
{
    return resize->finish->channels;
}

static int n_columns(const struct stk__resize *resize)
{
    return resize->x->taps.n;
}

static size_t ring_row_bytes(const struct stk__resize *resize)
{
    size_t n = (size_t)n_columns(resize) * (size_t)channels_of(resize);
    switch (resize->route->path) {
    case STK__LERP:
    case STK__SUM_XY:
    case STK__WIDE:
        return align_up(n * 4);
    case STK__BLEND:
        return align_up(n * 2);
    case STK__FIXED_XY:
        return align_up(n);
    default:
        return 0;
    }
}

static bool is_yx(const struct stk__route *route)
{
    return route->path == STK__SUM_YX || route->path == STK__FIXED_YX;
}

/* Hands out pieces of the work space, or with NULL only counts them. */
static size_t lay_out(struct pass *pass, uint8_t *work)
{
    const struct stk__resize *resize = pass->resize;
    size_t span = (size_t)resize->y->span, n = (size_t)pass->n, at = 0;
    size_t n_source = (size_t)resize->route->in.width * (size_t)channels_of(resize);
    const size_t bytes[] = {
        span * sizeof *pass->kept, span * sizeof *pass->rows,
        span * pass->row_bytes,    is_yx(resize->route) ? n_source * sizeof(float) : 0,
        n * sizeof(float),         n,
        stk__finish_bytes(pass->n)
    };
    void *piece[sizeof bytes / sizeof *bytes];
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        piece[i] = work ? work + at : NULL;
        at += align_up(bytes[i]);
    }
    pass->kept = piece[0];
    pass->rows = piece[1];
    pass->ring = piece[2];
    pass->sum = piece[3];
    pass->result = piece[4];
    pass->more = piece[5];
    pass->finish = piece[6];
    return at;
}

static struct pass pass_of(const struct stk__resize *resize)
{
    return (struct pass){ .resize = resize,
                          .n = n_columns(resize) * channels_of(resize),
                          .row_bytes = ring_row_bytes(resize) };
}

size_t stk__resize_bytes(const struct stk__resize *resize)
{
    struct pass pass = pass_of(resize);
    return lay_out(&pass, NULL);
}

/* ---- source rows ---- */

static const uint8_t *source(const struct pass *pass, int r)
{
    return pass->src + (size_t)r * pass->resize->src_row_bytes;
}

static void across(const struct pass *pass, const void *src, void *row)
{
    const struct stk__resample_kernels *kernels = &pass->kernels->resample;
    const struct stk__across *x = pass->resize->x;
    bool is_u8 = pass->resize->route->src_is_u8;
    switch (pass->resize->route->path) {
    case STK__LERP:
        if (is_u8)
            kernels->lerp_x_u8(row, src, &x->lerp);
        else
            kernels->lerp_x_f32(row, src, &x->lerp);
        break;
    case STK__SUM_XY:
        if (is_u8)
            kernels->sum_x_u8(row, src, &x->span);
        else
            kernels->sum_x_f32(row, src, &x->span);
        break;
    case STK__FIXED_XY:
        kernels->fixed_x_u8(row, src, &x->span);
        break;
    case STK__BLEND:
        kernels->blend_x_u8(row, src, &x->lerp);
        break;
    default:
        kernels->wide_x_u8(row, src, &x->span);
    }
}

/* The rows of output row y after their x pass. */
static int gather(const struct pass *pass, int y)
{
    const struct stk__taps *taps = pass->resize->y;
    for (int k = 0; k < taps->count[y]; k++) {
        int r = stk__taps_row(taps, y, k), place = r % taps->span;
        uint8_t *row = pass->ring + (size_t)place * pass->row_bytes;
        if (pass->kept[place] != r)
            across(pass, source(pass, r), row);
        pass->kept[place] = r;
        pass->rows[k] = row;
    }
    return taps->count[y];
}

/* The source rows themselves. */
static int gather_sources(const struct pass *pass, int y)
{
    const struct stk__taps *taps = pass->resize->y;
    for (int k = 0; k < taps->count[y]; k++)
        pass->rows[k] = source(pass, stk__taps_row(taps, y, k));
    return taps->count[y];
}

/* ---- output rows ---- */

static uint8_t *target_row(const struct pass *pass, int y)
{
    return pass->dst.data + (size_t)y * pass->dst.row_bytes;
}

/* Columns of a row of bytes that was made whole. */
static const void *choose_columns(const struct pass *pass, const uint8_t *row)
{
    struct stk__resize_wish columns = pass->resize->columns;
    int channels = channels_of(pass->resize);
    const uint8_t *from = row + (size_t)columns.from * (size_t)channels;
    if (!columns.is_reversed)
        return from;
    pass->kernels->image.reverse_pixels(pass->more, from, columns.n, channels);
    return pass->more;
}

/* Where row y may be made: its destination if nothing is left to do to it. */
static void *place_of(const struct pass *pass, int y)
{
    const struct stk__resize *resize = pass->resize;
    bool is_last = stk__finish_is_none(resize->finish, resize->route->dtype) &&
                   stk__route_is_uniform(resize->route);
    return is_last ? target_row(pass, y) : pass->result;
}

static void carry(const struct pass *pass, int y, const void *row)
{
    const struct stk__resize *resize = pass->resize;
    uint8_t *dst = target_row(pass, y);
    if (row == dst)
        return;
    if (!stk__route_is_uniform(resize->route))
        row = choose_columns(pass, row);
    struct stk__finish_pixels pixels = { row, resize->route->dtype, resize->columns.n };
    stk__finish_row(resize->finish, pass->kernels, pixels, pass->finish, dst,
                    pass->dst.plane_bytes);
}

/* The source rows of an output row made in one go. Going down by at least a source row each time,
 * only its bottom row can be of use to the next one. */
static void place_line(const struct pass *pass, int y, struct stk__lerp_line *line)
{
    const struct stk__taps *taps = pass->resize->y;
    int top = stk__taps_row(taps, y, 0), bottom = stk__taps_row(taps, y, taps->count[y] - 1);
    line->top = *pass->kept == top ? NULL : source(pass, top);
    line->bottom = source(pass, bottom);
    line->ahead = source(pass, y + 1 < taps->n ? stk__taps_row(taps, y + 1, 0) : bottom);
    line->weight = taps->weight[2 * y + 1];
    line->kept = (float *)(void *)pass->ring;
    line->keeps_bottom = y + 1 < taps->n && stk__taps_row(taps, y + 1, 0) == bottom;
    *pass->kept = line->keeps_bottom ? bottom : -1;
}

/* An output row from rows that are kept, as many output rows lie between the same two. */
static void lerp_kept(const struct pass *pass, int y, const struct stk__lerp_line *line)
{
    const struct stk__resample_kernels *kernels = &pass->kernels->resample;
    int n_rows = gather(pass, y), n = pass->n;
    const float *const rows[2] = { pass->rows[0], pass->rows[n_rows - 1] };
    float weight = pass->resize->y->weight[2 * y + 1];
    if (line->affine)
        kernels->lerp_y_affine(line->dst, rows, weight, n, line->affine, line->is_far);
    else if (line->is_rounded)
        kernels->lerp_y_round(line->dst, rows[0], rows[1], weight, n);
    else
        kernels->lerp_y_f32(line->dst, rows[0], rows[1], weight, n);
}

/* Where an output row goes; rounding or multiplying are part of making it where that is all. */
static struct stk__lerp_line lerp_line_of(const struct pass *pass, int y)
{
    const struct stk__finish *finish = pass->resize->finish;
    bool to_floats = finish->affine && !finish->rounding && finish->dtype == STK_F32;
    bool to_bytes = !finish->affine && finish->rounding == STK__ROUND_UP &&
                    finish->dtype == STK_U8 && pass->resize->route->src_is_u8;
    bool is_last = !finish->is_planar && (to_floats || to_bytes);
    void *dst = is_last ? target_row(pass, y) : place_of(pass, y);
    return (struct stk__lerp_line){ .dst = dst,
                                    .affine = is_last ? finish->affine : NULL,
                                    .is_rounded = is_last && to_bytes,
                                    .is_far = is_last && to_floats && pass->dst.is_far &&
                                              (uintptr_t)dst % 64 == 0 };
}

/* True if output rows are made of source rows of bytes, in one go. */
static bool is_in_one_go(const struct stk__route *route)
{
    return route->path == STK__LERP && route->src_is_u8 && route->in.height >= route->out.height;
}

static void *lerp_row(const struct pass *pass, int y)
{
    struct stk__lerp_line line = lerp_line_of(pass, y);
    if (is_in_one_go(pass->resize->route)) {
        place_line(pass, y, &line);
        pass->kernels->resample.lerp_line_u8(&line, &pass->resize->x->lerp);
    } else {
        lerp_kept(pass, y, &line);
    }
    return line.dst;
}

/* Output rows y and y + 1 at once, if both are made where they are delivered. */
static bool lerp_pair(const struct pass *pass, int y)
{
    if (!is_in_one_go(pass->resize->route) || y + 1 >= pass->resize->y->n)
        return false;
    struct stk__lerp_line lines[2] = { lerp_line_of(pass, y), lerp_line_of(pass, y + 1) };
    if (lines[0].dst != target_row(pass, y))
        return false;
    place_line(pass, y, &lines[0]);
    place_line(pass, y + 1, &lines[1]);
    pass->kernels->resample.lerp_pair_u8(lines, &pass->resize->x->lerp);
    return true;
}

static void *sum_xy_row(const struct pass *pass, int y)
{
    const struct stk__route *route = pass->resize->route;
    const struct stk__taps *taps = pass->resize->y;
    float *row = place_of(pass, y);
    int n_rows = gather(pass, y);
    pass->kernels->resample.sum_y_f32(row, (const float *const *)pass->rows,
                                      taps->weight + (int64_t)y * taps->span, n_rows, pass->n);
    if (route->rule == STK__TF_AREA) {
        float scale_x = (float)route->in.width / (float)route->out.width;
        float scale_y = (float)route->in.height / (float)route->out.height;
        pass->kernels->image.mul_f32(row, row, (float)(1.0 / (scale_y * scale_x)), pass->n);
    }
    return row;
}

static void *sum_yx_row(const struct pass *pass, int y)
{
    const struct stk__resample_kernels *kernels = &pass->kernels->resample;
    const struct stk__route *route = pass->resize->route;
    const struct stk__taps *taps = pass->resize->y;
    const float *weight = taps->weight + (int64_t)y * taps->span;
    int n_rows = gather_sources(pass, y), n = route->in.width * channels_of(pass->resize);
    float *row = place_of(pass, y);
    if (route->src_is_u8)
        kernels->sum_y_u8(pass->sum, (const uint8_t *const *)pass->rows, weight, n_rows, n);
    else
        kernels->sum_y_f32(pass->sum, (const float *const *)pass->rows, weight, n_rows, n);
    kernels->sum_x_f32(row, pass->sum, &pass->resize->x->span);
    return row;
}

static void *fixed_yx_row(const struct pass *pass, int y)
{
    const struct stk__resample_kernels *kernels = &pass->kernels->resample;
    const struct stk__taps *taps = pass->resize->y;
    int n_rows = gather_sources(pass, y);
    int n = pass->resize->route->in.width * channels_of(pass->resize);
    uint8_t *row = place_of(pass, y);
    kernels->fixed_y_u8(pass->sum, (const uint8_t *const *)pass->rows,
                        taps->fixed + (int64_t)y * taps->span, n_rows, n);
    kernels->fixed_x_u8(row, pass->sum, &pass->resize->x->span);
    return row;
}

/* Paths whose result is bytes. */
static void *integer_row(const struct pass *pass, int y)
{
    const struct stk__resample_kernels *kernels = &pass->kernels->resample;
    const struct stk__taps *taps = pass->resize->y;
    const int32_t *weight = taps->fixed + (int64_t)y * taps->span;
    int n_rows = gather(pass, y);
    uint8_t *row = place_of(pass, y);
    if (pass->resize->route->path == STK__FIXED_XY) {
        kernels->fixed_y_u8(row, (const uint8_t *const *)pass->rows, weight, n_rows, pass->n);
    } else if (pass->resize->route->path == STK__BLEND) {
        kernels->blend_y_i16(row, pass->rows[0], pass->rows[1], weight, pass->n);
    } else {
        /* OpenCV's vector loop for cubic takes eight values at a time, as floats. */
        int n_float = n_rows == 4 ? pass->n / 8 * 8 : 0;
        kernels->wide_y_i32(row, (const int32_t *const *)pass->rows, weight, n_rows, pass->n,
                            n_float);
    }
    return row;
}

static void *pick_row(const struct pass *pass, int y)
{
    const struct stk__resize *resize = pass->resize;
    int pixel_bytes = channels_of(resize) * (resize->route->src_is_u8 ? 1 : 4);
    uint8_t *row = place_of(pass, y);
    pass->kernels->image.pick_pixels(row, source(pass, resize->y->first[y]), resize->x->taps.first,
                                     n_columns(resize), pixel_bytes);
    return row;
}

/* The sum of a block of pixels for the channel src begins with. */
static int32_t block_sum(const struct pass *pass, const uint8_t *src, int across_n, int down_n)
{
    int channels = channels_of(pass->resize);
    int32_t sum = 0;
    for (int r = 0; r < down_n; r++, src += pass->resize->src_row_bytes)
        for (int k = 0; k < across_n; k++)
            sum += src[k * channels];
    return sum;
}

static void *block_row(const struct pass *pass, int y)
{
    const struct stk__route *route = pass->resize->route;
    int across_n = route->in.width / route->out.width;
    int down_n = route->in.height / route->out.height;
    int channels = channels_of(pass->resize);
    const uint8_t *src = source(pass, pass->resize->y->first[y]);
    uint8_t *row = pass->result;
    if (route->path == STK__HALVE) {
        pass->kernels->resample.halve_u8(row, src, src + pass->resize->src_row_bytes,
                                         n_columns(pass->resize), channels);
        return row;
    }
    float *means = pass->finish, per_area = 1.0f / (float)(across_n * down_n);
    for (int i = 0; i < pass->n; i++) {
        const uint8_t *at = src + i / channels * across_n * channels + i % channels;
        means[i] = (float)block_sum(pass, at, across_n, down_n) * per_area;
    }
    pass->kernels->image.round_even_u8(row, means, pass->n);
    return row;
}

static void *make_row(const struct pass *pass, int y)
{
    switch (pass->resize->route->path) {
    case STK__PICK:
        return pick_row(pass, y);
    case STK__LERP:
        return lerp_row(pass, y);
    case STK__SUM_XY:
        return sum_xy_row(pass, y);
    case STK__SUM_YX:
        return sum_yx_row(pass, y);
    case STK__FIXED_YX:
        return fixed_yx_row(pass, y);
    case STK__HALVE:
    case STK__BLOCK:
        return block_row(pass, y);
    default:
        return integer_row(pass, y);
    }
}

void stk__resize_image(const struct stk__resize *resize, const struct stk__kernels *kernels,
                       const void *src, struct stk__target dst)
{
    struct pass pass = pass_of(resize);
    pass.kernels = kernels;
    pass.src = src;
    pass.dst = dst;
    lay_out(&pass, resize->work);
    memset(pass.kept, -1, (size_t)resize->y->span * sizeof *pass.kept);
    for (int y = 0; y < resize->y->n && !stk__cancel_is_asked(); y++)
        if (lerp_pair(&pass, y))
            y++;
        else
            carry(&pass, y, make_row(&pass, y));
    if (dst.is_far)
        kernels->resample.settle();
}
