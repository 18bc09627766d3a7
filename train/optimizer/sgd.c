/* SPDX-License-Identifier: Apache-2.0 */
/* sgd.c: gradient descent.
 *
 * Keras   first = momentum * first - rate * gradient;   weight += first
 *         Nesterov: weight += momentum * first - rate * gradient
 * PyTorch first = momentum * first + gradient;          weight -= rate * first
 *         Nesterov: weight -= rate * (gradient + momentum * first)
 */
#include "base/error.h"
#include "train/kernel/train_kernel.h"
#include "train/optimizer/optimizer.h"

#include <float.h>

struct sgd {
    struct stk__optimizer_params common;
    double momentum;
    bool nesterov;
};

static const struct stk_param rows[] = {
    STK__LEARNING_RATE_ROW("0.01"),
    STK_REAL_ROW(sgd, momentum, 0, 0, 1, 0, "how much of the last change is made again"),
    STK_BOOL_ROW(sgd, nesterov, false, 0, "Nesterov's momentum"),
    STK__WEIGHT_DECAY_ROW,
    STK__CLIP_AND_FORM_ROWS,
    STK_ROWS_END,
};

static int check(const struct stk__call *call, const struct stk__optimizer *o,
                 struct stk_error *err)
{
    const struct sgd *p = o->params;
    if (!p->nesterov || p->momentum != 0)
        return STK_OK;
    return stk__fail_at(err, STK_VALUE, call->at, call->len,
                        "sgd: nesterov=true wants a momentum above 0");
}

static int n_slots(const struct stk__optimizer *o)
{
    return ((const struct sgd *)o->params)->momentum != 0;
}

static void put_rates(const struct stk__optimizer *o, double rate, int64_t step,
                      struct stk__step_rates *out)
{
    const struct sgd *p = o->params;
    (void)step;
    bool is_keras = o->form == STK__FORM_KERAS;
    out->momentum = (float)p->momentum;
    out->push = (float)(is_keras ? -rate : 1);
    out->from_first = (float)(is_keras ? 1 : -rate);
    if (p->momentum == 0 || p->nesterov)
        out->from_gradient = (float)-rate;
    if (p->nesterov)
        out->from_first = (float)(p->momentum * (is_keras ? 1 : -rate));
}

static bool step(const struct stk__step_span *span, const struct stk__step_rates *rates)
{
    return stk__train_kernels()->optimizer.sgd(span, rates);
}

const struct stk__optimizer_type stk__optimizer_type_sgd = {
    .decl = { "sgd", 1, "Gradient descent, also with momentum.",
              "As keras.optimizers.SGD or, with form=pytorch, torch.optim.SGD: with "
              "momentum they differ where the rate changes.\n"
              "\n"
              "    sgd(0.1, momentum=0.9, nesterov=true)",
              rows, sizeof(struct sgd) },
    .rate = 0.01,
    .check = check,
    .n_slots = n_slots,
    .put_rates = put_rates,
    .step = step,
};
