/* SPDX-License-Identifier: Apache-2.0 */
/* fold_ops.c: scan and reduce: expressions that remember, with every element or at the end. */
#include "base/rows/chunk.h"
#include "op/group/fold.h"
#include "op/order/order.h"

#include <stdlib.h>
#include <string.h>

struct fold {
    const struct stk_value *initial;
    const char *expression;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(fold, initial, STK_REQUIRED, "a map from names to what they are at first"),
    STK_TEXT_ROW(fold, expression, NULL, STK_REQUIRED, "statements such as 'sum = sum + x'"),
    STK_ROWS_END,
};

static enum stk__op_mode mode(const void *given)
{
    (void)given;
    return STK__MODE_SERIAL;
}

/* ---- scan ---- */

static int infer_scan(struct stk_infer *inf, struct stk_error *err)
{
    const struct fold *p = inf->params;
    struct stk__fold *fold;
    int code = stk__fold_new(inf, p->initial, p->expression, &fold, err);
    if (code)
        return code;
    *inf->out = fold->type;
    for (int f = 0; f < fold->n_in; f++)
        inf->from[f] = f;
    for (int i = 0; i < fold->program->n_outputs; i++)
        inf->from[fold->program->output[i].to] = -1;
    inf->state = fold;
    return STK_OK;
}

static int begin_scan(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct stk__folding *folding = malloc(sizeof *folding);
    int code = folding ? stk__folding_begin(folding, b->state) : STK_MEMORY;
    if (code) {
        free(folding);
        return stk_fail(err, code, "out of memory");
    }
    *run = folding;
    return STK_OK;
}

static void end_scan(void *run)
{
    stk__folding_end(run);
    free(run);
}

static void next_epoch_scan(void *run, uint64_t path)
{
    (void)path;
    stk__folding_restart(run);
}

/* The element's own fields come first in the output, so a join puts them in their place. */
static void scan_row(struct stk__folding *folding, const struct stk__chunk *in, int row,
                     struct stk__chunk *out)
{
    const struct stk__fold *fold = folding->fold;
    struct stk_column column[STK_MAX_FIELDS];
    struct stk__fault *fault;
    int at = out->n++;
    stk__chunk_join(out, at, 0, in, row, 1);
    for (int f = 0; f < fold->type.n_fields; f++)
        column[f] = stk__column_slice(&out->column[f], at);
    if (stk__folding_row(folding, in, row, "scan", column, &fault)) {
        for (int i = 0; i < fold->n_state; i++)
            memcpy(column[fold->n_in + i].data, folding->state[i], column[fold->n_in + i].stride);
        return;
    }
    stk__chunk_fault(out, at, fault ? fault->code : STK_MEMORY, "scan",
                     fault ? fault->text : "out of memory");
    stk__faults_free(fault);
}

static int step_scan(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct stk__folding *folding = run;
    int m = (int)stk__min_count(n, out->cap - out->n);
    for (int i = 0; i < m; i++) {
        int row = from + i;
        if (in->n_bad && in->mask[row] == STK_BAD)
            stk__chunk_hand_on_bad(out, in, row, stk__chunk_find_fault(in, row));
        else
            scan_row(folding, in, row, out);
    }
    return m;
}

const struct stk__op stk__op_scan = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "scan", 1, "Compute fields by an expression that remembers.",
              "As map, but the expression also sees the names of `initial`: at the first element "
              "of an epoch with the values given there, at every other with what they were "
              "assigned before. They become fields of the element, behind its own. A value is a "
              "number, true or false, or a list of such; its type does not change on the way.\n"
              "\n"
              "    range(10).scan({sum: 0}, 'sum = sum + x')\n"
              "    range(10).scan({last: -1.0, step: 0.0},"
              " 'step = float32(x) - last; last = float32(x)')\n"
              "\n"
              "A bad element passes, and one for which the expression fails is bad; neither "
              "changes what is remembered. One worker at a time goes over the elements: put what "
              "does not depend on the one before into map.",
              params, sizeof(struct fold) },
    .mode = mode,
    .infer = infer_scan,
    .serial = { .begin = begin_scan,
                .end = end_scan,
                .next_epoch = next_epoch_scan,
                .step = step_scan },
};

/* ---- reduce ---- */

static int infer_reduce(struct stk_infer *inf, struct stk_error *err)
{
    const struct fold *p = inf->params;
    struct stk__fold *fold;
    if (inf->in_count[0] == STK_INFINITE_COUNT)
        return stk_fail(err, STK_VALUE,
                        "the input is endless, so there would be no result; use take");
    int code = stk__fold_new(inf, p->initial, p->expression, &fold, err);
    if (code)
        return code;
    inf->out->n_fields = fold->n_state;
    for (int i = 0; i < fold->n_state; i++)
        inf->out->field[i] = fold->type.field[fold->n_in + i];
    inf->state = fold;
    inf->count = 1;
    return STK_OK;
}

struct reducing {
    struct stk__folding folding;
    struct stk__serial_start host;
    struct stk__chunk *origin; /* a row of the input: where the last element came from */
    uint8_t *written;          /* what the expression writes of a row */
    bool is_done;              /* in this epoch */
};

