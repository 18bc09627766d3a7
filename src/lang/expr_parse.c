/* SPDX-License-Identifier: Apache-2.0 */
/* expr_parse.c: the grammar of expressions. One pass: every rule is typed and emitted when read.
 *
 *     program := [statement] ((';' | newline) [statement])*      statement := [name '='] expr
 *     expr    := operators by precedence, as Python's: or, and, not, comparisons (which do not
 *                chain), |, ^, &, << >>, + -, * / // %, unary - ~, **
 *     primary := number | string | name | name '(' expr, … ')' | '(' expr ')'
 *              | primary '[' index ']'
 */
#include "base/type.h"
#include "lang/expr_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

/* Kinds of token; an operator or a bracket is its one or two characters: c | d << 8. */
enum { TOKEN_END = 1, TOKEN_BREAK, TOKEN_NAME, TOKEN_INT, TOKEN_REAL, TOKEN_TEXT };

struct parser {
    struct stk__expr_builder *b;
    int kind; /* of the token at hand */
    uint32_t at, len;
    uint32_t end; /* of the token before */
    int depth, n_open;
    int64_t integer;
    double real;
};

static struct stk__expr_value parse_expr(struct parser *p, int min_level);

/* ---- tokens ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int digit_of(char c, int base)
{
    int digit = is_digit(c)                          ? c - '0'
                : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                     : 99;
    return digit < base ? digit : -1;
}

static void read_integer(struct parser *p, const char *start, int base)
{
    const char *s = base == 16 ? start + 2 : start;
    int64_t value = 0;
    p->kind = TOKEN_INT;
    for (; digit_of(*s, base) >= 0; s++) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit_of(*s, base), &value)) {
            stk__expr_fail(p->b, STK_SYNTAX, p->at, "the number does not fit 64 bits");
            return;
        }
    }
    p->integer = value;
    p->len = (uint32_t)(s - start);
}

static void read_number(struct parser *p, const char *s)
{
    size_t digits = strspn(s, "0123456789");
    bool is_hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && digit_of(s[2], 16) >= 0;
    if (is_hex || !strchr(".eE", s[digits]) || !s[digits]) {
        read_integer(p, s, is_hex ? 16 : 10);
    } else {
        p->kind = TOKEN_REAL;
        p->len = (uint32_t)(stk__parse_real(s, &p->real) - s);
    }
    if (!p->b->rc && is_letter(s[p->len]))
        stk__expr_fail(p->b, STK_SYNTAX, p->at,
                       "a number runs into a name; put an operator between");
}

static void read_text(struct parser *p, const char *s)
{
    const char *close = strchr(s + 1, *s);
    p->kind = TOKEN_TEXT;
    if (close)
        p->len = (uint32_t)(close + 1 - s);
    else
        stk__expr_fail(p->b, STK_SYNTAX, p->at, "the string is not closed");
}

static void read_operator(struct parser *p, const char *s)
{
    static const char *const pairs[] = { "**", "//", "<<", ">>", "<=", ">=", "==", "!=" };
    p->kind = (unsigned char)*s;
    p->len = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!strncmp(s, pairs[i], 2)) {
            p->kind = s[0] | s[1] << 8;
            p->len = 2;
        }
    }
    if (p->kind < 128 && !strchr("+-*/%<>&|^~()[],=", *s))
        stk__expr_fail(p->b, STK_SYNTAX, p->at, "unexpected character '%c'", *s);
    else if (p->kind >= 128 && p->len == 1)
        stk__expr_fail(p->b, STK_SYNTAX, p->at, "names are ASCII letters, digits and _");
}

/* Steps to the next token. Newlines are blanks inside parentheses. */
static void advance(struct parser *p)
{
    p->end = p->at + p->len;
    const char *start = p->b->text, *s = start + p->end;
    s += strspn(s, p->n_open ? " \t\r\n" : " \t\r");
    p->at = (uint32_t)(s - start);
    p->len = 1;
    if (!*s) {
        p->kind = TOKEN_END;
        p->len = 0;
    } else if (*s == ';' || *s == '\n') {
        p->kind = TOKEN_BREAK;
    } else if (is_letter(*s)) {
        p->kind = TOKEN_NAME;
        while (is_letter(s[p->len]) || is_digit(s[p->len]))
            p->len++;
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        read_number(p, s);
    } else if (*s == '\'' || *s == '"') {
        read_text(p, s);
    } else {
        read_operator(p, s);
    }
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->kind == TOKEN_NAME && p->len == strlen(word) &&
           !memcmp(p->b->text + p->at, word, p->len);
}

