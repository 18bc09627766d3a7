/* SPDX-License-Identifier: Apache-2.0 */
/* rewrites.h: rewrites of a graph before it is shared. Each is exact: what is delivered stays the
 * same, bit for bit. */
#pragma once
#include "graph/graph.h"

/* Does all of them, in order. */
int stk__rewrites_run(struct stk_dataset *graph, struct stk_error *err);

/* Ops that do nothing are left out. */
int stk__rewrite_drop_nothing(struct stk_dataset *graph, struct stk_error *err);

/* Fields that nobody uses are not made. */
int stk__rewrite_project(struct stk_dataset *graph, struct stk_error *err);

/* A filter comes before ops that read or decode, if it looks at nothing that they make. */
int stk__rewrite_filter_early(struct stk_dataset *graph, struct stk_error *err);

/* take, skip and shard of a stream come before ops that change elements. */
int stk__rewrite_move_choice(struct stk_dataset *graph, struct stk_error *err);

/* Ops that only move pixels come before those that make values larger. */
int stk__rewrite_late_float(struct stk_dataset *graph, struct stk_error *err);

/* Maps that follow each other become one. */
int stk__rewrite_fuse_maps(struct stk_dataset *graph, struct stk_error *err);

/* An op that only finishes pixels (multiplies and adds per channel, casts, mirrors, crops, puts
 * channels in planes) is carried out by the op before it, while the rows are in cache. */
int stk__rewrite_fuse_finish(struct stk_dataset *graph, struct stk_error *err);

/* An op that makes images makes only the part that the op after it looks at. */
int stk__rewrite_fuse_part(struct stk_dataset *graph, struct stk_error *err);

/* cache(auto) comes before what differs from epoch to epoch, and to where it was chosen to be
 * (rewrite/cache_places.h). */
int stk__rewrite_place_cache(struct stk_dataset *graph, struct stk_error *err);

/* Where shuffled passes run into one another it is said. */
int stk__rewrite_tell_passes(struct stk_dataset *graph, struct stk_error *err);
