/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: carries a state through an expression, element by element. */
#include "op/group/fold.h"

#include "base/error.h"
#include "base/rows/chunk.h"
#include "base/type.h"
#include "op/field/expr_run.h"
#include "op/source/value_column.h"

#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

/* One field of the state: a value, read as a column with one row. */
static int read_field(struct stk__fold *fold, const struct stk_value *key,
                      const struct stk_value *value, struct stk_arena *arena, struct stk_error *err)
{
    const struct stk_value *item[] = { value };
    const struct stk_value list = {
        .kind = STK__LIST, .at = value->at, .len = value->len, .n_items = 1, .item = item
    };
    struct stk__value_column column = { .field.name = key->text };
    if (!key->text_len || strlen(key->text) != key->text_len)
        return stk__fail_at(err, STK_VALUE, key->at, key->len,
                            "the state needs names without NUL bytes");
    if (stk_type_find(&fold->type, key->text) >= 0)
        return stk__fail_at(err, STK_NAME, key->at, key->len,
                            "'%s' cannot be the state: there is a field of that name", key->text);
    if (fold->type.n_fields == STK_MAX_FIELDS)
        return stk__fail_at(err, STK_VALUE, key->at, key->len, "more than %d fields",
                            STK_MAX_FIELDS);
    int code = stk__value_column_read(&list, arena, &column, err);
    if (code)
        return code;
    if (column.field.kind != STK_FIXED)
        return stk__fail_at(err, STK_TYPE, value->at, value->len,
                            "the state '%s' must be a number, true or false, or an array of such",
                            key->text);
    fold->initial[fold->n_state++] = column.data;
    fold->type.field[fold->type.n_fields++] = column.field;
    return STK_OK;
}

static int read_state(struct stk__fold *fold, const struct stk_value *initial,
                      struct stk_arena *arena, struct stk_error *err)
{
    if (initial->kind != STK__MAP || initial->n_items == 0)
        return stk__fail_at(err, STK_VALUE, initial->at, initial->len,
                            "wants a map from names to values, as in {sum: 0}");
    int code = STK_OK;
    for (int i = 0; i < initial->n_items && !code; i++)
        code = read_field(fold, initial->key[i], initial->item[i], arena, err);
    return code;
}

static bool is_same(const struct stk_field *a, const struct stk_field *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* What is assigned to a field that is there must be of its type; what is new must be fixed. */
static int check_output(const struct stk__fold *fold, const struct stk__expr_output *output,
                        struct stk_error *err)
{
    struct stk__text before = { 0 }, after = { 0 };
    const struct stk_field *field = &output->field;
    int code = STK_OK;
    stk__field_text(field, &after);
    if (output->to < fold->type.n_fields && !is_same(&fold->type.field[output->to], field)) {
        stk__field_text(&fold->type.field[output->to], &before);
        code = stk_fail(err, STK_TYPE,
                        "'%s' is %s, but would become %s; begin with such a value, cast, or "
                        "give it another name",
                        field->name, before.data ? before.data : "", after.data ? after.data : "");
    } else if (field->kind != STK_FIXED)
        code = stk_fail(err, STK_TYPE, "'%s' would be %s; only values of one shape can be computed",
                        field->name, after.data ? after.data : "");
    stk__text_free(&before);
    stk__text_free(&after);
    return code;
}

int stk__fold_new(struct stk_infer *inf, const struct stk_value *initial, const char *expression,
                  struct stk__fold **out, struct stk_error *err)
{
    struct stk__fold *fold = stk_arena_alloc(inf->arena, sizeof *fold);
    if (!fold)
        return stk_fail(err, STK_MEMORY, "out of memory");
    fold->type = *inf->in[0];
    fold->n_in = fold->type.n_fields;
    int code = read_state(fold, initial, inf->arena, err);
    if (!code)
        code = stk__expr_compile(expression, &fold->type, STK__EXPR_MAP, inf->arena, &fold->program,
                                 err);
    for (int i = 0; !code && i < fold->program->n_outputs; i++)
        code = check_output(fold, &fold->program->output[i], err);
    for (int i = 0; !code && i < fold->program->n_outputs; i++) {
        int to = fold->program->output[i].to;
        fold->type.field[to] = fold->program->output[i].field;
        fold->type.n_fields = to >= fold->type.n_fields ? to + 1 : fold->type.n_fields;
    }
    *out = fold;
    return code;
}

/* ---- running ---- */

static size_t state_bytes(const struct stk__fold *fold, int i)
{
    return stk_field_bytes(&fold->type.field[fold->n_in + i]);
}

int stk__folding_begin(struct stk__folding *folding, const struct stk__fold *fold)
{
    *folding = (struct stk__folding){ .fold = fold };
    stk__arena_init(&folding->scratch, 1 << 12);
    for (int i = 0; i < fold->n_state; i++) {
        /* kernels read in steps of 64 bytes */
        size_t bytes = (state_bytes(fold, i) + 127) / 64 * 64;
        if (!(folding->state[i] = aligned_alloc(64, bytes))) {
            stk__folding_end(folding);
            return STK_MEMORY;
        }
        memset(folding->state[i], 0, bytes);
    }
    return STK_OK;
}

void stk__folding_end(struct stk__folding *folding)
{
    for (int i = 0; i < folding->fold->n_state; i++)
        free(folding->state[i]);
    stk__arena_free(&folding->scratch);
}

void stk__folding_restart(struct stk__folding *folding)
{
    for (int i = 0; i < folding->fold->n_state; i++)
        memcpy(folding->state[i], folding->fold->initial[i], state_bytes(folding->fold, i));
}

bool stk__folding_row(struct stk__folding *folding, const struct stk__chunk *in, int row,
                      const char *name, struct stk_column *out, struct stk__fault **fault)
{
    const struct stk__fold *fold = folding->fold;
    struct stk_column column[STK_MAX_FIELDS];
    uint8_t mask = STK_LIVE;
    *fault = NULL;
    for (int f = 0; f < fold->n_in; f++)
        column[f] = stk__column_slice(&in->column[f], row);
    for (int i = 0; i < fold->n_state; i++)
        column[fold->n_in + i] =
            (struct stk_column){ .data = folding->state[i], .stride = state_bytes(fold, i) };
    struct stk__rows_inside inside = { .name = name,
                                       .scratch = &folding->scratch,
                                       .faults = fault };
    struct stk_rows rows = { .in = column, .n = 1, .mask = &mask, .inside = &inside };
    int rc = stk__expr_run(fold->program, &rows, out);
    stk__arena_reset(&folding->scratch);
    if (rc || mask != STK_LIVE)
        return false;
    for (int i = 0; i < fold->program->n_outputs; i++) {
        int state = fold->program->output[i].to - fold->n_in;
        if (state >= 0 && state < fold->n_state)
            memcpy(folding->state[state], out[fold->n_in + state].data, state_bytes(fold, state));
    }
    return true;
}
