/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c: the arguments of a call into the parameter struct of a declaration. */
#include "base/error.h"
#include "lang/lang.h"
#include "lang/param_rows.h"

#include <inttypes.h>
#include <string.h>

struct binder {
    const struct stk__call *call;
    const struct stk_decl *decl;
    const struct stk_param *row; /* the one at work */
    void *field;                 /* where its value goes; zero before */
    struct stk_arena *arena;
    struct stk_error *err;
};

static bool is_text(const struct stk_value *value)
{
    return value->kind == STK__STRING || value->kind == STK__WORD;
}

static bool is_word(const struct stk_value *value, const char *word)
{
    return value->kind == STK__WORD && !strcmp(value->text, word);
}

/* ---- messages ---- */

/* A value as people wrote it, cut to fit a message. */
static const char *describe(const struct stk_value *value, struct stk__text *text)
{
    size_t longest = 48;
    stk__print_value(value, NULL, STK__SHORT, text, NULL);
    if (text->failed)
        return "that";
    if (text->len > longest) {
        while (((unsigned char)text->data[longest] & 0xc0) == 0x80)
            longest--;
        text->len = longest;
        stk__text_add(text, "…");
    }
    return text->failed ? "that" : text->data;
}

/* The value is of a kind, or a word, that the row does not take. */
static int refuse(const struct binder *b, const struct stk_value *value, int code)
{
    struct stk__text takes = { 0 }, given = { 0 };
    bool may_be_choice = b->row->choices && is_text(value);
    const char *near = may_be_choice ? stk__nearest_name(value->text, b->row->choices) : NULL;
    stk__row_add_takes(b->row, &takes);
    stk__fail_at(b->err, code, value->at, value->len, "%s: %s takes %s, not %s%s%s%s",
                 b->decl->name, b->row->name, takes.data ? takes.data : "something else",
                 describe(value, &given), near ? "; did you mean " : "", near ? near : "",
                 near ? "?" : "");
    stk__text_free(&takes);
    stk__text_free(&given);
    return code;
}

static int out_of_bounds(const struct binder *b, const struct stk_value *value)
{
    struct stk__text bounds = { 0 }, given = { 0 };
    bool has_max = stk__row_has_max(b->row), has_both = has_max && stk__row_has_min(b->row);
    stk__text_add(&bounds, has_both ? "outside [" : has_max ? "above " : "below ");
    if (has_both || !has_max)
        stk__row_add_bound(b->row, true, &bounds);
    stk__text_add(&bounds, has_both ? ", " : "");
    if (has_max)
        stk__row_add_bound(b->row, false, &bounds);
    stk__text_add(&bounds, has_both ? "]" : "");
    stk__fail_at(b->err, STK_VALUE, value->at, value->len, "%s: %s=%s is %s", b->decl->name,
                 b->row->name, describe(value, &given),
                 bounds.data ? bounds.data : "out of bounds");
    stk__text_free(&bounds);
    stk__text_free(&given);
    return STK_VALUE;
}

static int check_count(const struct binder *b, const struct stk_value *value, int n)
{
    int64_t lo = b->row->lo.i, hi = b->row->hi.i;
    const char *op = b->decl->name, *name = b->row->name;
    if (n >= lo && n <= hi)
        return STK_OK;
    if (lo == hi)
        return stk__fail_at(b->err, STK_VALUE, value->at, value->len,
                            "%s: %s takes %" PRId64 " items, but %d are given", op, name, lo, n);
    return stk__fail_at(b->err, STK_VALUE, value->at, value->len,
                        "%s: %s takes at %s %" PRId64 " items, but %d are given", op, name,
                        n < lo ? "least" : "most", n < lo ? lo : hi, n);
}

/* ---- one value into one field ---- */

static int find_label(const struct stk_param *row, const struct stk_value *value)
{
    for (int i = 0; is_text(value) && row->choices && row->choices[i]; i++)
        if (strlen(row->choices[i]) == value->text_len && !strcmp(row->choices[i], value->text))
            return i;
    return -1;
}

