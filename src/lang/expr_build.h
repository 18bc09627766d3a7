/* SPDX-License-Identifier: Apache-2.0 */
/* expr_build.h: between the parser, the typing rules and the emitter of expressions.
 *
 * The parser calls a typing rule for every operator and function it has read; the rule checks its
 * operands and emits. After the first error (rc) everything returns at once and the values mean
 * nothing.
 */
#pragma once
#include "lang/expr.h"

#include "base/error.h"

enum stk__expr_form {
    STK__EXPR_NOTHING,
    STK__EXPR_INT,   /* a literal, or what was computed from literals: weak */
    STK__EXPR_REAL,  /* likewise */
    STK__EXPR_TEXT,  /* a string literal */
    STK__EXPR_BYTES, /* reg: a field that is not numbers: bytes or ragged */
    STK__EXPR_ARRAY, /* reg: a register */
};

struct stk__expr_value {
    uint8_t form, dtype;
    int16_t reg;
    uint32_t at, len; /* place in the text */
    int64_t integer;
    double real;
};

struct stk__expr_name {
    const char *name;
    struct stk__expr_value value;
    int to; /* field of the output type */
    bool is_assigned;
};

struct stk__expr_builder {
    const char *text;
    const struct stk_type *type;
    struct stk_arena *arena;
    struct stk_error *err;
    int rc;
    uint32_t at; /* of the operator at hand, for messages about shapes */
    int n_regs, n_instrs, n_domains, n_checks, n_loops, n_names;
    struct stk__expr_reg reg[STK__EXPR_LIMIT];
    struct stk__expr_instr instr[STK__EXPR_LIMIT];
    struct stk__expr_domain domain[STK__EXPR_LIMIT];
    struct stk__expr_check check[STK__EXPR_LIMIT];
    struct stk__expr_loop loop[STK__EXPR_LIMIT];
    struct stk__expr_name name[STK_MAX_FIELDS + 1]; /* the input's fields first */
    uint8_t loop_of[STK__EXPR_LIMIT];               /* by instruction */
    int n_slots;
};

/* ---- expr_emit.c: registers, instructions, the finished program ---- */

/* Returns new (malloc) with the fields as names, or NULL. */
struct stk__expr_builder *stk__expr_begin(const char *text, const struct stk_type *type,
                                          struct stk_arena *arena, struct stk_error *err);

/* Makes the program of every name that was assigned. */
const struct stk__expr_program *stk__expr_finish(struct stk__expr_builder *b);

/* The first error wins: "at column 5: …". Returns a value that is nothing. */
struct stk__expr_value stk__expr_fail(struct stk__expr_builder *b, int code, uint32_t at,
                                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The value of an input field: its column, or BYTES. */
struct stk__expr_value stk__expr_field(struct stk__expr_builder *b, int field);

/* The index of a domain like this one. */
int16_t stk__expr_domain_index(struct stk__expr_builder *b, const struct stk__expr_domain *domain);

/* A register with a value of this dtype: `real` for floats, else `integer`. */
int16_t stk__expr_constant(struct stk__expr_builder *b, int dtype, int64_t integer, double real);

/* Appends the instruction, or finds an equal one; its result has the dtype and domain asked for. */
int16_t stk__expr_emit(struct stk__expr_builder *b, struct stk__expr_instr instr, int dtype,
                       int domain);

/* Register `reg` converted, in two steps where the kernels need them. */
int16_t stk__expr_convert(struct stk__expr_builder *b, int16_t reg, int dtype);

/* ---- expr_type.c: what operators and functions accept and yield ---- */

struct stk__expr_value stk__expr_array(struct stk__expr_builder *b, int16_t reg);
struct stk__expr_value stk__expr_cast(struct stk__expr_builder *b, struct stk__expr_value x,
                                      int dtype);

/* Elementwise codes on numbers; greater is LT and LE with swapped operands. */
struct stk__expr_value stk__expr_binary(struct stk__expr_builder *b, enum stk__expr_code code,
                                        struct stk__expr_value x, struct stk__expr_value y);
struct stk__expr_value stk__expr_logic(struct stk__expr_builder *b, enum stk__expr_code code,
                                       struct stk__expr_value x, struct stk__expr_value y);
struct stk__expr_value stk__expr_unary(struct stk__expr_builder *b, enum stk__expr_code code,
                                       struct stk__expr_value x);
struct stk__expr_value stk__expr_where(struct stk__expr_builder *b,
                                       const struct stk__expr_value arg[3]);
struct stk__expr_value stk__expr_reduce(struct stk__expr_builder *b, enum stk__expr_code code,
                                        struct stk__expr_value x);
struct stk__expr_value stk__expr_len(struct stk__expr_builder *b, struct stk__expr_value x);
struct stk__expr_value stk__expr_index(struct stk__expr_builder *b, struct stk__expr_value x,
                                       int64_t index, uint32_t at);

/* ---- expr_fold.c: arithmetic on literals ---- */

struct stk__expr_value stk__expr_fold(struct stk__expr_builder *b, enum stk__expr_code code,
                                      struct stk__expr_value x, struct stk__expr_value y);
struct stk__expr_value stk__expr_fold_unary(struct stk__expr_builder *b, enum stk__expr_code code,
                                            struct stk__expr_value x);
