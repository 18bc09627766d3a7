/* SPDX-License-Identifier: Apache-2.0 */
/* class_names.c: finds, compares and writes out the names of labels. */
#include "graph/class_names.h"

#include "base/error.h"
#include "base/type.h"
#include "lang/lang.h"

#include <string.h>

/* Inputs from this one on take turns in giving elements; n_inputs where none do. */
static int first_turn(const struct stk__node *node)
{
    int last = node->n_inputs - 1;
    bool is_merge = last > 0 && node->type.n_fields == node->input[last]->type.n_fields;
    int field = 0, input = node->n_inputs;
    return is_merge && stk__graph_step_back(node, &field, &input) ? input : node->n_inputs;
}

const char *stk__class_names_at(const struct stk__class_names *names, int64_t value)
{
    const struct stk__node *source = names->source;
    return source->op->source.class_name(source->state, names->field, value);
}

static bool has_same(const struct stk__class_names *a, const struct stk__class_names *b)
{
    const char *x = "", *y = "";
    for (int64_t i = 0; x && y && !strcmp(x, y); i++) {
        x = stk__class_names_at(a, i);
        y = stk__class_names_at(b, i);
    }
    return !x && !y;
}

/* A step back towards the source of a field, also through ops that compute labels of labels: where
 * whole numbers become vectors, floats tell that these are shares of classes and no numbers. */
static bool step_back(const struct stk__node **node, int *field)
{
    const struct stk__node *here = *node;
    int input = 0;
    if (!stk__graph_step_back(here, field, &input)) {
        const struct stk_field *made = &here->type.field[*field];
        int before = here->op->flags & STK__OP_KEEPS_CLASSES
                         ? stk_type_find(&here->input[0]->type, made->name)
                         : -1;
        bool is_vector = before >= 0 && made->rank > here->input[0]->type.field[before].rank;
        if (before < 0 || (is_vector && stk__dtype_kind(made->dtype) != 'f'))
            return false;
        *field = before;
    }
    *node = here->input[input];
    return true;
}

/* The node whose records hold this field, as a feature of the same name: names are known to the source. NULL:
 * it is no field of records. */
static const struct stk__node *records_of(const struct stk__node *node, int field, int *records)
{
    const struct stk__node *in = node->n_inputs ? node->input[0] : NULL;
    const char *name = node->type.field[field].name;
    if (strcmp(node->op->decl.name, "parse_example") != 0 || stk_type_find(&in->type, name) >= 0)
        return NULL;
    *records = stk_type_find(&in->type, "record");
    return *records >= 0 ? in : NULL;
}

static bool find_all(const struct stk__node *node, int field, const char *name,
                     struct stk__class_names *out, struct stk__class_names *other, int *differing);

/* Names of inputs that take turns: those of the first, if all have the same. */
static bool find_in_turns(const struct stk__node *node, int field, const char *name, int first,
                          struct stk__class_names *out, struct stk__class_names *other,
                          int *differing)
{
    bool is_named = find_all(node->input[first], field, name, out, other, differing);
    for (int i = first + 1; i < node->n_inputs; i++) {
        struct stk__class_names theirs, unused;
        int unseen = -1;
        bool has_names = find_all(node->input[i], field, name, &theirs, &unused, &unseen);
        if (is_named && has_names && *differing < 0 && !has_same(out, &theirs)) {
            *other = theirs;
            *differing = i - first;
        }
        is_named = is_named && has_names;
    }
    return is_named;
}

/* `name` is that of the feature, where the field is one of records; else NULL. `differing` becomes the first
 * input, counted from 0, whose names are other ones: `other`. */
static bool find_all(const struct stk__node *node, int field, const char *name,
                     struct stk__class_names *out, struct stk__class_names *other, int *differing)
{
    while (first_turn(node) == node->n_inputs && step_back(&node, &field))
        ;
    int first = first_turn(node);
    if (first < node->n_inputs)
        return find_in_turns(node, field, name, first, out, other, differing);
    int record;
    const struct stk__node *records = records_of(node, field, &record);
    if (records)
        return find_all(records, record, node->type.field[field].name, out, other, differing);
    if (!node->op->source.class_name)
        return false;
    *out = (struct stk__class_names){ node, name ? name : node->type.field[field].name };
    return stk__class_names_at(out, 0) != NULL;
}

bool stk__class_names_find(const struct stk__node *node, int field, struct stk__class_names *out)
{
    struct stk__class_names other;
    int differing = -1;
    return find_all(node, field, NULL, out, &other, &differing) && differing < 0;
}

/* ---- inputs that meet ---- */

static int fail_differing(const struct stk__node *node, int field,
                          const struct stk__class_names names[2], int differing,
                          struct stk_error *err)
{
    const char *x = "", *y = "";
    int64_t i = -1;
    while (x && y && !strcmp(x, y)) {
        i++;
        x = stk__class_names_at(&names[0], i);
        y = stk__class_names_at(&names[1], i);
    }
    const char *name = node->type.field[field].name;
    return stk_fail(
        err, STK_VALUE,
        "its inputs number their classes differently: in the field %s %lld is %s%s%s in "
        "the first and %s%s%s in input %d; give both the same list "
        "(image_folder('…', classes=@first)), or leave %s out with select",
        name, (long long)i, x ? "'" : "", x ? x : "no class", x ? "'" : "", y ? "'" : "",
        y ? y : "no class", y ? "'" : "", differing + 1, name);
}