static struct stk__expr_value fail_expected(struct parser *p, const char *what)
{
    if (p->kind == TOKEN_END)
        return stk__expr_fail(p->b, STK_SYNTAX, p->at, "expected %s, but the expression ends",
                              what);
    if (p->kind == TOKEN_BREAK)
        return stk__expr_fail(p->b, STK_SYNTAX, p->at, "expected %s, but the statement ends", what);
    return stk__expr_fail(p->b, STK_SYNTAX, p->at, "expected %s, not '%.*s'", what, (int)p->len,
                          p->b->text + p->at);
}

static bool expect(struct parser *p, int kind, const char *what)
{
    if (p->b->rc)
        return false;
    if (p->kind != kind) {
        fail_expected(p, what);
        return false;
    }
    advance(p);
    return !p->b->rc;
}

static void open_bracket(struct parser *p)
{
    p->n_open++;
    advance(p);
}

static bool close_bracket(struct parser *p, int kind, const char *what)
{
    p->n_open--;
    return expect(p, kind, what);
}

/* ---- functions ---- */

enum call_kind { CALL_UNARY, CALL_BINARY, CALL_REDUCE, CALL_WHERE, CALL_CLIP, CALL_LEN };

static const struct function {
    const char *name;
    uint8_t n_args, kind, code;
} functions[] = {
    { "where", 3, CALL_WHERE, 0 },
    { "clip", 3, CALL_CLIP, 0 },
    { "min", 2, CALL_BINARY, STK__EXPR_MIN },
    { "max", 2, CALL_BINARY, STK__EXPR_MAX },
    { "abs", 1, CALL_UNARY, STK__EXPR_ABS },
    { "sqrt", 1, CALL_UNARY, STK__EXPR_SQRT },
    { "exp", 1, CALL_UNARY, STK__EXPR_EXP },
    { "log", 1, CALL_UNARY, STK__EXPR_LOG },
    { "sin", 1, CALL_UNARY, STK__EXPR_SIN },
    { "cos", 1, CALL_UNARY, STK__EXPR_COS },
    { "tanh", 1, CALL_UNARY, STK__EXPR_TANH },
    { "floor", 1, CALL_UNARY, STK__EXPR_FLOOR },
    { "ceil", 1, CALL_UNARY, STK__EXPR_CEIL },
    { "round", 1, CALL_UNARY, STK__EXPR_ROUND },
    { "sum", 1, CALL_REDUCE, STK__EXPR_SUM },
    { "mean", 1, CALL_REDUCE, STK__EXPR_MEAN },
    { "amin", 1, CALL_REDUCE, STK__EXPR_AMIN },
    { "amax", 1, CALL_REDUCE, STK__EXPR_AMAX },
    { "any", 1, CALL_REDUCE, STK__EXPR_ANY },
    { "all", 1, CALL_REDUCE, STK__EXPR_ALL },
    { "len", 1, CALL_LEN, 0 },
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static struct stk__expr_value call(struct stk__expr_builder *b, const struct function *f,
                                   const struct stk__expr_value arg[3])
{
    switch (f->kind) {
    case CALL_UNARY:
        return stk__expr_unary(b, f->code, arg[0]);
    case CALL_BINARY:
        return stk__expr_binary(b, f->code, arg[0], arg[1]);
    case CALL_REDUCE:
        return stk__expr_reduce(b, f->code, arg[0]);
    case CALL_WHERE:
        return stk__expr_where(b, arg);
    case CALL_CLIP:
        return stk__expr_binary(b, STK__EXPR_MIN,
                                stk__expr_binary(b, STK__EXPR_MAX, arg[0], arg[1]), arg[2]);
    default:
        return stk__expr_len(b, arg[0]);
    }
}

static int dtype_at_hand(const struct parser *p)
{
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++)
        if (is_word(p, stk__dtype_names[dtype]))
            return dtype;
    return -1;
}

/* cast(x, float32), after the parenthesis; or float32(x), when dtype is known already. */
static struct stk__expr_value parse_cast(struct parser *p, int dtype)
{
    struct stk__expr_value x = parse_expr(p, 0);
    if (dtype < 0) {
        if (!expect(p, ',', "',' and a dtype"))
            return x;
        dtype = dtype_at_hand(p);
        if (dtype < 0)
            return fail_expected(p, "a dtype such as float32");
        advance(p);
    }
    if (!close_bracket(p, ')', "')'"))
        return x;
    return stk__expr_cast(p->b, x, dtype);
}

