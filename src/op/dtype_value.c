/* SPDX-License-Identifier: Apache-2.0 */
/* dtype_value.c: numbers to and from values of a dtype, by the kernels that convert. */
#include "op/dtype_value.h"

#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

/* float16 and bfloat16 are reached through float32. */
void stk__dtype_put(int dtype, double value, void *dst)
{
    stk__elementwise_fn const(*convert)[STK_N_DTYPES] = stk__kernels()->elementwise.convert;
    float single;
    if (dtype == STK_F64) {
        memcpy(dst, &value, sizeof value);
    } else if (dtype == STK_F16 || dtype == STK_BF16) {
        convert[STK_F64][STK_F32](&single, &value, NULL, NULL, 1);
        convert[STK_F32][dtype](dst, &single, NULL, NULL, 1);
    } else {
        convert[STK_F64][dtype](dst, &value, NULL, NULL, 1);
    }
}

double stk__dtype_get(int dtype, const void *src)
{
    stk__elementwise_fn const(*convert)[STK_N_DTYPES] = stk__kernels()->elementwise.convert;
    double value;
    float single;
    if (dtype == STK_F64) {
        memcpy(&value, src, sizeof value);
    } else if (dtype == STK_F16 || dtype == STK_BF16) {
        convert[dtype][STK_F32](&single, src, NULL, NULL, 1);
        convert[STK_F32][STK_F64](&value, &single, NULL, NULL, 1);
    } else {
        convert[dtype][STK_F64](&value, src, NULL, NULL, 1);
    }
    return value;
}

bool stk__dtype_has(int dtype, double value)
{
    uint64_t room;
    bool is_float = dtype == STK_F16 || dtype == STK_BF16 || dtype == STK_F32 || dtype == STK_F64;
    if (is_float)
        return isfinite(value);
    stk__dtype_put(dtype, value, &room);
    return stk__dtype_get(dtype, &room) == value;
}
