/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_decl.c: optimizers as they are written: declarations, and reading a call. */
#include "train/model/declared.h"
#include "train/optimizer/optimizer.h"

#include <float.h>
#include <math.h>

const char *const stk__optimizer_forms[] = { "keras", "pytorch", NULL };

#define RATE_ROW(T, text)                                                                          \
    STK_CALLS_ROW(T, learning_rate, &stk__schedules, STK_TAKES_NONE,                               \
                  "a number, or a schedule such as cosine(0.1, steps=1000); none: " text)
#define CLIP_AND_FORM_ROWS(T)                                                                      \
    STK_REAL_ROW(T, global_clipnorm, NAN, 0, DBL_MAX, STK_TAKES_NONE,                              \
                 "all gradients together are scaled down to this norm"),                           \
        STK_REAL_ROW(T, clipvalue, NAN, 0, FLT_MAX, STK_TAKES_NONE,                                \
                     "each gradient is kept within plus and minus this"),                          \
        STK_CHOICE_ROW(T, form, stk__optimizer_forms, STK__FORM_KERAS, 0,                          \
                       "whose formulas, and whose defaults")

struct adam {
    const struct stk_value *learning_rate;
    double beta_1, beta_2, epsilon, weight_decay, global_clipnorm, clipvalue;
    int form;
};

#define ADAM_ROWS                                                                                  \
    RATE_ROW(adam, "0.001"),                                                                       \
        STK_REAL_ROW(adam, beta_1, 0.9, 0, 1 - DBL_EPSILON, 0, "how long gradients are kept"),     \
        STK_REAL_ROW(adam, beta_2, 0.999, 0, 1 - DBL_EPSILON, 0, "how long their squares are"),    \
        STK_REAL_ROW(adam, epsilon, NAN, 0, FLT_MAX, STK_TAKES_NONE,                               \
                     "added to the root of the squares; none: 1e-7, with form=pytorch 1e-8")

static const struct stk_param adam_rows[] = {
    ADAM_ROWS,
    STK_REAL_ROW(adam, weight_decay, 0, 0, FLT_MAX, 0,
                 "beside the gradient with form=keras, part of it with form=pytorch"),
    CLIP_AND_FORM_ROWS(adam),
    STK_ROWS_END,
};

static const struct stk_param adamw_rows[] = {
    ADAM_ROWS,
    STK_REAL_ROW(adam, weight_decay, NAN, 0, FLT_MAX, STK_TAKES_NONE,
                 "what a weight loses in a step, times the rate; none: 0.004, with form=pytorch "
                 "0.01"),
    CLIP_AND_FORM_ROWS(adam),
    STK_ROWS_END,
};

struct sgd {
    const struct stk_value *learning_rate;
    double momentum;
    bool nesterov;
    double weight_decay, global_clipnorm, clipvalue;
    int form;
};

static const struct stk_param sgd_rows[] = {
    RATE_ROW(sgd, "0.01"),
    STK_REAL_ROW(sgd, momentum, 0, 0, 1, 0, "how much of the last change is made again"),
    STK_BOOL_ROW(sgd, nesterov, false, 0, "Nesterov's momentum"),
    STK_REAL_ROW(sgd, weight_decay, 0, 0, FLT_MAX, 0,
                 "beside the gradient with form=keras, part of it with form=pytorch"),
    CLIP_AND_FORM_ROWS(sgd),
    STK_ROWS_END,
};

enum { N_CALLS = STK__OPTIMIZER_SGD + 1 };

