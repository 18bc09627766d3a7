/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c: Keras' schedules: their declarations and their formulas. */
#include "train/optimizer/schedule.h"

#include "train/model/declared.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- the calls ---- */

#define RATE_ROW(T)                                                                                \
    STK_REAL_ROW(T, learning_rate, 0, 0, FLT_MAX, STK_REQUIRED, "the rate behind the warm-up")
#define WARMUP_ROWS(T)                                                                             \
    STK_INT_ROW(T, warmup, 0, 0, INT64_MAX, 0, "steps in which the rate rises before that"),       \
        STK_REAL_ROW(T, start, 0, 0, FLT_MAX, 0, "the rate at which the warm-up begins")

struct constant {
    double learning_rate;
    int64_t warmup;
    double start;
};

static const struct stk_param constant_rows[] = {
    RATE_ROW(constant),
    WARMUP_ROWS(constant),
    STK_ROWS_END,
};

struct cosine {
    double learning_rate;
    int64_t steps;
    double alpha;
    int64_t warmup;
    double start;
};

static const struct stk_param cosine_rows[] = {
    RATE_ROW(cosine),
    STK_INT_ROW(cosine, steps, 0, 1, INT64_MAX, STK_REQUIRED,
                "steps until the least rate, not counting those of the warm-up"),
    STK_REAL_ROW(cosine, alpha, 0, 0, 1, 0, "the least rate, as a part of learning_rate"),
    WARMUP_ROWS(cosine),
    STK_ROWS_END,
};

struct piecewise {
    struct stk_numbers boundaries, values;
    int64_t warmup;
    double start;
};

static const struct stk_param piecewise_rows[] = {
    STK_NUMBERS_ROW(piecewise, boundaries, NULL, 1, 1000, STK_REQUIRED,
                    "the last step of each rate but the last one's, rising"),
    STK_NUMBERS_ROW(piecewise, values, NULL, 2, 1001, STK_REQUIRED,
                    "the rates, one more than boundaries"),
    WARMUP_ROWS(piecewise),
    STK_ROWS_END,
};

struct step {
    double learning_rate;
    int64_t every;
    double factor;
    int64_t warmup;
    double start;
};

static const struct stk_param step_rows[] = {
    RATE_ROW(step),
    STK_INT_ROW(step, every, 0, 1, INT64_MAX, STK_REQUIRED, "steps with one rate"),
    STK_REAL_ROW(step, factor, 0.1, 0, DBL_MAX, 0, "what the rate is multiplied with after them"),
    WARMUP_ROWS(step),
    STK_ROWS_END,
};

enum { N_CALLS = STK__SCHEDULE_STEP + 1 };

static const struct stk_decl decls[N_CALLS] = {
    [STK__SCHEDULE_CONSTANT] = { "constant", 1, "The same rate in every step.",
                                 "With a warm-up it rises to that rate first. A number alone is "
                                 "the "
                                 "same as constant(number).\n"
                                 "\n"
                                 "    constant(0.001, warmup=500)",
                                 constant_rows, sizeof(struct constant) },
    [STK__SCHEDULE_COSINE] = { "cosine", 1, "Falls along half a cosine.",
                               "As keras.optimizers.schedules.CosineDecay. After `steps` steps the "
                               "rate stays at alpha * learning_rate. `warmup` and `start` are "
                               "Keras' warmup_steps and its initial rate, learning_rate is its "
                               "warmup_target.\n"
                               "\n"
                               "    cosine(0.001, steps=1000, warmup=100)",
                               cosine_rows, sizeof(struct cosine) },
    [STK__SCHEDULE_PIECEWISE] = { "piecewise", 1, "A list of rates, each up to its step.",
                                  "As keras.optimizers.schedules.PiecewiseConstantDecay: the first "
                                  "rate holds up to and with the first boundary.\n"
                                  "\n"
                                  "    piecewise([1000, 2000], [0.1, 0.01, 0.001])",
                                  piecewise_rows, sizeof(struct piecewise) },
    [STK__SCHEDULE_STEP] = { "step", 1, "Multiplied by a factor every so many steps.",
                             "As keras.optimizers.schedules.ExponentialDecay with staircase=True, "
                             "and as torch.optim.lr_scheduler.StepLR.\n"
                             "\n"
                             "    step(0.1, every=1000, factor=0.5)",
                             step_rows, sizeof(struct step) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2], &decls[3] };
const struct stk__namespace stk__schedules = { "schedule", calls, N_CALLS };

/* ---- reading ---- */

static int read_constant(const struct stk__call *call, struct stk_arena *arena,
                         struct stk__schedule *out, struct stk_error *err)
{
    struct constant p;
    int rc = stk__call_bind(call, &decls[STK__SCHEDULE_CONSTANT], arena, &p, err);
    if (!rc)
        *out =
            (struct stk__schedule){ .rate = p.learning_rate, .warmup = p.warmup, .start = p.start };
    return rc;
}

