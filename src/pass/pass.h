/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h: rewrites of a graph before it is shared. Each is exact: what is delivered stays the
 * same, bit for bit. */
#pragma once
#include "graph/graph.h"

/* Runs every pass, in order. */
int stk__passes_run(struct stk_dataset *graph, struct stk_error *err);

/* An op that only finishes pixels (multiplies and adds per channel, casts, mirrors, crops, puts
 * channels in planes) is carried out by the op before it, while the rows are in cache. */
int stk__pass_fuse_finish(struct stk_dataset *graph, struct stk_error *err);

/* An op that makes images makes only the part that the op after it looks at. */
int stk__pass_fuse_part(struct stk_dataset *graph, struct stk_error *err);
