/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c: the rows of NumPy's array files. */
#define _GNU_SOURCE
#include "base/error.h"
#include "op/npy_array.h"

#include <stdlib.h>
#include <string.h>

struct npy {
    struct stk_texts file;
    const char *field;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(npy, file, 1, INT32_MAX, STK_REQUIRED, "a path or a pattern, or a list of them"),
    STK_TEXT_ROW(npy, field, "data", 0, "what the field is called"),
    STK_ROWS_END,
};

static int read_arrays(struct stk__array_source *source, const char *field, struct stk_error *err)
{
    int code = stk__array_source_room(source, 1, err);
    if (!code && !(source->name[0] = strdup(field)))
        code = stk__out_of_memory(err);
    for (size_t i = 0; i < source->files->n && !code; i++) {
        const struct stk__npy_part part = { .file = i, .bytes = source->files->item[i].bytes };
        code = stk__npy_array(source, &part, stk__array_at(source, i, 0), err);
    }
    return code ? code : stk__array_source_finish(source, err);
}

static int open_npy(const void *given, struct stk_arena *arena, void **state, struct stk_error *err)
{
    const struct npy *p = given;
    struct stk__array_source *source;
    (void)arena;
    int code = stk__array_source_new(&p->file, &source, err);
    if (code)
        return code;
    code = read_arrays(source, p->field, err);
    if (code)
        stk__array_source_free(source);
    else
        *state = source;
    return code;
}

const struct stk_op stk__op_npy = {
    .decl = { "npy", 1, "The rows of NumPy array files.",
              "One field with the elements of the first dimension of an array that numpy.save "
              "wrote. Several files are read one after the other; their arrays must have the same "
              "type and, but for the first dimension, the same shape. Any row can be read without "
              "those before it, so the whole can be shuffled, and no more of a file is in memory "
              "than the rows under way.\n"
              "\n"
              "    npy('images.npy', field=image).shuffle().batch(32)\n"
              "    npy('shards/*.npy')\n"
              "\n"
              "Numbers of all sizes and both byte orders are read, booleans, and one text per row "
              "(`S` as bytes, `U` as UTF-8); dates are their int64 numbers. Arrays in Fortran "
              "order are refused, because a row of them is spread over the whole file, as are "
              "structured arrays, complex numbers and Python objects. A file that is shorter than "
              "its header says is an error when the dataset is made.",
              params, sizeof(struct npy) },
    .flags = STK_OP_ROOT,
    .open = open_npy,
    .close = stk__array_source_free,
    .infer = stk__array_source_infer,
    .source = { .count = stk__array_source_count,
                .n_places = stk__array_source_n_places,
                .locate = stk__array_source_locate,
                .files = stk__array_source_files,
                .rows = stk__array_source_rows,
                .describe = stk__array_source_describe },
};
