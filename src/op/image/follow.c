/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c: which fields follow an image, and what their types become. */
#include "op/image/follow.h"

#include "op/dtype_value.h"

#include <string.h>

static const char *const kind_names[] = { "mask", "keypoints", "xyxy", "xywh", "cxcywh", "labels" };
enum { N_KINDS = sizeof kind_names / sizeof *kind_names };

/* ---- what is asked for ---- */

static bool is_mask(const struct stk_field *field)
{
    bool is_array = field->kind == STK_FIXED || field->kind == STK_SHAPED;
    return is_array && (field->rank == 2 || field->rank == 3);
}

/* Lists of points or boxes: the last dimension says which. */
static bool is_list_of(const struct stk_field *field, int64_t width)
{
    bool is_number = field->dtype == STK_F32 || field->dtype == STK_F64 ||
                     field->dtype == STK_I32 || field->dtype == STK_I64;
    return is_number && field->kind != STK_BYTES && field->rank > 0 &&
           field->shape[field->rank - 1] == width;
}

static bool is_keypoints(const struct stk_field *field)
{
    return is_list_of(field, 2);
}

static bool is_boxes(const struct stk_field *field)
{
    return is_list_of(field, 4);
}

static bool is_labels(const struct stk_field *field)
{
    return field->kind != STK_BYTES && field->rank > 0;
}

static int find_kind(const char *text, struct stk__follower *out, struct stk_error *err)
{
    const char *suffix = strstr(text, "_normalized");
    size_t len = suffix ? (size_t)(suffix - text) : strlen(text);
    bool is_known = !suffix || !strcmp(suffix, "_normalized");
    for (int k = 0; k < N_KINDS && is_known; k++) {
        bool can_be = !suffix || (k != STK__FOLLOW_MASK && k != STK__FOLLOW_LABELS);
        if (can_be && strlen(kind_names[k]) == len && !strncmp(kind_names[k], text, len)) {
            out->kind = (uint8_t)k;
            out->is_normalized = suffix != NULL;
            return STK_OK;
        }
    }
    return stk_fail(err, STK_VALUE,
                    "a field cannot follow as '%s'; it can as mask, keypoints, xyxy, xywh, cxcywh "
                    "(the last four also with _normalized behind) or labels",
                    text);
}

static int find_field(struct stk_infer *inf, const char *name, int image, struct stk__follower *out,
                      struct stk_error *err)
{
    if (out->kind == STK__FOLLOW_MASK)
        out->field = stk_infer_pick(inf, name, is_mask, "a mask [height, width] or an image", err);
    else if (out->kind == STK__FOLLOW_KEYPOINTS)
        out->field = stk_infer_pick(inf, name, is_keypoints,
                                    "a list of points [n, 2] of int32, int64 or a float", err);
    else if (out->kind == STK__FOLLOW_LABELS)
        out->field = stk_infer_pick(inf, name, is_labels, "a list", err);
    else
        out->field = stk_infer_pick(inf, name, is_boxes,
                                    "a list of boxes [n, 4] of int32, int64 or a float", err);
    if (out->field == image)
        return stk_fail(err, STK_VALUE, "the field '%s' is the image itself", name);
    if (out->field >= 0 && inf->in[0]->field[out->field].flags & STK_FIELD_PACKED)
        return stk_fail(err, STK_TYPE, "the field '%s' is batched already; put batch behind", name);
    return out->field >= 0 ? STK_OK : err ? err->code : STK_TYPE;
}

/* ---- types ---- */

/* As large as the image. */
static int set_mask(const struct stk_field *image, double fill, struct stk_field *field,
                    struct stk_error *err)
{
    if (!stk__dtype_has(field->dtype, fill))
        return stk_fail(err, STK_VALUE, "mask_fill %g cannot be a value of '%s', which is %s", fill,
                        field->name, stk_dtype_name(field->dtype));
    field->shape[0] = image->shape[0];
    field->shape[1] = image->shape[1];
    field->kind = STK_FIXED;
    for (int d = 0; d < field->rank; d++)
        if (field->shape[d] < 0)
            field->kind = STK_SHAPED;
    return STK_OK;
}