int stk__class_names_agree(const struct stk__node *node, struct stk_error *err)
{
    if (first_turn(node) == node->n_inputs)
        return STK_OK;
    for (int f = 0; f < node->type.n_fields; f++) {
        struct stk__class_names names[2];
        int differing = -1;
        find_all(node, f, NULL, &names[0], &names[1], &differing);
        if (differing >= 0)
            return fail_differing(node, f, names, differing, err);
    }
    return STK_OK;
}

/* ---- chains that stand for their names ---- */

struct writer {
    const struct stk_objects *objects;
    struct stk_arena *arena;
    struct stk_error *err;
};

/* The field `label`, or else the only one that has names. */
static bool find_labels(const struct stk__node *root, struct stk__class_names *out)
{
    int label = stk_type_find(&root->type, "label"), n_named = 0;
    if (label >= 0 && stk__class_names_find(root, label, out))
        return true;
    for (int f = 0; f < root->type.n_fields; f++) {
        struct stk__class_names names;
        if (!stk__class_names_find(root, f, &names))
            continue;
        *out = names;
        n_named++;
    }
    return n_named == 1;
}

static int list_names(struct writer *w, const struct stk__class_names *names,
                      struct stk_value *list)
{
    int n = 0;
    while (stk__class_names_at(names, n))
        n++;
    struct stk_value *text = stk_arena_alloc(w->arena, sizeof *text * (size_t)n);
    const struct stk_value **item = stk_arena_alloc(w->arena, sizeof *item * (size_t)n);
    if (!text || !item)
        return stk__out_of_memory(w->err);
    for (int i = 0; i < n; i++) {
        const char *name = stk_arena_text(w->arena, stk__class_names_at(names, i));
        if (!name)
            return stk__out_of_memory(w->err);
        text[i] = (struct stk_value){ .kind = STK__STRING,
                                      .at = list->at,
                                      .len = list->len,
                                      .text = name,
                                      .text_len = strlen(name) };
        item[i] = &text[i];
    }
    list->n_items = n;
    list->item = item;
    return STK_OK;
}

/* Builds the chain, which opens its sources, to see what it calls its classes. */
static int name_classes(struct writer *w, const struct stk__call *call,
                        const struct stk_value *chain, const struct stk_value **out)
{
    struct stk__text text = { 0 };
    struct stk_dataset *graph = NULL;
    struct stk__class_names names;
    struct stk_value *list = stk_arena_alloc(w->arena, sizeof *list);
    if (!list)
        return stk__out_of_memory(w->err);
    *list = (struct stk_value){ .kind = STK__LIST, .at = chain->at, .len = chain->len };
    int rc = stk__print_value(chain, NULL, STK__SHORT, &text, w->err);
    if (!rc)
        rc = text.failed ? stk__out_of_memory(w->err)
                         : stk__graph_new(text.data, w->objects, NULL, &graph, w->err);
    if (!rc)
        rc = find_labels(graph->root, &names)
                 ? list_names(w, &names, list)
                 : stk_fail(w->err, STK_VALUE,
                            "no class names are known for its labels; give a chain that has them, "
                            "such as image_folder('train'), or a list of names");
    if (rc) {
        stk__error_prefix(w->err, "%s: classes: ", call->name);
        w->err->at = chain->at;
        w->err->len = chain->len;
    }
    if (graph)
        stk__graph_free(graph);
    stk__text_free(&text);
    *out = list;
    return rc;
}

/* The row that an argument is for, or NULL. */
static const struct stk_param *row_of(const struct stk_decl *decl, const struct stk__arg *arg,
                                      int place)
{
    for (const struct stk_param *row = decl->params; row->name; row++)
        if (arg->name ? !strcmp(row->name, arg->name) : row - decl->params == place)
            return row;
    return NULL;
}

static int write_value(struct writer *w, const struct stk_value *value);

/* Values are of this text alone, and nobody has looked at them yet. */
static int write_call(struct writer *w, const struct stk__call *call)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), call->name);
    struct stk__arg *arg = (struct stk__arg *)(uintptr_t)call->arg;
    int rc = STK_OK;
    for (int i = 0; i < call->n_args && !rc; i++) {
        const struct stk_param *row = decl ? row_of(decl, &arg[i], i) : NULL;
        rc = write_value(w, arg[i].value);
        if (!rc && row && row->takes_classes && arg[i].value->kind == STK__CHAIN)
            rc = name_classes(w, call, arg[i].value, &arg[i].value);
    }
    return rc;
}

static int write_value(struct writer *w, const struct stk_value *value)
{
    int rc = STK_OK;
    bool has_items = value->kind == STK__LIST || value->kind == STK__MAP;
    for (int i = 0; has_items && i < value->n_items && !rc; i++)
        rc = write_value(w, value->item[i]);
    for (int c = 0; value->kind == STK__CHAIN && c < value->n_calls && !rc; c++)
        rc = write_call(w, &value->call[c]);
    return rc;
}

int stk__class_names_write_out(const struct stk_value *value, const struct stk_objects *objects,
                               struct stk_arena *arena, struct stk_error *err)
{
    struct writer w = { objects, arena, err };
    return write_value(&w, value);
}