static int bind_int(struct binder *b, const struct stk_value *value)
{
    if (value->kind != STK__INT)
        return refuse(b, value, STK_TYPE);
    int64_t i = value->integer;
    if (i < b->row->lo.i || i > b->row->hi.i || i <= STK_AUTO)
        return out_of_bounds(b, value);
    *(int64_t *)b->field = i;
    return STK_OK;
}

static int read_number(const struct binder *b, const struct stk_value *value, void *out)
{
    if (value->kind != STK__INT && value->kind != STK__REAL)
        return refuse(b, value, STK_TYPE);
    *(double *)out = value->kind == STK__INT ? (double)value->integer : value->real;
    return STK_OK;
}

static int bind_real(struct binder *b, const struct stk_value *value)
{
    double r = 0;
    int status = read_number(b, value, &r);
    if (status)
        return status;
    if (r < b->row->lo.r || r > b->row->hi.r)
        return out_of_bounds(b, value);
    *(double *)b->field = r;
    return STK_OK;
}

static int bind_bool(struct binder *b, const struct stk_value *value)
{
    *(bool *)b->field = is_word(value, "true");
    return is_word(value, "true") || is_word(value, "false") ? STK_OK : refuse(b, value, STK_TYPE);
}

/* A string, or a bare word unless it is none or auto: those mean something else elsewhere. */
static int read_text(const struct binder *b, const struct stk_value *value, void *out)
{
    if (!is_text(value) || is_word(value, "none") || is_word(value, "auto"))
        return refuse(b, value, STK_TYPE);
    if (strlen(value->text) != value->text_len)
        return stk__fail_at(b->err, STK_VALUE, value->at, value->len,
                            "%s: %s may not contain a NUL byte", b->decl->name, b->row->name);
    *(const char **)out = value->text;
    return STK_OK;
}

static int bind_text(struct binder *b, const struct stk_value *value)
{
    return read_text(b, value, b->field);
}

/* The label was looked for already. */
static int bind_choice(struct binder *b, const struct stk_value *value)
{
    return refuse(b, value, is_text(value) ? STK_VALUE : STK_TYPE);
}

static int read_chain(const struct binder *b, const struct stk_value *value, void *out)
{
    *(const struct stk_value **)out = value;
    return value->kind == STK__CHAIN ? STK_OK : refuse(b, value, STK_TYPE);
}

struct items {
    char *data;
    int n;
    size_t size; /* of one */
    int (*read)(const struct binder *b, const struct stk_value *value, void *out);
};

/* The items of a list; any other value counts as a list of one. */
static int bind_items(struct binder *b, const struct stk_value *value, struct items *out)
{
    bool is_list = value->kind == STK__LIST;
    int status = STK_OK;
    out->n = is_list ? value->n_items : 1;
    out->data = stk_arena_alloc(b->arena, out->size * (size_t)out->n);
    if (!out->data)
        return stk__out_of_memory(b->err);
    for (int i = 0; i < out->n && !status; i++)
        status = out->read(b, is_list ? value->item[i] : value, out->data + out->size * (size_t)i);
    return status;
}

static int bind_numbers(struct binder *b, const struct stk_value *value)
{
    struct items items = { .size = sizeof(double), .read = read_number };
    int status = bind_items(b, value, &items);
    *(struct stk_numbers *)b->field = (struct stk_numbers){ (void *)items.data, items.n, -1 };
    return status ? status : check_count(b, value, items.n);
}

static int bind_texts(struct binder *b, const struct stk_value *value)
{
    struct items items = { .size = sizeof(char *), .read = read_text };
    int status = bind_items(b, value, &items);
    *(struct stk_texts *)b->field =
        (struct stk_texts){ (void *)items.data, items.n, value->kind == STK__WORD };
    return status ? status : check_count(b, value, items.n);
}

