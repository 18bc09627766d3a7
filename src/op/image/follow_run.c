/* SPDX-License-Identifier: Apache-2.0 */
/* follow_run.c: rows of masks, boxes, keypoints and labels after what happened to their image. */
#include "op/image/follow.h"

#include "op/dtype_value.h"

#include <math.h>
#include <string.h>

/* ---- values of a row ---- */

/* A row of a field: its values, and its dimensions where they differ between rows. */
struct values {
    const uint8_t *data;
    size_t n; /* values, not bytes */
    int32_t dims[STK_MAX_RANK];
};

static struct values get_values(const struct stk_rows *rows, int field, int row)
{
    const struct stk_field *type = &rows->in_type->field[field];
    const struct stk_column *column = &rows->in[field];
    size_t value_bytes = stk_dtype_bytes(type->dtype), item = 1;
    struct values values = { .n = 1 };
    for (int d = 0; d < type->rank; d++) {
        bool is_given = type->kind == STK_SHAPED;
        values.dims[d] =
            is_given ? column->dims[(size_t)row * type->rank + (size_t)d] : (int32_t)type->shape[d];
        if (d)
            item *= (size_t)values.dims[d];
    }
    if (type->kind == STK_FIXED) {
        values.data = column->data + (size_t)row * column->stride;
    } else {
        values.data = column->span[row].data;
        if (type->kind == STK_RAGGED)
            values.dims[0] = item ? (int32_t)(column->span[row].bytes / (item * value_bytes)) : 0;
    }
    values.n = (size_t)values.dims[0] * item;
    return values;
}

/* Where a row's values of these dimensions go; NULL when out of memory. */
static uint8_t *put_values(struct stk_rows *rows, int field, int row, const int32_t *dims)
{
    const struct stk_field *type = &rows->out_type->field[field];
    struct stk_column *column = &rows->out[field];
    if (type->kind == STK_FIXED)
        return column->data + (size_t)row * column->stride;
    size_t bytes = stk_dtype_bytes(type->dtype);
    for (int d = 0; d < type->rank; d++)
        bytes *= (size_t)dims[d];
    uint8_t *data = stk_rows_alloc(rows, bytes);
    column->span[row] = (struct stk_span){ .data = data, .bytes = data ? bytes : 0 };
    if (type->kind == STK_SHAPED)
        memcpy(column->dims + (size_t)row * type->rank, dims, type->rank * sizeof *dims);
    return data;
}

/* ---- masks ---- */

static int follow_mask(struct stk_rows *rows, int row, const struct stk__follower *item,
                       const struct stk__followers *followers, const struct stk__geometry *g)
{
    const struct stk_field *type = &rows->in_type->field[item->field];
    struct values from = get_values(rows, item->field, row);
    int32_t channels = type->rank == 3 ? from.dims[2] : 1;
    if (from.dims[0] != g->src_height || from.dims[1] != g->src_width) {
        stk_rows_fail(rows, row, STK_DATA,
                      "the mask '%s' is %d x %d pixels (height x width), its image %d x %d",
                      type->name, from.dims[0], from.dims[1], g->src_height, g->src_width);
        return STK_OK;
    }
    size_t value_bytes = stk_dtype_bytes(type->dtype);
    const int32_t dims[3] = { g->height, g->width, channels };
    uint8_t *dst = put_values(rows, item->field, row, dims);
    uint8_t *fill = stk_rows_alloc(rows, (size_t)channels * value_bytes);
    if (!dst || !fill)
        return STK_MEMORY;
    for (int c = 0; c < channels; c++)
        stk__dtype_put(type->dtype, followers->mask_fill, fill + (size_t)c * value_bytes);
    struct stk__drawing drawing = { .src = from.data,
                                    .channels = channels,
                                    .value_bytes = (int)value_bytes,
                                    .mode = STK__WARP_NEAREST,
                                    .fill = fill };
    return stk__geometry_draw(rows, g, &drawing, dst);
}

/* ---- keypoints ---- */