static int read_cosine(const struct stk__call *call, struct stk_arena *arena,
                       struct stk__schedule *out, struct stk_error *err)
{
    struct cosine p;
    int rc = stk__call_bind(call, &decls[STK__SCHEDULE_COSINE], arena, &p, err);
    if (!rc)
        *out = (struct stk__schedule){ .rate = p.learning_rate,
                                       .warmup = p.warmup,
                                       .start = p.start,
                                       .steps = p.steps,
                                       .alpha = p.alpha };
    return rc;
}

static int check_piecewise(const struct stk__call *call, const struct piecewise *p,
                           struct stk_error *err)
{
    if (p->values.n != p->boundaries.n + 1)
        return stk__fail_at(err, STK_VALUE, call->at, call->len,
                            "piecewise: %d boundaries want %d values, not %d", p->boundaries.n,
                            p->boundaries.n + 1, p->values.n);
    for (int i = 1; i < p->boundaries.n; i++)
        if (!(p->boundaries.item[i] > p->boundaries.item[i - 1]))
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: boundary %d is not above the one before it", i);
    for (int i = 0; i < p->values.n; i++) {
        if (!(p->values.item[i] >= 0))
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: rate %d is below 0", i);
        if (p->values.item[i] > FLT_MAX)
            return stk__fail_at(err, STK_VALUE, call->at, call->len,
                                "piecewise: rate %d is larger than a float32 holds", i);
    }
    return STK_OK;
}

static int read_piecewise(const struct stk__call *call, struct stk_arena *arena,
                          struct stk__schedule *out, struct stk_error *err)
{
    struct piecewise p;
    int rc = stk__call_bind(call, &decls[STK__SCHEDULE_PIECEWISE], arena, &p, err);
    if (!rc)
        rc = check_piecewise(call, &p, err);
    if (!rc)
        *out = (struct stk__schedule){ .rate = p.values.item[0],
                                       .warmup = p.warmup,
                                       .start = p.start,
                                       .n_boundaries = p.boundaries.n,
                                       .boundaries = p.boundaries.item,
                                       .rates = p.values.item };
    return rc;
}

static int read_step(const struct stk__call *call, struct stk_arena *arena,
                     struct stk__schedule *out, struct stk_error *err)
{
    struct step p;
    int rc = stk__call_bind(call, &decls[STK__SCHEDULE_STEP], arena, &p, err);
    if (!rc)
        *out = (struct stk__schedule){ .rate = p.learning_rate,
                                       .warmup = p.warmup,
                                       .start = p.start,
                                       .steps = p.every,
                                       .factor = p.factor };
    return rc;
}

static int read_number(const struct stk_value *value, struct stk__schedule *out,
                       struct stk_error *err)
{
    double rate = value->kind == STK__INT ? (double)value->integer : value->real;
    if (!(rate >= 0 && rate <= FLT_MAX))
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "a learning rate is at least 0, and no larger than a float32 holds");
    *out = (struct stk__schedule){ .kind = STK__SCHEDULE_CONSTANT, .rate = rate };
    return STK_OK;
}

int stk__schedule_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__schedule *out, struct stk_error *err)
{
    static int (*const read[N_CALLS])(const struct stk__call *, struct stk_arena *,
                                      struct stk__schedule *, struct stk_error *) = {
        [STK__SCHEDULE_CONSTANT] = read_constant,
        [STK__SCHEDULE_COSINE] = read_cosine,
        [STK__SCHEDULE_PIECEWISE] = read_piecewise,
        [STK__SCHEDULE_STEP] = read_step,
    };
    const struct stk__call *call;
    int which;
    if (value->kind == STK__INT || value->kind == STK__REAL)
        return read_number(value, out, err);
    int rc = stk__declared_call(value, &stk__schedules, "a learning rate is a number or", &call,
                                &which, err);
    if (!rc)
        rc = read[which](call, arena, out, err);
    if (!rc)
        out->kind = (enum stk__schedule_kind)which;
    return rc;
}

/* ---- rates ---- */

static double cosine_rate(const struct stk__schedule *s, int64_t step)
{
    double done = step < s->steps ? (double)step / (double)s->steps : 1;
    return s->rate * ((1 - s->alpha) * 0.5 * (1 + cos(pi * done)) + s->alpha);
}

static double piecewise_rate(const struct stk__schedule *s, int64_t step)
{
    int i = 0;
    while (i < s->n_boundaries && (double)step > s->boundaries[i])
        i++;
    return s->rates[i];
}

double stk__schedule_rate(const struct stk__schedule *s, int64_t step)
{
    if (step < s->warmup)
        return s->start + (s->rate - s->start) * ((double)step / (double)s->warmup);
    step -= s->warmup;
    switch (s->kind) {
    case STK__SCHEDULE_COSINE:
        return cosine_rate(s, step);
    case STK__SCHEDULE_PIECEWISE:
        return piecewise_rate(s, step);
    case STK__SCHEDULE_STEP:
        return s->rate * pow(s->factor, (double)(step / s->steps));
    default:
        return s->rate;
    }
}
