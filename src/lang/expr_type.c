/* SPDX-License-Identifier: Apache-2.0 */
/* expr_type.c: what operators and functions accept, what they yield, and the cast to write where
 * they do not.
 *
 *   literals   are weak: they take the other side's dtype (integers any they fit, reals any float)
 *   widening   within unsigned, signed, float is implicit; float16 and bfloat16 meet in float32
 *   int / int  is float32; everything else between kinds wants a cast
 *   float16, bfloat16   compute in float32 and round after every operator
 *   shapes     are equal, or one is [], or one is [n] and the other ends in n
 */
#include "base/type.h"
#include "lang/expr_build.h"

#include <stdio.h>
#include <string.h>

static bool is_weak(const struct stk__expr_value *x)
{
    return x->form == STK__EXPR_INT || x->form == STK__EXPR_REAL;
}

/* 'b', 'u', 'i', 'f'; 'I' and 'R' for weak numbers; 0 for what is no number. */
static char kind_of(const struct stk__expr_value *x)
{
    switch (x->form) {
    case STK__EXPR_INT:
        return 'I';
    case STK__EXPR_REAL:
        return 'R';
    case STK__EXPR_ARRAY:
        return stk__dtype_kind(x->dtype);
    default:
        return 0;
    }
}

static bool is_integer(const struct stk__expr_value *x)
{
    char kind = kind_of(x);
    return kind == 'u' || kind == 'i' || kind == 'I';
}

static bool is_half(int dtype)
{
    return dtype == STK_F16 || dtype == STK_BF16;
}

struct stk__expr_value stk__expr_array(struct stk__expr_builder *b, int16_t reg)
{
    return (
        struct stk__expr_value){ .form = STK__EXPR_ARRAY, .dtype = b->reg[reg].dtype, .reg = reg };
}

/* ---- messages ---- */

struct quote {
    char text[64];
};

/* The operand as the user wrote it, or a stand-in when that is long. */
static struct quote quote_of(const struct stk__expr_builder *b, const struct stk__expr_value *x)
{
    struct quote quote;
    if (x->len && x->len < 48)
        snprintf(quote.text, sizeof quote.text, "%.*s", (int)x->len, b->text + x->at);
    else
        snprintf(quote.text, sizeof quote.text, "…");
    return quote;
}

static const char *type_text(const struct stk__expr_value *x)
{
    return x->form == STK__EXPR_INT     ? "an integer"
           : x->form == STK__EXPR_REAL  ? "a real number"
           : x->form == STK__EXPR_TEXT  ? "a string"
           : x->form == STK__EXPR_BYTES ? "a bytes or ragged field"
                                        : stk_dtype_name(x->dtype);
}

static struct stk__expr_value fail_cast(struct stk__expr_builder *b,
                                        const struct stk__expr_value *x, const char *why, int dtype)
{
    return stk__expr_fail(b, STK_TYPE, x->at, "%s; write cast(%s, %s)", why, quote_of(b, x).text,
                          stk_dtype_name(dtype));
}

static struct stk__expr_value fail_number(struct stk__expr_builder *b,
                                          const struct stk__expr_value *x)
{
    return stk__expr_fail(b, STK_TYPE, x->at, "%s is %s, and only len(), == and != take that",
                          quote_of(b, x).text, type_text(x));
}

/* What to cast `x` to so that it goes with `y`; -1 when it is y that wants a cast. */
static int cast_for(const struct stk__expr_value *x, const struct stk__expr_value *y)
{
    char kx = kind_of(x), ky = kind_of(y);
    if (kx == 'b')
        return ky == 'b' || ky == 'I' ? STK_I32 : ky == 'R' ? STK_F32 : y->dtype;
    if ((kx == 'u' || kx == 'i') && (ky == 'f' || ky == 'R'))
        return ky == 'R' ? STK_F32 : y->dtype;
    if (kx == 'u' && ky == 'i') {
        int wider = x->dtype == STK_U64 ? STK_I64 : x->dtype + (STK_I16 - STK_U8);
        return wider > y->dtype ? wider : y->dtype;
    }
    return kx == 'f' && ky == 'f' ? STK_F32 : -1;
}