static const struct stk_decl decls[N_CALLS] = {
    [STK__OPTIMIZER_ADAM] = { "adam", 1, "Adam.",
                              "As keras.optimizers.Adam or, with form=pytorch, torch.optim.Adam: "
                              "they differ in epsilon and in what weight decay is.\n"
                              "\n"
                              "    adam(0.001)\n"
                              "    adam(cosine(0.001, steps=1000, warmup=100), global_clipnorm=1)",
                              adam_rows, sizeof(struct adam) },
    [STK__OPTIMIZER_ADAMW] = { "adamw", 1, "Adam with weight decay beside the gradient.",
                               "As keras.optimizers.AdamW or torch.optim.AdamW.\n"
                               "\n"
                               "    adamw(0.001, weight_decay=0.01)\n"
                               "    adamw(form=pytorch)",
                               adamw_rows, sizeof(struct adam) },
    [STK__OPTIMIZER_SGD] = { "sgd", 1, "Gradient descent, also with momentum.",
                             "As keras.optimizers.SGD or, with form=pytorch, torch.optim.SGD: with "
                             "momentum they differ where the rate changes.\n"
                             "\n"
                             "    sgd(0.1, momentum=0.9, nesterov=true)",
                             sgd_rows, sizeof(struct sgd) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2] };
const struct stk__namespace stk__optimizers = { "optimizer", calls, N_CALLS };

static double either(double given, double otherwise)
{
    return isnan(given) ? otherwise : given;
}

static int put_rate(const struct stk_value *value, double otherwise, struct stk_arena *arena,
                    struct stk__optimizer *out, struct stk_error *err)
{
    out->rate = (struct stk__schedule){ .kind = STK__SCHEDULE_CONSTANT, .rate = otherwise };
    return value ? stk__schedule_read(value, arena, &out->rate, err) : STK_OK;
}

static int read_adam(const struct stk__call *call, int kind, struct stk_arena *arena,
                     struct stk__optimizer *out, struct stk_error *err)
{
    struct adam p;
    int rc = stk__call_bind(call, &decls[kind], arena, &p, err);
    if (rc)
        return rc;
    bool is_keras = p.form == STK__FORM_KERAS;
    *out = (struct stk__optimizer){ .kind = (enum stk__optimizer_kind)kind,
                                    .form = (enum stk__optimizer_form)p.form,
                                    .beta_1 = p.beta_1,
                                    .beta_2 = p.beta_2,
                                    .epsilon = either(p.epsilon, is_keras ? 1e-7 : 1e-8),
                                    .weight_decay = either(p.weight_decay, is_keras ? 0.004 : 0.01),
                                    .clip_norm = either(p.global_clipnorm, INFINITY),
                                    .clip_value = either(p.clipvalue, INFINITY) };
    return put_rate(p.learning_rate, 0.001, arena, out, err);
}

static int read_sgd(const struct stk__call *call, struct stk_arena *arena,
                    struct stk__optimizer *out, struct stk_error *err)
{
    struct sgd p;
    int rc = stk__call_bind(call, &decls[STK__OPTIMIZER_SGD], arena, &p, err);
    if (rc)
        return rc;
    if (p.nesterov && p.momentum == 0)
        return stk__fail_at(err, STK_VALUE, call->at, call->len,
                            "sgd: nesterov=true wants a momentum above 0");
    *out = (struct stk__optimizer){ .kind = STK__OPTIMIZER_SGD,
                                    .form = (enum stk__optimizer_form)p.form,
                                    .momentum = p.momentum,
                                    .is_nesterov = p.nesterov,
                                    .weight_decay = p.weight_decay,
                                    .clip_norm = either(p.global_clipnorm, INFINITY),
                                    .clip_value = either(p.clipvalue, INFINITY) };
    return put_rate(p.learning_rate, 0.01, arena, out, err);
}

int stk__optimizer_read(const struct stk_value *value, struct stk_arena *arena,
                        struct stk__optimizer *out, struct stk_error *err)
{
    const struct stk__call *call;
    int which;
    int rc = stk__declared_call(value, &stk__optimizers, "an optimizer is", &call, &which, err);
    if (!rc)
        rc = which == STK__OPTIMIZER_SGD ? read_sgd(call, arena, out, err)
                                         : read_adam(call, which, arena, out, err);
    if (!rc && !isinf(out->clip_norm) && !isinf(out->clip_value))
        rc = stk__fail_at(err, STK_VALUE, call->at, call->len,
                          "%s: global_clipnorm and clipvalue exclude each other", call->name);
    return rc;
}
