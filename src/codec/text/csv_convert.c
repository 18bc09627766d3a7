/* SPDX-License-Identifier: Apache-2.0 */
/* csv_convert.c: cells to values, column by column.
 *
 * A cell is tried as what it most likely is, a plain value of its type. Only if it is none are
 * spaces around it taken off and is it compared with the texts for missing values; if one of those
 * could be a number, that comes first.
 */
#include "base/hash.h"
#include "codec/text/csv.h"
#include "codec/text/decimal.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static bool is_float(const struct stk__csv_type *type)
{
    return type->kind == STK__CSV_NUMBER && (type->dtype == STK_F32 || type->dtype == STK_F64 ||
                                             type->dtype == STK_F16 || type->dtype == STK_BF16);
}

/* NaN or infinity, which are the same in all widths. */
static void put_real(int dtype, double value, void *out)
{
    const float single = (float)value;
    if (dtype == STK_F64)
        memcpy(out, &value, sizeof value);
    else if (dtype == STK_F32)
        memcpy(out, &single, sizeof single);
    else
        stk__kernels()->elementwise.convert[STK_F32][dtype](out, &single, NULL, NULL, 1);
}

typedef bool (*read_fn)(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out);

static bool read_f32(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    (void)type;
    return stk__decimal_f32(at, len, out);
}

static bool read_f64(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    (void)type;
    return stk__decimal_f64(at, len, out);
}

/* inf and nan; apart, because nan may also stand for a missing value. */
static bool read_word(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    double value;
    if (!is_float(type) || !stk__decimal_word(at, len, &value))
        return false;
    put_real(type->dtype, value, out);
    return true;
}

static bool read_i64(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    (void)type;
    return stk__decimal_i64(at, len, out);
}

static bool read_u64(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    (void)type;
    return stk__decimal_u64(at, len, out);
}

/* float16 and bfloat16, which are reached through float32. */
static bool read_half(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    float single;
    if (!stk__decimal_f32(at, len, &single))
        return false;
    stk__kernels()->elementwise.convert[STK_F32][type->dtype](out, &single, NULL, NULL, 1);
    return true;
}

static bool read_small(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    int64_t value, least, most;
    int bits = 8 * (int)stk_dtype_bytes(type->dtype);
    bool is_signed = type->dtype == STK_I8 || type->dtype == STK_I16 || type->dtype == STK_I32;
    most = ((int64_t)1 << (bits - is_signed)) - 1;
    least = is_signed ? -most - 1 : 0;
    if (!stk__decimal_i64(at, len, &value) || value < least || value > most)
        return false;
    stk__kernels()->elementwise.convert[STK_I64][type->dtype](out, &value, NULL, NULL, 1);
    return true;
}

static bool read_bool(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    const char *text = (const char *)at;
    (void)type;
    bool is_true = (len == 1 && *at == '1') || (len == 4 && !strncasecmp(text, "true", 4));
    bool is_false = (len == 1 && *at == '0') || (len == 5 && !strncasecmp(text, "false", 5));
    *(uint8_t *)out = is_true;
    return is_true || is_false;
}

static bool read_time(const struct stk__csv_type *type, const uint8_t *at, size_t len, void *out)
{
    return stk__timestamp_read(at, len, type->unit, out);
}

static bool read_category(const struct stk__csv_type *type, const uint8_t *at, size_t len,
                          void *out)
{
    int64_t found = stk__csv_names_find(type->names, at, len);
    memcpy(out, &found, sizeof found);
    return found >= 0;
}

static read_fn reader_of(const struct stk__csv_type *type)
{
    static const read_fn by_dtype[STK_N_DTYPES] = {
        [STK_BOOL] = read_bool, [STK_U8] = read_small,  [STK_I8] = read_small,
        [STK_U16] = read_small, [STK_I16] = read_small, [STK_U32] = read_small,
        [STK_I32] = read_small, [STK_U64] = read_u64,   [STK_I64] = read_i64,
        [STK_F16] = read_half,  [STK_BF16] = read_half, [STK_F32] = read_f32,
        [STK_F64] = read_f64,
    };
    if (type->kind == STK__CSV_CATEGORY)
        return read_category;
    return type->kind == STK__CSV_TIMESTAMP ? read_time : by_dtype[type->dtype];
}