static struct stk__expr_value fail_unknown_function(struct parser *p, uint32_t at, uint32_t len)
{
    char list[200];
    int used = snprintf(list, sizeof list, "cast");
    for (int i = 0; i < N_FUNCTIONS && (size_t)used < sizeof list; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, ", %s", functions[i].name);
    return stk__expr_fail(p->b, STK_NAME, at, "unknown function '%.*s'; there are %s", (int)len,
                          p->b->text + at, list);
}

static struct stk__expr_value parse_call(struct parser *p, const struct function *f)
{
    struct stk__expr_value arg[3] = { { 0 } };
    for (int i = 0; i < f->n_args; i++) {
        char what[48];
        snprintf(what, sizeof what, "',': %s takes %d arguments", f->name, f->n_args);
        if (i && !expect(p, ',', what))
            return arg[0];
        arg[i] = parse_expr(p, 0);
    }
    if (!close_bracket(p, ')', f->n_args == 1 ? "')' after one argument" : "')'"))
        return arg[0];
    return call(p->b, f, arg);
}

/* ---- names and primaries ---- */

static struct stk__expr_value find_name(struct parser *p, uint32_t at, uint32_t len)
{
    struct stk__expr_builder *b = p->b;
    char list[200] = "";
    int used = 0;
    for (int i = 0; i < b->n_names; i++) {
        const char *name = b->name[i].name;
        if (strlen(name) == len && !memcmp(name, b->text + at, len))
            return b->name[i].is_assigned ? b->name[i].value : stk__expr_field(b, i);
        if ((size_t)used < sizeof list)
            used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", i ? ", " : "", name);
    }
    return stk__expr_fail(b, STK_NAME, at, "unknown name '%.*s'; the fields are %s", (int)len,
                          b->text + at, list);
}

static struct stk__expr_value parse_name(struct parser *p)
{
    struct stk__expr_builder *b = p->b;
    uint32_t at = p->at, len = p->len;
    bool is_true = is_word(p, "true"), is_cast = is_word(p, "cast");
    if (is_true || is_word(p, "false")) {
        advance(p);
        return stk__expr_array(b, stk__expr_constant(b, STK_BOOL, is_true, 0));
    }
    if (is_word(p, "and") || is_word(p, "or"))
        return fail_expected(p, "a value");
    int dtype = dtype_at_hand(p);
    const struct function *f = functions;
    while (f < functions + N_FUNCTIONS && !is_word(p, f->name))
        f++;
    advance(p);
    if (b->rc || p->kind != '(')
        return b->rc ? (struct stk__expr_value){ 0 } : find_name(p, at, len);
    open_bracket(p);
    if (b->rc)
        return (struct stk__expr_value){ 0 };
    if (dtype >= 0 || is_cast)
        return parse_cast(p, dtype);
    return f < functions + N_FUNCTIONS ? parse_call(p, f) : fail_unknown_function(p, at, len);
}

static struct stk__expr_value parse_literal(struct parser *p)
{
    struct stk__expr_value x = { .integer = p->integer, .real = p->real };
    x.form = p->kind == TOKEN_INT    ? STK__EXPR_INT
             : p->kind == TOKEN_REAL ? STK__EXPR_REAL
                                     : STK__EXPR_TEXT;
    x.at = p->at;
    x.len = p->len;
    if (x.form == STK__EXPR_INT)
        x.real = (double)x.integer;
    advance(p);
    return x;
}

static struct stk__expr_value parse_index(struct parser *p, struct stk__expr_value x)
{
    uint32_t at = p->at;
    open_bracket(p);
    struct stk__expr_value index = p->b->rc ? x : parse_expr(p, 0);
    if (!close_bracket(p, ']', "']'"))
        return x;
    if (index.form != STK__EXPR_INT)
        return stk__expr_fail(p->b, STK_TYPE, at, "an index is a constant integer");
    return stk__expr_index(p->b, x, index.integer, at);
}

static struct stk__expr_value parse_primary(struct parser *p)
{
    uint32_t start = p->at;
    struct stk__expr_value x;
    if (p->kind == TOKEN_NAME) {
        x = parse_name(p);
    } else if (p->kind == TOKEN_INT || p->kind == TOKEN_REAL || p->kind == TOKEN_TEXT) {
        x = parse_literal(p);
    } else if (p->kind == '(') {
        open_bracket(p);
        x = p->b->rc ? (struct stk__expr_value){ 0 } : parse_expr(p, 0);
        close_bracket(p, ')', "')'");
    } else {
        x = fail_expected(p, "a value");
    }
    while (!p->b->rc && p->kind == '[') {
        x.at = start;
        x.len = p->end - start;
        x = parse_index(p, x);
    }
    return x;
}

/* ---- operators ---- */

