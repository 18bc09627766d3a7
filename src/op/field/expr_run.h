/* SPDX-License-Identifier: Apache-2.0 */
/* expr_run.h: runs a compiled expression over rows. */
#pragma once
#include "lang/expr.h"

/* Writes the program's outputs to out[output.to]. Rows that are not live are left alone; rows that
 * cannot be computed are marked bad. 0 or STK_MEMORY. */
int stk__expr_run(const struct stk__expr_program *program, struct stk_rows *rows,
                  struct stk_column *out);

/* The row function of ops whose state is a program over their own fields. */
int stk__expr_run_state(struct stk_rows *rows);

/* Takes the program's outputs over into the type and the state that infer yields. */
void stk__expr_infer(struct stk_infer *inf, const struct stk__expr_program *program);

/* Which fields a program looks at, and whether it can make rows bad. Part of the above. */
void stk__expr_infer_reads(struct stk_infer *inf, const struct stk__expr_program *program);

/* The field that cast and scale work on: `name`, else the only array of numbers, else the only
 * number. */
int stk__expr_pick(const struct stk_infer *inf, const char *name, struct stk_error *err);

/* Whether a field is numbers: what cast and scale work on. */
bool stk__expr_is_numbers(const struct stk_field *field);
