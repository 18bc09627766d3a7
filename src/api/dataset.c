/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c: the public functions on datasets and options. */
#include "api/api.h"
#include "base/error.h"
#include "exec/exec.h"
#include "graph/class_names.h"
#include "lang/objects.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

#include <stdlib.h>
#include <string.h>

const char *stk_version(void)
{
    return STOKER_VERSION;
}

void stk_text_free(char *text)
{
    free(text);
}

/* ---- options ---- */

struct stk_options {
    struct stk__options values;
};

struct stk_options *stk_options_new(void)
{
    struct stk_options *options = malloc(sizeof *options);
    if (options)
        options->values = stk__options_default();
    return options;
}

int stk_options_set(struct stk_options *options, const char *name, const char *value,
                    struct stk_error *err)
{
    return stk__options_set(&options->values, name, value, err);
}

void stk_options_free(struct stk_options *options)
{
    free(options);
}

/* ---- datasets ---- */

static int new_on(struct stk_dataset *base, const char *text, const struct stk_objects *objects,
                  struct stk_dataset **out, struct stk_error *err)
{
    struct stk_dataset *graph;
    int rc = stk__graph_new(text, objects, base, &graph, err);
    if (rc)
        return rc;
    if ((rc = stk__rewrites_run(graph, err)))
        stk_dataset_unref(graph);
    else
        *out = graph;
    return rc;
}

int stk_dataset_new(const char *text, const struct stk_objects *objects, struct stk_dataset **out,
                    struct stk_error *err)
{
    return new_on(NULL, text, objects, out, err);
}

int stk_dataset_then(struct stk_dataset *dataset, const char *calls,
                     const struct stk_objects *objects, struct stk_dataset **out,
                     struct stk_error *err)
{
    struct stk__text text = { 0 };
    struct stk_objects *all = stk_objects_new();
    int rc = all ? stk__objects_join(all, dataset->objects, err) : stk__out_of_memory(err);
    if (!rc)
        rc = stk__objects_join(all, objects, err);
    if (!rc)
        rc = stk__print_value(dataset->value, stk__ops_namespace(), STK__SHORT, &text, err);
    if (!rc)
        stk__text_add(&text, ".%s", calls);
    if (!rc && text.failed)
        rc = stk__out_of_memory(err);
    size_t before = text.len - strlen(calls);
    if (!rc) {
        rc = new_on(dataset, text.data, all, out, err);
        if (rc && err && err->len)
            err->at = err->at >= before ? err->at - (uint32_t)before : 0; /* the place in `calls` */
    }
    stk__text_free(&text);
    stk_objects_free(all);
    return rc;
}

char *stk_dataset_text(const struct stk_dataset *dataset, bool canonical)
{
    struct stk__text text = { 0 };
    int rc = stk__print_value(dataset->value, stk__ops_namespace(),
                              canonical ? STK__CANONICAL : STK__SHORT, &text, NULL);
    if (rc) {
        stk__text_free(&text);
        return NULL;
    }
    return stk__text_take(&text);
}

int64_t stk_dataset_count(const struct stk_dataset *dataset)
{
    return dataset->root->count;
}

int stk_dataset_n_fields(const struct stk_dataset *dataset)
{
    return dataset->root->type.n_fields;
}

/* Lists of texts, of one element or of a batch of them. */
static void set_texts_shape(const struct stk_field *field, struct stk_field_info *out)
{
    int n_lead = field->flags & STK_FIELD_LISTS ? 1 : 0;
    out->rank = n_lead + (field->rank ? field->rank : 1);
    out->shape[0] = out->shape[n_lead] = -1;
    memcpy(out->shape + n_lead, field->shape, field->rank * sizeof *out->shape);
}

int stk_dataset_field(const struct stk_dataset *dataset, int index, struct stk_field_info *out)
{
    const struct stk_type *type = &dataset->root->type;
    if (index < 0 || index >= type->n_fields)
        return STK_VALUE;
    const struct stk_field *field = &type->field[index];
    *out = (struct stk_field_info){
        .name = field->name, .kind = field->kind, .dtype = field->dtype, .rank = field->rank
    };
    memcpy(out->shape, field->shape, sizeof out->shape);
    if (field->kind == STK_BYTES && field->flags & STK_FIELD_PACKED)
        set_texts_shape(field, out);
    return STK_OK;
}

const char *stk_dataset_class_name(const struct stk_dataset *dataset, const char *field,
                                   int64_t value)
{
    struct stk__class_names names;
    int f = stk_type_find(&dataset->root->type, field);
    bool is_named = f >= 0 && stk__class_names_find(dataset->root, f, &names);
    return is_named ? stk__class_names_at(&names, value) : NULL;
}

char *stk_dataset_explain(const struct stk_dataset *dataset)
{
    struct stk__text text = { 0 };
    struct stk_dataset *form = atomic_load(&dataset->form);
    dataset = form ? form : dataset;
    stk__text_add(&text, "runs as ");
    stk__graph_text(dataset, &text);
    stk__text_add(&text, "\n");
    for (const struct stk__rewrite *r = dataset->rewrite; r; r = r->next)
        stk__text_add(&text, "%s: %s\n", r->is_done ? "done" : "not done", r->text);
    return stk__text_take(&text);
}

int stk_dataset_plan(const struct stk_dataset *dataset, const struct stk_options *options,
                     bool json, char **out, struct stk_error *err)
{
    struct stk__options values = options ? options->values : stk__options_default();
    struct stk__plan *plan;
    struct stk__text text = { 0 };
    struct stk_dataset *form;
    int rc = stk__dataset_form((struct stk_dataset *)(uintptr_t)dataset, &values, &form, err);
    if (!rc)
        rc = stk__plan_new(form, &values, &plan, err);
    if (rc)
        return rc;
    if (json)
        stk__plan_json(plan, &text);
    else
        stk__plan_text(plan, &text);
    stk__plan_unref(plan);
    *out = stk__text_take(&text);
    return *out ? STK_OK : stk__out_of_memory(err);
}

const struct stk__options *stk__options_of(const struct stk_options *options)
{
    return options ? &options->values : NULL;
}
