/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h: the place of oneDNN among candidates. onednn.c is to be the only file that knows the
 * library; no build uses it yet, so it can do nothing. */
#pragma once
#include "train/candidate.h"

/* "none", which keys of measured costs have. */
const char *stk__onednn_version(void);

extern const struct stk__candidate stk__onednn;
