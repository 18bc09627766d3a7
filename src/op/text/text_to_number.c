/* SPDX-License-Identifier: Apache-2.0 */
/* text_to_number.c: the numbers that texts say. */
#include "base/error.h"
#include "base/type.h"
#include "codec/text/decimal.h"
#include "op/text/text_op.h"

struct text_to_number {
    int dtype;
    const char *field, *sep, *into;
};

static const char *const dtypes[] = { "float32", "float64", "int8",   "int16",  "int32", "int64",
                                      "uint8",   "uint16",  "uint32", "uint64", NULL };
static const uint8_t dtype_of[] = { STK_F32, STK_F64, STK_I8,  STK_I16, STK_I32,
                                    STK_I64, STK_U8,  STK_U16, STK_U32, STK_U64 };

static const struct stk_param params[] = {
    STK_CHOICE_ROW(text_to_number, dtype, dtypes, 0, 0, "dtype of the numbers"),
    STK_TEXT_ROW(text_to_number, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(text_to_number, sep, NULL, STK_TAKES_NONE, STK__TEXT_SEP_HELP),
    STK_TEXT_ROW(text_to_number, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

enum { MOST_CHARACTERS = 1000, READ_BEHIND = 64 };

static bool read_real(int dtype, const uint8_t *text, size_t len, void *dst)
{
    double value;
    float single;
    bool is_word = stk__decimal_word(text, len, &value);
    if (dtype == STK_F64) {
        if (!is_word && !stk__decimal_f64(text, len, &value))
            return false;
        memcpy(dst, &value, sizeof value);
        return true;
    }
    if (is_word)
        single = (float)value;
    else if (!stk__decimal_f32(text, len, &single))
        return false;
    memcpy(dst, &single, sizeof single);
    return true;
}

static bool read_whole(int dtype, const uint8_t *text, size_t len, void *dst)
{
    int64_t value;
    int bits = 8 * (int)stk_dtype_bytes(dtype);
    if (dtype == STK_U64) {
        uint64_t large;
        if (!stk__decimal_u64(text, len, &large))
            return false;
        memcpy(dst, &large, sizeof large);
        return true;
    }
    if (!stk__decimal_i64(text, len, &value))
        return false;
    bool is_signed = stk__dtype_kind(dtype) == 'i';
    if (bits < 64 && (value >> (is_signed ? bits - 1 : bits)) != 0 &&
        !(is_signed && value >> (bits - 1) == -1))
        return false;
    if (bits == 8)
        *(uint8_t *)dst = (uint8_t)value;
    else if (bits == 16)
        memcpy(dst, &(uint16_t){ (uint16_t)value }, sizeof(uint16_t));
    else if (bits == 32)
        memcpy(dst, &(uint32_t){ (uint32_t)value }, sizeof(uint32_t));
    else
        memcpy(dst, &value, sizeof value);
    return true;
}

static bool make(const struct stk__text_values *how, struct stk_rows *rows, int row,
                 const struct stk_span *text, void *dst)
{
    const struct stk_span number = stk__text_trim(text);
    uint8_t copy[MOST_CHARACTERS + READ_BEHIND];
    bool is_real = stk__dtype_kind(how->dtype) == 'f', is_number = false;
    if (number.bytes && number.bytes <= MOST_CHARACTERS) {
        memcpy(copy, number.data, number.bytes);
        memset(copy + number.bytes, 0, READ_BEHIND);
        is_number = is_real ? read_real(how->dtype, copy, number.bytes, dst)
                            : read_whole(how->dtype, copy, number.bytes, dst);
    }
    if (!is_number)
        stk_rows_fail(rows, row, STK_DATA, "'%.*s%s' in the field '%s' is no %s",
                      STK__TEXT_SHOW(*text), rows->in_type->field[how->use.from].name,
                      stk_dtype_name(how->dtype));
    return is_number;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct text_to_number *p = inf->params;
    struct stk__text_values how = { .sep = p->sep, .make = make, .dtype = dtype_of[p->dtype] };
    return stk__text_values_keep(inf, p->field, p->into, how, err);
}

static const char doc[] =
    "Decimal numbers with an optional sign, point and exponent, and inf and nan for floats, with "
    "white space at the ends, as tf.strings.to_number takes them. Floats are rounded correctly. A "
    "text that is no such number, or not in the range of an integer dtype, makes the element bad. "
    "With `sep` the text is cut into pieces, each a number of a list; an empty text is an empty "
    "list.\n"
    "\n"
    "    values({age: ['31', ' 44 ']}).text_to_number(int64)\n"
    "    values({v: ['1.5, 2', '', '3e-2']}).text_to_number(sep=',')";

const struct stk__op stk__op_text_to_number = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_to_number", 1, "Read numbers from texts.", doc, params,
              sizeof(struct text_to_number) },
    .infer = infer,
    .row = { .run = stk__text_values_run_kept },
};
