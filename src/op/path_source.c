/* SPDX-License-Identifier: Apache-2.0 */
/* path_source.c: rows of listed files. */
#include "op/path_source.h"

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