static int bind_chains(struct binder *b, const struct stk_value *value)
{
    struct items items = { .size = sizeof(struct stk_value *), .read = read_chain };
    int status = bind_items(b, value, &items);
    *(struct stk__chains *)b->field = (struct stk__chains){ (void *)items.data, items.n };
    return status;
}

static int bind_pairs(struct binder *b, const struct stk_value *value)
{
    struct stk_pairs *out = b->field;
    if (value->kind != STK__MAP)
        return refuse(b, value, STK_TYPE);
    size_t bytes = sizeof(char *) * (size_t)value->n_items;
    const char **name = stk_arena_alloc(b->arena, bytes), **text = stk_arena_alloc(b->arena, bytes);
    if (!name || !text)
        return stk__out_of_memory(b->err);
    for (int i = 0; i < value->n_items; i++) {
        int status = read_text(b, value->key[i], &name[i]);
        if (!status)
            status = read_text(b, value->item[i], &text[i]);
        if (status)
            return status;
    }
    *out = (struct stk_pairs){ name, text, value->n_items };
    return STK_OK;
}

static int bind_any(struct binder *b, const struct stk_value *value)
{
    *(const struct stk_value **)b->field = value;
    return STK_OK;
}

static void put_auto(const struct binder *b)
{
    if (b->row->type == STK_ROW_INT)
        *(int64_t *)b->field = STK_AUTO;
    else
        *(const char **)b->field = "auto";
}

static int bind_value(struct binder *b, const struct stk_value *value)
{
    static int (*const bind[])(struct binder *, const struct stk_value *) = {
        [STK_ROW_INT] = bind_int,       [STK_ROW_REAL] = bind_real,
        [STK_ROW_BOOL] = bind_bool,     [STK_ROW_TEXT] = bind_text,
        [STK_ROW_CHOICE] = bind_choice, [STK_ROW_NUMBERS] = bind_numbers,
        [STK_ROW_TEXTS] = bind_texts,   [STK_ROW_PAIRS] = bind_pairs,
        [STK__ROW_VALUE] = bind_any,    [STK__ROW_CHAINS] = bind_chains,
    };
    int label = find_label(b->row, value);
    if (label >= 0 && b->row->type == STK_ROW_CHOICE)
        *(int *)b->field = label;
    else if (label >= 0)
        ((struct stk_numbers *)b->field)->choice = label;
    else if (is_word(value, "none") && stk__row_takes_none(b->row))
        stk__row_put_none(b->row, b->field);
    else if (is_word(value, "auto") && stk__row_takes_auto(b->row))
        put_auto(b);
    else
        return bind[b->row->type](b, value);
    return STK_OK;
}

/* ---- arguments to rows ---- */

