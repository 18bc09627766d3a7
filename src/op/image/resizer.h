/* SPDX-License-Identifier: Apache-2.0 */
/* resizer.h: what the ops that resize share: their common parameters, the taps and rows a worker
 * keeps, and ops above that are carried out on the way.
 *
 * An op says how an image fits into its result (struct stk__fit), and its state begins with a
 * struct stk__resizer, which is all that running needs.
 */
#pragma once
#include "kernel/resize_rows.h"
#include "op/image/follow.h"
#include "op/image/image_op.h"

enum { STK__MAX_SIDE = 1 << 15, STK__MAX_FLIPS = 2 };

extern const char *const stk__resize_methods[],
    *const stk__resize_antialias[], *const stk__resize_semantics[], *const stk__resize_dtypes[];

/* Parameters that every op that resizes has, under these names. */
struct stk__resize_words {
    int method, antialias, semantics, dtype;
    const char *field;
    struct stk__follow_words follow;
};

/* Their rows, for a struct T with fields of these names. */
#define STK__RESIZE_ROWS(T)                                                                        \
    STK_CHOICE_ROW(T, method, stk__resize_methods, STK__BILINEAR, 0,                               \
                   "how pixels are weighted; which there are depends on semantics"),               \
        STK_CHOICE_ROW(T, antialias, stk__resize_antialias, 0, 0,                                  \
                       "average over all pixels when shrinking; auto: as the library does"),       \
        STK_CHOICE_ROW(T, semantics, stk__resize_semantics, STK__TF, 0,                            \
                       "whose results: tf.image.resize, Pillow's Image.resize or cv2.resize"),     \
        STK_CHOICE_ROW(T, dtype, stk__resize_dtypes, 0, 0,                                         \
                       "of the result; auto: what the library gives; keep: as the image"),         \
        STK_TEXT_ROW(T, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),             \
        STK__FOLLOW_ROWS(T)

#define STK__RESIZE_WORDS(call)                                                                    \
    {                                                                                              \
        (call)->method, (call)->antialias, (call)->semantics, (call)->dtype, (call)->field,        \
            (call)->follow                                                                         \
    }

/* How one image fits into its result: scaled, cut to a window, put on a canvas. */
struct stk__fit {
    struct stk__size scaled;
    int crop_top, crop_left; /* of the window in the scaled image, as large as `inner` */
    struct stk__size inner;
    int pad_top, pad_left; /* of the window on the canvas */
    struct stk__size canvas;
};

/* An image of this size that is only scaled. */
struct stk__fit stk__fit_all(struct stk__size scaled);

typedef struct stk__fit (*stk__fit_fn)(const void *params, struct stk__size image);

struct stk__resizer {
    int field;
    struct stk__resize_way way;
    stk__choose_fn choose; /* the window of an image that is resized; NULL: all of it */
    const void *windows;   /* what choose needs to know */
    bool is_cut;           /* images come as their windows */
    stk__fit_fn fit;
    struct stk__size at_least; /* every result is as large; 0: unknown, or it has padding */
    double fill;               /* of the canvas around the image, before what follows */
    struct stk__followers followers;
    /* what follows, in this order */
    bool is_rounded;             /* to uint8 */
    struct stk__image_part crop; /* choose NULL: none */
    int n_flips;
    struct stk__op_finish flip[STK__MAX_FLIPS];
    struct stk__affine affine; /* period 0: none */
    int dtype;                 /* of the result */
    bool is_planar;
};

/* Makes a state like this one with what the words say; the output field gets its dtype and this size
 * (-1: differs). */
int stk__resizer_infer(struct stk_infer *inf, const struct stk__resize_words *words,
                       struct stk__size size, const struct stk__resizer *like,
                       struct stk_error *err);

int stk__resizer_take_finish(const void *params, const void *state, struct stk_arena *arena,
                             const struct stk__op_finish *finish, void **new_state);

/* part() of ops that choose a window. */
int stk__resizer_part(const void *params, const void *state, struct stk_arena *arena,
                      struct stk__image_part *out);

int stk__resizer_thread_open(const void *params, const void *state, void **thread,
                             struct stk_error *err);
void stk__resizer_thread_close(void *thread);
int stk__resizer_run(struct stk_rows *rows);
