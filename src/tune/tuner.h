/* SPDX-License-Identifier: Apache-2.0 */
/* tuner.h: a controller at work on a run: shows it samples and carries its moves out. */
#pragma once
#include "tune/controller.h"

struct stk__tuner;

/* Returns new; NULL when out of memory. Before the first next; it must live as long as the run. */
struct stk__tuner *stk__tuner_new(struct stk__exec *x);
void stk__tuner_free(struct stk__tuner *tuner);
