/* SPDX-License-Identifier: Apache-2.0 */
/* print.c: values and bound calls as text that parses back to the same. */
#include "base/error.h"
#include "lang/lang.h"
#include "lang/lexer.h"
#include "lang/param_rows.h"
#include "lang/quote.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct printer {
    const struct stk__namespace *ns;
    enum stk__print_form form;
    struct stk__text *out;
    struct stk_arena *arena; /* for the parameters of nested calls */
    int status;              /* the first fault; nothing more is bound after it */
    struct stk_error *err;
};

static void print_value(struct printer *p, const struct stk_value *value);

/* ---- texts ---- */

/* Printable characters as they are; what is not UTF-8 or would not be seen as an escape. */
static void add_string(struct stk__text *out, const char *text, size_t len)
{
    stk__text_add_n(out, "'", 1);
    for (size_t i = 0, bytes; i < len; i += bytes) {
        unsigned char c = (unsigned char)text[i];
        size_t valid = stk__utf8_bytes(text + i, len - i);
        bytes = valid ? valid : 1;
        if (c == '\'' || c == '\\')
            stk__text_add(out, "\\%c", c);
        else if (c == '\n' || c == '\t')
            stk__text_add(out, c == '\n' ? "\\n" : "\\t");
        else if (!valid || c < 0x20 || c == 0x7f)
            stk__text_add(out, "\\x%02x", c);
        else if (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0) /* controls behind ASCII */
            stk__text_add(out, "\\xc2\\x%02x", (unsigned char)text[i + 1]);
        else
            stk__text_add_n(out, text + i, bytes);
    }
    stk__text_add_n(out, "'", 1);
}

void stk__quote(struct stk__text *out, const char *text)
{
    add_string(out, text, strlen(text));
}

void stk__quote_name(struct stk__text *out, const char *name)
{
    if (stk__is_name(name, strlen(name)) && strcmp(name, "none") && strcmp(name, "auto"))
        stk__text_add(out, "%s", name);
    else
        stk__quote(out, name);
}

/* ---- fields of a bound call ---- */

static void print_pairs(struct printer *p, const struct stk_pairs *pairs)
{
    stk__text_add(p->out, "{");
    for (int i = 0; i < pairs->n; i++) {
        stk__text_add(p->out, i ? ", " : "");
        stk__quote_name(p->out, pairs->name[i]);
        stk__text_add(p->out, ": ");
        stk__quote_name(p->out, pairs->value[i]);
    }
    stk__text_add(p->out, "}");
}

/* A whole number in a list needs no point in short form. */
static void print_number(struct printer *p, double value)
{
    bool is_whole = value == floor(value) && fabs(value) < 1e15 && !(value == 0 && signbit(value));
    if (p->form == STK__SHORT && is_whole)
        stk__text_add(p->out, "%.0f", value);
    else
        stk__text_add_real(p->out, value);
}

/* The text of the i-th item of a row that holds a list. */
static void print_item(struct printer *p, const struct stk_param *row, const void *field, int i)
{
    stk__text_add(p->out, i ? ", " : "");
    if (row->type == STK_ROW_NUMBERS)
        print_number(p, ((const struct stk_numbers *)field)->item[i]);
    else if (row->type == STK_ROW_TEXTS)
        stk__quote(p->out, ((const struct stk_texts *)field)->item[i]);
    else
        print_value(p, ((const struct stk__chains *)field)->item[i]);
}

static int n_items(const struct stk_param *row, const void *field)
{
    if (row->type == STK_ROW_NUMBERS)
        return ((const struct stk_numbers *)field)->n;
    if (row->type == STK_ROW_TEXTS)
        return ((const struct stk_texts *)field)->n;
    return ((const struct stk__chains *)field)->n;
}

/* In short form a list of one needs no brackets, and no list does where the row gathers the
 * positional arguments. */
static void print_list(struct printer *p, const struct stk_param *row, const void *field,
                       bool is_positional)
{
    int n = n_items(row, field);
    bool is_spread = is_positional && row->flags & STK_VARIADIC;
    bool is_bare = p->form == STK__SHORT && (n == 1 || (n && is_spread));
    if (row->type == STK_ROW_NUMBERS && ((const struct stk_numbers *)field)->choice >= 0) {
        stk__quote_name(p->out, row->choices[((const struct stk_numbers *)field)->choice]);
        return;
    }
    if (row->flags & STK__TAKES_FIELD && ((const struct stk_texts *)field)->is_word) {
        stk__quote_name(p->out, ((const struct stk_texts *)field)->item[0]);
        return;
    }
    stk__text_add(p->out, is_bare ? "" : "[");
    for (int i = 0; i < n; i++)
        print_item(p, row, field, i);
    stk__text_add(p->out, is_bare ? "" : "]");
}

/* Calls in a value are bound against what its row says can be called there. */
static void print_any(struct printer *p, const struct stk_param *row, const struct stk_value *value)
{
    const struct stk__namespace *ns = p->ns;
    if (ns && row->calls)
        p->ns = row->calls;
    print_value(p, value);
    p->ns = ns;
}

