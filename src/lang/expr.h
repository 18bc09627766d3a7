/* SPDX-License-Identifier: Apache-2.0 */
/* expr.h: expressions over the fields of an element, compiled to a linear program over registers.
 *
 *     map('y = x / 255; z = where(y > 0.5, y, 0)')        filter('label < 5')
 *
 * A register holds one value per element of a *domain*: a fixed shape, or the shape a shaped field
 * has in the row at hand. Instructions of one domain that follow each other form a loop, which runs
 * over blocks of block_values values that stay in L1; what only lives inside one loop is a LOCAL of
 * that size. Reductions, slices and the like work on whole rows, alone in a loop of their own.
 *
 *     y = cast(x, float32) / 255; m = mean(y)
 *
 *     loop 0, domain [224, 224, 3], by blocks:  LOCAL = convert COLUMN x
 *                                               OUT y = div LOCAL, CONST 255
 *     loop 1, by rows:                          OUT m = mean OUT y
 *
 * Programs are immutable and live in the arena they were compiled into; op/field/expr_run.h runs them.
 */
#pragma once
#include <stoker/op.h>

enum { STK__EXPR_LIMIT = 250, STK__EXPR_BLOCK_BYTES = 4096 };

/* Elementwise codes; the kernels of kernel/elementwise.h have the same names. */
/* Which clang-format would write in another way each time. */
/* clang-format off */
#define STK__EXPR_ELEMENTWISE(X)                                                                   \
    X(ADD) X(SUB) X(MUL) X(DIV) X(FLOORDIV) X(MOD) X(POW) X(MIN) X(MAX)                            \
    X(AND) X(OR) X(XOR) X(SHL) X(SHR) X(EQ) X(NE) X(LT) X(LE) X(NEG) X(INVERT) X(NOT) X(ABS)       \
    X(SQRT) X(EXP) X(LOG) X(SIN) X(COS) X(TANH) X(FLOOR) X(CEIL) X(ROUND) X(SELECT)
/* clang-format on */
#define STK__EXPR_REDUCE(X) X(SUM) X(MEAN) X(AMIN) X(AMAX) X(ANY) X(ALL)

enum stk__expr_code {
#define STK__EXPR_ENUM(name) STK__EXPR_##name,
    STK__EXPR_ELEMENTWISE(STK__EXPR_ENUM)
        STK__EXPR_CONVERT, /* dtype to `to`; a copy when they are equal */
    STK__EXPR_EXPAND,      /* a: a scalar or a vector of the last dimension, repeated */
    STK__EXPR_NONZERO,     /* no result: rows where a holds a zero are bad */
    /* from here on by row */
    STK__EXPR_REDUCE(STK__EXPR_ENUM)
        STK__EXPR_SLICE, /* imm: the index in the first dimension of a */
    STK__EXPR_LEN,       /* a: a field; imm: bytes per counted thing, or OF_BLOB */
    STK__EXPR_SAME,      /* a: a bytes field; b: another, or -1: text of imm bytes */
#undef STK__EXPR_ENUM
};

enum { STK__EXPR_OF_BLOB = -1 }; /* what is counted are texts, or lists, of a blob */

struct stk__expr_instr {
    uint8_t code, dtype, to; /* dtype: of the operands */
    int16_t domain;          /* of the loop */
    int16_t dst, a, b, c;    /* registers; -1: none */
    int64_t imm;
    const char *text;
};

enum stk__expr_source {
    STK__EXPR_COLUMN, /* index: field of the input */
    STK__EXPR_CONST,  /* block: block_values times the same value */
    STK__EXPR_LOCAL,  /* index: slot of STK__EXPR_BLOCK_BYTES */
    STK__EXPR_FULL,   /* whole rows, in scratch */
    STK__EXPR_OUT,    /* index: output */
};

struct stk__expr_reg {
    uint8_t source, dtype;
    int16_t domain, index;
    uint64_t bits; /* CONST: the value */
    const uint8_t *block;
};

struct stk__expr_domain {
    int field; /* shaped: the input field whose dims these are; -1: fixed */
    int rank;
    int64_t shape[STK_MAX_RANK]; /* -1: by row */
    int64_t width;               /* values per row, when fixed */
};

/* Two domains that must have the same shape in every row. */
struct stk__expr_check {
    int16_t a, b;
};

struct stk__expr_loop {
    int16_t first, n, domain;
    bool is_by_row;
};

struct stk__expr_output {
    struct stk_field field;
    int to; /* field of the output type */
    int16_t reg;
};

struct stk__expr_program {
    const struct stk_type *type; /* of the input */
    int n_regs, n_instrs, n_domains, n_checks, n_loops, n_outputs;
    const struct stk__expr_reg *reg;
    const struct stk__expr_instr *instr;
    const struct stk__expr_domain *domain;
    const struct stk__expr_check *check;
    const struct stk__expr_loop *loop;
    const struct stk__expr_output *output;
    int block_values, n_slots;
    int64_t block_rows;   /* at a time, so that FULL registers stay small; 1 with shaped fields */
    size_t scratch_bytes; /* per row: FULL registers, and shaped outputs by a rough guess */
};

enum stk__expr_mode {
    STK__EXPR_MAP,    /* statements, or one expression that replaces the only field */
    STK__EXPR_FILTER, /* one expression: a bool per row, output 0 */
};

/* Compiles against the type (copied). Messages name the column of the text, counted from 1. */
int stk__expr_compile(const char *text, const struct stk_type *type, enum stk__expr_mode mode,
                      struct stk_arena *arena, const struct stk__expr_program **out,
                      struct stk_error *err);

/* The program for one field: converted to dtype, if `scale` is not NULL after
 * x * scale[0] + scale[1] in float32. */
int stk__expr_for_field(const struct stk_type *type, int field, int dtype, const double *scale,
                        struct stk_arena *arena, const struct stk__expr_program **out,
                        struct stk_error *err);
