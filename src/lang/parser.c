/* SPDX-License-Identifier: Apache-2.0 */
/* parser.c: recursive descent over the grammar of value.h.
 *
 * The first fault is kept in `status`; from then on the parser sees the end of the text, so every
 * loop ends and nothing else needs to look at it. What @name splices in is shared, not copied, but
 * whoever walks the result sees it written out. So depth and bytes of every assignment are known
 * and count where it is used: names that double each other cannot become a large value.
 */
#include "base/error.h"
#include "lang/lang.h"
#include "lang/lexer.h"
#include "lang/number.h"
#include "lang/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MAX_DEPTH = 64, MAX_CALLS = 1024 };
enum { MAX_KEYS = 4096, MAX_ASSIGNMENTS = 1024 };

struct assignment {
    const char *name;
    const struct stk_value *value;
    uint32_t bytes; /* written out */
    int depth;
    uint32_t at, len; /* of the name */
    bool is_used;     /* by an @name */
};

struct parser {
    struct stk__lexer lexer;
    struct stk__token token; /* the one to look at next */
    uint32_t end;            /* of the token before it */
    int status;
    int depth, deepest; /* of brackets, now and since the assignment began */
    uint32_t spliced_bytes;
    struct assignment *assignment;
    int n_assignments;
    const struct stk_objects *objects;
    struct stk_arena *arena;
    struct stk_error *err;
};

