/* SPDX-License-Identifier: Apache-2.0 */
/* vector_scalar.h: a vector of one float, for bodies that are compiled for any; see vector_avx512.h. */
#pragma once
#include "kernel/inline.h"

#include <stoker/stoker.h>

enum { LANES = 1, REGISTERS = 16 };
typedef float vector;

#define spread(x) (x)
#define zero() 0.0f
#define plus(a, b) ((a) + (b))
#define minus(a, b) ((a) - (b))
#define times(a, b) ((a) * (b))
#define fuse(a, b, c) ((a) * (b) + (c))
#define fuse_negative(a, b, c) ((c) - (a) * (b))

INLINE vector load(const float *from)
{
    return *from;
}

INLINE void store(float *to, vector value)
{
    *to = value;
}

/* There are no fewer than one. */
#define load_some(from, n) load(from)
#define store_some(to, value, n) store(to, value)

/* Kernels of one float at a time take none. */
#define load_halves(dtype, from, n) ((void)(from), zero())
#define store_halves(dtype, to, value, n) ((void)(to))

INLINE vector least(vector a, vector b)
{
    return a < b ? a : b;
}

INLINE vector greatest(vector a, vector b)
{
    return a > b ? a : b;
}
