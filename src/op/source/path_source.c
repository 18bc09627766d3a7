/* SPDX-License-Identifier: Apache-2.0 */
/* path_source.c: rows of listed files. */
#include "op/source/path_source.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stk__path_source *stk__path_source_new(void)
{
    return calloc(1, sizeof(struct stk__path_source));
}

int stk__path_source_label(struct stk__path_source *source)
{
    source->label = calloc(source->paths.n ? source->paths.n : 1, sizeof *source->label);
    return source->label ? STK_OK : STK_MEMORY;
}

/* ---- classes in an order that was given ---- */

struct class_number {
    const char *name;
    int64_t number;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct class_number *)a)->name, ((const struct class_number *)b)->name);
}

/* The list, sorted to be searched. Returns new, or NULL with an error. */
static struct class_number *sort_list(const struct stk_texts *classes, struct stk_error *err)
{
    struct class_number *list = malloc(sizeof *list * (size_t)classes->n);
    for (int i = 0; list && i < classes->n; i++)
        list[i] = (struct class_number){ classes->item[i], i };
    if (!list) {
        stk__out_of_memory(err);
        return NULL;
    }
    qsort(list, (size_t)classes->n, sizeof *list, compare_names);
    for (int i = 1; i < classes->n; i++)
        if (!strcmp(list[i - 1].name, list[i].name)) {
            stk_fail(err, STK_VALUE, "classes has '%s' twice", list[i].name);
            free(list);
            return NULL;
        }
    return list;
}

/* "'cat', 'dog', …" */
static void quote_some(const struct stk_texts *classes, char *out, size_t size)
{
    enum { SOME = 8 };
    size_t len = 0;
    for (int i = 0; i < classes->n && i < SOME && len < size; i++)
        len +=
            (size_t)snprintf(out + len, size - len, "%s'%.40s'", i ? ", " : "", classes->item[i]);
    if (classes->n > SOME && len < size)
        snprintf(out + len, size - len, ", …");
}

/* The new number of each class that was found. */
static int match_classes(const struct stk__paths *found, const struct stk_texts *classes,
                         int64_t *number, struct stk_error *err)
{
    struct class_number *list = sort_list(classes, err);
    int code = list ? STK_OK : err->code;
    for (size_t i = 0; i < found->n && !code; i++) {
        const struct class_number wanted = { stk__paths_at(found, i), 0 };
        const struct class_number *at =
            bsearch(&wanted, list, (size_t)classes->n, sizeof *list, compare_names);
        char some[480];
        number[i] = at ? at->number : -1;
        if (at)
            continue;
        quote_some(classes, some, sizeof some);
        code = stk_fail(err, STK_VALUE,
                        "the directory '%s' is not among the %d classes: %s; add it to the list, "
                        "or move it away",
                        wanted.name, classes->n, some);
    }
    free(list);
    return code;
}

int stk__path_source_number(struct stk__path_source *source, const struct stk_texts *classes,
                            struct stk_error *err)
{
    if (!classes->n)
        return STK_OK;
    int64_t *number = malloc(sizeof *number * (source->classes.n + 1));
    struct stk__paths listed = { 0 };
    int code =
        number ? match_classes(&source->classes, classes, number, err) : stk__out_of_memory(err);
    for (int i = 0; i < classes->n && !code; i++)
        if (stk__paths_add(&listed, classes->item[i], strlen(classes->item[i])))
            code = stk__out_of_memory(err);
    if (code) {
        stk__paths_free(&listed);
    } else {
        for (size_t i = 0; i < source->paths.n; i++)
            source->label[i] = number[source->label[i]];
        stk__paths_free(&source->classes);
        stk__paths_fit(&listed);
        source->classes = listed;
    }
    free(number);
    return code;
}

void stk__path_source_free(void *state)
{
    struct stk__path_source *source = state;
    if (!source)
        return;
    stk__paths_free(&source->paths);
    stk__paths_free(&source->classes);
    free(source->label);
    free(source);
}

size_t stk__path_source_bytes(const void *state)
{
    const struct stk__path_source *source = state;
    size_t labels = source->label ? source->paths.n * sizeof *source->label : 0;
    return stk__paths_bytes(&source->paths) + stk__paths_bytes(&source->classes) + labels;
}

int stk__path_source_infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk__path_source *source = inf->state;
    (void)err;
    inf->out->n_fields = source->label ? 2 : 1;
    inf->out->field[0] = (struct stk_field){
        .name = "path", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PATH | STK_FIELD_TEXT
    };
    inf->out->field[1] = (struct stk_field){ .name = "label", .kind = STK_FIXED, .dtype = STK_I64 };
    inf->from[0] = inf->from[1] = -1;
    inf->count = (int64_t)source->paths.n;
    return STK_OK;
}

int64_t stk__path_source_count(const void *state)
{
    return (int64_t)((const struct stk__path_source *)state)->paths.n;
}

int stk__path_source_rows(struct stk_rows *rows, const uint64_t *index)
{
    const struct stk__path_source *source = rows->state;
    struct stk_span *span = rows->out[0].span;
    for (int i = 0; i < rows->n; i++) {
        char *path = source->paths.text + source->paths.start[index[i]];
        span[i] = (struct stk_span){ .data = (uint8_t *)path, .bytes = strlen(path) };
    }
    for (int i = 0; i < rows->n && source->label; i++) {
        uint8_t *out = rows->out[1].data + (size_t)i * rows->out[1].stride;
        *(int64_t *)(void *)out = source->label[index[i]];
    }
    return STK_OK;
}

void stk__path_source_describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct stk__path_source *source = state;
    snprintf(text, size, "%s",
             index < source->paths.n ? stk__paths_at(&source->paths, index) : "?");
}

const char *stk__path_source_class_name(const void *state, const char *field, int64_t value)
{
    const struct stk__path_source *source = state;
    bool is_known = value >= 0 && (uint64_t)value < source->classes.n && !strcmp(field, "label");
    return is_known ? stk__paths_at(&source->classes, (size_t)value) : NULL;
}

const char *stk__path_source_remark(const void *state)
{
    const struct stk__path_source *source = state;
    return *source->remark ? source->remark : NULL;
}
