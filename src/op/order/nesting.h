/* SPDX-License-Identifier: Apache-2.0 */
/* nesting.h: how ops that open a chain for each element of their input go through these chains. */
#pragma once
#include <stdint.h>

/* The state of such an op. */
struct stk__nesting {
    int64_t cycle_length; /* chains that are open at a time, taken from in turn, */
    int64_t block_length; /* so many elements of each */
};
