/* SPDX-License-Identifier: Apache-2.0 */
/* value_text.c: dtypes to numbers and to text. */
#include "value_text.h"

#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

char cli_dtype_kind(int dtype)
{
    static const char kinds[] = {
#define KIND(name, text, bytes, kind) kind,
        STK_DTYPE_LIST(KIND)
#undef KIND
    };
    return kinds[dtype];
}

static float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    float size = exponent == 0x1f ? fraction ? NAN : INFINITY
                 : exponent       ? ldexpf((float)(fraction + 0x400), exponent - 25)
                                  : ldexpf((float)fraction, -24);
    return half & 0x8000 ? -size : size;
}

static float bfloat_to_float(uint16_t top)
{
    uint32_t bits = (uint32_t)top << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Values may lie anywhere, so they are copied out before they are looked at. */
union any {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
    double f64;
};

static union any fetch(int dtype, const void *value)
{
    union any any = { .u64 = 0 };
    memcpy(&any, value, stk_dtype_bytes(dtype));
    return any;
}

double cli_value_read(int dtype, const void *value)
{
    union any any = fetch(dtype, value);
    switch ((enum stk_dtype)dtype) {
    case STK_BOOL:
        return any.u8 != 0;
    case STK_U8:
        return any.u8;
    case STK_I8:
        return any.i8;
    case STK_U16:
        return any.u16;
    case STK_I16:
        return any.i16;
    case STK_U32:
        return any.u32;
    case STK_I32:
        return any.i32;
    case STK_U64:
        return (double)any.u64;
    case STK_I64:
        return (double)any.i64;
    case STK_F16:
        return half_to_float(any.u16);
    case STK_BF16:
        return bfloat_to_float(any.u16);
    case STK_F32:
        return any.f32;
    case STK_F64:
        return any.f64;
    case STK_N_DTYPES:
        break;
    }
    return 0;
}

/* Always with a '.' or an exponent, so that a reader sees a real. Half floats are exact as floats. */
static void write_real(char out[CLI_VALUE_TEXT], double value, bool is_double)
{
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    int most = is_double ? 17 : 9;
    for (int precision = is_double ? 15 : 6; precision <= most; precision++) {
        snprintf(out, CLI_VALUE_TEXT, "%.*g", precision, value);
        double back = is_double ? strtod(out, NULL) : (double)strtof(out, NULL);
        if (back == value)
            break;
    }
    if (!strpbrk(out, ".e"))
        strcat(out, ".0");
}

const char *cli_value_text(char out[CLI_VALUE_TEXT], int dtype, const void *value)
{
    char kind = cli_dtype_kind(dtype);
    if (dtype == STK_BOOL)
        strcpy(out, fetch(dtype, value).u8 ? "true" : "false");
    else if (dtype == STK_U64)
        snprintf(out, CLI_VALUE_TEXT, "%" PRIu64, fetch(dtype, value).u64);
    else if (dtype == STK_I64)
        snprintf(out, CLI_VALUE_TEXT, "%" PRId64, fetch(dtype, value).i64);
    else if (kind == 'f')
        write_real(out, cli_value_read(dtype, value), dtype == STK_F64);
    else
        snprintf(out, CLI_VALUE_TEXT, "%.0f", cli_value_read(dtype, value));
    return out;
}

void cli_value_json(struct stk__text *out, const char *name, int dtype, const void *value)
{
    char text[CLI_VALUE_TEXT];
    cli_value_text(text, dtype, value);
    if (isfinite(cli_value_read(dtype, value))) {
        stk__json_name(out, name);
        stk__text_add_n(out, text, strlen(text));
    } else
        stk__json_string(out, name, text);
}

size_t cli_name_print(FILE *file, const char *text)
{
    size_t columns = 0, size = strlen(text);
    for (size_t i = 0, n; i < size; i += n) {
        uint32_t code = (unsigned char)text[i];
        n = (size_t)cli_utf8_read(text + i, size - i, &code);
        bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (code == '\n')
            columns += (size_t)fprintf(file, "\\n");
        else if (is_control)
            columns += (size_t)fprintf(file, "\\x%02x", (unsigned)code);
        else {
            fwrite(text + i, 1, n ? n : 1, file);
            columns += (size_t)cli_utf8_columns(code);
        }
        n = n ? n : 1;
    }
    return columns;
}

void cli_name_pad(FILE *file, const char *text, int width)
{
    size_t columns = cli_name_print(file, text);
    fprintf(file, "%*s", columns < (size_t)width ? width - (int)columns : 0, "");
}
