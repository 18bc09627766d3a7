/* SPDX-License-Identifier: Apache-2.0 */
/* decl_json.c: declarations as JSON, for docs, bindings, completion. Every key is always there. */
#include "base/json_out.h"
#include "lang/lang.h"
#include "lang/param_rows.h"

#include <math.h>

static void add_default(const struct stk_param *row, struct stk__text *out)
{
    bool has_default = !(row->flags & STK_REQUIRED);
    if (has_default && row->type == STK_ROW_INT && row->def.i == STK_AUTO)
        stk__json_string(out, "default", "auto");
    else if (has_default && row->type == STK_ROW_INT && row->def.i != STK_NONE)
        stk__json_whole(out, "default", row->def.i);
    else if (has_default && row->type == STK_ROW_REAL && isfinite(row->def.r))
        stk__json_exact(out, "default", row->def.r);
    else if (has_default && row->type == STK_ROW_BOOL)
        stk__json_bool(out, "default", row->def.i);
    else if (has_default && row->type == STK_ROW_TEXT)
        stk__json_string(out, "default", row->def.s);
    else if (has_default && row->type == STK_ROW_CHOICE && row->def.i >= 0)
        stk__json_string(out, "default", row->choices[row->def.i]);
    else
        stk__json_null(out, "default");
}

static void add_bound(const struct stk_param *row, bool is_min, struct stk__text *out)
{
    const char *name = is_min ? "min" : "max";
    bool may_have = row->type == STK_ROW_INT || row->type == STK_ROW_REAL ||
                    row->type == STK_ROW_NUMBERS || row->type == STK_ROW_TEXTS;
    if (may_have && (is_min ? stk__row_has_min(row) : stk__row_has_max(row))) {
        stk__json_name(out, name);
        stk__row_add_bound(row, is_min, out);
    } else
        stk__json_null(out, name);
}

static void add_choices(const struct stk_param *row, struct stk__text *out)
{
    if (!row->choices) {
        stk__json_null(out, "choices");
        return;
    }
    stk__json_open(out, "choices", '[');
    for (const char *const *label = row->choices; *label; label++)
        stk__json_string(out, NULL, *label);
    stk__json_close(out, ']');
}

static void add_calls(const struct stk_param *row, struct stk__text *out)
{
    if (!row->calls) {
        stk__json_null(out, "calls");
        return;
    }
    stk__json_open(out, "calls", '[');
    for (int i = 0; i < row->calls->n_decls; i++)
        stk__decl_json(row->calls->decl[i], out);
    stk__json_close(out, ']');
}

static void add_row(const struct stk_param *row, struct stk__text *out)
{
    static const char *const types[] = {
        [STK_ROW_INT] = "int",         [STK_ROW_REAL] = "real",     [STK_ROW_BOOL] = "bool",
        [STK_ROW_TEXT] = "text",       [STK_ROW_CHOICE] = "choice", [STK__ROW_VALUE] = "value",
        [STK_ROW_NUMBERS] = "numbers", [STK_ROW_TEXTS] = "texts",   [STK_ROW_PAIRS] = "pairs",
        [STK__ROW_CHAINS] = "chains",
    };
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "name", row->name);
    stk__json_string(out, "type", types[row->type]);
    stk__json_string(out, "help", row->help);
    stk__json_bool(out, "required", row->flags & STK_REQUIRED);
    add_default(row, out);
    add_bound(row, true, out);
    add_bound(row, false, out);
    add_choices(row, out);
    add_calls(row, out);
    stk__json_bool(out, "takes_none", stk__row_takes_none(row));
    stk__json_bool(out, "takes_auto", stk__row_takes_auto(row));
    stk__json_bool(out, "variadic", row->flags & STK_VARIADIC);
    stk__json_bool(out, "tunable", row->flags & STK_TUNABLE);
    stk__json_close(out, '}');
}

void stk__decl_json_members(const struct stk_decl *decl, struct stk__text *out)
{
    stk__json_string(out, "name", decl->name);
    stk__json_whole(out, "version", decl->version);
    stk__json_string(out, "summary", decl->summary);
    stk__json_string(out, "doc", decl->doc);
    stk__json_open(out, "params", '[');
    for (const struct stk_param *row = decl->params; row->name; row++)
        add_row(row, out);
    stk__json_close(out, ']');
}

void stk__decl_json(const struct stk_decl *decl, struct stk__text *out)
{
    stk__json_open(out, NULL, '{');
    stk__decl_json_members(decl, out);
    stk__json_close(out, '}');
}