static int follow_keypoints(struct stk_rows *rows, int row, const struct stk__follower *item,
                            const struct stk__geometry *g)
{
    int dtype = rows->in_type->field[item->field].dtype;
    struct values from = get_values(rows, item->field, row);
    size_t value_bytes = stk_dtype_bytes(dtype);
    uint8_t *dst = put_values(rows, item->field, row, from.dims);
    if (!dst)
        return STK_MEMORY;
    double from_x = item->is_normalized ? g->src_width : 1,
           to_x = item->is_normalized ? g->width : 1;
    double from_y = item->is_normalized ? g->src_height : 1;
    double to_y = item->is_normalized ? g->height : 1;
    for (size_t i = 0; i + 1 < from.n; i += 2) {
        double x = stk__dtype_get(dtype, from.data + i * value_bytes) * from_x;
        double y = stk__dtype_get(dtype, from.data + (i + 1) * value_bytes) * from_y;
        stk__geometry_point(g, &x, &y);
        stk__dtype_put(dtype, (x + g->keypoint_x) / to_x, dst + i * value_bytes);
        stk__dtype_put(dtype, (y + g->keypoint_y) / to_y, dst + (i + 1) * value_bytes);
    }
    return STK_OK;
}

/* ---- boxes ---- */

struct box {
    double left, top, right, bottom;
};

static double area(struct box b)
{
    double width = b.right - b.left, height = b.bottom - b.top;
    return width > 0 && height > 0 ? width * height : 0;
}

/* From and to the field's four numbers, in pixels. */
static struct box read_box(const double v[4], int kind)
{
    if (kind == STK__FOLLOW_XYXY)
        return (struct box){ v[0], v[1], v[2], v[3] };
    if (kind == STK__FOLLOW_XYWH)
        return (struct box){ v[0], v[1], v[0] + v[2], v[1] + v[3] };
    return (struct box){ v[0] - 0.5 * v[2], v[1] - 0.5 * v[3], v[0] + 0.5 * v[2],
                         v[1] + 0.5 * v[3] };
}

static void write_box(struct box b, int kind, double v[4])
{
    double width = b.right - b.left, height = b.bottom - b.top;
    v[0] = kind == STK__FOLLOW_CXCYWH ? b.left + 0.5 * width : b.left;
    v[1] = kind == STK__FOLLOW_CXCYWH ? b.top + 0.5 * height : b.top;
    v[2] = kind == STK__FOLLOW_XYXY ? b.right : width;
    v[3] = kind == STK__FOLLOW_XYXY ? b.bottom : height;
}

/* The box around a box's four corners after the map. */
static struct box map_box(const struct stk__geometry *g, struct box b)
{
    const double corner[4][2] = {
        { b.left, b.top }, { b.right, b.top }, { b.right, b.bottom }, { b.left, b.bottom }
    };
    struct box out = { 0 };
    for (int i = 0; i < 4; i++) {
        double x = corner[i][0], y = corner[i][1];
        stk__geometry_point(g, &x, &y);
        out.left = !i || x < out.left ? x : out.left;
        out.top = !i || y < out.top ? y : out.top;
        out.right = !i || x > out.right ? x : out.right;
        out.bottom = !i || y > out.bottom ? y : out.bottom;
    }
    return out;
}

static struct box clip(struct box b, double width, double height)
{
    return (struct box){ fmin(fmax(b.left, 0), width), fmin(fmax(b.top, 0), height),
                         fmin(fmax(b.right, 0), width), fmin(fmax(b.bottom, 0), height) };
}

/* One box from src to dst; true if enough of it is left. */
static bool follow_box(const struct stk__geometry *g, const struct stk__follower *item, int dtype,
                       double visibility, const uint8_t *src, uint8_t *dst)
{
    size_t value_bytes = stk_dtype_bytes(dtype);
    const double from[2] = { item->is_normalized ? g->src_width : 1,
                             item->is_normalized ? g->src_height : 1 };
    const double to[2] = { item->is_normalized ? g->width : 1,
                           item->is_normalized ? g->height : 1 };
    double v[4];
    for (size_t i = 0; i < 4; i++)
        v[i] = stk__dtype_get(dtype, src + i * value_bytes) * from[i % 2];
    struct box mapped = map_box(g, read_box(v, item->kind));
    struct box clipped = clip(mapped, g->width, g->height);
    write_box(clipped, item->kind, v);
    for (size_t i = 0; i < 4; i++)
        stk__dtype_put(dtype, v[i] / to[i % 2], dst + i * value_bytes);
    double left = area(clipped);
    return visibility <= 0 || (left > 0 && left >= visibility * area(mapped));
}

