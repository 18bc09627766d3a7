/* SPDX-License-Identifier: Apache-2.0 */
/* fit_data.c: the pipelines of a training, and whether they fit its model. */
#include "train/fit/fit_inside.h"

#include "base/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const sides[2] = { "train", "valid" };

static int open_one(struct stk__recipe_piece *piece, struct stk_dataset *given,
                    struct stk_dataset **out, struct stk_error *err)
{
    if (given) {
        *out = stk_dataset_ref(given);
        return STK_OK;
    }
    if (!piece->text)
        return STK_OK;
    return stk__piece_fault(piece, stk_dataset_new(piece->text, NULL, out, err), err);
}

int stk__fit_open_data(struct stk_fit *fit, const struct stk_fit_options *options,
                       struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    int rc = stk__recipe_piece(fit->text, r->train, &fit->arena, &fit->train_piece, err);
    if (!rc)
        rc = stk__recipe_piece(fit->text, r->valid, &fit->arena, &fit->valid_piece, err);
    if (!rc)
        rc = open_one(&fit->train_piece, options->train, &fit->train, err);
    if (!rc)
        rc = open_one(&fit->valid_piece, options->valid, &fit->valid, err);
    if (!rc && !fit->train)
        rc = stk_fail(err, STK_VALUE,
                      "the recipe names no data: train = image_folder('…').….batch(32)");
    return rc;
}

/* ---- fields ---- */

static int find_field(const struct stk_dataset *data, const char *name, struct stk_field_info *out)
{
    for (int i = 0; i < stk_dataset_n_fields(data); i++)
        if (!stk_dataset_field(data, i, out) && !strcmp(out->name, name))
            return i;
    return -1;
}

static void list_fields(const struct stk_dataset *data, char *out, size_t size)
{
    size_t len = 0;
    out[0] = 0;
    for (int i = 0; i < stk_dataset_n_fields(data) && len < size; i++) {
        struct stk_field_info field;
        stk_dataset_field(data, i, &field);
        len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", field.name);
    }
}

/* The field of that name; without a name the usual one, else the one at the place. */
static int choose_field(const struct stk_fit *fit, int which, const char *given, const char *usual,
                        int place, struct stk_field_info *out, struct stk_error *err)
{
    const struct stk_dataset *data = which ? fit->valid : fit->train;
    const struct stk__recipe_piece *piece = which ? &fit->valid_piece : &fit->train_piece;
    if (find_field(data, given ? given : usual, out) >= 0)
        return STK_OK;
    if (!given && !stk_dataset_field(data, place, out))
        return STK_OK;
    char names[200];
    list_fields(data, names, sizeof names);
    return stk__fail_at(err, STK_NAME, piece->at, piece->len,
                        "%s has no field %s; it has %s. %s= names another one", sides[which],
                        given ? given : usual, names, usual);
}

/* The place of the model's input in the recipe. */
static int fail_at_input(const struct stk_fit *fit, const char *text, struct stk_error *err)
{
    const struct stk__model_node *input = &fit->model->graph.node[0];
    int rc = stk__fail_at(err, STK_TYPE, input->at, input->len, "%s", text);
    return stk__piece_fault(&fit->model_piece, rc, err);
}

static int fail_at_data(const struct stk_fit *fit, int which, const char *text,
                        struct stk_error *err)
{
    const struct stk__recipe_piece *piece = which ? &fit->valid_piece : &fit->train_piece;
    return stk__fail_at(err, STK_TYPE, piece->at, piece->len, "%s", text);
}

static void describe_field(const struct stk_field_info *field, char *out, size_t size)
{
    size_t len = (size_t)snprintf(out, size, "%s ", stk_dtype_name(field->dtype));
    for (int i = 1; i < field->rank && len < size; i++)
        len += field->shape[i] < 0
                   ? (size_t)snprintf(out + len, size - len, "%s?", i > 1 ? "×" : "")
                   : (size_t)snprintf(out + len, size - len, "%s%" PRId64, i > 1 ? "×" : "",
                                      field->shape[i]);
}

static bool is_fitting(const struct stk_field_info *field, const struct stk__shape *in)
{
    const int64_t want[3] = { in->height, in->width, in->channels };
    const int64_t *shape = in->is_flat ? want + 2 : want;
    int rank = in->is_flat ? 1 : 3;
    if (field->rank != rank + 1)
        return false;
    for (int i = 0; i < rank; i++)
        if (field->shape[i + 1] >= 0 && field->shape[i + 1] != shape[i])
            return false;
    return true;
}