static void fail_mix(struct stk__expr_builder *b, const struct stk__expr_value *x,
                     const struct stk__expr_value *y)
{
    char why[96];
    int to = cast_for(x, y);
    snprintf(why, sizeof why, "%s and %s do not mix", type_text(x), type_text(y));
    if (to >= 0)
        fail_cast(b, x, why, to);
    else
        fail_cast(b, y, why, cast_for(y, x));
}

/* ---- dtypes ---- */

/* Whether dtype, an integer type, holds the value. */
static bool holds(int dtype, int64_t value)
{
    int bits = 8 * (int)stk_dtype_bytes(dtype);
    if (stk__dtype_kind(dtype) == 'u')
        return value >= 0 && (bits == 64 || value >> bits == 0);
    return bits == 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

static void fail_fit(struct stk__expr_builder *b, const struct stk__expr_value *weak,
                     const struct stk__expr_value *x)
{
    char why[64];
    int to = x->dtype;
    snprintf(why, sizeof why, "%lld does not fit %s", (long long)weak->integer, type_text(x));
    if (weak->integer < 0 && stk__dtype_kind(to) == 'u')
        to = to == STK_U64 ? STK_I64 : to + (STK_I16 - STK_U8);
    while (!holds(to, weak->integer))
        to += STK_U16 - STK_U8;
    fail_cast(b, x, why, to);
}

/* The dtype of both sides together, or -1 with a message. Two weak sides take the default. */
static int common_dtype(struct stk__expr_builder *b, const struct stk__expr_value *x,
                        const struct stk__expr_value *y)
{
    if (is_weak(x) && is_weak(y))
        return x->form == STK__EXPR_REAL || y->form == STK__EXPR_REAL ? STK_F32 : STK_I64;
    if (is_weak(x)) {
        const struct stk__expr_value *swap = x;
        x = y;
        y = swap;
    }
    char kx = kind_of(x), ky = kind_of(y);
    if (ky == 'I' && (kx == 'u' || kx == 'i') && !holds(x->dtype, y->integer))
        return fail_fit(b, y, x), -1;
    if ((ky == 'I' && kx != 'b') || (ky == 'R' && kx == 'f'))
        return x->dtype;
    bool is_mixed_half = is_half(x->dtype) && is_half(y->dtype) && x->dtype != y->dtype;
    if (kx != ky || is_mixed_half)
        return fail_mix(b, x, y), -1;
    return x->dtype > y->dtype ? x->dtype : y->dtype;
}

static int16_t as_dtype(struct stk__expr_builder *b, const struct stk__expr_value *x, int dtype)
{
    if (is_weak(x))
        return stk__expr_constant(b, dtype, x->integer, x->real);
    return stk__expr_convert(b, x->reg, dtype);
}

/* ---- shapes ---- */

static void shape_text(const struct stk__expr_domain *domain, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < domain->rank && used < size; i++) {
        if (domain->shape[i] < 0)
            used += (size_t)snprintf(text + used, size - used, "%s?", i ? ", " : "");
        else
            used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                     (long long)domain->shape[i]);
    }
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* Equal where both are known. */
static bool may_be_equal(const struct stk__expr_domain *x, const struct stk__expr_domain *y)
{
    if (x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] != y->shape[i] && x->shape[i] >= 0 && y->shape[i] >= 0)
            return false;
    return true;
}

/* Whether x is repeated along the leading dimensions of y. */
static bool repeats_in(const struct stk__expr_domain *x, const struct stk__expr_domain *y)
{
    return x->rank == 0 ||
           (x->rank == 1 && x->field < 0 && y->rank > 1 && x->shape[0] == y->shape[y->rank - 1]);
}

static void add_check(struct stk__expr_builder *b, int16_t x, int16_t y)
{
    for (int i = 0; i < b->n_checks; i++)
        if (b->check[i].a == x && b->check[i].b == y)
            return;
    if (b->n_checks == STK__EXPR_LIMIT)
        stk__expr_fail(b, STK_VALUE, 0, "too many fields of varying shape meet in one expression");
    else
        b->check[b->n_checks++] = (struct stk__expr_check){ x, y };
}