enum { LEVEL_NOT = 3, LEVEL_COMPARE = 4, LEVEL_UNARY = 11, LEVEL_POWER = 12 };
enum operator_kind { NUMBERS, SWAPPED, LOGIC };

static const struct operator_row {
    const char *text;
    uint8_t level, code, kind;
} operators[] = {
    { "or", 1, STK__EXPR_OR, LOGIC },
    { "and", 2, STK__EXPR_AND, LOGIC },
    { "==", LEVEL_COMPARE, STK__EXPR_EQ, NUMBERS },
    { "!=", LEVEL_COMPARE, STK__EXPR_NE, NUMBERS },
    { "<", LEVEL_COMPARE, STK__EXPR_LT, NUMBERS },
    { "<=", LEVEL_COMPARE, STK__EXPR_LE, NUMBERS },
    { ">", LEVEL_COMPARE, STK__EXPR_LT, SWAPPED },
    { ">=", LEVEL_COMPARE, STK__EXPR_LE, SWAPPED },
    { "|", 5, STK__EXPR_OR, NUMBERS },
    { "^", 6, STK__EXPR_XOR, NUMBERS },
    { "&", 7, STK__EXPR_AND, NUMBERS },
    { "<<", 8, STK__EXPR_SHL, NUMBERS },
    { ">>", 8, STK__EXPR_SHR, NUMBERS },
    { "+", 9, STK__EXPR_ADD, NUMBERS },
    { "-", 9, STK__EXPR_SUB, NUMBERS },
    { "*", 10, STK__EXPR_MUL, NUMBERS },
    { "/", 10, STK__EXPR_DIV, NUMBERS },
    { "//", 10, STK__EXPR_FLOORDIV, NUMBERS },
    { "%", 10, STK__EXPR_MOD, NUMBERS },
    { "**", LEVEL_POWER, STK__EXPR_POW, NUMBERS },
};

static const struct operator_row *operator_at_hand(const struct parser *p)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strlen(operators[i].text) == p->len && p->kind != TOKEN_TEXT &&
            !memcmp(operators[i].text, p->b->text + p->at, p->len))
            return &operators[i];
    return NULL;
}

static struct stk__expr_value parse_unary(struct parser *p)
{
    int kind = p->kind;
    bool is_not = is_word(p, "not");
    if (!is_not && kind != '-' && kind != '~' && kind != '+')
        return parse_primary(p);
    advance(p);
    struct stk__expr_value x = parse_expr(p, is_not ? LEVEL_NOT : LEVEL_UNARY);
    enum stk__expr_code code = is_not        ? STK__EXPR_NOT
                               : kind == '~' ? STK__EXPR_INVERT
                                             : STK__EXPR_NEG;
    return kind == '+' ? x : stk__expr_unary(p->b, code, x);
}

static struct stk__expr_value apply(struct parser *p, const struct operator_row *op,
                                    struct stk__expr_value x, struct stk__expr_value y)
{
    if (op->kind == LOGIC)
        return stk__expr_logic(p->b, op->code, x, y);
    return op->kind == SWAPPED ? stk__expr_binary(p->b, op->code, y, x)
                               : stk__expr_binary(p->b, op->code, x, y);
}

static struct stk__expr_value parse_expr(struct parser *p, int min_level)
{
    uint32_t start = p->at;
    const struct operator_row *op;
    if (p->b->rc)
        return (struct stk__expr_value){ 0 };
    if (++p->depth > MAX_DEPTH)
        return stk__expr_fail(p->b, STK_SYNTAX, p->at, "the expression is nested too deeply");
    struct stk__expr_value x = parse_unary(p);
    x.at = start;
    x.len = p->end - start;
    while (!p->b->rc && (op = operator_at_hand(p)) && op->level >= min_level) {
        advance(p);
        bool is_power = op->level == LEVEL_POWER;
        struct stk__expr_value y = parse_expr(p, is_power ? LEVEL_UNARY : op->level + 1);
        x = apply(p, op, x, y);
        x.at = start;
        x.len = p->end - start;
        const struct operator_row *next = operator_at_hand(p);
        if (!p->b->rc && op->level == LEVEL_COMPARE && next && next->level == LEVEL_COMPARE)
            return stk__expr_fail(p->b, STK_SYNTAX, p->at,
                                  "comparisons do not chain; join two of them with and");
    }
    p->depth--;
    return x;
}

/* ---- statements ---- */

static bool is_assignment(const struct parser *p)
{
    const char *s = p->b->text + p->at + p->len;
    s += strspn(s, " \t\r");
    return p->kind == TOKEN_NAME && s[0] == '=' && s[1] != '=';
}

