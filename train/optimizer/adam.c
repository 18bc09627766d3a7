/* SPDX-License-Identifier: Apache-2.0 */
/* adam.c: Adam and AdamW, which differ in what weight decay is.
 *
 * Keras   weight -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * first / (sqrt(second) + epsilon)
 * PyTorch epsilon is added behind the correction of second: as above with epsilon * sqrt(1 -
 * beta_2^t)
 */
#include "train/kernel/train_kernel.h"
#include "train/optimizer/optimizer.h"

#include <float.h>

struct adam {
    struct stk__optimizer_params common;
    double beta_1, beta_2, epsilon;
};

#define ADAM_ROWS                                                                                  \
    STK__LEARNING_RATE_ROW("0.001"),                                                               \
        STK_REAL_ROW(adam, beta_1, 0.9, 0, 1 - DBL_EPSILON, 0, "how long gradients are kept"),     \
        STK_REAL_ROW(adam, beta_2, 0.999, 0, 1 - DBL_EPSILON, 0, "how long their squares are"),    \
        STK_REAL_ROW(adam, epsilon, NAN, 0, FLT_MAX, STK_TAKES_NONE,                               \
                     "added to the root of the squares; none: 1e-7, with form=pytorch 1e-8")

static const struct stk_param adam_rows[] = {
    ADAM_ROWS,
    STK__WEIGHT_DECAY_ROW,
    STK__CLIP_AND_FORM_ROWS,
    STK_ROWS_END,
};

static const struct stk_param adamw_rows[] = {
    ADAM_ROWS,
    STK_REAL_ROW(stk__optimizer_params, weight_decay, NAN, 0, FLT_MAX, STK_TAKES_NONE,
                 "what a weight loses in a step, times the rate; none: 0.004, with form=pytorch "
                 "0.01"),
    STK__CLIP_AND_FORM_ROWS,
    STK_ROWS_END,
};

static int n_slots(const struct stk__optimizer *o)
{
    (void)o;
    return 2;
}

/* Keras corrects in float32. There 1 - 0.999f is off by 1e-5 of itself, which the first steps show.
 */
static double keras_correction(const struct adam *p, int64_t step)
{
    float t = (float)(step + 1);
    float first = 1 - powf((float)p->beta_1, t), second = 1 - powf((float)p->beta_2, t);
    return sqrtf(second) / first;
}

static void put_rates(const struct stk__optimizer *o, double rate, int64_t step,
                      struct stk__step_rates *out)
{
    const struct adam *p = o->params;
    bool is_pytorch = o->form == STK__FORM_PYTORCH;
    double t = (double)step + 1;
    double first = 1 - pow(p->beta_1, t), second = sqrt(1 - pow(p->beta_2, t));
    out->take_first = (float)(1 - p->beta_1);
    out->take_second = (float)(1 - p->beta_2);
    out->rate = (float)(rate * (is_pytorch ? second / first : keras_correction(p, step)));
    double epsilon = stk__given_or(p->epsilon, is_pytorch ? 1e-8 : 1e-7);
    out->epsilon = (float)(is_pytorch ? epsilon * second : epsilon);
}

static bool step(const struct stk__step_span *span, const struct stk__step_rates *rates)
{
    return stk__train_kernels()->optimizer.adam(span, rates);
}

const struct stk__optimizer_type stk__optimizer_type_adam = {
    .decl = { "adam", 1, "Adam.",
              "As keras.optimizers.Adam or, with form=pytorch, torch.optim.Adam: "
              "they differ in epsilon and in what weight decay is.\n"
              "\n"
              "    adam(0.001)\n"
              "    adam(cosine(0.001, steps=1000, warmup=100), global_clipnorm=1)",
              adam_rows, sizeof(struct adam) },
    .rate = 0.001,
    .n_slots = n_slots,
    .put_rates = put_rates,
    .step = step,
};

const struct stk__optimizer_type stk__optimizer_type_adamw = {
    .decl = { "adamw", 1, "Adam with weight decay beside the gradient.",
              "As keras.optimizers.AdamW or torch.optim.AdamW.\n"
              "\n"
              "    adamw(0.001, weight_decay=0.01)\n"
              "    adamw(form=pytorch)",
              adamw_rows, sizeof(struct adam) },
    .rate = 0.001,
    .decay = { [STK__FORM_KERAS] = 0.004, [STK__FORM_PYTORCH] = 0.01 },
    .decays_beside = true,
    .n_slots = n_slots,
    .put_rates = put_rates,
    .step = step,
};
