/* SPDX-License-Identifier: Apache-2.0 */
/* param_rows.c: what parameter rows take, hold and default to. */
#include "lang/param_rows.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

bool stk__row_is_none(const struct stk_param *row, const void *field)
{
    switch (row->type) {
    case STK_ROW_INT:
        return *(const int64_t *)field == STK_NONE;
    case STK_ROW_REAL:
        return isnan(*(const double *)field);
    case STK_ROW_BOOL:
        return false;
    case STK_ROW_TEXT:
        return !*(const char *const *)field;
    case STK_ROW_CHOICE:
        return *(const int *)field < 0;
    case STK_ROW_NUMBERS:
        return !((const struct stk_numbers *)field)->n &&
               ((const struct stk_numbers *)field)->choice < 0;
    case STK_ROW_TEXTS:
        return !((const struct stk_texts *)field)->n;
    case STK_ROW_PAIRS:
        return !((const struct stk_pairs *)field)->n;
    case STK__ROW_CHAINS:
        return !((const struct stk__chains *)field)->n;
    default:
        return !*(const struct stk_value *const *)field;
    }
}

void stk__row_put_none(const struct stk_param *row, void *field)
{
    if (row->type == STK_ROW_INT)
        *(int64_t *)field = STK_NONE;
    else if (row->type == STK_ROW_REAL)
        *(double *)field = NAN;
    else if (row->type == STK_ROW_CHOICE)
        *(int *)field = -1;
    else if (row->type == STK_ROW_NUMBERS)
        ((struct stk_numbers *)field)->choice = -1;
}

void stk__row_put_default(const struct stk_param *row, void *field)
{
    if (row->type == STK_ROW_INT)
        *(int64_t *)field = row->def.i;
    else if (row->type == STK_ROW_REAL)
        *(double *)field = row->def.r;
    else if (row->type == STK_ROW_BOOL)
        *(bool *)field = row->def.i != 0;
    else if (row->type == STK_ROW_TEXT)
        *(const char **)field = row->def.s;
    else if (row->type == STK_ROW_CHOICE)
        *(int *)field = (int)row->def.i;
    else
        stk__row_put_none(row, field);
}

/* Room for any field. */
union field {
    int64_t integer;
    double real;
    bool boolean;
    int choice;
    const char *text;
    struct stk_numbers numbers;
    struct stk_texts texts;
    struct stk_pairs pairs;
    const struct stk_value *value;
    struct stk__chains chains;
};

bool stk__row_is_default(const struct stk_param *row, const void *field)
{
    union field preset = { .pairs = { 0 } };
    stk__row_put_default(row, &preset);
    bool is_none = stk__row_is_none(row, field);
    if (is_none || stk__row_is_none(row, &preset))
        return is_none && stk__row_is_none(row, &preset);
    switch (row->type) {
    case STK_ROW_INT:
        return *(const int64_t *)field == preset.integer;
    case STK_ROW_REAL:
        return !memcmp(field, &preset.real, sizeof preset.real); /* -0.0 is not 0.0 */
    case STK_ROW_BOOL:
        return *(const bool *)field == preset.boolean;
    case STK_ROW_CHOICE:
        return *(const int *)field == preset.choice;
    default:
        return !strcmp(*(const char *const *)field, preset.text);
    }
}

bool stk__row_takes_none(const struct stk_param *row)
{
    union field preset = { .pairs = { 0 } };
    stk__row_put_default(row, &preset);
    bool is_preset = !(row->flags & STK_REQUIRED) && stk__row_is_none(row, &preset);
    return is_preset || (row->flags & STK_TAKES_NONE && row->type != STK_ROW_BOOL);
}

bool stk__row_takes_auto(const struct stk_param *row)
{
    bool can_hold = row->type == STK_ROW_INT || row->type == STK_ROW_TEXT;
    bool is_preset = row->type == STK_ROW_INT && row->def.i == STK_AUTO;
    return is_preset || (row->flags & STK_TAKES_AUTO && can_hold);
}

bool stk__row_has_min(const struct stk_param *row)
{
    return row->type == STK_ROW_REAL ? row->lo.r > -DBL_MAX : row->lo.i > STK_AUTO + 1;
}

bool stk__row_has_max(const struct stk_param *row)
{
    return row->type == STK_ROW_REAL ? row->hi.r < DBL_MAX : row->hi.i < INT64_MAX;
}

void stk__row_add_bound(const struct stk_param *row, bool is_min, struct stk__text *out)
{
    if (row->type == STK_ROW_REAL)
        stk__text_add_real(out, is_min ? row->lo.r : row->hi.r);
    else if (is_min && !stk__row_has_min(row))
        stk__text_add(out, "%" PRId64, STK_AUTO + 1);
    else
        stk__text_add(out, "%" PRId64, is_min ? row->lo.i : row->hi.i);
}

/* The i-th thing that a row takes, counting from 0, or NULL. */
static const char *taken(const struct stk_param *row, int i)
{
    static const char *const kinds[] = {
        [STK_ROW_INT] = "an integer",     [STK_ROW_REAL] = "a number",
        [STK_ROW_BOOL] = "true or false", [STK_ROW_TEXT] = "a string",
        [STK_ROW_CHOICE] = NULL,          [STK_ROW_NUMBERS] = "numbers",
        [STK_ROW_TEXTS] = "strings",      [STK_ROW_PAIRS] = "a map from names to names",
        [STK__ROW_VALUE] = "a value",     [STK__ROW_CHAINS] = "chains",
    };
    if (kinds[row->type] && i-- == 0)
        return kinds[row->type];
    for (const char *const *label = row->choices; label && *label; label++)
        if (i-- == 0)
            return *label;
    if (row->takes_classes && i-- == 0)
        return "a chain that has class names";
    if (stk__row_takes_none(row) && i-- == 0)
        return "none";
    return stk__row_takes_auto(row) && i == 0 ? "auto" : NULL;
}

void stk__row_add_takes(const struct stk_param *row, struct stk__text *out)
{
    const char *next;
    for (int i = 0; (next = taken(row, i)); i++)
        stk__text_add(out, "%s%s", i == 0 ? "" : taken(row, i + 1) ? ", " : " or ", next);
}
