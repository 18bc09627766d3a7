/* SPDX-License-Identifier: Apache-2.0 */
/* py_dtype.c: dtypes as formats of the buffer protocol, and single numbers to and from Python. */
#include "ext.h"

#include <math.h>
#include <string.h>

/* The C types that NumPy calls int64 and uint64. */
#if LONG_MAX > INT32_MAX
#define FORMAT_I64 "l"
#define FORMAT_U64 "L"
#else
#define FORMAT_I64 "q"
#define FORMAT_U64 "Q"
#endif

static const char *const formats[STK_N_DTYPES] = {
    [STK_BOOL] = "?", [STK_U8] = "B",         [STK_I8] = "b",    [STK_U16] = "H",
    [STK_I16] = "h",  [STK_U32] = "I",        [STK_I32] = "i",   [STK_U64] = FORMAT_U64,
    [STK_F16] = "e",  [STK_I64] = FORMAT_I64, [STK_BF16] = NULL, [STK_F32] = "f",
    [STK_F64] = "d",
};

int ext_dtype_of_name(const char *name)
{
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++)
        if (!strcmp(stk_dtype_name(dtype), name))
            return dtype;
    return -1;
}

const char *ext_dtype_format(int dtype)
{
    return formats[dtype];
}

static int find_integer(bool is_signed, Py_ssize_t bytes)
{
    switch (bytes) {
    case 1:
        return is_signed ? STK_I8 : STK_U8;
    case 2:
        return is_signed ? STK_I16 : STK_U16;
    case 4:
        return is_signed ? STK_I32 : STK_U32;
    case 8:
        return is_signed ? STK_I64 : STK_U64;
    default:
        return -1;
    }
}

static bool is_native_order(char mark)
{
    const uint16_t one = 1;
    bool is_little = *(const char *)&one == 1;
    return mark == '@' || mark == '=' || mark == (is_little ? '<' : '>');
}

int ext_dtype_of_format(const char *format, Py_ssize_t item_bytes)
{
    if (!format)
        return item_bytes == 1 ? STK_U8 : -1; /* what the protocol says of no format */
    bool has_mark = *format && strchr("@=<>!|", *format);
    if (has_mark && item_bytes > 1 && !is_native_order(*format))
        return -1;
    format += has_mark;
    if (strlen(format) != 1)
        return -1;
    switch (*format) {
    case '?':
        return STK_BOOL;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
        return find_integer(true, item_bytes);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
    case 'c':
        return find_integer(false, item_bytes);
    case 'e':
    case 'f':
    case 'd':
        return item_bytes == 2   ? STK_F16
               : item_bytes == 4 ? STK_F32
               : item_bytes == 8 ? STK_F64
                                 : -1;
    default:
        return -1;
    }
}

/* ---- 16-bit floats ---- */

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return exponent ? sign * ldexp(1024 + fraction, exponent - 25) : sign * ldexp(fraction, -24);
}

static double brain_to_double(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* The nearest value with so many bits of fraction and this least exponent; ties go to even. */
static double round_to(double value, int fraction_bits, int least_exponent)
{
    int exponent;
    frexp(value, &exponent);
    if (!isfinite(value) || value == 0)
        return value;
    int unit = (exponent - 1 > least_exponent ? exponent - 1 : least_exponent) - fraction_bits;
    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

static uint16_t double_to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double rounded = fabs(round_to(value, 10, -14));
    if (isnan(value))
        return sign | 0x7e00;
    if (rounded > 65504)
        return sign | 0x7c00;
    double fraction = frexp(rounded, &exponent); /* in [0.5, 1) */
    if (rounded < 0x1p-14)
        return (uint16_t)(sign | (int)ldexp(rounded, 24));
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(fraction, 11) & 1023));
}

static uint16_t double_to_brain(double value)
{
    float narrow = (float)round_to(value, 7, -126);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return isnan(value) ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)(bits >> 16);
}

/* ---- single numbers ---- */

#define READ(type, make)                                                                           \
    do {                                                                                           \
        type value;                                                                                \
        memcpy(&value, at, sizeof value);                                                          \
        return make(value);                                                                        \
    } while (0)

