/* SPDX-License-Identifier: Apache-2.0 */
/* cut.h: what the ops share that cut a window out of an image of any dtype, or put the image into a
 * larger one.
 *
 * An op says which window a row wants (stk__choose_fn) and whether it may lie outside the image; its
 * state is a struct stk__cut, which is all that running needs.
 */
#pragma once
#include "op/image/follow.h"
#include "op/image/image_op.h"

/* What lies outside an image: a value, its border, or its mirror image without and with the border
 * pixel twice. */
enum stk__padding { STK__PAD_CONSTANT, STK__PAD_EDGE, STK__PAD_REFLECT, STK__PAD_SYMMETRIC };

struct stk__cut {
    int field;
    size_t value_bytes;
    stk__choose_fn choose;
    bool is_done; /* images come as their windows */
    enum stk__padding padding;
    int n_fill;          /* 1: the same for all channels */
    const uint8_t *fill; /* [n_fill] values of the image's dtype */
    struct stk__followers followers;
};

/* Parameters of such an op. */
struct stk__cut_words {
    const char *field;
    struct stk__follow_words follow;
    struct stk_numbers fill; /* no items: 0 */
};

/* Passes on all but the image, which gets this size; inf->state is the cut, whose choose and
 * padding are set. */
int stk__cut_infer(struct stk_infer *inf, const struct stk__cut_words *words, const int64_t size[2],
                   struct stk__cut *cut, struct stk_error *err);

/* Refuses images that are known to be smaller than this. */
int stk__cut_check(const struct stk_infer *inf, const struct stk__cut *cut, const int64_t least[2],
                   struct stk_error *err);

/* The message for an image that is smaller than this. */
int stk__cut_too_small(const int32_t size[2], const int64_t least[2], struct stk_error *err);

int stk__cut_run(struct stk_rows *rows);

/* finish() of ops whose window always lies inside images as large as `least`. */
void stk__cut_finish(const void *params, const struct stk__cut *cut, const int64_t least[2],
                     struct stk__op_finish *out);

/* part() of ops whose window always lies inside the image. */
int stk__cut_part(const void *params, const void *state, struct stk_arena *arena,
                  struct stk__image_part *out);
