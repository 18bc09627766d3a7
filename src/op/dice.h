/* SPDX-License-Identifier: Apache-2.0 */
/* dice.h: the random words of a row, one after the other, as what an op needs of them. */
#pragma once
#include "op/declaration.h"

/* Where the words of a row are in the generator of base/rng.h: those at `index`. More of them follow
 * as the last word of the counter counts up. */
struct stk__dice_place {
    uint32_t counter[4], key[2];
};

struct stk__dice_place stk__rows_place(const struct stk_rows *rows, int row, uint64_t user_seed,
                                       uint32_t index);

struct stk__dice {
    const struct stk_rows *rows;
    int row;
    uint64_t user_seed;
    uint32_t n_thrown, words[4];
};

struct stk__dice stk__dice_of(const struct stk_rows *rows, int row, int64_t seed);

/* A number in lo..hi; a whole number in lo..hi - 1, or lo; whether something of this probability
 * happens. Each takes one word. */
double stk__dice_between(struct stk__dice *dice, double lo, double hi);
int64_t stk__dice_whole(struct stk__dice *dice, int64_t lo, int64_t hi);
bool stk__dice_happens(struct stk__dice *dice, double probability);