static void print_field(struct printer *p, const struct stk_param *row, const void *field,
                        bool is_positional)
{
    bool is_none = stk__row_is_none(row, field) && stk__row_takes_none(row);
    if (is_none || (row->type == STK_ROW_INT && *(const int64_t *)field == STK_AUTO)) {
        stk__text_add(p->out, is_none ? "none" : "auto");
        return;
    }
    switch (row->type) {
    case STK_ROW_INT:
        stk__text_add(p->out, "%" PRId64, *(const int64_t *)field);
        break;
    case STK_ROW_REAL:
        stk__text_add_real(p->out, *(const double *)field);
        break;
    case STK_ROW_BOOL:
        stk__text_add(p->out, *(const bool *)field ? "true" : "false");
        break;
    case STK_ROW_TEXT:
        stk__quote(p->out, *(const char *const *)field);
        break;
    case STK_ROW_CHOICE:
        stk__quote_name(p->out, row->choices[*(const int *)field]);
        break;
    case STK_ROW_PAIRS:
        print_pairs(p, field);
        break;
    case STK__ROW_VALUE:
        print_any(p, row, *(const struct stk_value *const *)field);
        break;
    default:
        print_list(p, row, field, is_positional);
    }
}

/* ---- calls ---- */

static void print_call(struct printer *p, const struct stk_decl *decl, const void *params)
{
    bool is_short = p->form == STK__SHORT, is_positional = is_short;
    const char *separator = "";
    stk__text_add(p->out, "%s", decl->name);
    if (!is_short)
        stk__text_add(p->out, "@%d", decl->version);
    stk__text_add(p->out, "(");
    for (const struct stk_param *row = decl->params; row->name; row++) {
        const void *field = (const char *)params + row->offset;
        if (is_short && !(row->flags & STK_REQUIRED) && stk__row_is_default(row, field)) {
            is_positional = false;
            continue;
        }
        stk__text_add(p->out, "%s%s%s", separator, is_positional ? "" : row->name,
                      is_positional ? "" : "=");
        print_field(p, row, field, is_positional);
        separator = ", ";
        is_positional = is_positional && !(row->flags & STK_VARIADIC);
    }
    stk__text_add(p->out, ")");
}

/* A call of no known namespace, as it was written. */
static void print_unbound(struct printer *p, const struct stk__call *call)
{
    stk__text_add(p->out, "%s", call->name);
    if (call->version)
        stk__text_add(p->out, "@%d", call->version);
    stk__text_add(p->out, "(");
    for (int i = 0; i < call->n_args; i++) {
        const char *name = call->arg[i].name;
        stk__text_add(p->out, "%s%s%s", i ? ", " : "", name ? name : "", name ? "=" : "");
        print_value(p, call->arg[i].value);
    }
    stk__text_add(p->out, ")");
}

static void bind_and_print(struct printer *p, const struct stk__call *call)
{
    const struct stk_decl *decl = stk__namespace_find(p->ns, call->name);
    void *params = decl ? stk_arena_alloc(p->arena, decl->params_size) : NULL;
    if (!decl)
        p->status = stk__unknown_call(p->ns, call, p->err);
    else if (!params)
        p->status = stk__out_of_memory(p->err);
    else
        p->status = stk__call_bind(call, decl, p->arena, params, p->err);
    if (!p->status)
        print_call(p, decl, params);
}

static void print_chain(struct printer *p, const struct stk_value *chain)
{
    for (int i = 0; i < chain->n_calls && !p->status; i++) {
        stk__text_add(p->out, i ? "." : "");
        if (p->ns)
            bind_and_print(p, &chain->call[i]);
        else
            print_unbound(p, &chain->call[i]);
    }
}

static void print_members(struct printer *p, const struct stk_value *value)
{
    bool is_map = value->kind == STK__MAP;
    stk__text_add(p->out, is_map ? "{" : "[");
    for (int i = 0; i < value->n_items; i++) {
        stk__text_add(p->out, i ? ", " : "");
        if (is_map) {
            print_value(p, value->key[i]);
            stk__text_add(p->out, ": ");
        }
        print_value(p, value->item[i]);
    }
    stk__text_add(p->out, is_map ? "}" : "]");
}

static void print_value(struct printer *p, const struct stk_value *value)
{
    switch (value->kind) {
    case STK__INT:
        stk__text_add(p->out, "%" PRId64, value->integer);
        break;
    case STK__REAL:
        stk__text_add_real(p->out, value->real);
        break;
    case STK__STRING:
        add_string(p->out, value->text, value->text_len);
        break;
    case STK__WORD:
        stk__text_add(p->out, "%s", value->text);
        break;
    case STK__OBJECT:
        stk__text_add(p->out, "@%s", value->object.name);
        break;
    case STK__CHAIN:
        print_chain(p, value);
        break;
    default:
        print_members(p, value);
    }
}

static int finish(struct printer *p)
{
    stk__arena_free(p->arena);
    if (!p->status && p->out->failed)
        p->status = stk__out_of_memory(p->err);
    return p->status;
}

int stk__print_call(const struct stk_decl *decl, const void *params,
                    const struct stk__namespace *ns, enum stk__print_form form,
                    struct stk__text *out, struct stk_error *err)
{
    struct stk_arena arena;
    struct printer p = { .ns = ns, .form = form, .out = out, .arena = &arena, .err = err };
    stk__arena_init(&arena, 4096);
    print_call(&p, decl, params);
    return finish(&p);
}

int stk__print_value(const struct stk_value *value, const struct stk__namespace *ns,
                     enum stk__print_form form, struct stk__text *out, struct stk_error *err)
{
    struct stk_arena arena;
    struct printer p = { .ns = ns, .form = form, .out = out, .arena = &arena, .err = err };
    stk__arena_init(&arena, 4096);
    print_value(&p, value);
    return finish(&p);
}
