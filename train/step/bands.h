/* SPDX-License-Identifier: Apache-2.0 */
/* bands.h: the gradient of a convolution's output, some rows at a time, in a frame.
 *
 *              │ 0 │ row lo …                      │ 0 │   rows that were there before: those that gradients
 *     memory   │ 0 │ …                             │ 0 │   of the next rows of the image still look at
 *              │ 0 │ row hi - n …  rows of the band │ 0 │
 *              │ 0 │ 0           behind the last    │ 0 │
 *
 * What an activation and a pool did to it is undone as rows are made (fill), so the gradient of what was in
 * front of them is never in memory whole.
 */
#pragma once
#include "train/conv/candidate.h"
#include "train/step/strips.h"

struct stk__bands {
    struct stk__conv
        conv;       /* of which it is the output; a depthwise one has filters = its channels */
    bool has_frame; /* one is wanted at all */
    int top, left, bottom; /* rows that are kept above a band, or zeros; the frame */
    int64_t down;          /* floats of a row with its frame */
    int n_rows;            /* of a band, at most */
    bool has_pool;
    struct stk__pooling pool;
    struct stk__activation activation;
    size_t
        stage_floats; /* behind a band: rows that it is made of, where they are in half precision */
};

/* Rows of a band of about that many bytes, of a multiple of `unit`. */
int stk__band_rows_of(const struct stk__step_plan *plan, const struct stk__step_group *group,
                      size_t bytes, int64_t row_floats, int unit);

/* Sizes for a group; bands are of about that many bytes, and of a multiple of `unit` rows. */
struct stk__bands stk__bands_of(const struct stk__step_plan *plan,
                                const struct stk__step_group *group, size_t bytes, int unit);

/* A convolution of a group. */
struct stk__conv stk__conv_of(const struct stk__step_plan *plan,
                              const struct stk__step_group *group);

/* Rows of the image, or of its frame, that rows [from, to) of the output look at. */
struct stk__team_share stk__conv_reach(const struct stk__conv *conv, int from, int to);

/* Floats of a strip of them, for n rows of the output; 0 where the image is float32. */
size_t stk__reach_floats(const struct stk__step_plan *plan, const struct stk__step_group *group,
                         int n);

/* The image of a group's input, those rows of it. */
struct stk__rows stk__reached_rows(const struct stk__step_work *work,
                                   const struct stk__step_group *group, int image,
                                   struct stk__team_share rows, float *strip);

/* An image as it lies, for ways that take its type. */
struct stk__rows stk__map_rows(const struct stk__map *map);

size_t stk__bands_floats(const struct stk__bands *bands);

/* One walk through the images of a lot. */
struct stk__band {
    const struct stk__bands *of;
    const struct stk__step_work *work;
    const struct stk__step_group *group;
    float *at;  /* memory */
    int image;  /* of the lot */
    int lo, hi; /* rows that are there; the last of them are the band's */
    int n;      /* rows of the band */
    int done;   /* rows of the image's gradient that were given before this band */
    int ready;  /* rows of it that can be made now */
};

/* Before the first image, before each image, and before each band: false behind the last one. */
struct stk__band stk__band_begin(const struct stk__bands *bands, const struct stk__step_work *work,
                                 const struct stk__step_group *group, float *memory);
void stk__band_image(struct stk__band *band, int image);
bool stk__band_next(struct stk__band *band);

/* The rows that are there. */
struct stk__rows stk__band_rows(const struct stk__band *band);