/* What keeps a field from being batches of one shape, or NULL. */
static const char *shape_fault(const struct stk_field_info *field, const struct stk__shape *in)
{
    int rank = in->is_flat ? 1 : 3;
    if (field->kind != STK_FIXED && field->kind != STK_SHAPED)
        return "bytes or lists, not arrays; decode() makes images of files";
    if (field->rank == rank)
        return "one element at a time; batch(32) makes batches of them";
    for (int i = 1; i < field->rank; i++)
        if (field->shape[i] < 0)
            return "arrays of different sizes; resize(height, width) makes them equal";
    return NULL;
}

static int check_image(const struct stk_fit *fit, int which, const struct stk_field_info *field,
                       struct stk_error *err)
{
    const struct stk__shape *in = &fit->model->graph.node[0].shape;
    const char *fault = shape_fault(field, in);
    char text[400], ours[STK__SHAPE_TEXT], theirs[120] = "";
    describe_field(field, theirs, sizeof theirs);
    if (fault) {
        snprintf(text, sizeof text, "%s gives in its field %s %s", sides[which], field->name,
                 fault);
        return fail_at_data(fit, which, text, err);
    }
    if (field->dtype != STK_F32 && field->dtype != STK_U8) {
        snprintf(text, sizeof text,
                 "%s gives %s in its field %s, but a model takes float32 or uint8; cast(float32) "
                 "makes it so",
                 sides[which], theirs, field->name);
        return fail_at_data(fit, which, text, err);
    }
    if (is_fitting(field, in))
        return STK_OK;
    snprintf(text, sizeof text, "the model takes %s, but %s gives %s in its field %s",
             stk__shape_text(in, ours), sides[which], theirs, field->name);
    return fail_at_input(fit, text, err);
}

/* A label names one of the outputs, so these are no map of an image. */
static int fail_map(const struct stk_fit *fit, const struct stk__model_node *last,
                    struct stk_error *err)
{
    char shape[STK__SHAPE_TEXT];
    int rc =
        stk__fail_at(err, STK_TYPE, last->at, last->len,
                     "the model's last layer, %s, puts out %s, of which a label names no class; "
                     "flatten() or global_avgpool(), and dense(classes) behind it",
                     last->name, stk__shape_text(&last->shape, shape));
    return stk__piece_fault(&fit->model_piece, rc, err);
}

/* One value for each row is a label of cross entropy, and an output of the other losses. */
static int check_single(const struct stk_fit *fit, int which, const struct stk_field_info *field,
                        int64_t outputs, struct stk_error *err)
{
    bool is_label = fit->loss.type->has_classes;
    bool is_float = stk__dtype_kind(field->dtype) == 'f';
    char text[400];
    if (is_label && is_float && outputs > 1) {
        snprintf(text, sizeof text,
                 "%s takes labels that are integers, or a value for each of the model's %" PRId64
                 " outputs, but %s gives one %s in its field %s; cast(int64, field=%s) makes "
                 "labels of them",
                 fit->loss.type->decl.name, outputs, sides[which], stk_dtype_name(field->dtype),
                 field->name, field->name);
        return fail_at_data(fit, which, text, err);
    }
    if (is_label || outputs == 1)
        return STK_OK;
    snprintf(text, sizeof text,
             "%s takes a value for each of the model's %" PRId64
             " outputs, but %s gives one %s in its field %s",
             fit->loss.type->decl.name, outputs, sides[which], stk_dtype_name(field->dtype),
             field->name);
    return fail_at_data(fit, which, text, err);
}

static int check_target_type(const struct stk_fit *fit, int which,
                             const struct stk_field_info *field, struct stk_error *err)
{
    char text[400];
    if (field->dtype != STK_F16 && field->dtype != STK_BF16)
        return STK_OK;
    snprintf(text, sizeof text,
             "targets are integers, float32 or float64, but %s gives %s in its field %s; "
             "cast(float32, field=%s) makes it so",
             sides[which], stk_dtype_name(field->dtype), field->name, field->name);
    return fail_at_data(fit, which, text, err);
}