/* Boxes that are kept, closed up; `is_kept` has room for a flag for each. */
static int follow_boxes(struct stk_rows *rows, int row, const struct stk__follower *item,
                        double visibility, const struct stk__geometry *g, uint8_t *is_kept)
{
    const struct stk_field *type = &rows->in_type->field[item->field];
    struct values from = get_values(rows, item->field, row);
    size_t box_bytes = 4 * stk_dtype_bytes(type->dtype), n = 0;
    uint8_t *dst = put_values(rows, item->field, row, from.dims);
    if (!dst)
        return STK_MEMORY;
    for (size_t i = 0; i < from.n / 4; i++) {
        bool keeps = follow_box(g, item, type->dtype, visibility, from.data + i * box_bytes,
                                dst + n * box_bytes);
        is_kept[i] = keeps;
        n += keeps;
    }
    if (rows->out_type->field[item->field].kind == STK_RAGGED)
        rows->out[item->field].span[row].bytes = n * box_bytes;
    return STK_OK;
}

static int follow_labels(struct stk_rows *rows, int row, const struct stk__follower *item,
                         const uint8_t *is_kept, size_t n_boxes)
{
    const struct stk_field *type = &rows->in_type->field[item->field];
    struct values from = get_values(rows, item->field, row);
    if ((size_t)from.dims[0] != n_boxes) {
        stk_rows_fail(rows, row, STK_DATA, "there are %zu boxes, but %d items in '%s'", n_boxes,
                      from.dims[0], type->name);
        return STK_OK;
    }
    size_t item_bytes = n_boxes ? from.n / n_boxes * stk_dtype_bytes(type->dtype) : 0, n = 0;
    uint8_t *dst = put_values(rows, item->field, row, from.dims);
    if (!dst)
        return STK_MEMORY;
    for (size_t i = 0; i < n_boxes; i++) {
        if (is_kept[i])
            memcpy(dst + n++ * item_bytes, from.data + i * item_bytes, item_bytes);
    }
    rows->out[item->field].span[row].bytes = n * item_bytes;
    return STK_OK;
}

/* ---- running ---- */

static int follow_one(struct stk_rows *rows, int row, const struct stk__followers *followers,
                      const struct stk__follower *item, const struct stk__geometry *g)
{
    if (item->kind == STK__FOLLOW_MASK)
        return follow_mask(rows, row, item, followers, g);
    if (item->kind == STK__FOLLOW_KEYPOINTS)
        return follow_keypoints(rows, row, item, g);
    if (item->kind == STK__FOLLOW_LABELS)
        return STK_OK; /* with its boxes */
    size_t n_boxes = get_values(rows, item->field, row).n / 4;
    uint8_t *is_kept = stk_rows_alloc(rows, n_boxes + 1);
    if (!is_kept)
        return STK_MEMORY;
    int rc = follow_boxes(rows, row, item, followers->visibility, g, is_kept);
    for (int i = 0; i < followers->n && !rc && followers->visibility > 0; i++)
        if (followers->item[i].kind == STK__FOLLOW_LABELS && rows->mask[row] == STK_LIVE)
            rc = follow_labels(rows, row, &followers->item[i], is_kept, n_boxes);
    return rc;
}

int stk__follow_run(struct stk_rows *rows, int row, const struct stk__followers *followers,
                    const struct stk__geometry *g)
{
    if (followers->n && g->is_singular)
        stk_rows_fail(rows, row, STK_DATA,
                      "the map of the image has no inverse, so no fields can follow");
    for (int i = 0; i < followers->n && rows->mask[row] == STK_LIVE; i++) {
        int rc = follow_one(rows, row, followers, &followers->item[i], g);
        if (rc)
            return rc;
    }
    return STK_OK;
}