PyObject *ext_number_read(int dtype, const void *at)
{
    switch (dtype) {
    case STK_BOOL:
        READ(uint8_t, PyBool_FromLong);
    case STK_U8:
        READ(uint8_t, PyLong_FromUnsignedLong);
    case STK_I8:
        READ(int8_t, PyLong_FromLong);
    case STK_U16:
        READ(uint16_t, PyLong_FromUnsignedLong);
    case STK_I16:
        READ(int16_t, PyLong_FromLong);
    case STK_U32:
        READ(uint32_t, PyLong_FromUnsignedLong);
    case STK_I32:
        READ(int32_t, PyLong_FromLong);
    case STK_U64:
        READ(uint64_t, PyLong_FromUnsignedLongLong);
    case STK_I64:
        READ(int64_t, PyLong_FromLongLong);
    case STK_F32:
        READ(float, PyFloat_FromDouble);
    case STK_F64:
        READ(double, PyFloat_FromDouble);
    default:
        break;
    }
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return PyFloat_FromDouble(dtype == STK_F16 ? half_to_double(bits) : brain_to_double(bits));
}

static int write_float(int dtype, PyObject *number, void *at)
{
    double value = PyFloat_AsDouble(number);
    if (value == -1 && PyErr_Occurred())
        return -1;
    float narrow = (float)value;
    uint16_t half = dtype == STK_F16 ? double_to_half(value) : double_to_brain(value);
    if (dtype == STK_F64)
        memcpy(at, &value, sizeof value);
    else if (dtype == STK_F32)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &half, sizeof half);
    return 0;
}

static int refuse_range(int dtype)
{
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_OverflowError, "the number does not fit %s", stk_dtype_name(dtype));
    return -1;
}

static int write_unsigned(int dtype, PyObject *whole, void *at)
{
    size_t bytes = stk_dtype_bytes(dtype);
    unsigned long long value = PyLong_AsUnsignedLongLong(whole);
    if (PyErr_Occurred() || (bytes < 8 && value >> (8 * bytes)))
        return refuse_range(dtype);
    uint32_t word = (uint32_t)value;
    uint16_t half = (uint16_t)value;
    uint8_t byte = (uint8_t)value;
    const void *from = bytes == 8   ? (void *)&value
                       : bytes == 4 ? (void *)&word
                       : bytes == 2 ? (void *)&half
                                    : (void *)&byte;
    memcpy(at, from, bytes);
    return 0;
}

static int write_signed(int dtype, PyObject *whole, void *at)
{
    size_t bytes = stk_dtype_bytes(dtype);
    long long value = PyLong_AsLongLong(whole);
    long long limit = bytes < 8 ? 1LL << (8 * bytes - 1) : LLONG_MAX;
    if (PyErr_Occurred() || (bytes < 8 && (value < -limit || value >= limit)))
        return refuse_range(dtype);
    int32_t word = (int32_t)value;
    int16_t half = (int16_t)value;
    int8_t byte = (int8_t)value;
    const void *from = bytes == 8   ? (void *)&value
                       : bytes == 4 ? (void *)&word
                       : bytes == 2 ? (void *)&half
                                    : (void *)&byte;
    memcpy(at, from, bytes);
    return 0;
}

int ext_number_write(int dtype, PyObject *number, void *at)
{
    if (dtype == STK_BOOL) {
        int is_true = PyObject_IsTrue(number);
        if (is_true >= 0)
            *(uint8_t *)at = (uint8_t)is_true;
        return is_true < 0 ? -1 : 0;
    }
    if (dtype >= STK_F16)
        return write_float(dtype, number, at);
    PyObject *whole = PyNumber_Index(number);
    if (!whole)
        return -1;
    bool is_signed = dtype == STK_I8 || dtype == STK_I16 || dtype == STK_I32 || dtype == STK_I64;
    int rc = is_signed ? write_signed(dtype, whole, at) : write_unsigned(dtype, whole, at);
    Py_DECREF(whole);
    return rc;
}
