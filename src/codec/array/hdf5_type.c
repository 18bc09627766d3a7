/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_type.c: HDF5's types as ours. */
#include "codec/array/hdf5_visit.h"

#include <string.h>

static int int_type(size_t bytes, bool is_signed)
{
    static const uint8_t types[][2] = {
        { STK_U8, STK_I8 }, { STK_U16, STK_I16 }, { STK_U32, STK_I32 }, { STK_U64, STK_I64 }
    };
    for (int i = 0; i < 4; i++)
        if (bytes == (size_t)1 << i)
            return types[i][is_signed];
    return -1;
}

static int refuse(struct stk_error *err, const char *what)
{
    return stk_fail(err, STK_TYPE,
                    "it holds %s, which cannot be read; numbers, booleans and texts can", what);
}

/* Every bit of the value is used, so it is read as it is. */
static bool is_full(hid_t type)
{
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

static void set_order(hid_t type, struct stk__raw *raw)
{
    H5T_order_t order = H5Tget_order(type);
    bool is_big = order == H5T_ORDER_BE;
    raw->is_swapped = order != H5T_ORDER_NONE && is_big != stk__raw_is_big_endian();
}

static int read_int(hid_t type, struct stk__hdf5_info *out, struct stk_error *err)
{
    size_t bytes = H5Tget_size(type);
    int dtype = int_type(bytes, H5Tget_sign(type) == H5T_SGN_2);
    if (dtype < 0)
        return refuse(err, "whole numbers of an unusual size");
    out->raw = (struct stk__raw){ .dtype = (uint8_t)dtype, .item_bytes = (uint32_t)bytes };
    out->is_converted = !is_full(type);
    if (!out->is_converted)
        set_order(type, &out->raw);
    return STK_OK;
}

/* True if sign, exponent and fraction are where IEEE 754 has them. */
static bool is_ieee(hid_t type, size_t bytes)
{
    size_t sign, exponent, exponent_bits, fraction, fraction_bits;
    static const size_t exponents[] = { [2] = 5, [4] = 8, [8] = 11 };
    if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) < 0)
        return false;
    size_t bits = exponents[bytes], bias = ((size_t)1 << (bits - 1)) - 1;
    return is_full(type) && sign == 8 * bytes - 1 && exponent_bits == bits && fraction == 0 &&
           fraction_bits == 8 * bytes - 1 - bits && exponent == fraction_bits &&
           H5Tget_ebias(type) == bias && H5Tget_order(type) != H5T_ORDER_VAX;
}

static int read_float(hid_t type, struct stk__hdf5_info *out, struct stk_error *err)
{
    size_t bytes = H5Tget_size(type);
    if (bytes != 2 && bytes != 4 && bytes != 8)
        return refuse(err, "real numbers of an unusual size");
    int dtype = bytes == 2 ? STK_F16 : bytes == 4 ? STK_F32 : STK_F64;
    bool is_usual = is_ieee(type, bytes);
    if (!is_usual && bytes == 2)
        return refuse(err, "16-bit real numbers other than float16");
    out->raw = (struct stk__raw){ .dtype = (uint8_t)dtype, .item_bytes = (uint32_t)bytes };
    out->is_converted = !is_usual;
    if (is_usual)
        set_order(type, &out->raw);
    return STK_OK;
}

/* h5py stores booleans as an enumeration of FALSE and TRUE. */
static bool is_bool(hid_t type)
{
    bool is_so = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;
    for (unsigned i = 0; is_so && i < 2; i++) {
        signed char value = -1;
        char *name = H5Tget_member_name(type, i);
        is_so = name && H5Tget_member_value(type, i, &value) >= 0 &&
                !strcmp(name, value ? "TRUE" : "FALSE") && (value == 0 || value == 1);
        H5free_memory(name);
    }
    return is_so;
}

static int read_enum(hid_t type, struct stk__hdf5_info *out, struct stk_error *err)
{
    hid_t super = H5Tget_super(type);
    int code =
        super < 0 ? stk__hdf5_fail(err, "its type cannot be read") : read_int(super, out, err);
    if (super >= 0)
        H5Tclose(super);
    if (!code && out->is_converted)
        return refuse(err, "an enumeration of unusual numbers");
    if (!code && is_bool(type))
        out->raw.dtype = STK_BOOL;
    return code;
}

static int read_text(hid_t type, struct stk__hdf5_info *out, struct stk_error *err)
{
    H5T_str_t padding = H5Tget_strpad(type);
    size_t bytes = H5Tget_size(type);
    out->is_text_list = H5Tis_variable_str(type) > 0;
    if (bytes > INT32_MAX)
        return refuse(err, "texts above 2 GiB");
    out->raw = (struct stk__raw){ .kind = padding == H5T_STR_NULLTERM   ? STK__RAW_STOPPED
                                          : padding == H5T_STR_SPACEPAD ? STK__RAW_SPACED
                                                                        : STK__RAW_ZEROED,
                                  .item_bytes = (uint32_t)bytes };
    return STK_OK;
}

int stk__hdf5_type(hid_t type, struct stk__hdf5_info *out, struct stk_error *err)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return read_int(type, out, err);
    case H5T_FLOAT:
        return read_float(type, out, err);
    case H5T_ENUM:
        return read_enum(type, out, err);
    case H5T_STRING:
        return read_text(type, out, err);
    case H5T_COMPOUND:
        return refuse(err, "records (a compound type)");
    case H5T_REFERENCE:
        return refuse(err, "references");
    case H5T_VLEN:
        return refuse(err, "lists of different lengths");
    case H5T_ARRAY:
        return refuse(err, "an array type");
    default:
        return refuse(err, "values of an unusual type");
    }
}

static hid_t native_type(int dtype)
{
    switch (dtype) {
    case STK_U8:
        return H5T_NATIVE_UINT8;
    case STK_I8:
        return H5T_NATIVE_INT8;
    case STK_U16:
        return H5T_NATIVE_UINT16;
    case STK_I16:
        return H5T_NATIVE_INT16;
    case STK_U32:
        return H5T_NATIVE_UINT32;
    case STK_I32:
        return H5T_NATIVE_INT32;
    case STK_U64:
        return H5T_NATIVE_UINT64;
    case STK_I64:
        return H5T_NATIVE_INT64;
    case STK_F32:
        return H5T_NATIVE_FLOAT;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

hid_t stk__hdf5_memory_type(hid_t dataset, const struct stk__hdf5_info *info)
{
    return info->is_converted ? H5Tcopy(native_type(info->raw.dtype)) : H5Dget_type(dataset);
}