static void *fail(struct parser *p, int code, uint32_t at, uint32_t len, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void *fail(struct parser *p, int code, uint32_t at, uint32_t len, const char *format, ...)
{
    char text[STK_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!p->status)
        p->status = stk__fail_at(p->err, code, at, len, "%s", text);
    return NULL;
}

static void advance(struct parser *p)
{
    p->end = p->token.at + p->token.len;
    if (!p->status)
        p->status = stk__lexer_next(&p->lexer, &p->token, p->err);
    if (p->status)
        p->token = (struct stk__token){ .kind = STK__TOKEN_END, .at = p->end, .len = 1 };
}

static void *expected(struct parser *p, const char *what)
{
    const struct stk__token *t = &p->token;
    int len = t->len < 40 ? (int)t->len : 40;
    const char *source = p->lexer.text + t->at;
    if (t->kind == STK__TOKEN_END)
        return fail(p, STK_SYNTAX, t->at, t->len, "expected %s, but the text ends", what);
    if (t->kind == STK__TOKEN_STRING)
        return fail(p, STK_SYNTAX, t->at, t->len, "expected %s, found a string", what);
    return fail(p, STK_SYNTAX, t->at, t->len, "expected %s, found '%.*s'", what, len, source);
}

static bool expect(struct parser *p, int kind, const char *what)
{
    if (p->token.kind != kind)
        return expected(p, what);
    advance(p);
    return true;
}

static bool enter(struct parser *p, int depth)
{
    int reached = p->depth + depth;
    if (reached > MAX_DEPTH)
        return fail(p, STK_SYNTAX, p->token.at, p->token.len,
                    "brackets may not be nested more than %d deep", MAX_DEPTH);
    if (reached > p->deepest)
        p->deepest = reached;
    return true;
}

static void *alloc(struct parser *p, size_t bytes)
{
    void *memory = stk_arena_alloc(p->arena, bytes);
    if (!memory && !p->status)
        p->status = stk__out_of_memory(p->err);
    return memory;
}

/* Room for one more than `n` items of `size`; the capacity is the power of two that n fills. */
static void *grow(struct parser *p, void *items, int n, size_t size)
{
    if (n && (n < 4 || n & (n - 1)))
        return items;
    void *more = alloc(p, (n ? (size_t)n * 2 : 4) * size);
    if (more && n)
        memcpy(more, items, (size_t)n * size);
    return more;
}

static struct stk_value *new_value(struct parser *p, enum stk__value_kind kind, uint32_t at)
{
    struct stk_value *value = alloc(p, sizeof *value);
    if (value)
        *value = (struct stk_value){ .kind = kind, .at = at, .len = p->end - at };
    return value;
}

static const struct stk_value *new_text(struct parser *p, enum stk__value_kind kind,
                                        const struct stk__token *token)
{
    struct stk_value *value = new_value(p, kind, token->at);
    if (value) {
        value->text = token->text;
        value->text_len = token->text_len;
    }
    return value;
}

static const struct stk_value *parse_value(struct parser *p);

/* ---- @name ---- */

static struct assignment *find_assignment(const struct parser *p, const char *name)
{
    for (int i = 0; i < p->n_assignments; i++)
        if (!strcmp(p->assignment[i].name, name))
            return &p->assignment[i];
    return NULL;
}

static void *unknown_object(struct parser *p, const struct stk__token *token)
{
    int n_objects = stk__objects_count(p->objects);
    const char **names = alloc(p, sizeof *names * (size_t)(p->n_assignments + n_objects + 1));
    if (!names)
        return NULL;
    for (int i = 0; i < p->n_assignments; i++)
        names[i] = p->assignment[i].name;
    for (int i = 0; i < n_objects; i++)
        names[p->n_assignments + i] = stk__objects_name(p->objects, i);
    const char *near = stk__nearest_name(token->text, names);
    return fail(p, STK_NAME, token->at, token->len, "nothing is named @%.64s here%s%s%s",
                token->text, near ? "; did you mean @" : "", near ? near : "", near ? "?" : "");
}

static const struct stk_value *splice(struct parser *p, const struct assignment *found)
{
    p->spliced_bytes += found->bytes;
    if (p->spliced_bytes > MAX_BYTES)
        return fail(p, STK_SYNTAX, p->token.at, p->token.len,
                    "the text may not exceed 1 MiB when its @names are written out");
    return enter(p, found->depth) ? found->value : NULL;
}

/* What the @name at hand stands for. */
static const struct stk_value *resolve(struct parser *p)
{
    const struct stk__token token = p->token;
    struct assignment *found = find_assignment(p, token.text);
    const struct stk_value *value = found ? splice(p, found) : NULL;
    advance(p);
    if (found) {
        found->is_used = true;
        return value;
    }
    const struct stk__object *bound = stk__objects_find(p->objects, token.text);
    if (!bound)
        return unknown_object(p, &token);
    struct stk_value *object = new_value(p, STK__OBJECT, token.at);
    if (object) {
        object->object.name = token.text;
        object->object.bound = bound;
    }
    return object;
}

/* ---- numbers ---- */

static bool parse_sum(struct parser *p, struct stk_value *out);

static bool parse_operand(struct parser *p, struct stk_value *out)
{
    const struct stk__token token = p->token;
    const struct stk_value *named;
    switch (token.kind) {
    case STK__TOKEN_REAL:
        *out = (struct stk_value){ .kind = STK__REAL, .real = token.real };
        advance(p);
        return true;
    case '(':
        if (!enter(p, 1))
            return false;
        p->depth++;
        advance(p);
        if (!parse_sum(p, out) || !expect(p, ')', "an operator or ')'"))
            return false;
        p->depth--;
        return true;
    case STK__TOKEN_OBJECT:
        named = resolve(p);
        if (!named)
            return false;
        *out = *named;
        if (named->kind == STK__INT || named->kind == STK__REAL)
            return true;
        return fail(p, STK_TYPE, token.at, token.len, "@%.64s is not a number", token.text);
    default:
        return expected(p, "a number");
    }
}

/* Signs and an operand; a literal meets its sign here, so that -2^63 can be written. */
static bool parse_factor(struct parser *p, struct stk_value *out)
{
    uint32_t at = p->token.at;
    bool is_negative = false, fits = true;
    for (; p->token.kind == '-' || p->token.kind == '+'; advance(p))
        is_negative ^= p->token.kind == '-';
    if (p->token.kind == STK__TOKEN_INTEGER) {
        fits = stk__number_from(p->token.integer, is_negative, out);
        advance(p);
    } else if (!parse_operand(p, out)) {
        return false;
    } else if (is_negative) {
        fits = stk__number_negate(out);
    }
    out->at = at;
    out->len = p->end - at;
    if (!fits)
        fail(p, STK_VALUE, at, out->len, "this integer does not fit in 64 bits");
    return fits;
}

/* Operands joined by two operators of one rank, from left to right. */
static bool parse_joined(struct parser *p, const char *operators,
                         bool (*parse_part)(struct parser *, struct stk_value *),
                         struct stk_value *out)
{
    if (!parse_part(p, out))
        return false;
    while (p->token.kind == operators[0] || p->token.kind == operators[1]) {
        int op = p->token.kind;
        struct stk_value right;
        advance(p);
        if (!parse_part(p, &right))
            return false;
        const char *fault = stk__number_join(out, op, &right);
        out->len = p->end - out->at;
        if (fault)
            return fail(p, STK_VALUE, out->at, out->len, "%s", fault);
    }
    return true;
}

static bool parse_product(struct parser *p, struct stk_value *out)
{
    return parse_joined(p, "*/", parse_factor, out);
}

static bool parse_sum(struct parser *p, struct stk_value *out)
{
    return parse_joined(p, "+-", parse_product, out);
}

static const struct stk_value *parse_number(struct parser *p)
{
    struct stk_value number, *value;
    if (!parse_sum(p, &number) || !(value = new_value(p, number.kind, number.at)))
        return NULL;
    *value = number;
    return value;
}

/* ---- lists and maps ---- */

static const struct stk_value *parse_key(struct parser *p, const struct stk_value **before, int n)
{
    struct stk__token token = p->token;
    bool is_name = token.kind == STK__TOKEN_NAME;
    if (!is_name && token.kind != STK__TOKEN_STRING)
        return expected(p, "a key (a name or a string) or '}'");
    if (n == MAX_KEYS)
        return fail(p, STK_SYNTAX, token.at, token.len, "a map has at most %d keys", MAX_KEYS);
    for (int i = 0; i < n; i++)
        if (before[i]->text_len == token.text_len &&
            !memcmp(before[i]->text, token.text, token.text_len))
            return fail(p, STK_NAME, token.at, token.len, "this key is in the map twice");
    advance(p);
    const struct stk_value *key = new_text(p, is_name ? STK__WORD : STK__STRING, &token);
    return key && expect(p, ':', "':' after the key") ? key : NULL;
}

/* A list or a map. */
static const struct stk_value *parse_members(struct parser *p)
{
    const struct stk_value **item = NULL, **key = NULL;
    uint32_t at = p->token.at;
    bool is_map = p->token.kind == '{';
    int n = 0, close = is_map ? '}' : ']';
    advance(p);
    while (p->token.kind != close) {
        item = grow(p, item, n, sizeof *item);
        if (is_map) {
            key = grow(p, key, n, sizeof *key);
            if (!key || !(key[n] = parse_key(p, key, n)))
                return NULL;
        }
        if (!item || !(item[n++] = parse_value(p)))
            return NULL;
        if (p->token.kind != close && !expect(p, ',', is_map ? "',' or '}'" : "',' or ']'"))
            return NULL;
    }
    advance(p);
    struct stk_value *value = new_value(p, is_map ? STK__MAP : STK__LIST, at);
    if (value) {
        value->n_items = n;
        value->item = item;
        value->key = is_map ? key : NULL;
    }
    return value;
}

static const struct stk_value *parse_nested(struct parser *p)
{
    if (!enter(p, 1))
        return NULL;
    p->depth++;
    const struct stk_value *value = parse_members(p);
    p->depth--;
    return value;
}

/* ---- chains ---- */

static bool is_call(const struct parser *p)
{
    return p->token.kind == '(' || p->token.kind == STK__TOKEN_VERSION;
}

/* What begins with a name that was read already: a chain or a word. */
static const struct stk_value *parse_named(struct parser *p, struct stk__token name);

/* A list that is the whole argument adds no depth: the canonical form may put brackets there. */
static const struct stk_value *parse_arg_value(struct parser *p)
{
    return p->token.kind == '[' ? parse_members(p) : parse_value(p);
}

static bool parse_arg(struct parser *p, struct stk__arg *out)
{
    struct stk__token first = p->token;
    if (first.kind != STK__TOKEN_NAME) {
        out->value = parse_arg_value(p);
    } else {
        advance(p);
        if (p->token.kind == '=') {
            advance(p);
            out->name = first.text;
            out->value = parse_arg_value(p);
        } else {
            out->value = parse_named(p, first);
        }
    }
    out->at = first.at;
    out->len = out->name ? first.len : p->end - first.at;
    return out->value;
}

static bool parse_args(struct parser *p, struct stk__call *call)
{
    struct stk__arg *arg = NULL;
    while (p->token.kind != ')') {
        arg = grow(p, arg, call->n_args, sizeof *arg);
        if (!arg)
            return false;
        arg[call->n_args] = (struct stk__arg){ 0 };
        if (!parse_arg(p, &arg[call->n_args++]))
            return false;
        if (p->token.kind != ')' && !expect(p, ',', "',' or ')'"))
            return false;
    }
    advance(p);
    call->arg = arg;
    return true;
}

static bool parse_call(struct parser *p, const struct stk__token *name, struct stk__call *out)
{
    *out = (struct stk__call){ .name = name->text, .at = name->at, .len = name->len };
    if (p->token.kind == STK__TOKEN_VERSION) {
        out->version = (int)p->token.integer;
        advance(p);
    }
    if (!expect(p, '(', "'(' after the name of a call") || !enter(p, 1))
        return false;
    p->depth++;
    bool is_parsed = parse_args(p, out);
    p->depth--;
    return is_parsed;
}

/* The rest of a chain: calls of the chain it begins with, then calls as long as '.' follows. */
static const struct stk_value *parse_calls(struct parser *p, struct stk_value *chain,
                                           struct stk__call *call, int n)
{
    while (p->token.kind == '.') {
        advance(p);
        struct stk__token name = p->token;
        if (!expect(p, STK__TOKEN_NAME, "the name of a call after '.'"))
            return NULL;
        if (n == MAX_CALLS)
            return fail(p, STK_SYNTAX, name.at, name.len, "a chain has at most %d calls",
                        MAX_CALLS);
        call = grow(p, call, n, sizeof *call);
        if (!call || !parse_call(p, &name, &call[n++]))
            return NULL;
    }
    chain->n_calls = n;
    chain->call = call;
    chain->len = p->end - chain->at;
    return chain;
}

static const struct stk_value *parse_named(struct parser *p, struct stk__token name)
{
    if (!is_call(p))
        return new_text(p, STK__WORD, &name);
    struct stk_value *chain = new_value(p, STK__CHAIN, name.at);
    struct stk__call *call = grow(p, NULL, 0, sizeof *call);
    if (!chain || !call || !parse_call(p, &name, call))
        return NULL;
    return parse_calls(p, chain, call, 1);
}

static const struct stk_value *parse_object(struct parser *p)
{
    struct stk__token name = p->token;
    const struct stk_value *value = resolve(p);
    if (!value || p->token.kind != '.')
        return value;
    if (value->kind != STK__CHAIN)
        return fail(p, STK_TYPE, name.at, name.len,
                    "@%.64s is not a chain, so nothing can be called on it", name.text);
    struct stk_value *chain = new_value(p, STK__CHAIN, name.at);
    struct stk__call *call = NULL;
    for (int i = 0; i < value->n_calls; i++) {
        call = grow(p, call, i, sizeof *call);
        if (!call)
            return NULL;
        call[i] = value->call[i];
    }
    return chain ? parse_calls(p, chain, call, value->n_calls) : NULL;
}

static bool is_number(const struct parser *p, const char *name)
{
    const struct assignment *found = find_assignment(p, name);
    return found && (found->value->kind == STK__INT || found->value->kind == STK__REAL);
}

static const struct stk_value *parse_value(struct parser *p)
{
    struct stk__token token = p->token;
    switch (token.kind) {
    case STK__TOKEN_INTEGER:
    case STK__TOKEN_REAL:
    case '-':
    case '+':
    case '(':
        return parse_number(p);
    case STK__TOKEN_STRING:
        advance(p);
        return new_text(p, STK__STRING, &token);
    case STK__TOKEN_NAME:
        advance(p);
        return parse_named(p, token);
    case STK__TOKEN_OBJECT:
        return is_number(p, token.text) ? parse_number(p) : parse_object(p);
    case '[':
    case '{':
        return parse_nested(p);
    default:
        return expected(p, "a value");
    }
}

/* ---- recipes ---- */

static bool parse_assignment(struct parser *p, const struct stk__token *name)
{
    uint32_t spliced_before = p->spliced_bytes;
    if (find_assignment(p, name->text))
        return fail(p, STK_NAME, name->at, name->len, "%.64s is assigned twice", name->text);
    if (p->n_assignments == MAX_ASSIGNMENTS)
        return fail(p, STK_SYNTAX, name->at, name->len, "a recipe has at most %d assignments",
                    MAX_ASSIGNMENTS);
    p->assignment = grow(p, p->assignment, p->n_assignments, sizeof *p->assignment);
    p->deepest = 0;
    advance(p);
    uint32_t at = p->token.at;
    const struct stk_value *value = p->assignment ? parse_value(p) : NULL;
    if (!value)
        return false;
    p->assignment[p->n_assignments++] =
        (struct assignment){ .name = name->text,
                             .value = value,
                             .bytes = p->end - at + p->spliced_bytes - spliced_before,
                             .depth = p->deepest,
                             .at = name->at,
                             .len = name->len };
    return true;
}

static const struct stk_value *parse_recipe(struct parser *p)
{
    const struct stk_value *value = NULL;
    while (p->token.kind == STK__TOKEN_NAME && !value) {
        struct stk__token name = p->token;
        advance(p);
        if (p->token.kind != '=')
            value = parse_named(p, name);
        else if (!parse_assignment(p, &name))
            return NULL;
    }
    if (!value && p->token.kind == STK__TOKEN_END && p->n_assignments)
        return p->assignment[p->n_assignments - 1].value;
    if (!value && p->token.kind == STK__TOKEN_OBJECT)
        value = parse_object(p);
    if (!value)
        return expected(p, "a chain such as files('*.jpg').decode()");
    if (value->kind != STK__CHAIN)
        return fail(p, STK_SYNTAX, value->at, value->len, "this is not a chain%s",
                    value->kind == STK__WORD ? "; put () behind a name to call it" : "");
    return p->token.kind == STK__TOKEN_END ? value : expected(p, "'.' or the end of the chain");
}

static int begin(struct parser *p, const char *text)
{
    if (!memchr(text, 0, MAX_BYTES + 1))
        return stk_fail(p->err, STK_SYNTAX, "the text is longer than 1 MiB");
    advance(p);
    return STK_OK;
}

int stk__parse(const char *text, const struct stk_objects *objects, struct stk_arena *arena,
               const struct stk_value **out, struct stk_error *err)
{
    struct parser p = {
        .lexer = { .text = text, .arena = arena }, .objects = objects, .arena = arena, .err = err
    };
    *out = NULL;
    int rc = begin(&p, text);
    if (rc)
        return rc;
    const struct stk_value *value = parse_recipe(&p);
    if (!p.status)
        *out = value;
    return p.status;
}

static void parse_assignments(struct parser *p)
{
    while (p->token.kind == STK__TOKEN_NAME) {
        struct stk__token name = p->token;
        advance(p);
        if (p->token.kind != '=') {
            expected(p, "'=' behind a name");
            return;
        }
        if (!parse_assignment(p, &name))
            return;
    }
    if (p->token.kind != STK__TOKEN_END)
        expected(p, "name = value");
}

int stk__parse_assignments(const char *text, const struct stk_objects *objects,
                           struct stk_arena *arena, struct stk__assignments *out,
                           struct stk_error *err)
{
    struct parser p = {
        .lexer = { .text = text, .arena = arena }, .objects = objects, .arena = arena, .err = err
    };
    *out = (struct stk__assignments){ 0 };
    int rc = begin(&p, text);
    if (rc)
        return rc;
    parse_assignments(&p);
    size_t n = (size_t)p.n_assignments;
    struct stk__arg *arg = p.status ? NULL : alloc(&p, sizeof *arg * (n + 1));
    bool *is_used = p.status ? NULL : alloc(&p, n + 1);
    if (p.status)
        return p.status;
    for (size_t i = 0; i < n; i++) {
        const struct assignment *a = &p.assignment[i];
        arg[i] = (struct stk__arg){ a->name, a->at, a->len, a->value };
        is_used[i] = a->is_used;
    }
    *out = (struct stk__assignments){ (int)n, arg, is_used };
    return STK_OK;
}
