/* SPDX-License-Identifier: Apache-2.0 */
/* decl_json.c: declarations as JSON, for docs, bindings, completion. Every key is always there. */
#include "lang/lang.h"
#include "lang/param_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_string(struct stk__text *out, const char *text)
{
    if (text)
        stk__text_add_json(out, text, strlen(text));
    else
        stk__text_add(out, "null");
}

static void add_default(const struct stk_param *row, struct stk__text *out)
{
    bool has_default = !(row->flags & STK_REQUIRED);
    if (has_default && row->type == STK_ROW_INT && row->def.i == STK_AUTO)
        stk__text_add(out, "\"auto\"");
    else if (has_default && row->type == STK_ROW_INT && row->def.i != STK_NONE)
        stk__text_add(out, "%" PRId64, row->def.i);
    else if (has_default && row->type == STK_ROW_REAL && isfinite(row->def.r))
        stk__text_add_real(out, row->def.r);
    else if (has_default && row->type == STK_ROW_BOOL)
        stk__text_add(out, row->def.i ? "true" : "false");
    else if (has_default && row->type == STK_ROW_TEXT)
        add_string(out, row->def.s);
    else if (has_default && row->type == STK_ROW_CHOICE && row->def.i >= 0)
        add_string(out, row->choices[row->def.i]);
    else
        stk__text_add(out, "null");
}

static void add_bound(const struct stk_param *row, bool is_min, struct stk__text *out)
{
    bool may_have = row->type == STK_ROW_INT || row->type == STK_ROW_REAL ||
                    row->type == STK_ROW_NUMBERS || row->type == STK_ROW_TEXTS;
    if (may_have && (is_min ? stk__row_has_min(row) : stk__row_has_max(row)))
        stk__row_add_bound(row, is_min, out);
    else
        stk__text_add(out, "null");
}

static void add_choices(const struct stk_param *row, struct stk__text *out)
{
    stk__text_add(out, row->choices ? "[" : "null");
    for (const char *const *label = row->choices; label && *label; label++) {
        stk__text_add(out, label == row->choices ? "" : ",");
        add_string(out, *label);
    }
    stk__text_add(out, row->choices ? "]" : "");
}

static void add_calls(const struct stk_param *row, struct stk__text *out)
{
    stk__text_add(out, row->calls ? "[" : "null");
    for (int i = 0; row->calls && i < row->calls->n_decls; i++) {
        stk__text_add(out, i ? "," : "");
        stk__decl_json(row->calls->decl[i], out);
    }
    stk__text_add(out, row->calls ? "]" : "");
}

static void add_flag(struct stk__text *out, const char *name, bool is_set)
{
    stk__text_add(out, ",\"%s\":%s", name, is_set ? "true" : "false");
}

static void add_row(const struct stk_param *row, struct stk__text *out)
{
    static const char *const types[] = {
        [STK_ROW_INT] = "int",         [STK_ROW_REAL] = "real",     [STK_ROW_BOOL] = "bool",
        [STK_ROW_TEXT] = "text",       [STK_ROW_CHOICE] = "choice", [STK__ROW_VALUE] = "value",
        [STK_ROW_NUMBERS] = "numbers", [STK_ROW_TEXTS] = "texts",   [STK_ROW_PAIRS] = "pairs",
        [STK__ROW_CHAINS] = "chains",
    };
    stk__text_add(out, "{\"name\":");
    add_string(out, row->name);
    stk__text_add(out, ",\"type\":\"%s\",\"help\":", types[row->type]);
    add_string(out, row->help);
    add_flag(out, "required", row->flags & STK_REQUIRED);
    stk__text_add(out, ",\"default\":");
    add_default(row, out);
    stk__text_add(out, ",\"min\":");
    add_bound(row, true, out);
    stk__text_add(out, ",\"max\":");
    add_bound(row, false, out);
    stk__text_add(out, ",\"choices\":");
    add_choices(row, out);
    stk__text_add(out, ",\"calls\":");
    add_calls(row, out);
    add_flag(out, "takes_none", stk__row_takes_none(row));
    add_flag(out, "takes_auto", stk__row_takes_auto(row));
    add_flag(out, "variadic", row->flags & STK_VARIADIC);
    add_flag(out, "tunable", row->flags & STK_TUNABLE);
    stk__text_add(out, "}");
}

void stk__decl_json_members(const struct stk_decl *decl, struct stk__text *out)
{
    stk__text_add(out, "\"name\":");
    add_string(out, decl->name);
    stk__text_add(out, ",\"version\":%d,\"summary\":", decl->version);
    add_string(out, decl->summary);
    stk__text_add(out, ",\"doc\":");
    add_string(out, decl->doc);
    stk__text_add(out, ",\"params\":[");
    for (const struct stk_param *row = decl->params; row->name; row++) {
        stk__text_add(out, row == decl->params ? "" : ",");
        add_row(row, out);
    }
    stk__text_add(out, "]");
}

void stk__decl_json(const struct stk_decl *decl, struct stk__text *out)
{
    stk__text_add(out, "{");
    stk__decl_json_members(decl, out);
    stk__text_add(out, "}");
}
