/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h: convolutions of oneDNN as a candidate, where the library was there at build. onednn.c is the only
 * file that knows it. */
#pragma once
#include "train/candidate.h"

/* "2.6.3", or "none": then it can do nothing. */
const char *stk__onednn_version(void);

extern const struct stk__candidate stk__onednn;
