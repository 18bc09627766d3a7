/* SPDX-License-Identifier: Apache-2.0 */
/* fault_wraps.h: for tests: the n-th allocation or file access of the library fails, and what it
 * holds is counted.
 *
 * The linker sends the library's calls to fault_wraps.c (--wrap); those of shared libraries are
 * left alone. One plan at a time; counting is safe from any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* SHORT: nothing fails, but from the n-th read on each gives a few bytes only. */
enum fault_kind { FAULT_NONE, FAULT_ALLOCATION, FAULT_ACCESS, FAULT_SHORT };

/* From now on the n-th call (from 1) of the kind fails, and if `for_ever` every one behind it. */
void fault_arm(enum fault_kind kind, long n, bool for_ever);

/* Ends that; true if a call did fail. */
bool fault_disarm(void);

/* The file whose open, fstat or read failed last; "" if none. */
const char *fault_path(void);

/* Blocks that were allocated and not freed, and the ordinal (since arming) of one of them, for
 * messages. */
long fault_live_blocks(void);
long fault_live_ordinal(void);
