/* SPDX-License-Identifier: Apache-2.0 */
/* csv_guess.c: what type the cells of a column have in common. */
#include "codec/text/csv.h"

void stk__csv_guess_begin(struct stk__csv_guess *guess)
{
    *guess = (struct stk__csv_guess){
        .can_int = true, .can_real = true, .can_bool = true, .can_time = true
    };
}

static const struct stk__csv_missing
    nothing; /* is missing in a cell that was found to hold a value */

static bool reads_as(const struct stk__csv_type type, const struct stk__csv_cell *cell)
{
    uint64_t room;
    return stk__csv_value(&type, &nothing, cell, &room) == STK__CSV_OK;
}

/* As it will be when the cell is converted: spaces around it do not count. */
static bool is_missing(const struct stk__csv_missing *missing, const struct stk__csv_cell *cell)
{
    const struct stk__csv_type type = { .kind = STK__CSV_NUMBER, .dtype = STK_I64 };
    uint64_t room;
    return stk__csv_value(&type, missing, cell, &room) == STK__CSV_MISSING;
}

/* 0 and 1 are truth values in a column that is said to have them, and numbers in any other. */
static bool is_truth_word(const struct stk__csv_cell *cell)
{
    const struct stk__csv_type type = { .kind = STK__CSV_NUMBER, .dtype = STK_BOOL };
    return cell->len > 1 && reads_as(type, cell);
}

void stk__csv_guess_see(struct stk__csv_guess *guess, const struct stk__csv_missing *missing,
                        const struct stk__csv_cell *cell)
{
    const struct stk__csv_type whole = { .kind = STK__CSV_NUMBER, .dtype = STK_I64 };
    const struct stk__csv_type real = { .kind = STK__CSV_NUMBER, .dtype = STK_F64 };
    const struct stk__csv_type time = { .kind = STK__CSV_TIMESTAMP, .dtype = STK_I64 };
    if (is_missing(missing, cell)) {
        guess->has_missing = true;
        return;
    }
    guess->has_value = true;
    guess->can_int = guess->can_int && reads_as(whole, cell);
    guess->can_real = guess->can_real && reads_as(real, cell);
    guess->can_bool = guess->can_bool && is_truth_word(cell);
    guess->can_time = guess->can_time && reads_as(time, cell);
}

struct stk__csv_type stk__csv_guess_type(const struct stk__csv_guess *guess)
{
    if (guess->can_int && guess->has_value && !guess->has_missing)
        return (struct stk__csv_type){ .kind = STK__CSV_NUMBER, .dtype = STK_I64 };
    if (guess->can_real || !guess->has_value)
        return (struct stk__csv_type){ .kind = STK__CSV_NUMBER, .dtype = STK_F64 };
    if (guess->can_bool && !guess->has_missing)
        return (struct stk__csv_type){ .kind = STK__CSV_NUMBER, .dtype = STK_BOOL };
    if (guess->can_time && !guess->has_missing)
        return (struct stk__csv_type){ .kind = STK__CSV_TIMESTAMP, .dtype = STK_I64 };
    return (struct stk__csv_type){ .kind = STK__CSV_TEXT, .dtype = STK_U8 };
}