/* A list that may get shorter. */
static int set_ragged(struct stk_field *field, struct stk_error *err)
{
    for (int d = 1; d < field->rank; d++)
        if (field->shape[d] < 0)
            return stk_fail(err, STK_TYPE,
                            "the shape of '%s' is not known behind the first dimension, so its "
                            "boxes cannot be dropped",
                            field->name);
    field->kind = STK_RAGGED;
    field->shape[0] = -1;
    return STK_OK;
}

static int set_type(struct stk_infer *inf, const struct stk__followers *followers,
                    const struct stk__follower *item, int image, struct stk_error *err)
{
    struct stk_field *field = &inf->out->field[item->field];
    bool drops = followers->visibility > 0;
    if (inf->from[item->field] < 0)
        return stk_fail(err, STK_VALUE, "the field '%s' is named twice", field->name);
    if (item->kind == STK__FOLLOW_LABELS && !drops)
        return STK_OK;
    inf->from[item->field] = -1;
    if (item->kind == STK__FOLLOW_MASK)
        return set_mask(&inf->out->field[image], followers->mask_fill, field, err);
    if (!drops || item->kind == STK__FOLLOW_KEYPOINTS)
        return STK_OK;
    if (stk__follow_is_boxes(item->kind) && field->rank != 2)
        return stk_fail(err, STK_TYPE,
                        "boxes can be dropped from lists [n, 4], but '%s' has %d "
                        "dimensions",
                        field->name, field->rank);
    return set_ragged(field, err);
}

/* Labels belong to boxes: which must be clear. */
static int check_labels(const struct stk__followers *followers, struct stk_error *err)
{
    int n_boxes = 0, n_labels = 0;
    for (int i = 0; i < followers->n; i++) {
        n_labels += followers->item[i].kind == STK__FOLLOW_LABELS;
        n_boxes += stk__follow_is_boxes(followers->item[i].kind);
    }
    if (n_labels && n_boxes != 1)
        return stk_fail(err, STK_VALUE,
                        "labels follow boxes, of which there must be one field; "
                        "there are %d",
                        n_boxes);
    return STK_OK;
}

static bool is_named(const struct stk__follow_words *words, const char *name)
{
    for (int i = 0; i < words->fields.n; i++)
        if (!strcmp(words->fields.name[i], name))
            return true;
    return false;
}

const char *stk__follow_image(const struct stk_infer *inf, const char *given,
                              const struct stk__follow_words *words,
                              bool (*fits)(const struct stk_field *))
{
    const struct stk_type *in = inf->in[0];
    const char *found = NULL;
    int n_found = 0;
    for (int f = 0; f < in->n_fields; f++)
        if (fits(&in->field[f]) && !is_named(words, in->field[f].name)) {
            found = in->field[f].name;
            n_found++;
        }
    return given ? given : n_found == 1 ? found : NULL;
}

int stk__follow_infer(struct stk_infer *inf, const struct stk__follow_words *words, int image,
                      struct stk__followers *out, struct stk_error *err)
{
    struct stk_error local;
    err = err ? err : &local;
    *out =
        (struct stk__followers){ .visibility = words->visibility, .mask_fill = words->mask_fill };
    if (words->fields.n > STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "there are at most %d fields", STK_MAX_FIELDS);
    for (int i = 0; i < words->fields.n; i++) {
        struct stk__follower *item = &out->item[out->n++];
        int code = find_kind(words->fields.value[i], item, err);
        if (!code)
            code = find_field(inf, words->fields.name[i], image, item, err);
        if (!code)
            code = set_type(inf, out, item, image, err);
        if (!code)
            inf->reads |= UINT32_C(1) << item->field;
        if (code)
            return code;
    }
    return check_labels(out, err);
}
