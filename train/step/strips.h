/* SPDX-License-Identifier: Apache-2.0 */
/* strips.h: rows of tensors as float32.
 *
 * Tensors may be in half precision, kernels are not. Who reads rows loads them: they are where they lie if
 * the tensor is float32, else converted into a strip, some rows in scratch. Who writes rows asks where to,
 * and stores them when they are made. So there is one way for all precisions, and what is converted is in
 * the first or second cache level.
 *
 *     map ── load ──▶ strip, read        strip, written ── store ──▶ map
 *     map ─────────▶ itself (float32)    map itself ────────────────▶ nothing to do
 *
 * A strip that was loaded has the frame of its rows; one that is to be stored has none.
 *
 * Some kernels take halves as they lie, and convert them in registers. Who uses these asks whether a map is
 * taken, and needs no strip then.
 */
#pragma once
#include "train/step/step.h"

/* An image of a tensor, of any type. */
struct stk__map {
    char *at; /* the first pixel, right of its frame */
    int dtype;
    int64_t down; /* values to the next row */
    int64_t left; /* values of the frame in front of a row */
    int height, width, channels;
};

struct stk__map stk__map_at(const struct stk__step_work *work, int tensor, int64_t i);

/* Input k of a group, or its gradient, in the shape of the node it comes from: features, where the tensor
 * is that of what was flattened. */
struct stk__map stk__input_map(const struct stk__step_work *work,
                               const struct stk__step_group *group, int k, int64_t i);
struct stk__map stk__d_input_map(const struct stk__step_work *work,
                                 const struct stk__step_group *group, int k, int64_t i);

/* n rows from `first` on, which may be rows of the frame; the strip has room for n * down floats. */
struct stk__step_image stk__map_load(const struct stk__map *map, int first, int n, float *strip);

/* Rows of that width in a strip. */
struct stk__step_image stk__strip_image(const struct stk__map *map, int n, float *strip);

/* Where n rows are written, and that they are. */
struct stk__step_image stk__rows_to(const struct stk__map *map, int first, int n, float *strip);
void stk__map_store(const struct stk__map *map, int first, const struct stk__step_image *rows);

/* Whether kernels that take halves may have the map as it lies, and where it lies from value `at` on. */
bool stk__map_is_taken(const struct stk__step_work *work, const struct stk__map *map);
struct stk__read_map stk__map_reads(const struct stk__map *map, int64_t at);
struct stk__write_map stk__map_writes(const struct stk__map *map, int64_t at);

/* Stores rows of the gradient of input k, or adds them to what is there, by way of a strip. */
void stk__d_input_store(const struct stk__step_work *work, const struct stk__step_group *group,
                        int k, const struct stk__map *map, int first,
                        const struct stk__step_image *rows, float *strip);

/* Values [at, at + count) of each of n images that have no frame, from image i on. */
struct stk__features {
    float *at;
    int64_t down;
};
struct stk__features stk__load_features(const struct stk__step_work *work, int tensor, int64_t i,
                                        int n, struct stk__team_share values, float *strip);
/* Where they are written; and that they are. Added: by way of another strip of `count` floats. */
struct stk__features stk__features_to(const struct stk__step_work *work, int tensor, int64_t i,
                                      struct stk__team_share values, float *strip);
void stk__store_features(const struct stk__step_work *work, int tensor, int64_t i, int n,
                         struct stk__team_share values, const struct stk__features *from);
void stk__add_features(const struct stk__step_work *work, int tensor, int64_t i, int n,
                       struct stk__team_share values, const struct stk__features *from,
                       float *strip);

/* ---- strips of a group ---- */

/* Rows that groups which go value by value take at a time (strip_rows of the group), and their strips. */
static inline float *stk__strip(const struct stk__step_work *work,
                                const struct stk__step_group *group, int number)
{
    return work->scratch + group->strips_at + (size_t)number * group->strip_floats;
}

/* Does `act` for all images of a lot, a strip of rows of the output at a time. */
typedef void stk__strip_fn(const struct stk__step_work *work, const struct stk__step_group *group,
                           int i, int first, int n);
void stk__for_strips(const struct stk__step_work *work, const struct stk__step_group *group,
                     stk__strip_fn *act);

static inline int stk__strip_end(const struct stk__step_group *group, int first, int height)
{
    return height - first > group->strip_rows ? first + group->strip_rows : height;
}
