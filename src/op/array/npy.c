/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c: the rows of NumPy's array files. */
#include "op/array/npy_array.h"

struct npy {
    struct stk_texts file;
    const char *field;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(npy, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them"),
    STK_TEXT_ROW(npy, field, "data", 0, "what the field is called"),
    STK_ROWS_END,
};

static int read_file(void *context, struct stk__array_source *source, size_t file,
                     struct stk_error *err)
{
    const struct npy *p = context;
    const struct stk__npy_part part = { .file = file, .bytes = source->files->item[file].bytes };
    int code = file ? STK_OK : stk__array_source_name(source, &p->field, 1, err);
    return code ? code : stk__npy_array(source, &part, stk__array_at(source, file, 0), err);
}

static int open_npy(const void *given, struct stk_arena *arena, void **state, struct stk_error *err)
{
    struct npy p = *(const struct npy *)given;
    (void)arena;
    return stk__array_source_open(&p.file, read_file, &p, state, err);
}

static int begin_stream(const struct stk__source_start *begin, void **run, struct stk_error *err)
{
    struct npy p = *(const struct npy *)begin->params;
    p.file = stk__array_source_paths(begin->state);
    return stk__array_stream_begin(begin, "npy", open_npy, &p, run, err);
}

const struct stk__op stk__op_npy = {
    .subject = STK__ABOUT_SOURCES,
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
    .flags = STK__OP_ROOT,
    .open = open_npy,
    .close = stk__array_source_free,
    .held_bytes = stk__array_source_bytes,
    .infer = stk__array_source_infer,
    .source = { STK__ARRAY_SOURCE, .begin = begin_stream },
};
