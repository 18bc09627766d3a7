/* SPDX-License-Identifier: Apache-2.0 */
/* row_stream.h: for tests: a stream of the caller with one field of every kind. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <stoker/stoker.h>
#include <string.h>

/* Elements 0, 1, … n - 1: `number` i, `image` of i % 3 + 1 rows and 2 columns, `text` "row i",
 * and `list` of i % 4 numbers. Element `bad` breaks in the way `fault` says. */
struct row_stream {
    int64_t n, bad;
    int fault; /* a code that next returns, or 0: the image has another width than declared */
    int n_opened, n_closed, n_released;
};

struct row_pass {
    struct row_stream *stream;
    int64_t i, number[1], list[4];
    float image[6];
    char text[32];
};

static const struct stk_field_info row_fields[] = {
    { "number", STK_FIXED, STK_I64, 0, { 0 } },
    { "image", STK_SHAPED, STK_F32, 2, { -1, 2 } },
    { "text", STK_BYTES, STK_U8, 0, { 0 } },
    { "list", STK_RAGGED, STK_I64, 1, { -1 } },
};

static inline int row_open(void *context, void **pass, struct stk_error *err)
{
    struct row_stream *stream = context;
    struct row_pass *p = calloc(1, sizeof *p);
    (void)err;
    if (!p)
        return STK_MEMORY;
    p->stream = stream;
    stream->n_opened++;
    *pass = p;
    return STK_OK;
}

static inline int row_next(void *pass, struct stk_cell *cell, struct stk_error *err)
{
    struct row_pass *p = pass;
    int64_t i = p->i++, height = i % 3 + 1, length = i % 4;
    if (i >= p->stream->n)
        return STK_END;
    if (i == p->stream->bad && p->stream->fault) {
        snprintf(err->text, sizeof err->text, "row %lld will not do", (long long)i);
        return err->code = p->stream->fault;
    }
    p->number[0] = i;
    for (int k = 0; k < 6; k++)
        p->image[k] = (float)(10 * i + k);
    for (int k = 0; k < 4; k++)
        p->list[k] = i + k;
    snprintf(p->text, sizeof p->text, "row %lld", (long long)i);
    int64_t width = i == p->stream->bad ? 3 : 2;
    cell[0] = (struct stk_cell){ .data = p->number, .bytes = sizeof p->number };
    cell[1] = (struct stk_cell){ .data = p->image,
                                 .bytes = (size_t)height * 8,
                                 .shape = { height, width } };
    cell[2] = (struct stk_cell){ .data = p->text, .bytes = strlen(p->text) };
    cell[3] =
        (struct stk_cell){ .data = p->list, .bytes = (size_t)length * 8, .shape = { length } };
    return STK_OK;
}

static inline void row_close(void *pass)
{
    struct row_pass *p = pass;
    p->stream->n_closed++;
    free(p);
}

static inline void row_release(void *context)
{
    ((struct row_stream *)context)->n_released++;
}

/* Returns new: a table with @rows bound to the stream; NULL when it cannot be made. */
static inline struct stk_objects *row_objects(struct row_stream *stream)
{
    const struct stk_stream bound = { 4,         row_fields,  row_open, row_next,
                                      row_close, row_release, stream };
    struct stk_objects *objects = stk_objects_new();
    if (objects && stk_objects_add_stream(objects, "rows", &bound, NULL)) {
        stk_objects_free(objects);
        objects = NULL;
    }
    return objects;
}
