/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_layout.h: weights as oneDNN's kernels read them: in blocks, filled up with zeros. */
#pragma once
#include "train/conv/conv.h"

#include <oneapi/dnnl/dnnl.h>

enum { STK__ONEDNN_AXES = 5 }; /* group, filter, channel, row, column */

struct stk__onednn_layout {
    int padded[STK__ONEDNN_AXES];
    size_t *offset[STK__ONEDNN_AXES]; /* the sum of five is a value's place */
};

/* False: out of memory, and what was taken is freed. */
bool stk__onednn_layout_make(struct stk__onednn_layout *layout, const dnnl_memory_desc_t *weights);
void stk__onednn_layout_free(struct stk__onednn_layout *layout);

/* As a candidate's pack and unpack. */
void stk__onednn_pack(const struct stk__onednn_layout *layout, const struct stk__conv *conv,
                      const float *weights, float *packed, int part, int n_parts);
void stk__onednn_unpack(const struct stk__onednn_layout *layout, const struct stk__conv *conv,
                        float *const *sums, int n_sums, float *weights, int part, int n_parts);
