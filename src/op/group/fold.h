/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: a state that an expression takes from element to element: scan and reduce.
 *
 *     range(5).scan({sum: 0}, 'sum = sum + x')
 *
 * The expression sees the fields of the element and, behind them, those of the state. It is run on
 * one element at a time, and what it assigns to fields of the state is the state for the next.
 */
#pragma once
#include "base/memory/arena.h"
#include "lang/expr.h"
#include "op/declaration.h"

/* Made when a dataset is built. */
struct stk__fold {
    const struct stk__expr_program *program;
    struct stk_type type; /* of what it sees, and behind that of what else it writes */
    int n_in, n_state;    /* the state is fields n_in to n_in + n_state - 1 */
    const uint8_t *initial[STK_MAX_FIELDS]; /* by field of the state */
};

/* Reads the initial state and compiles the expression over the input. Lives in the arena of inf. */
int stk__fold_new(struct stk_infer *inf, const struct stk_value *initial, const char *expression,
                  struct stk__fold **out, struct stk_error *err);

/* One run. */
struct stk__folding {
    const struct stk__fold *fold;
    struct stk_arena scratch;
    uint8_t *state[STK_MAX_FIELDS];
};

int stk__folding_begin(struct stk__folding *folding, const struct stk__fold *fold);
void stk__folding_end(struct stk__folding *folding);

/* Back to the initial state. */
void stk__folding_restart(struct stk__folding *folding);

/* Takes one good row in. `out` has a column for every field of the type with room for the row, of
 * which those that the expression writes are written. False: the row is bad, `fault` says why (to be
 * freed as a list; NULL: no memory), and the state is as it was. */
bool stk__folding_row(struct stk__folding *folding, const struct stk__chunk *in, int row,
                      const char *name, struct stk_column *out, struct stk__fault **fault);