bool stk__csv_is_missing(const struct stk__csv_missing *missing, const uint8_t *at, size_t len)
{
    for (int i = 0; i < missing->n; i++)
        if (missing->item[i].len == len && !memcmp(missing->item[i].text, at, len))
            return true;
    return false;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static enum stk__csv_status fill_in(const struct stk__csv_type *type, void *out)
{
    if (type->has_default)
        memcpy(out, type->fill, stk_dtype_bytes(type->dtype));
    else if (is_float(type))
        put_real(type->dtype, NAN, out);
    else
        return STK__CSV_MISSING;
    return STK__CSV_OK;
}

enum stk__csv_status stk__csv_value(const struct stk__csv_type *type,
                                    const struct stk__csv_missing *missing,
                                    const struct stk__csv_cell *cell, void *out)
{
    const uint8_t *at = cell->at;
    size_t len = cell->len;
    if (stk__csv_is_missing(missing, at, len))
        return fill_in(type, out);
    bool is_category = type->kind == STK__CSV_CATEGORY;
    for (; !is_category && len && is_space(*at); at++)
        len--;
    while (!is_category && len && is_space(at[len - 1]))
        len--;
    if (len < cell->len && stk__csv_is_missing(missing, at, len))
        return fill_in(type, out);
    if (reader_of(type)(type, at, len, out) || read_word(type, at, len, out))
        return STK__CSV_OK;
    /* A default says what to do with texts that are no category, too. */
    return is_category && type->has_default ? fill_in(type, out) : STK__CSV_BAD;
}

/* Those that a quick way did not take. */
static void convert_rest(const struct stk__csv_convert *c, uint8_t *out, size_t stride,
                         struct stk__csv_result *result, const int8_t *places)
{
    const struct stk__csv_type *type = &c->target->type;
    read_fn read = reader_of(type);
    for (int i = 0; i < c->n; i++) {
        const struct stk__csv_cell *cell = c->cell + (ptrdiff_t)i * c->n_wanted;
        void *to = out + (size_t)i * stride;
        if ((places && places[i] >= 0) || result[i].status ||
            (!c->missing->has_values && read(type, cell->at, cell->len, to)))
            continue;
        result[i].status = (uint8_t)stk__csv_value(type, c->missing, cell, to);
        if (result[i].status)
            result[i].target = c->number;
    }
}

/* What was read of plain numbers. Rows that are left get a number of places below 0. */
struct digits {
    int64_t whole[STK__CSV_BLOCK_ROWS];
    int8_t places[STK__CSV_BLOCK_ROWS];
};

static void put_f64(const struct stk__csv_convert *c, struct digits *d, uint8_t *out, size_t stride)
{
    for (int i = 0; i < c->n; i++, out += stride) {
        double value;
        if (d->places[i] < 0)
            continue;
        if (!stk__decimal_divide(d->whole[i], d->places[i], &value))
            value = stk__decimal_quotient(d->whole[i], d->places[i]);
        memcpy(out, &value, sizeof value);
    }
}

/* A whole above 2^53 is rounded, and then the quotient is: it is off by no more than two units. */
static void put_f32(const struct stk__csv_convert *c, struct digits *d, uint8_t *out, size_t stride)
{
    for (int i = 0; i < c->n; i++, out += stride) {
        double value;
        float single;
        if (d->places[i] < 0)
            continue;
        int slack = stk__decimal_divide(d->whole[i], d->places[i], &value) ? 0 : 2;
        if (stk__decimal_narrow(value, slack, &single))
            memcpy(out, &single, sizeof single);
        else
            d->places[i] = -1;
    }
}

static void put_i64(const struct stk__csv_convert *c, struct digits *d, uint8_t *out, size_t stride)
{
    const uint8_t *at;
    for (int i = 0; i < c->n; i++, out += stride) {
        at = c->cell[(ptrdiff_t)i * c->n_wanted].at;
        /* "7." has no places, but is no integer either */
        if (d->places[i] == 0 && at[c->cell[(ptrdiff_t)i * c->n_wanted].len - 1] != '.')
            memcpy(out, &d->whole[i], sizeof d->whole[i]);
        else
            d->places[i] = -1;
    }
}

void stk__csv_convert_fixed(const struct stk__csv_convert *convert, uint8_t *out, size_t stride,
                            struct stk__csv_result *result)
{
    const struct stk__csv_type *type = &convert->target->type;
    struct digits d;
    bool is_quick = type->kind == STK__CSV_NUMBER && !convert->missing->has_values &&
                    (type->dtype == STK_F32 || type->dtype == STK_F64 || type->dtype == STK_I64);
    if (is_quick) {
        convert->read_digits(convert->cell, convert->n_wanted, convert->n, d.whole, d.places);
        if (type->dtype == STK_F32)
            put_f32(convert, &d, out, stride);
        else if (type->dtype == STK_F64)
            put_f64(convert, &d, out, stride);
        else
            put_i64(convert, &d, out, stride);
    }
    convert_rest(convert, out, stride, result, is_quick ? d.places : NULL);
}

/* ---- categories ---- */

static uint32_t slot_of(const struct stk__csv_names *names, const uint8_t *at, size_t len)
{
    return (uint32_t)stk__hash_bytes(0, at, len) & names->mask;
}

void stk__csv_names_add(struct stk__csv_names *names, int item)
{
    const struct stk__csv_text *text = &names->item[item];
    uint32_t slot = slot_of(names, (const uint8_t *)text->text, text->len);
    while (names->slot[slot] >= 0)
        slot = (slot + 1) & names->mask;
    names->slot[slot] = item;
}

int stk__csv_names_make(struct stk__csv_names *names, struct stk_arena *arena)
{
    uint32_t size = 8;
    while (size < 4 * (uint32_t)names->n)
        size *= 2;
    names->mask = size - 1;
    names->slot = stk_arena_alloc(arena, size * sizeof *names->slot);
    if (!names->slot)
        return STK_MEMORY;
    for (uint32_t i = 0; i < size; i++)
        names->slot[i] = -1;
    for (int i = 0; i < names->n; i++)
        stk__csv_names_add(names, i);
    return STK_OK;
}

int stk__csv_names_find(const struct stk__csv_names *names, const uint8_t *at, size_t len)
{
    uint32_t slot = slot_of(names, at, len);
    for (; names->slot[slot] >= 0; slot = (slot + 1) & names->mask) {
        const struct stk__csv_text *item = &names->item[names->slot[slot]];
        if (item->len == len && !memcmp(item->text, at, len))
            return names->slot[slot];
    }
    return -1;
}
