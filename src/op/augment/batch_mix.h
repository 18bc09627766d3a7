/* SPDX-License-Identifier: Apache-2.0 */
/* batch_mix.h: what mixup and cutmix share: each image of a batch with the one before it (the first
 * with the last), and labels that say how much of either there is. */
#pragma once
#include "op/dice.h"
#include "op/order/order.h"

/* Parameters of both, under these names. */
struct stk__mix_words {
    double alpha;
    int64_t num_classes;
    double probability;
    int64_t seed;
    const char *labels, *field;
};

/* Rows of a struct T with a `struct stk__mix_words mix`. */
/* clang-format off */
#define STK__MIX_FIELD(T, f)                                                                       \
    .name = #f, .offset = (uint32_t)(offsetof(struct T, mix.f) +                                   \
        0 * sizeof(_Generic(((struct T *)0)->mix, struct stk__mix_words : 1)))
#define STK__MIX_ROWS(T)                                                                           \
    { STK__MIX_FIELD(T, alpha), .type = STK_ROW_REAL, .def.r = 1, .lo.r = 1e-6, .hi.r = 1e6,       \
      .help = "both parameters of the Beta distribution that shares are drawn from" },             \
    { STK__MIX_FIELD(T, num_classes), .type = STK_ROW_INT, .flags = STK_TAKES_NONE,                \
      .def.i = STK_NONE, .lo.i = 1, .hi.i = 1 << 20,                                               \
      .help = "for labels that are numbers; none: they are a share for each class already" },      \
    { STK__MIX_FIELD(T, probability), .type = STK_ROW_REAL, .def.r = 1, .lo.r = 0, .hi.r = 1,      \
      .help = "share of the batches that are mixed" },                                             \
    { STK__MIX_FIELD(T, seed), .type = STK_ROW_INT, .flags = STK_TAKES_NONE, .def.i = STK_NONE,    \
      .lo.i = STK__INT_LO, .hi.i = STK__INT_HI, .help = "mixed with the run's seed; none is 0" },  \
    { STK__MIX_FIELD(T, labels), .type = STK_ROW_TEXT, .flags = STK_TAKES_NONE, .def.s = NULL,     \
      .help = "the field of labels; none: the only one that can be" },                             \
    { STK__MIX_FIELD(T, field), .type = STK_ROW_TEXT, .flags = STK_TAKES_NONE, .def.s = NULL,      \
      .help = "the batch of images; none: the only one" }
/* clang-format on */

/* State of such an op. */
struct stk__mix {
    int images, labels; /* fields */
    int64_t n_classes;
};

/* A batch of images. */
struct stk__pile {
    const uint8_t *data;
    int32_t dims[4];
    size_t image_bytes;
};

/* `fits` says which batches of images the op takes, `what` the same in words. */
int stk__mix_infer(struct stk_infer *inf, const struct stk__mix_words *words,
                   bool (*fits)(const struct stk_field *), const char *what, struct stk_error *err);

/* How much of an image stays, drawn for a batch: 1 for those that are not mixed. */
double stk__mix_draw(struct stk__dice *dice, const struct stk__mix_words *words);

struct stk__pile stk__pile_get(const struct stk_rows *rows, int field, int row);

/* Where the batch's result goes; NULL when out of memory. */
uint8_t *stk__pile_put(struct stk_rows *rows, int field, int row, const struct stk__pile *pile);

/* Labels with this share of their own. May mark the batch bad. STK_MEMORY at worst. */
int stk__mix_labels(struct stk_rows *rows, int row, const struct stk__mix *mix, double share);
