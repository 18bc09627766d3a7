/* SPDX-License-Identifier: Apache-2.0 */
/* initializer_decl.c: initialisers as they are written: declarations, and reading one. */
#include "train/model/declared.h"
#include "train/model/initializer.h"

#include <float.h>
#include <math.h>

struct given {
    double value, mean, stddev, minval, maxval, scale;
    int mode, distribution;
};

static const char *const modes[] = { "fan_in", "fan_out", "fan_avg", NULL };
enum { TRUNCATED, UNTRUNCATED, UNIFORM };
static const char *const distributions[] = { "truncated_normal", "untruncated_normal", "uniform",
                                             NULL };

static const struct stk_param no_rows[] = { STK_ROWS_END };

static const struct stk_param constant_rows[] = {
    STK_REAL_ROW(given, value, 0, -FLT_MAX, FLT_MAX, 0, "all values"),
    STK_ROWS_END,
};

static const struct stk_param normal_rows[] = {
    STK_REAL_ROW(given, mean, 0, -FLT_MAX, FLT_MAX, 0, "the mean"),
    STK_REAL_ROW(given, stddev, 0.05, 0, FLT_MAX, 0, "the standard deviation"),
    STK_ROWS_END,
};

static const struct stk_param uniform_rows[] = {
    STK_REAL_ROW(given, minval, -0.05, -FLT_MAX, FLT_MAX, 0, "the least value"),
    STK_REAL_ROW(given, maxval, 0.05, -FLT_MAX, FLT_MAX, 0, "the largest value"),
    STK_ROWS_END,
};

static const struct stk_param scaling_rows[] = {
    STK_REAL_ROW(given, scale, 1, DBL_MIN, FLT_MAX, 0, "the variance times the fan"),
    STK_CHOICE_ROW(given, mode, modes, STK__FAN_IN, 0,
                   "the number of inputs of a value, of its outputs, or their mean"),
    STK_CHOICE_ROW(given, distribution, distributions, TRUNCATED, 0, "what values are drawn from"),
    STK_ROWS_END,
};

#define DECL(name, summary, example, rows)                                                         \
    {                                                                                              \
        name, 1, summary, "Example:\n\n    " example, rows, sizeof(struct given)                   \
    }

/* In the order of their names. The other columns are for those that are scaled without rows. */
static const struct call {
    struct stk_decl decl;
    double scale;
    enum stk__fan fan;
    int distribution;
} table[] = {
    { DECL("constant", "One value.", "constant(0.1)", constant_rows), 0, 0, 0 },
    { DECL("glorot_normal", "Normal, by inputs and outputs.", "glorot_normal", no_rows), 1,
      STK__FAN_AVG, TRUNCATED },
    { DECL("glorot_uniform", "Uniform, by inputs and outputs.", "glorot_uniform", no_rows), 1,
      STK__FAN_AVG, UNIFORM },
    { DECL("he_normal", "Normal, by inputs, for relu.", "he_normal", no_rows), 2, STK__FAN_IN,
      TRUNCATED },
    { DECL("he_uniform", "Uniform, by inputs, for relu.", "he_uniform", no_rows), 2, STK__FAN_IN,
      UNIFORM },
    { DECL("lecun_normal", "Normal, by inputs.", "lecun_normal", no_rows), 1, STK__FAN_IN,
      TRUNCATED },
    { DECL("lecun_uniform", "Uniform, by inputs.", "lecun_uniform", no_rows), 1, STK__FAN_IN,
      UNIFORM },
    { DECL("ones", "All 1.", "ones", no_rows), 0, 0, 0 },
    { DECL("random_normal", "Normal.", "random_normal(0, 0.01)", normal_rows), 0, 0, 0 },
    { DECL("random_uniform", "Uniform.", "random_uniform(-0.1, 0.1)", uniform_rows), 0, 0, 0 },
    { DECL("truncated_normal", "Normal within two deviations.", "truncated_normal(0, 0.01)",
           normal_rows),
      0, 0, 0 },
    { DECL("variance_scaling", "A variance by inputs, outputs or both.",
           "variance_scaling(2, fan_out, untruncated_normal)", scaling_rows),
      0, 0, 0 },
    { DECL("zeros", "All 0.", "zeros", no_rows), 0, 0, 0 },
};

enum {
    CONSTANT = 0,
    ONES = 7,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    TRUNCATED_NORMAL,
    VARIANCE_SCALING,
    ZEROS,
    N_CALLS
};
_Static_assert(sizeof table / sizeof *table == N_CALLS, "the enum counts the rows of the table");

static const struct stk_decl *const calls[N_CALLS] = {
    &table[0].decl,  &table[1].decl,  &table[2].decl,  &table[3].decl, &table[4].decl,
    &table[5].decl,  &table[6].decl,  &table[7].decl,  &table[8].decl, &table[9].decl,
    &table[10].decl, &table[11].decl, &table[12].decl,
};
const struct stk__namespace stk__initializers = { "initializer", calls, N_CALLS };

static void put(struct stk__initializer *out, enum stk__distribution distribution, double low,
                double high)
{
    out->distribution = distribution;
    out->low = low;
    out->high = high;
}

static void put_scaled(struct stk__initializer *out, double scale, enum stk__fan fan,
                       int distribution)
{
    static const enum stk__distribution drawn[] = {
        [TRUNCATED] = STK__CUT_NORMAL, [UNTRUNCATED] = STK__NORMAL, [UNIFORM] = STK__UNIFORM
    };
    out->is_scaled = true;
    out->scale = scale;
    out->fan = fan;
    out->distribution = drawn[distribution];
}

static void put_call(struct stk__initializer *out, int which, const struct given *p)
{
    const struct call *call = &table[which];
    *out = (struct stk__initializer){ .name = call->decl.name };
    switch (which) {
    case CONSTANT:
        put(out, STK__ALL_ONE_VALUE, p->value, 0);
        break;
    case ONES:
    case ZEROS:
        put(out, STK__ALL_ONE_VALUE, which == ONES, 0);
        break;
    case RANDOM_NORMAL:
        put(out, STK__NORMAL, p->mean, p->stddev);
        break;
    case RANDOM_UNIFORM:
        put(out, STK__UNIFORM, p->minval, p->maxval);
        break;
    case TRUNCATED_NORMAL:
        put(out, STK__CUT_NORMAL, p->mean, p->stddev);
        break;
    case VARIANCE_SCALING:
        put_scaled(out, p->scale, (enum stk__fan)p->mode, p->distribution);
        break;
    default:
        put_scaled(out, call->scale, call->fan, call->distribution);
    }
}

int stk__initializer_read(const struct stk_value *value, const char *otherwise,
                          struct stk_arena *arena, struct stk__initializer *out,
                          struct stk_error *err)
{
    struct stk__call plain = { .name = otherwise };
    struct stk_value chain = { .kind = STK__CHAIN };
    const struct stk__call *call;
    struct given p;
    int which;
    chain.n_calls = 1;
    chain.call = &plain;
    int rc = stk__declared_name(value ? value : &chain, &stk__initializers,
                                "an initializer is a name or", arena, &call, &which, err);
    if (!rc)
        rc = stk__call_bind(call, &table[which].decl, arena, &p, err);
    if (rc)
        return rc;
    put_call(out, which, &p);
    if (out->distribution == STK__UNIFORM && !out->is_scaled && out->low > out->high)
        return stk__fail_at(err, STK_VALUE, call->at, call->len, "%s: minval is above maxval",
                            call->name);
    return STK_OK;
}
