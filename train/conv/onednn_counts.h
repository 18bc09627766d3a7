/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_counts.h: what was made of oneDNN in this process, for tests. In builds with oneDNN
 * alone. */
#pragma once

struct stk__onednn_counts {
    long primitives;  /* that were made */
    long plain;       /* of these, such as are oneDNN's plain C */
    long slots;       /* what threads run them with */
    long runs;        /* of primitives */
    long turned_down; /* pieces for which oneDNN has its plain C alone */
};

struct stk__onednn_counts stk__onednn_counts(void);
