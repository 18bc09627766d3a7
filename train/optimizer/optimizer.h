/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.h: SGD, Adam and AdamW, as Keras 3 and as PyTorch have them.
 *
 *     sgd(0.1, momentum=0.9, nesterov=true)   adam(cosine(0.001, steps=1000))   adamw(form=pytorch)
 *
 * A step of training, behind the gradients:
 *
 *     squares  = Σ stk__gradient_squares(part)     where the norm is clipped or a loss is scaled
 *     isfinite(squares)?                           no: the step is left out, nothing changes
 *     factor   = stk__optimizer_factor(…)          undoes the loss scale and clips the norm
 *     rates    = stk__optimizer_rates(…)           all numbers of this step
 *     stk__optimizer_step(part)                    one pass over weights, state and gradients
 *
 * Parts are any spans of the weights, on any threads. Whether gradients are finite must be known of
 * all before the first weight changes, which is why a scaled step reads them twice; without a scale
 * the pass itself tells.
 *
 * A new optimizer needs its file here with one declaration, and a case in
 * tests/train/test_optimizer.c.
 */
#pragma once
#include "train/kernel/optimizer_kernel.h"
#include "train/optimizer/schedule.h"

#include <math.h>

enum stk__optimizer_form { STK__FORM_KERAS, STK__FORM_PYTORCH };

/* "keras", "pytorch", NULL: the choices of a parameter. */
extern const char *const stk__optimizer_forms[];

struct stk__optimizer {
    const struct stk__optimizer_type *type;
    const void *params; /* bound, of its type */
    enum stk__optimizer_form form;
    struct stk__schedule rate;
    double weight_decay;
    double clip_norm, clip_value; /* infinite: none */
};

struct stk__optimizer_type {
    struct stk_decl decl; /* first: a declaration of stk__optimizers is its type */
    double rate;          /* where none is given */
    double decay[2];      /* the same of weight decay, in each form */
    bool decays_beside;   /* the gradient, in PyTorch, too */
    /* Looks at what was bound; NULL: anything goes. */
    int (*check)(const struct stk__call *call, const struct stk__optimizer *optimizer,
                 struct stk_error *err);
    int (*n_slots)(const struct stk__optimizer *optimizer);
    /* The numbers of a step that are its own, for a rate. */
    void (*put_rates)(const struct stk__optimizer *optimizer, double rate, int64_t step,
                      struct stk__step_rates *out);
    /* As the kernels in optimizer_kernel.h; in blocks of any length, on any threads. */
    bool (*step)(const struct stk__step_span *span, const struct stk__step_rates *rates);
};

/* What can be called: what the files of this folder declare. */
extern const struct stk__namespace stk__optimizers;

/* A call, such as adam(0.001). Lists are in the arena. */
int stk__optimizer_read(const struct stk_value *value, struct stk_arena *arena,
                        struct stk__optimizer *out, struct stk_error *err);

/* Arrays of state, each as long as the weights, that begin as zeros: 0, 1 (first) or 2 (second). */
int stk__optimizer_slots(const struct stk__optimizer *optimizer);

/* The sum of squares of gradients as they are; finite if and only if they all are. */
double stk__gradient_squares(const float *gradient, size_t n);

/* What gradients are multiplied with, from the squares of all of them and what undoes their scale.
 */
double stk__optimizer_factor(const struct stk__optimizer *optimizer, double squares,
                             double inverse_scale);

/* The numbers of a step, the first of which is 0 and of which those that were left out are none.
 * `decays`: false for weights that weight decay leaves alone. */
struct stk__step_rates stk__optimizer_rates(const struct stk__optimizer *optimizer, int64_t step,
                                            double factor, bool decays);

/* The same at another rate than the schedule's. */
struct stk__step_rates stk__optimizer_rates_at(const struct stk__optimizer *optimizer, double rate,
                                               int64_t step, double factor, bool decays);

/* A copy of the weights in another type, written along. */
struct stk__weight_copy {
    uint16_t *to; /* NULL: none */
    int dtype;    /* STK_F16 or STK_BF16 */
};

/* Updates a span. False: some of its gradients were not finite, and it is changed all the same. */
bool stk__optimizer_step(const struct stk__optimizer *optimizer, const struct stk__step_span *span,
                         const struct stk__step_rates *rates, struct stk__weight_copy copy);

/* ---- what optimizers share ---- */

/* What the parameters of every optimizer begin with. */
struct stk__optimizer_params {
    const struct stk_value *learning_rate;
    double weight_decay, global_clipnorm, clipvalue;
    int form;
};

#define STK__LEARNING_RATE_ROW(otherwise)                                                          \
    STK__CALLS_ROW(stk__optimizer_params, learning_rate, &stk__schedules, STK_TAKES_NONE,          \
                   "a number, or a schedule such as cosine(0.1, steps=1000); none: " otherwise)
#define STK__WEIGHT_DECAY_ROW                                                                      \
    STK_REAL_ROW(stk__optimizer_params, weight_decay, 0, 0, FLT_MAX, 0,                            \
                 "beside the gradient with form=keras, part of it with form=pytorch")
#define STK__CLIP_AND_FORM_ROWS                                                                    \
    STK_REAL_ROW(stk__optimizer_params, global_clipnorm, NAN, 0, DBL_MAX, STK_TAKES_NONE,          \
                 "all gradients together are scaled down to this norm"),                           \
        STK_REAL_ROW(stk__optimizer_params, clipvalue, NAN, 0, FLT_MAX, STK_TAKES_NONE,            \
                     "each gradient is kept within plus and minus this"),                          \
        STK_CHOICE_ROW(stk__optimizer_params, form, stk__optimizer_forms, STK__FORM_KERAS, 0,      \
                       "whose formulas, and whose defaults")

/* What was given, or else something for NaN. */
static inline double stk__given_or(double given, double otherwise)
{
    return isnan(given) ? otherwise : given;
}
