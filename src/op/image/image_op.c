/* SPDX-License-Identifier: Apache-2.0 */
/* image_op.c: picking image fields, reading and placing their rows. */
#include "op/image/image_op.h"

#include "base/hash.h"

#include <string.h>

bool stk__is_image(const struct stk_field *field)
{
    return (field->kind == STK_FIXED || field->kind == STK_SHAPED) && field->rank == 3;
}

bool stk__is_image_u8_f32(const struct stk_field *field)
{
    return stk__is_image(field) && (field->dtype == STK_U8 || field->dtype == STK_F32);
}

int stk__image_infer(struct stk_infer *inf, const char *name,
                     bool (*fits)(const struct stk_field *), int *field, struct stk_error *err)
{
    struct stk_error local;
    const char *what = "an image [height, width, channels]";
    if (fits == stk__is_image_u8_f32)
        what = "an image [height, width, channels] of uint8 or float32";
    *field = stk_infer_pick(inf, name, fits, what, err ? err : &local);
    if (*field < 0)
        return err ? err->code : local.code;
    stk_infer_pass(inf);
    inf->from[*field] = -1;
    inf->reads = UINT32_C(1) << *field;
    inf->is_optional = true;
    return STK_OK;
}

void stk__image_set_size(struct stk_field *field, int64_t height, int64_t width)
{
    field->shape[0] = height;
    field->shape[1] = width;
    field->kind = height >= 0 && width >= 0 && field->shape[2] >= 0 ? STK_FIXED : STK_SHAPED;
}

struct stk__picture stk__picture_get(const struct stk_rows *rows, int field, int row)
{
    const struct stk_column *column = &rows->in[field];
    if (rows->in_type->field[field].kind == STK_SHAPED) {
        const int32_t *dims = column->dims + (size_t)row * 3;
        return (struct stk__picture){ column->span[row].data, dims[0], dims[1], dims[2] };
    }
    const int64_t *shape = rows->in_type->field[field].shape;
    return (struct stk__picture){ column->data + (size_t)row * column->stride, (int32_t)shape[0],
                                  (int32_t)shape[1], (int32_t)shape[2] };
}

static struct stk_rows asking_of(const struct stk__image_part *part, const struct stk_rows *rows,
                                 struct stk__rows_inside *inside)
{
    struct stk_rows asking = *rows;
    *inside = *rows->inside;
    inside->seed = stk__hash_mix(inside->run_seed, part->ordinal);
    asking.params = part->params;
    asking.state = part->state;
    asking.inside = inside;
    return asking;
}

double stk__part_shrink(const struct stk__image_part *part, const struct stk_rows *rows, int row,
                        const int32_t size[2])
{
    struct stk__rows_inside inside;
    const struct stk_rows asking = asking_of(part, rows, &inside);
    return part->shrink(&asking, row, size);
}

int stk__part_choose(const struct stk__image_part *part, const struct stk_rows *rows, int row,
                     const int32_t size[2], struct stk__image_region *out, struct stk_error *err)
{
    struct stk__rows_inside inside;
    const struct stk_rows asking = asking_of(part, rows, &inside);
    return part->choose(&asking, row, size, out, err);
}

void *stk__picture_put(struct stk_rows *rows, int field, int row, struct stk__picture size)
{
    struct stk_column *column = &rows->out[field];
    if (rows->out_type->field[field].kind == STK_FIXED)
        return column->data + (size_t)row * column->stride;
    size_t bytes = (size_t)size.height * (size_t)size.width * (size_t)size.channels *
                   stk_dtype_bytes(rows->out_type->field[field].dtype);
    uint8_t *data = stk_rows_alloc(rows, bytes);
    int32_t *dims = column->dims + (size_t)row * 3;
    column->span[row] = (struct stk_span){ .data = data, .bytes = data ? bytes : 0 };
    dims[0] = size.height;
    dims[1] = size.width;
    dims[2] = size.channels;
    return data;
}

void stk__picture_keep(struct stk_rows *rows, int field, int row)
{
    const struct stk_column *in = &rows->in[field];
    struct stk_column *out = &rows->out[field];
    if (rows->out_type->field[field].kind == STK_FIXED) {
        memcpy(out->data + (size_t)row * out->stride, in->data + (size_t)row * in->stride,
               out->stride);
        return;
    }
    out->span[row] = (struct stk_span){ .data = in->span[row].data, .bytes = in->span[row].bytes };
    memcpy(out->dims + (size_t)row * 3, in->dims + (size_t)row * 3, 3 * sizeof *out->dims);
}
