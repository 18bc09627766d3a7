/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.h: the numbers of a run as text, one function per format. */
#pragma once
#include "base/text.h"
#include "exec/exec.h"

/* With the decisions of the run. */
void stk__metrics_json(const struct stk__metrics *metrics, struct stk__exec *x,
                       struct stk__text *out);
void stk__metrics_prometheus(const struct stk__metrics *metrics, struct stk__text *out);

/* "decode", "segment", "batcher": what a stage is called. */
const char *stk__metrics_stage_op(const struct stk__metrics *metrics, int stage);
const char *stk__metrics_stage_kind(const struct stk__metrics *metrics, int stage);

/* Workers, the consumer among them, that were at work on the average; batches that were ready when
 * next was called, likewise. */
double stk__metrics_busy_workers(const struct stk__metrics *metrics);
double stk__metrics_ready_batches(const struct stk__metrics *metrics);
