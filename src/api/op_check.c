/* SPDX-License-Identifier: Apache-2.0 */
/* op_check.c: trying an op on the examples of its own text, at its defaults and at its bounds. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "lang/param_rows.h"
#include "op/plugin_op.h"
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BATCHES = 64, FEW_BATCHES = 2 };

struct check {
    const struct stk__op *op;
    struct stk_arena arena;
    struct stk__text report;
    int n_runs, n_refused, n_missing;
};

/* ---- one run ---- */

static uint64_t hash_view(uint64_t h, const struct stk_view *view)
{
    size_t bytes = stk_dtype_bytes(view->dtype);
    for (int d = 0; d < view->rank; d++)
        bytes *= (size_t)view->shape[d];
    if (view->kind == STK_BYTES && view->n_splits)
        bytes = (size_t)view->splits[view->n_splits - 1];
    if (view->splits)
        h = stk__hash_bytes(h, view->splits, (size_t)view->n_splits * sizeof *view->splits);
    if (view->row_splits)
        h = stk__hash_bytes(h, view->row_splits,
                            (size_t)view->n_row_splits * sizeof *view->row_splits);
    h = stk__hash_bytes(h, view->shape, (size_t)view->rank * sizeof *view->shape);
    return stk__hash_bytes(h, view->data, bytes);
}

/* Reads at most n batches with so many workers. STK_OK also where there are more. */
static int read_batches(struct stk_dataset *data, const char *workers, int n, uint64_t *hash,
                        struct stk_error *err)
{
    struct stk_options *options = stk_options_new();
    struct stk_iterator *it = NULL;
    struct stk_batch *batch;
    int rc = options ? stk_options_set(options, "workers", workers, err) : stk__out_of_memory(err);
    if (!rc)
        rc = stk_iterator_new(data, options, &it, err);
    for (*hash = 0; !rc && n-- > 0;) {
        rc = stk_iterator_next(it, &batch, err);
        for (int f = 0; !rc && f < stk_batch_n_fields(batch); f++) {
            struct stk_view view;
            if (!stk_batch_view_at(batch, f, &view))
                *hash = hash_view(*hash, &view);
        }
        if (!rc)
            stk_batch_unref(batch);
    }
    if (it)
        stk_iterator_free(it);
    stk_options_free(options);
    return rc == STK_END ? STK_OK : rc;
}

/* An example: it must work, and give the same whoever computes it. */
static int run_example(struct check *c, const char *chain, struct stk_error *err)
{
    struct stk_dataset *data = NULL;
    uint64_t alone = 0, together = 0;
    int rc = stk_dataset_new(chain, NULL, &data, err);
    if (rc == STK_IO) { /* files that an example names need not be there */
        c->n_missing++;
        return STK_OK;
    }
    if (!rc)
        rc = read_batches(data, "0", MAX_BATCHES, &alone, err);
    if (!rc)
        rc = read_batches(data, "3", MAX_BATCHES, &together, err);
    if (data)
        stk_dataset_unref(data);
    c->n_runs += !rc;
    if (!rc && alone != together)
        return stk_fail(err, STK_DATA, "%s: gives other data with 3 workers than with none: %.200s",
                        c->op->decl.name, chain);
    if (rc)
        stk__error_prefix(err, "the example %.200s does not work: ", chain);
    return rc;
}

/* A value at a bound may be refused, but not with words that mean a fault of the op. */
static int run_bound(struct check *c, const char *chain, struct stk_error *err)
{
    struct stk_dataset *data = NULL;
    uint64_t hash;
    int rc = stk_dataset_new(chain, NULL, &data, err);
    if (!rc)
        rc = read_batches(data, "0", FEW_BATCHES, &hash, err);
    if (data)
        stk_dataset_unref(data);
    c->n_runs += !rc;
    c->n_refused += rc != STK_OK;
    if (rc != STK_STATE && (!rc || strlen(err->text) >= 10))
        return STK_OK;
    stk__error_prefix(err, "%.200s: ", chain);
    return rc;
}

/* ---- other values of one parameter ---- */

/* The i-th value to try, put into the field; false when there are no more. */
static bool put_value(const struct stk_param *row, int i, void *field)
{
    int n_choices = 0;
    while (row->choices && row->choices[n_choices])
        n_choices++;
    bool is_min = i == 0 && stk__row_has_min(row), is_max = i == 1 && stk__row_has_max(row);
    switch (row->type) {
    case STK_ROW_INT:
        if (is_min || is_max)
            *(int64_t *)field = is_min ? row->lo.i : row->hi.i;
        return i < 2;
    case STK_ROW_REAL:
        if (is_min || is_max)
            *(double *)field = is_min ? row->lo.r : row->hi.r;
        return i < 2;
    case STK_ROW_BOOL:
        *(bool *)field = i != 0;
        return i < 2;
    case STK_ROW_CHOICE:
        *(int *)field = i;
        return i < n_choices;
    default:
        return false;
    }
}