/* The domain in which two of them are computed together. */
static int16_t join_domains(struct stk__expr_builder *b, int16_t x, int16_t y, uint32_t at)
{
    const struct stk__expr_domain *dx = &b->domain[x], *dy = &b->domain[y];
    char tx[128], ty[128];
    if (x == y || repeats_in(dy, dx))
        return x;
    if (repeats_in(dx, dy))
        return y;
    if (may_be_equal(dx, dy) && (dx->field >= 0 || dy->field >= 0)) {
        int16_t shaped = dx->field >= 0 ? x : y;
        add_check(b, shaped, shaped == x ? y : x);
        return shaped;
    }
    shape_text(dx, tx, sizeof tx);
    shape_text(dy, ty, sizeof ty);
    stk__expr_fail(b, STK_TYPE, at, "the shapes %s and %s do not go together", tx, ty);
    return x;
}

static int16_t spread(struct stk__expr_builder *b, int16_t reg, int16_t domain)
{
    const struct stk__expr_reg *r = &b->reg[reg];
    if (r->source == STK__EXPR_CONST || r->domain == domain || b->rc ||
        b->domain[r->domain].rank == b->domain[domain].rank)
        return reg;
    struct stk__expr_instr expand = {
        .code = STK__EXPR_EXPAND, .dtype = r->dtype, .to = r->dtype, .a = reg, .b = -1, .c = -1
    };
    return stk__expr_emit(b, expand, r->dtype, domain);
}

/* Emits code over two registers of one dtype; `to` is the result's. */
static struct stk__expr_value emit_binary(struct stk__expr_builder *b, enum stk__expr_code code,
                                          int16_t x, int16_t y, int to)
{
    if (b->rc)
        return (struct stk__expr_value){ 0 };
    struct stk__expr_instr instr = { .code = (uint8_t)code, .dtype = b->reg[x].dtype, .c = -1 };
    int16_t domain = join_domains(b, b->reg[x].domain, b->reg[y].domain, b->at);
    instr.to = (uint8_t)to;
    instr.a = spread(b, x, domain);
    instr.b = spread(b, y, domain);
    return b->rc ? (struct stk__expr_value){ 0 }
                 : stk__expr_array(b, stk__expr_emit(b, instr, to, domain));
}

static struct stk__expr_value emit_unary(struct stk__expr_builder *b, enum stk__expr_code code,
                                         int16_t x)
{
    uint8_t dtype = b->reg[x].dtype;
    struct stk__expr_instr instr = {
        .code = (uint8_t)code, .dtype = dtype, .to = dtype, .a = x, .b = -1, .c = -1
    };
    return stk__expr_array(b, stk__expr_emit(b, instr, dtype, b->reg[x].domain));
}

/* ---- operators ---- */

static bool is_comparison(enum stk__expr_code code)
{
    return code >= STK__EXPR_EQ && code <= STK__EXPR_LE;
}

static bool is_on_bits(enum stk__expr_code code)
{
    return code >= STK__EXPR_AND && code <= STK__EXPR_SHR;
}

