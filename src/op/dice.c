/* SPDX-License-Identifier: Apache-2.0 */
/* dice.c: numbers from random words. */
#include "op/dice.h"

#include "base/hash.h"
#include "base/rng.h"
#include "op/order/order.h"

struct stk__dice_place stk__rows_place(const struct stk_rows *rows, int row, uint64_t user_seed,
                                       uint32_t index)
{
    struct stk__key key = rows->inside->key[row];
    uint64_t k = stk__hash_mix(rows->inside->seed, user_seed);
    return (struct stk__dice_place){
        .counter = { (uint32_t)key.lo, (uint32_t)(key.lo >> 32), (uint32_t)key.hi, index },
        .key = { (uint32_t)k, (uint32_t)(k >> 32) },
    };
}

struct stk__dice stk__dice_of(const struct stk_rows *rows, int row, int64_t seed)
{
    return (struct stk__dice){ .rows = rows, .row = row, .user_seed = stk__user_seed(seed) };
}

static uint32_t throw_word(struct stk__dice *dice)
{
    if (dice->n_thrown % 4 == 0)
        stk_rows_random(dice->rows, dice->row, dice->user_seed, dice->n_thrown / 4, dice->words);
    return dice->words[dice->n_thrown++ % 4];
}

double stk__dice_between(struct stk__dice *dice, double lo, double hi)
{
    return lo + (hi - lo) * (double)stk__unit_float(throw_word(dice));
}

int64_t stk__dice_whole(struct stk__dice *dice, int64_t lo, int64_t hi)
{
    uint64_t word = throw_word(dice);
    return hi > lo ? lo + (int64_t)(word * (uint64_t)(hi - lo) >> 32) : lo;
}

bool stk__dice_happens(struct stk__dice *dice, double probability)
{
    return (double)stk__unit_float(throw_word(dice)) < probability;
}