/* The chain with call number `which` printed from these parameters. Returns new. */
static char *print_with(const struct stk_value *chain, int which, const struct stk_decl *decl,
                        const void *params)
{
    struct stk__text text = { 0 };
    const struct stk__namespace *ns = stk__ops_namespace();
    int rc = STK_OK;
    for (int i = 0; i < chain->n_calls && !rc; i++) {
        const struct stk_value one = { .kind = STK__CHAIN, .n_calls = 1, .call = &chain->call[i] };
        stk__text_add(&text, i ? "." : "");
        rc = i == which ? stk__print_call(decl, params, ns, STK__SHORT, &text, NULL)
                        : stk__print_value(&one, ns, STK__SHORT, &text, NULL);
    }
    char *result = stk__text_take(&text);
    if (!rc)
        return result;
    free(result);
    return NULL;
}

static int try_row(struct check *c, const struct stk_value *chain, int which, const void *params,
                   const struct stk_param *row, struct stk_error *err)
{
    const struct stk_decl *decl = &c->op->decl;
    char *changed = stk_arena_alloc(&c->arena, decl->params_size + 1);
    if (!changed)
        return stk__out_of_memory(err);
    int rc = STK_OK;
    memcpy(changed, params, decl->params_size);
    for (int i = 0; !rc && put_value(row, i, changed + row->offset); i++) {
        char *text = print_with(chain, which, decl, changed);
        rc = text ? run_bound(c, text, err) : stk__out_of_memory(err);
        free(text);
        memcpy(changed, params, decl->params_size);
    }
    return rc;
}

static int try_bounds(struct check *c, const char *text, struct stk_error *err)
{
    const struct stk_value *chain;
    const struct stk_decl *decl = &c->op->decl;
    int rc = stk__parse(text, NULL, &c->arena, &chain, err);
    for (int i = 0; !rc && chain->kind == STK__CHAIN && i < chain->n_calls; i++) {
        if (strcmp(chain->call[i].name, decl->name) != 0)
            continue;
        void *params = stk_arena_alloc(&c->arena, decl->params_size + 1);
        rc = params ? stk__call_bind(&chain->call[i], decl, &c->arena, params, err)
                    : stk__out_of_memory(err);
        for (const struct stk_param *row = decl->params; !rc && row && row->name; row++)
            rc = try_row(c, chain, i, params, row, err);
    }
    return rc;
}

/* ---- all of them ---- */

static int try_line(struct check *c, const char *chain, struct stk_error *err)
{
    if (strchr(chain, '@')) { /* names objects of a program that is not here */
        c->n_missing++;
        return STK_OK;
    }
    int n_missing = c->n_missing, rc = run_example(c, chain, err);
    return rc || c->n_missing > n_missing ? rc : try_bounds(c, chain, err);
}

static int try_examples(struct check *c, struct stk_error *err)
{
    int rc = STK_OK, n = 0;
    for (const char *line = c->op->decl.doc, *next; line && !rc; line = next) {
        size_t len = strcspn(line, "\n");
        next = line[len] ? line + len + 1 : NULL;
        if (strncmp(line, "    ", 4) != 0)
            continue;
        char *chain = strndup(line + 4, len - 4);
        rc = chain ? try_line(c, chain, err) : stk__out_of_memory(err);
        free(chain);
        n++;
    }
    if (!rc && !n)
        rc = stk_fail(err, STK_VALUE,
                      "%s: its text has no example (a line that begins with four "
                      "spaces)",
                      c->op->decl.name);
    stk__text_add(&c->report,
                  "%s: %d example%s, %d run%s, %d refused with a reason, %d not run for want of "
                  "data\n",
                  c->op->decl.name, n, n == 1 ? "" : "s", c->n_runs, c->n_runs == 1 ? "" : "s",
                  c->n_refused, c->n_missing);
    return rc;
}

int stk_op_check(const char *name, char **out, struct stk_error *err)
{
    struct check c = { .op = stk__op_find(name) };
    struct stk_error ignored;
    err = err ? err : &ignored;
    *out = NULL;
    if (!c.op)
        return stk_fail(err, STK_NAME, "there is no op named %.64s", name);
    stk__arena_init(&c.arena, 1 << 14);
    int rc = stk__op_is_built_in(c.op) ? STK_OK : stk__plugin_op_check(c.op->plugin, err);
    if (!rc)
        rc = try_examples(&c, err);
    stk__arena_free(&c.arena);
    if (!rc && !(*out = stk__text_take(&c.report)))
        rc = stk__out_of_memory(err);
    stk__text_free(&c.report);
    return rc;
}