static void end_reduce(void *run)
{
    struct reducing *r = run;
    if (r->origin)
        r->host.chunk_free(r->host.ctx, r->origin);
    free(r->written);
    stk__folding_end(&r->folding);
    free(r);
}

/* Bytes of all fixed fields of the fold, each at a place of its own. */
static size_t written_bytes(const struct stk__fold *fold, size_t *at)
{
    size_t bytes = 0;
    for (int f = 0; f < fold->type.n_fields; f++) {
        at[f] = bytes;
        if (fold->type.field[f].kind == STK_FIXED)
            bytes += (stk_field_bytes(&fold->type.field[f]) + 63) / 64 * 64;
    }
    return bytes + 64;
}

static int begin_reduce(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct reducing *r = calloc(1, sizeof *r);
    size_t at[STK_MAX_FIELDS];
    if (!r || stk__folding_begin(&r->folding, b->state)) {
        free(r);
        return stk_fail(err, STK_MEMORY, "out of memory");
    }
    r->host = *b;
    r->origin = b->chunk_new(b->ctx, 1);
    r->written = aligned_alloc(64, written_bytes(b->state, at));
    if (!r->origin || !r->written) {
        end_reduce(r);
        return stk_fail(err, STK_MEMORY, "out of memory");
    }
    *run = r;
    return STK_OK;
}

static void next_epoch_reduce(void *run, uint64_t path)
{
    struct reducing *r = run;
    stk__folding_restart(&r->folding);
    stk__chunk_clear(r->origin);
    r->origin->address[0] = (struct stk__address){ STK__NO_WHERE, path };
    if (r->origin->key)
        r->origin->key[0] = stk__key_make(r->host.seed, path, 0);
    r->is_done = false;
}

static void note_origin(struct reducing *r, const struct stk__chunk *in, int row)
{
    struct stk__chunk *origin = r->origin;
    origin->address[0] = in->address[row];
    if (origin->key)
        origin->key[0] = in->key[row];
    if (origin->trace && in->trace)
        stk__spans_copy(origin->trace, in->trace + row, 1);
}

static int step_reduce(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct reducing *r = run;
    const struct stk__fold *fold = r->folding.fold;
    struct stk_column column[STK_MAX_FIELDS];
    size_t at[STK_MAX_FIELDS];
    written_bytes(fold, at);
    for (int f = 0; f < fold->type.n_fields; f++)
        if (fold->type.field[f].kind == STK_FIXED)
            column[f] = (struct stk_column){ .data = r->written + at[f],
                                             .stride = stk_field_bytes(&fold->type.field[f]) };
    for (int i = 0; i < n; i++) {
        int row = from + i;
        bool is_bad = in->n_bad && in->mask[row] == STK_BAD;
        struct stk__fault *fault = NULL;
        if (out->n == out->cap)
            return i;
        if (is_bad)
            stk__chunk_hand_on_bad(out, in, row, stk__chunk_find_fault(in, row));
        else if (!stk__folding_row(&r->folding, in, row, "reduce", column, &fault))
            stk__chunk_hand_on_bad(out, in, row, fault);
        else
            note_origin(r, in, row);
        stk__faults_free(fault);
    }
    return n;
}

static bool flush_reduce(void *run, struct stk__chunk *out)
{
    struct reducing *r = run;
    if (r->is_done || out->n == out->cap)
        return r->is_done;
    int row = out->n++;
    out->address[row] = r->origin->address[0];
    if (out->key)
        out->key[row] = r->origin->key[0];
    if (out->trace && r->origin->trace)
        stk__spans_copy(out->trace + row, r->origin->trace, 1);
    for (int i = 0; i < r->folding.fold->n_state; i++) {
        const struct stk_column *column = &out->column[i];
        memcpy(column->data + (size_t)row * column->stride, r->folding.state[i], column->stride);
    }
    r->is_done = true;
    return true;
}

const struct stk__op stk__op_reduce = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "reduce", 1, "Make one element of all, by an expression that remembers.",
              "The expression sees the fields of an element and the names of `initial`: at the "
              "first element of an epoch with the values given there, at every other with what "
              "they were assigned before. What they are after the last one is the result: one "
              "element, also where there was none. A value is a number, true or false, or a list "
              "of such; its type does not change on the way.\n"
              "\n"
              "    range(5).reduce({n: 0}, 'n = n + 1')\n"
              "    range(5).reduce({sum: 0, most: 0}, 'sum = sum + x; most = max(most, x)')\n"
              "\n"
              "A bad element passes on and comes before the result; one for which the expression "
              "fails is bad. Neither changes what is remembered. A stream that breaks has no "
              "result.",
              params, sizeof(struct fold) },
    .flags = STK__OP_MERGES,
    .mode = mode,
    .infer = infer_reduce,
    .serial = { .begin = begin_reduce,
                .end = end_reduce,
                .next_epoch = next_epoch_reduce,
                .step = step_reduce,
                .flush = flush_reduce,
                .is_whole = true },
};
