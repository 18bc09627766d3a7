/* SPDX-License-Identifier: Apache-2.0 */
/* across.h: the taps along a row, in the layout of the kernels that use them. */
#pragma once
#include "kernel/resample.h"
#include "kernel/taps.h"

struct stk__across {
    struct stk__taps taps;
    struct stk__lerp_row lerp; /* n 0: taps go in runs */
    struct stk__span_row span; /* n 0: taps go in twos, or are single pixels */
};

/* What a row of such taps is made with: single pixels, two taps, or runs of floats or integers. */
enum stk__across_kind { STK__ACROSS_PICK, STK__ACROSS_LERP, STK__ACROSS_SPAN };

/* n * channels fits an int. */
size_t stk__across_bytes(const struct stk__axis *axis, enum stk__across_kind kind, int channels);
void stk__across_init(struct stk__across *across, const struct stk__axis *axis,
                      enum stk__across_kind kind, int channels, void *memory);