static int unknown_parameter(const struct binder *b, const struct stk__arg *arg, int n_rows)
{
    const char **names = stk_arena_alloc(b->arena, sizeof *names * (size_t)(n_rows + 1));
    struct stk__text known = { 0 };
    if (!names)
        return stk__out_of_memory(b->err);
    for (int i = 0; i < n_rows; i++) {
        names[i] = b->decl->params[i].name;
        stk__text_add(&known, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = stk__nearest_name(arg->name, names), *op = b->decl->name;
    if (near)
        stk__fail_at(b->err, STK_NAME, arg->at, arg->len,
                     "%s has no parameter %.64s; did you mean %s?", op, arg->name, near);
    else
        stk__fail_at(b->err, STK_NAME, arg->at, arg->len, "%s has no parameter %.64s; it takes %s",
                     op, arg->name, known.data ? known.data : "none");
    stk__text_free(&known);
    return STK_NAME;
}

static bool has_row(const struct stk_decl *decl, const char *name)
{
    for (const struct stk_param *row = decl->params; row->name; row++)
        if (!strcmp(row->name, name))
            return true;
    return false;
}

/* Positional arguments come first and have a row each; every keyword has a row. */
static int check_args(const struct binder *b, int *n_positional)
{
    const char *op = b->decl->name;
    int n_rows = 0, n = 0;
    bool is_variadic = false;
    for (; b->decl->params[n_rows].name; n_rows++)
        is_variadic |= b->decl->params[n_rows].flags & STK_VARIADIC;
    for (int i = 0; i < b->call->n_args; i++) {
        const struct stk__arg *arg = &b->call->arg[i];
        if (arg->name && !has_row(b->decl, arg->name))
            return unknown_parameter(b, arg, n_rows);
        if (!arg->name && n < i)
            return stk__fail_at(b->err, STK_SYNTAX, arg->at, arg->len,
                                "%s: an argument without a name follows one with a name", op);
        if (!arg->name && n == n_rows && !is_variadic)
            return stk__fail_at(b->err, STK_VALUE, arg->at, arg->len,
                                "%s takes %s%d argument%s, but more are given", op,
                                n_rows ? "at most " : "", n_rows, n_rows == 1 ? "" : "s");
        n += !arg->name;
    }
    *n_positional = n;
    return STK_OK;
}

/* The argument that names the row; an error if `value` was given by position or another keyword. */
static int find_keyword(const struct binder *b, const struct stk_value **value)
{
    for (int i = 0; i < b->call->n_args; i++) {
        const struct stk__arg *arg = &b->call->arg[i];
        if (!arg->name || strcmp(arg->name, b->row->name))
            continue;
        if (*value)
            return stk__fail_at(b->err, STK_VALUE, arg->at, arg->len, "%s: %s is given twice",
                                b->decl->name, b->row->name);
        *value = arg->value;
    }
    return STK_OK;
}

/* All positional arguments from `first` on, as one list; a single one stands for itself. */
static const struct stk_value *gather(const struct binder *b, int first, int n)
{
    const struct stk__arg *arg = b->call->arg + first, *last = arg + n - 1;
    if (n == 1)
        return arg->value;
    struct stk_value *list = stk_arena_alloc(b->arena, sizeof *list);
    const struct stk_value **item = stk_arena_alloc(b->arena, sizeof *item * (size_t)n);
    if (!list || !item)
        return NULL;
    for (int i = 0; i < n; i++)
        item[i] = arg[i].value;
    *list = (struct stk_value){ .kind = STK__LIST,
                                .at = arg->at,
                                .len = last->at + last->len - arg->at };
    list->n_items = n;
    list->item = item;
    return list;
}

static int bind_row(struct binder *b, int *next, int n_positional)
{
    const struct stk_value *value = NULL;
    if (*next < n_positional) {
        int n = b->row->flags & STK_VARIADIC ? n_positional - *next : 1;
        value = gather(b, *next, n);
        if (!value)
            return stk__out_of_memory(b->err);
        *next += n;
    }
    int status = find_keyword(b, &value);
    if (status)
        return status;
    if (value)
        return bind_value(b, value);
    if (b->row->flags & STK_REQUIRED)
        return stk__fail_at(b->err, STK_VALUE, b->call->at, b->call->len, "%s needs %s: %s",
                            b->decl->name, b->row->name, b->row->help ? b->row->help : "");
    stk__row_put_default(b->row, b->field);
    return STK_OK;
}

int stk__call_bind(const struct stk__call *call, const struct stk_decl *decl,
                   struct stk_arena *arena, void *params, struct stk_error *err)
{
    struct binder b = { .call = call, .decl = decl, .arena = arena, .err = err };
    int next = 0, n_positional = 0;
    memset(params, 0, decl->params_size);
    if (call->version && call->version != decl->version)
        return stk__fail_at(err, STK_VALUE, call->at, call->len,
                            "%s@%d is not available; this build has %s@%d", decl->name,
                            call->version, decl->name, decl->version);
    int status = check_args(&b, &n_positional);
    for (const struct stk_param *row = decl->params; row->name && !status; row++) {
        b.row = row;
        b.field = (char *)params + row->offset;
        status = bind_row(&b, &next, n_positional);
    }
    return status;
}
