/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_op.c: declarations that somebody else wrote are checked before anybody relies on them. */
#include "op/plugin_op.h"

#include "lang/lexer.h"

#include <math.h>
#include <string.h>

enum { MAX_PARAMS = 64 };

static bool is_name(const char *name)
{
    return name && stk__is_name(name, strlen(name));
}

/* What a parameter takes in its struct; 0: plug-ins cannot have such rows. */
static size_t member_bytes(const struct stk_param *row)
{
    switch (row->type) {
    case STK_ROW_INT:
        return sizeof(int64_t);
    case STK_ROW_REAL:
        return sizeof(double);
    case STK_ROW_BOOL:
        return sizeof(bool);
    case STK_ROW_TEXT:
        return sizeof(char *);
    case STK_ROW_CHOICE:
        return sizeof(int);
    case STK_ROW_NUMBERS:
        return sizeof(struct stk_numbers);
    case STK_ROW_TEXTS:
        return sizeof(struct stk_texts);
    case STK_ROW_PAIRS:
        return sizeof(struct stk_pairs);
    default:
        return 0;
    }
}

static bool has_good_bounds(const struct stk_param *row)
{
    bool is_open = row->flags & STK_REQUIRED;
    int64_t n_choices = 0;
    while (row->choices && row->choices[n_choices])
        n_choices++;
    switch (row->type) {
    case STK_ROW_INT:
        is_open |= row->def.i == STK_NONE || row->def.i == STK_AUTO;
        return row->lo.i <= row->hi.i &&
               (is_open || (row->def.i >= row->lo.i && row->def.i <= row->hi.i));
    case STK_ROW_REAL:
        is_open |= isnan(row->def.r);
        return row->lo.r <= row->hi.r &&
               (is_open || (row->def.r >= row->lo.r && row->def.r <= row->hi.r));
    case STK_ROW_CHOICE:
        return n_choices > 0 && row->def.i >= -1 && row->def.i < n_choices;
    case STK_ROW_NUMBERS:
    case STK_ROW_TEXTS:
        return row->lo.i >= 0 && row->lo.i <= row->hi.i;
    default:
        return true;
    }
}

static int check_row(const struct stk_decl *decl, const struct stk_param *row,
                     struct stk_error *err)
{
    size_t bytes = member_bytes(row);
    if (!is_name(row->name) || !row->help)
        return stk_fail(err, STK_VALUE, "a parameter of %s has no name or no help", decl->name);
    if (!bytes || row->calls)
        return stk_fail(err, STK_TYPE, "%s: plug-ins cannot have parameters such as %s", decl->name,
                        row->name);
    if (row->offset > decl->params_size || bytes > decl->params_size - row->offset)
        return stk_fail(err, STK_VALUE, "%s: %s lies outside of the %zu bytes of its parameters",
                        decl->name, row->name, decl->params_size);
    if (!has_good_bounds(row))
        return stk_fail(err, STK_VALUE,
                        "%s: the default of %s is outside its bounds or choices, or they are empty",
                        decl->name, row->name);
    for (const struct stk_param *other = decl->params; other != row; other++)
        if (!strcmp(other->name, row->name))
            return stk_fail(err, STK_NAME, "%s has two parameters named %s", decl->name, row->name);
    return STK_OK;
}

static int check_decl(const struct stk_decl *decl, struct stk_error *err)
{
    if (!is_name(decl->name))
        return stk_fail(err, STK_NAME, "'%.64s' is no name for an op",
                        decl->name ? decl->name : "");
    if (decl->version < 1 || !decl->summary || !decl->doc)
        return stk_fail(err, STK_VALUE, "%s: an op needs a version from 1 on, a summary and a doc",
                        decl->name);
    int rc = STK_OK, n = 0;
    for (const struct stk_param *row = decl->params; row && row->name && !rc; row++)
        rc = ++n > MAX_PARAMS
                 ? stk_fail(err, STK_VALUE, "%s: the parameters do not end", decl->name)
                 : check_row(decl, row, err);
    return rc;
}

/* Other flags belong to ops of the library. */
static bool is_row_op(const struct stk_op *op)
{
    return !(op->flags & ~(uint32_t)(STK_OP_RANDOM | STK_OP_HEAVY | STK_OP_FILTER));
}

int stk__plugin_op_check(const struct stk_op *op, struct stk_error *err)
{
    if (!op)
        return stk_fail(err, STK_VALUE, "the list of ops has a hole");
    int rc = check_decl(&op->decl, err);
    if (rc)
        return rc;
    if (!is_row_op(op))
        return stk_fail(err, STK_TYPE, "%s is no row op, and plug-ins have no others",
                        op->decl.name);
    if (!op->infer || !op->row.run)
        return stk_fail(err, STK_VALUE, "%s has no %s", op->decl.name,
                        op->infer ? "row.run" : "infer");
    if (!op->row.thread_open != !op->row.thread_close)
        return stk_fail(err, STK_VALUE, "%s has one of thread_open and thread_close",
                        op->decl.name);
    return STK_OK;
}

struct stk__op stk__plugin_op(const struct stk_op *op)
{
    return (struct stk__op){ .decl = op->decl,
                             .flags = op->flags,
                             .plugin = op,
                             .exclusive = op->exclusive,
                             .open = op->open,
                             .close = op->close,
                             .held_bytes = op->held_bytes,
                             .infer = op->infer,
                             .row = op->row };
}
