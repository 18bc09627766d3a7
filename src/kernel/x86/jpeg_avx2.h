/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_avx2.h: the parts that stk__jpeg_fill_avx2 is made of. */
#pragma once
#include "kernel/jpeg.h"

void stk__jpeg_fill_scan_avx2(struct stk__jpeg_kernels *kernels);
void stk__jpeg_fill_reduce_avx2(struct stk__jpeg_kernels *kernels);
void stk__jpeg_fill_transform_avx2(struct stk__jpeg_kernels *kernels);