static int check_label(const struct stk_fit *fit, int which, const struct stk_field_info *field,
                       struct stk_error *err)
{
    const struct stk_dataset *data = which ? fit->valid : fit->train;
    const struct stk__model *graph = &fit->model->graph;
    const struct stk__model_node *last = &graph->node[graph->n_nodes - 1];
    int64_t outputs = stk__shape_values(&last->shape), n_classes = 0;
    char text[400];
    bool is_wide = field->rank == 2 && field->shape[1] >= 0 && field->shape[1] != outputs;
    bool is_array = field->kind == STK_FIXED || field->kind == STK_SHAPED;
    if (!is_array || field->rank < 1 || field->rank > 2 || is_wide) {
        char theirs[120];
        describe_field(field, theirs, sizeof theirs);
        snprintf(text, sizeof text,
                 "targets are a label, or a value for each of the model's %" PRId64
                 " outputs, but %s gives %s in its field %s",
                 outputs, sides[which], theirs, field->name);
        return fail_at_data(fit, which, text, err);
    }
    if (field->rank == 1 && last->shape.height * last->shape.width > 1)
        return fail_map(fit, last, err);
    int rc = check_target_type(fit, which, field, err);
    if (!rc && field->rank == 1)
        rc = check_single(fit, which, field, outputs, err);
    if (rc)
        return rc;
    while (field->rank == 1 && stk_dataset_class_name(data, field->name, n_classes))
        n_classes++;
    if (n_classes <= outputs)
        return STK_OK;
    snprintf(text, sizeof text,
             "the model's last layer, %s, has %" PRId64 " outputs, but %s has %" PRId64
             " classes in its field %s: %s, %s, …",
             last->name, outputs, sides[which], n_classes, field->name,
             stk_dataset_class_name(data, field->name, 0),
             stk_dataset_class_name(data, field->name, 1));
    rc = stk__fail_at(err, STK_TYPE, last->at, last->len, "%s", text);
    return stk__piece_fault(&fit->model_piece, rc, err);
}

/* What the recipe says of classes, beside what the model puts out. */
static int check_classes(const struct stk_fit *fit, struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    const struct stk__model *graph = &fit->model->graph;
    const struct stk__model_node *last = &graph->node[graph->n_nodes - 1];
    int64_t outputs = stk__shape_values(&last->shape);
    if (fit->loss.n_classes && fit->loss.n_classes != outputs)
        return stk__fail_at(err, STK_VALUE, r->loss->at, r->loss->len,
                            "there are %d class weights, but the model's last layer, %s, has "
                            "%" PRId64 " outputs",
                            fit->loss.n_classes, last->name, outputs);
    if (!r->classes.n || r->classes.n == outputs)
        return STK_OK;
    int rc = stk_fail(err, STK_VALUE,
                      "there are names of %d classes, but the model's last layer, %s, has %" PRId64
                      " outputs",
                      r->classes.n, last->name, outputs);
    return stk__recipe_fail(fit->text, "classes", rc, err);
}

int stk__fit_check_data(struct stk_fit *fit, struct stk_error *err)
{
    int rc = check_classes(fit, err);
    if (!rc)
        rc = stk__piece_fault(&fit->model_piece,
                              stk__loss_check_model(&fit->loss, &fit->model->graph, err), err);
    for (int which = 0; which < (fit->valid ? 2 : 1) && !rc; which++) {
        const struct stk_dataset *data = which ? fit->valid : fit->train;
        struct stk_field_info image = { 0 }, label = { 0 };
        rc = choose_field(fit, which, fit->recipe.image, "image", 0, &image, err);
        if (!rc)
            rc = choose_field(fit, which, fit->recipe.label, "label",
                              stk_dataset_n_fields(data) - 1, &label, err);
        if (!rc)
            rc = check_image(fit, which, &image, err);
        if (!rc)
            rc = check_label(fit, which, &label, err);
        fit->image[which] = image.name;
        fit->label[which] = label.name;
    }
    return rc ? rc : stk__fit_compare_classes(fit, err);
}

/* ---- batches ---- */

int stk__fit_views(const struct stk_fit *fit, const struct stk_batch *batch, int which,
                   struct stk_view *images, struct stk_view *labels, struct stk_error *err)
{
    int rc = stk_batch_view(batch, fit->image[which], images, err);
    return rc ? rc : stk_batch_view(batch, fit->label[which], labels, err);
}

int64_t stk__fit_label_at(const struct stk_view *labels, int64_t row)
{
    switch (labels->dtype) {
    case STK_U8:
        return ((const uint8_t *)labels->data)[row];
    case STK_I32:
        return ((const int32_t *)labels->data)[row];
    case STK_I64:
        return ((const int64_t *)labels->data)[row];
    default:
        return 0;
    }
}

void stk__fit_blame(const struct stk_fit *fit, const struct stk_batch *batch,
                    const struct stk_view *labels, struct stk_error *err)
{
    const struct stk__model *graph = &fit->model->graph;
    int64_t outputs = stk__shape_values(&graph->node[graph->n_nodes - 1].shape);
    for (int64_t row = 0; labels->rank == 1 && row < labels->shape[0]; row++) {
        int64_t label = stk__fit_label_at(labels, row);
        char *origin = label < 0 || label >= outputs ? stk_batch_origin(batch, row) : NULL;
        if (!origin)
            continue;
        stk__error_prefix(err, "%.200s: ", origin);
        stk_text_free(origin);
        return;
    }
}