/* The name's place in the list, a new one at its end; -1 when it is full. */
static int place_name(struct stk__expr_builder *b, uint32_t at, uint32_t len)
{
    const char *text = b->text + at;
    for (int i = 0; i < b->n_names; i++)
        if (strlen(b->name[i].name) == len && !memcmp(b->name[i].name, text, len))
            return i;
    if (b->n_names == STK_MAX_FIELDS) {
        stk__expr_fail(b, STK_VALUE, at, "an element has at most %d fields", STK_MAX_FIELDS);
        return -1;
    }
    char *name = stk_arena_alloc(b->arena, len + 1);
    if (!name) {
        b->rc = stk__out_of_memory(b->err);
        return -1;
    }
    memcpy(name, text, len);
    b->name[b->n_names] = (struct stk__expr_name){ .name = name, .to = b->n_names };
    return b->n_names++;
}

static void assign(struct stk__expr_builder *b, int i, struct stk__expr_value x)
{
    if (b->rc)
        return;
    if (x.form == STK__EXPR_BYTES || x.form == STK__EXPR_TEXT) {
        stk__expr_fail(b, STK_TYPE, x.at, "bytes can be compared and measured, not assigned");
        return;
    }
    b->name[i].value = x;
    b->name[i].is_assigned = true;
}

static void parse_statement(struct parser *p)
{
    static const char *const reserved[] = { "and", "or", "not", "true", "false" };
    uint32_t at = p->at, len = p->len;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (is_word(p, reserved[i])) {
            fail_expected(p, "a field name before '='");
            return;
        }
    }
    advance(p);
    advance(p);
    struct stk__expr_value x = parse_expr(p, 0);
    int i = p->b->rc ? -1 : place_name(p->b, at, len);
    assign(p->b, i, x);
}

/* `name = expr` as often as there are any. */
static void parse_statements(struct parser *p)
{
    while (!p->b->rc && p->kind != TOKEN_END) {
        if (p->kind == TOKEN_BREAK) {
            advance(p);
            continue;
        }
        if (!is_assignment(p)) {
            stk__expr_fail(
                p->b, STK_SYNTAX, p->at,
                "expected 'name = …': an expression alone must be the only statement, on "
                "elements of one field");
            return;
        }
        parse_statement(p);
        if (!p->b->rc && p->kind != TOKEN_BREAK && p->kind != TOKEN_END)
            fail_expected(p, "an operator or ';'");
    }
}

/* One expression and nothing else, blank lines aside. */
static struct stk__expr_value parse_alone(struct parser *p)
{
    struct stk__expr_value x = parse_expr(p, 0);
    while (!p->b->rc && p->kind == TOKEN_BREAK)
        advance(p);
    return p->b->rc || p->kind == TOKEN_END ? x : fail_expected(p, "the end of the expression");
}

static void parse_filter(struct parser *p)
{
    struct stk__expr_builder *b = p->b;
    if (is_assignment(p)) {
        stk__expr_fail(b, STK_SYNTAX, p->at, "a condition assigns nothing; == compares");
        return;
    }
    struct stk__expr_value x = parse_alone(p);
    if (!b->rc && (x.form != STK__EXPR_ARRAY || x.dtype != STK_BOOL))
        stk__expr_fail(b, STK_TYPE, x.at, "the condition is not a bool; compare it with something");
    if (!b->rc && b->domain[b->reg[x.reg].domain].rank)
        stk__expr_fail(
            b, STK_TYPE, x.at,
            "the condition is one bool per value, not per element; put it in any(…) or all(…)");
    b->name[b->n_names++] =
        (struct stk__expr_name){ .name = "keep", .value = x, .is_assigned = true };
}

int stk__expr_compile(const char *text, const struct stk_type *type, enum stk__expr_mode mode,
                      struct stk_arena *arena, const struct stk__expr_program **out,
                      struct stk_error *err)
{
    struct stk__expr_builder *b = stk__expr_begin(text, type, arena, err);
    if (!b)
        return stk__out_of_memory(err);
    struct parser p = { .b = b };
    advance(&p);
    while (!b->rc && p.kind == TOKEN_BREAK)
        advance(&p);
    if (!b->rc && p.kind == TOKEN_END)
        fail_expected(&p, "an expression");
    else if (!b->rc && mode == STK__EXPR_FILTER)
        parse_filter(&p);
    else if (!b->rc && type->n_fields == 1 && !is_assignment(&p))
        assign(b, 0, parse_alone(&p));
    else
        parse_statements(&p);
    *out = stk__expr_finish(b);
    int rc = b->rc;
    free(b);
    return rc;
}