/* A bytes field with one text per element. */
static bool is_text(const struct stk__expr_builder *b, const struct stk__expr_value *x)
{
    const struct stk_field *field = x->form == STK__EXPR_BYTES ? &b->type->field[x->reg] : NULL;
    return field && field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

static struct stk__expr_value compare_bytes(struct stk__expr_builder *b, enum stk__expr_code code,
                                            struct stk__expr_value x, struct stk__expr_value y)
{
    if (x.form != STK__EXPR_BYTES) {
        struct stk__expr_value swap = x;
        x = y;
        y = swap;
    }
    bool is_pair = is_text(b, &x) && (y.form == STK__EXPR_TEXT || is_text(b, &y));
    if ((code != STK__EXPR_EQ && code != STK__EXPR_NE) || !is_pair)
        return stk__expr_fail(
            b, STK_TYPE, x.at,
            "bytes fields only take len(), and == and != with a string or another "
            "bytes field; lists of texts only len()");
    struct stk__expr_instr same = { .code = STK__EXPR_SAME, .a = x.reg, .b = y.reg, .c = -1 };
    if (y.form == STK__EXPR_TEXT) {
        same.b = -1;
        same.imm = y.len - 2;
        char *text = stk_arena_alloc(b->arena, y.len);
        if (!text) {
            b->rc = stk__out_of_memory(b->err);
            return x;
        }
        memcpy(text, b->text + y.at + 1, y.len - 2);
        same.text = text;
    }
    int16_t reg = stk__expr_emit(b, same, STK_BOOL, 0);
    return code == STK__EXPR_EQ || b->rc ? stk__expr_array(b, reg)
                                         : emit_unary(b, STK__EXPR_NOT, reg);
}

/* x // y and x % y of integers: zeros make bad rows, powers of two need no division. */
static struct stk__expr_value divide_integers(struct stk__expr_builder *b, enum stk__expr_code code,
                                              int16_t x, int16_t y,
                                              const struct stk__expr_value *divisor)
{
    int dtype = b->reg[x].dtype;
    bool is_weak_int = divisor->form == STK__EXPR_INT;
    int64_t value = divisor->integer;
    if (is_weak_int && value == 0)
        return stk__expr_fail(b, STK_VALUE, divisor->at, "division by zero");
    if (is_weak_int && value > 0 && !(value & (value - 1))) {
        bool is_mod = code == STK__EXPR_MOD;
        int64_t operand = is_mod ? value - 1 : __builtin_ctzll((uint64_t)value);
        return emit_binary(b, is_mod ? STK__EXPR_AND : STK__EXPR_SHR, x,
                           stk__expr_constant(b, dtype, operand, 0), dtype);
    }
    struct stk__expr_instr check = {
        .code = STK__EXPR_NONZERO, .dtype = (uint8_t)dtype, .a = y, .b = -1, .c = -1
    };
    if (!is_weak_int)
        stk__expr_emit(b, check, dtype, b->reg[y].domain);
    return emit_binary(b, code, x, y, dtype);
}

/* x ** n for a literal n from 0 to 16, by multiplication. */
static struct stk__expr_value power(struct stk__expr_builder *b, int16_t x, int64_t exponent)
{
    int16_t result = -1, square = x;
    for (int64_t left = exponent; left && !b->rc; left >>= 1) {
        if (left & 1)
            result = result < 0
                         ? square
                         : emit_binary(b, STK__EXPR_MUL, result, square, b->reg[x].dtype).reg;
        if (left > 1)
            square = emit_binary(b, STK__EXPR_MUL, square, square, b->reg[x].dtype).reg;
    }
    if (result < 0) {
        struct stk__expr_instr one = { .code = STK__EXPR_CONVERT, .b = -1, .c = -1 };
        one.dtype = one.to = b->reg[x].dtype;
        one.a = stk__expr_constant(b, one.dtype, 1, 1);
        result = stk__expr_emit(b, one, one.dtype, b->reg[x].domain);
    }
    return b->rc ? (struct stk__expr_value){ 0 } : stk__expr_array(b, result);
}

static struct stk__expr_value raise(struct stk__expr_builder *b, const struct stk__expr_value *x,
                                    const struct stk__expr_value *y, int dtype)
{
    bool is_small = y->form == STK__EXPR_INT && y->integer >= 0 && y->integer <= 16;
    int16_t base = as_dtype(b, x, dtype);
    if (b->rc)
        return *x;
    if (is_small)
        return power(b, base, y->integer);
    if (stk__dtype_kind(dtype) != 'f')
        return stk__expr_fail(
            b, STK_TYPE, y->at,
            "an integer takes constant powers from 0 to 16; write cast(%s, float32)",
            quote_of(b, x).text);
    return emit_binary(b, STK__EXPR_POW, base, as_dtype(b, y, dtype), dtype);
}

/* The dtype in which to compute, or -1 with a message. */
static int operator_dtype(struct stk__expr_builder *b, enum stk__expr_code code,
                          const struct stk__expr_value *x, const struct stk__expr_value *y)
{
    bool has_bool = kind_of(x) == 'b' || kind_of(y) == 'b';
    const struct stk__expr_value *odd = !is_integer(x) ? x : y;
    if (is_on_bits(code) && has_bool)
        return stk__expr_fail(b, STK_TYPE, odd->at,
                              "bools take and, or, not and != in place of bit operators"),
               -1;
    if (is_on_bits(code) && !is_integer(odd))
        return stk__expr_fail(b, STK_TYPE, odd->at, "bit operators take integers, and %s is %s",
                              quote_of(b, odd).text, type_text(odd)),
               -1;
    if (code == STK__EXPR_DIV && is_integer(x) && is_integer(y))
        return STK_F32;
    if (has_bool && code != STK__EXPR_EQ && code != STK__EXPR_NE)
        return fail_mix(b, x, y), -1;
    if (code == STK__EXPR_POW && y->form == STK__EXPR_INT && !is_weak(x))
        return x->dtype;
    return common_dtype(b, x, y);
}

struct stk__expr_value stk__expr_binary(struct stk__expr_builder *b, enum stk__expr_code code,
                                        struct stk__expr_value x, struct stk__expr_value y)
{
    if (b->rc)
        return x;
    b->at = x.at < y.at ? x.at : y.at;
    if (is_comparison(code) && (!kind_of(&x) || !kind_of(&y)))
        return compare_bytes(b, code, x, y);
    if (!kind_of(&x) || !kind_of(&y))
        return fail_number(b, kind_of(&x) ? &y : &x);
    if (is_weak(&x) && is_weak(&y))
        return stk__expr_fold(b, code, x, y);
    int dtype = operator_dtype(b, code, &x, &y);
    if (dtype < 0)
        return x;
    int inner = is_half(dtype) ? STK_F32 : dtype;
    struct stk__expr_value result;
    if (code == STK__EXPR_POW) {
        result = raise(b, &x, &y, inner);
    } else {
        int16_t left = as_dtype(b, &x, inner), right = as_dtype(b, &y, inner);
        bool is_integer_division =
            (code == STK__EXPR_FLOORDIV || code == STK__EXPR_MOD) && stk__dtype_kind(inner) != 'f';
        if (b->rc)
            return x;
        result = is_integer_division
                     ? divide_integers(b, code, left, right, &y)
                     : emit_binary(b, code, left, right, is_comparison(code) ? STK_BOOL : inner);
    }
    if (!b->rc && is_half(dtype) && !is_comparison(code))
        return stk__expr_array(b, stk__expr_convert(b, result.reg, dtype));
    return result;
}

struct stk__expr_value stk__expr_logic(struct stk__expr_builder *b, enum stk__expr_code code,
                                       struct stk__expr_value x, struct stk__expr_value y)
{
    const struct stk__expr_value *odd = kind_of(&x) != 'b' ? &x : &y;
    if (b->rc)
        return x;
    if (kind_of(odd) != 'b')
        return stk__expr_fail(b, STK_TYPE, odd->at,
                              "and, or and not take bools, and %s is %s; compare it with something",
                              quote_of(b, odd).text, type_text(odd));
    b->at = x.at;
    return emit_binary(b, code, x.reg, y.reg, STK_BOOL);
}

/* ---- functions ---- */

struct stk__expr_value stk__expr_unary(struct stk__expr_builder *b, enum stk__expr_code code,
                                       struct stk__expr_value x)
{
    if (b->rc)
        return x;
    char kind = kind_of(&x);
    if (!kind)
        return fail_number(b, &x);
    if (code == STK__EXPR_NOT && kind != 'b')
        return stk__expr_logic(b, STK__EXPR_AND, x, x);
    if (is_weak(&x))
        return stk__expr_fold_unary(b, code, x);
    if (code == STK__EXPR_INVERT && !is_integer(&x))
        return operator_dtype(b, STK__EXPR_AND, &x, &x), x;
    if (kind == 'b' && code != STK__EXPR_NOT)
        return fail_cast(b, &x, "a bool is no number", code >= STK__EXPR_SQRT ? STK_F32 : STK_I32);
    if (code >= STK__EXPR_SQRT && kind != 'f')
        return fail_cast(b, &x, "this function takes floats", STK_F32);
    if (code == STK__EXPR_ABS && kind == 'u')
        return x;
    int inner = is_half(x.dtype) ? STK_F32 : x.dtype;
    int16_t reg = stk__expr_convert(b, x.reg, inner);
    struct stk__expr_value result = b->rc ? x : emit_unary(b, code, reg);
    return b->rc ? x : stk__expr_array(b, stk__expr_convert(b, result.reg, x.dtype));
}

struct stk__expr_value stk__expr_cast(struct stk__expr_builder *b, struct stk__expr_value x,
                                      int dtype)
{
    if (b->rc)
        return x;
    if (!kind_of(&x))
        return fail_number(b, &x);
    bool is_float = stk__dtype_kind(dtype) == 'f';
    if (x.form == STK__EXPR_INT && !is_float &&
        (dtype == STK_BOOL ? (x.integer = x.integer != 0), 0 : !holds(dtype, x.integer)))
        return stk__expr_fail(b, STK_VALUE, x.at, "%lld does not fit %s", (long long)x.integer,
                              stk_dtype_name(dtype));
    if (x.form == STK__EXPR_REAL && !is_float) {
        int16_t real = stk__expr_constant(b, STK_F64, 0, x.real);
        return b->rc ? x : stk__expr_array(b, stk__expr_convert(b, real, dtype));
    }
    int16_t reg = as_dtype(b, &x, dtype);
    return b->rc ? x : stk__expr_array(b, reg);
}

struct stk__expr_value stk__expr_where(struct stk__expr_builder *b,
                                       const struct stk__expr_value arg[3])
{
    const struct stk__expr_value *condition = &arg[0], *x = &arg[1], *y = &arg[2];
    if (b->rc)
        return *x;
    if (kind_of(condition) != 'b')
        return stk__expr_logic(b, STK__EXPR_AND, *condition, *condition);
    if (!kind_of(x) || !kind_of(y))
        return fail_number(b, kind_of(x) ? y : x);
    int dtype = common_dtype(b, x, y);
    if (dtype < 0)
        return *x;
    struct stk__expr_instr select = { .code = STK__EXPR_SELECT, .a = condition->reg };
    select.dtype = select.to = (uint8_t)dtype;
    select.b = as_dtype(b, x, dtype);
    select.c = as_dtype(b, y, dtype);
    if (b->rc)
        return *x;
    int16_t domain = join_domains(b, b->reg[select.b].domain, b->reg[select.c].domain, x->at);
    domain = b->rc ? 0 : join_domains(b, b->reg[select.a].domain, domain, condition->at);
    select.a = spread(b, select.a, domain);
    select.b = spread(b, select.b, domain);
    select.c = spread(b, select.c, domain);
    return b->rc ? *x : stk__expr_array(b, stk__expr_emit(b, select, dtype, domain));
}

/* The dtype a reduction yields, or -1 with a message. */
static int reduced_dtype(struct stk__expr_builder *b, enum stk__expr_code code,
                         const struct stk__expr_value *x)
{
    bool is_logic = code == STK__EXPR_ANY || code == STK__EXPR_ALL;
    char kind = kind_of(x);
    if (is_logic && kind != 'b')
        return stk__expr_logic(b, STK__EXPR_AND, *x, *x), -1;
    if (is_logic)
        return STK_BOOL;
    if (kind == 'b')
        return fail_cast(b, x, "a bool is no number", code == STK__EXPR_MEAN ? STK_F32 : STK_I32),
               -1;
    if (code == STK__EXPR_MEAN && kind != 'f')
        return STK_F32;
    if (code == STK__EXPR_SUM && kind != 'f')
        return kind == 'u' ? STK_U64 : STK_I64;
    return x->dtype;
}

struct stk__expr_value stk__expr_reduce(struct stk__expr_builder *b, enum stk__expr_code code,
                                        struct stk__expr_value x)
{
    if (b->rc)
        return x;
    if (!kind_of(&x))
        return fail_number(b, &x);
    if (is_weak(&x) || b->reg[x.reg].source == STK__EXPR_CONST)
        return stk__expr_fail(b, STK_TYPE, x.at, "a constant has nothing to reduce");
    int dtype = reduced_dtype(b, code, &x);
    if (dtype < 0)
        return x;
    int16_t reg = stk__expr_convert(b, x.reg, is_half(x.dtype) ? STK_F32 : x.dtype);
    if (b->rc)
        return x;
    const struct stk__expr_domain *domain = &b->domain[b->reg[reg].domain];
    if ((code == STK__EXPR_AMIN || code == STK__EXPR_AMAX) && domain->field < 0 && !domain->width)
        return stk__expr_fail(b, STK_TYPE, x.at, "%s has no values", quote_of(b, &x).text);
    int inner = is_half(dtype) ? STK_F32 : dtype;
    struct stk__expr_instr reduce = { .code = (uint8_t)code,
                                      .dtype = b->reg[reg].dtype,
                                      .to = (uint8_t)inner,
                                      .a = reg,
                                      .b = -1,
                                      .c = -1 };
    reg = stk__expr_emit(b, reduce, inner, 0);
    return b->rc ? x : stk__expr_array(b, stk__expr_convert(b, reg, dtype));
}

struct stk__expr_value stk__expr_len(struct stk__expr_builder *b, struct stk__expr_value x)
{
    if (b->rc)
        return x;
    if (x.form != STK__EXPR_BYTES)
        return stk__expr_fail(b, STK_TYPE, x.at, "len() takes a bytes or ragged field");
    const struct stk_field *field = &b->type->field[x.reg];
    struct stk__expr_instr len = { .code = STK__EXPR_LEN, .a = x.reg, .b = -1, .c = -1 };
    len.imm = field->kind == STK_RAGGED ? (int64_t)stk_dtype_bytes(field->dtype) : 1;
    for (int i = 1; i < field->rank && field->kind == STK_RAGGED; i++)
        len.imm *= field->shape[i];
    if (field->kind == STK_BYTES && field->rank > 1)
        return stk__expr_fail(b, STK_TYPE, x.at,
                              "%s is an array of texts, which all have its shape", field->name);
    if (field->flags & STK_FIELD_PACKED)
        len.imm = STK__EXPR_OF_BLOB;
    else if (len.imm <= 0)
        return stk__expr_fail(b, STK_TYPE, x.at, "the values of %s have no size to count them by",
                              field->name);
    int16_t reg = stk__expr_emit(b, len, STK_I64, 0);
    return b->rc ? x : stk__expr_array(b, reg);
}

struct stk__expr_value stk__expr_index(struct stk__expr_builder *b, struct stk__expr_value x,
                                       int64_t index, uint32_t at)
{
    if (b->rc)
        return x;
    const struct stk__expr_domain *from =
        x.form == STK__EXPR_ARRAY ? &b->domain[b->reg[x.reg].domain] : NULL;
    if (!from || from->field >= 0 || !from->rank)
        return stk__expr_fail(b, STK_TYPE, at, "%s has no fixed first dimension to index",
                              quote_of(b, &x).text);
    if (index >= from->shape[0] || index < -from->shape[0])
        return stk__expr_fail(b, STK_VALUE, at, "the index %lld is outside the %lld of %s",
                              (long long)index, (long long)from->shape[0], quote_of(b, &x).text);
    struct stk__expr_domain domain = { .field = -1, .rank = from->rank - 1 };
    memcpy(domain.shape, from->shape + 1, (size_t)domain.rank * sizeof *domain.shape);
    struct stk__expr_instr slice = {
        .code = STK__EXPR_SLICE, .dtype = x.dtype, .to = x.dtype, .a = x.reg, .b = -1, .c = -1
    };
    slice.imm = index < 0 ? index + from->shape[0] : index;
    int16_t to = stk__expr_domain_index(b, &domain),
            reg = b->rc ? 0 : stk__expr_emit(b, slice, x.dtype, to);
    return b->rc ? x : stk__expr_array(b, reg);
}
