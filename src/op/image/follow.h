/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h: fields that follow the geometry of an image: masks, boxes, keypoints, and the labels of
 * boxes. An op says what it did to a row's image (struct stk__geometry); all the rest is here.
 *
 * A geometric op has STK__FOLLOW_ROWS among its rows, finds its image by stk__follow_image, calls
 * stk__follow_infer once that has its output type, and stk__follow_run for each live row.
 */
#pragma once
#include "op/augment/geometry.h"

#include <float.h>

struct stk__follow_words {
    struct stk_pairs fields;
    double visibility, mask_fill;
};

/* Rows of a struct T with a `struct stk__follow_words follow`. */
/* clang-format off */
#define STK__FOLLOW_FIELD(T, f)                                                                    \
    .name = #f, .offset = (uint32_t)(offsetof(struct T, follow.f) +                                \
        0 * sizeof(_Generic(((struct T *)0)->follow, struct stk__follow_words : 1)))
#define STK__FOLLOW_ROWS(T)                                                                        \
    { STK__FOLLOW_FIELD(T, fields), .type = STK_ROW_PAIRS, .flags = STK_TAKES_NONE,                \
      .help = "what follows the image: mask, keypoints, boxes as xyxy, xywh or cxcywh (all but "   \
              "mask also with _normalized), labels of the boxes" },                                \
    { STK__FOLLOW_FIELD(T, visibility), .type = STK_ROW_REAL, .def.r = 0, .lo.r = 0, .hi.r = 1,    \
      .help = "boxes of which less is left are dropped, with their labels; 0: none" },             \
    { STK__FOLLOW_FIELD(T, mask_fill), .type = STK_ROW_REAL, .def.r = 0, .lo.r = -DBL_MAX,         \
      .hi.r = DBL_MAX, .help = "of masks where there was no image" }
/* clang-format on */

/* What one field is. */
struct stk__follower {
    int field;
    uint8_t kind;
    bool is_normalized;
};

struct stk__followers {
    int n;
    struct stk__follower item[STK_MAX_FIELDS];
    double visibility, mask_fill;
};

/* The name of the image: the one given, or the only field that fits and does not follow; NULL if
 * that is none or more than one. */
const char *stk__follow_image(const struct stk_infer *inf, const char *given,
                              const struct stk__follow_words *words,
                              bool (*fits)(const struct stk_field *));

/* Takes the fields the words name from the input; the image is at `image` in both types. */
int stk__follow_infer(struct stk_infer *inf, const struct stk__follow_words *words, int image,
                      struct stk__followers *out, struct stk_error *err);

/* Writes a row of them. May mark the row bad. STK_MEMORY at worst. */
int stk__follow_run(struct stk_rows *rows, int row, const struct stk__followers *followers,
                    const struct stk__geometry *g);

/* ---- between the two files ---- */

enum stk__follow_kind {
    STK__FOLLOW_MASK,
    STK__FOLLOW_KEYPOINTS,
    STK__FOLLOW_XYXY,
    STK__FOLLOW_XYWH,
    STK__FOLLOW_CXCYWH,
    STK__FOLLOW_LABELS,
};

static inline bool stk__follow_is_boxes(int kind)
{
    return kind >= STK__FOLLOW_XYXY && kind <= STK__FOLLOW_CXCYWH;
}
