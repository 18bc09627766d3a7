/* SPDX-License-Identifier: Apache-2.0 */
/* initializer.c: what weights begin with: declarations, reading one, and drawing the values. */
#include "train/model/initializer.h"

#include "base/hash.h"
#include "base/rng.h"
#include "train/model/declared.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- as they are written ---- */

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

/* ---- drawing ---- */

/* The standard deviation of a normal distribution that is cut at two deviations. */
#define CUT_DEVIATION 0.87962566103423978
/* The normal distribution below minus two deviations. */
#define BELOW_CUT 0.022750131948179207

static double fan_of(enum stk__fan mode, const int64_t *shape, int rank)
{
    double in = 1, out = 1;
    if (rank == 1)
        in = out = (double)shape[0];
    for (int i = 0; rank > 1 && i < rank; i++) {
        in *= i == rank - 1 ? 1 : (double)shape[i];
        out *= i == rank - 2 ? 1 : (double)shape[i];
    }
    double fan = mode == STK__FAN_IN ? in : mode == STK__FAN_OUT ? out : (in + out) / 2;
    return fan < 1 ? 1 : fan;
}

void stk__initializer_scale(struct stk__initializer *initializer, const int64_t *shape, int rank)
{
    if (!initializer->is_scaled)
        return;
    double variance = initializer->scale / fan_of(initializer->fan, shape, rank);
    bool is_uniform = initializer->distribution == STK__UNIFORM;
    bool is_cut = initializer->distribution == STK__CUT_NORMAL;
    initializer->high = sqrt(is_uniform ? 3 * variance : variance) / (is_cut ? CUT_DEVIATION : 1);
    initializer->low = is_uniform ? -initializer->high : 0;
}

/* ln x for x above 0, to the last bits, by what every machine rounds alike: x = 2^e m with m near 1,
 * and ln m = 2 atanh((m - 1) / (m + 1)). */
static double log_of(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int i = 25; i >= 1; i -= 2)
        sum = sum * square + 1.0 / i;
    return 2 * s * sum + e * 0.69314718055994530942;
}

static double ratio(const double over[8], const double under[8], double x)
{
    double a = over[7], b = under[7];
    for (int i = 6; i >= 0; i--) {
        a = a * x + over[i];
        b = b * x + under[i];
    }
    return a / b;
}

/* The inverse of the normal distribution, for p between 0 and 1: Wichura's AS 241, to 1e-16. */
static double normal_at(double p)
{
    static const double near_over[8] = {
        3.3871328727963666080,    1.3314166789178437745e+2, 1.9715909503065514427e+3,
        1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
        3.3430575583588128105e+4, 2.5090809287301226727e+3,
    };
    static const double near_under[8] = {
        1.0,
        4.2313330701600911252e+1,
        6.8718700749205790830e+2,
        5.3941960214247511077e+3,
        2.1213794301586595867e+4,
        3.9307895800092710610e+4,
        2.8729085735721942674e+4,
        5.2264952788528545610e+3,
    };
    static const double far_over[8] = {
        1.42343711074968357734,    4.63033784615654529590,    5.76949722146069140550,
        3.64784832476320460504,    1.27045825245236838258,    2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    };
    static const double far_under[8] = {
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    };
    static const double tail_over[8] = {
        6.65790464350110377720,    5.46378491116411436990,    1.78482653991729133580,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    };
    static const double tail_under[8] = {
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    };
    double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return q * ratio(near_over, near_under, 0.180625 - q * q);
    double r = sqrt(-log_of(q < 0 ? p : 1 - p));
    double x = r <= 5 ? ratio(far_over, far_under, r - 1.6) : ratio(tail_over, tail_under, r - 5);
    return q < 0 ? -x : x;
}

static float value_at(const struct stk__initializer *initializer, uint32_t word)
{
    double u = ((double)word + 0.5) * 0x1p-32, low = initializer->low, high = initializer->high;
    if (initializer->distribution == STK__UNIFORM)
        return (float)(low + (high - low) * u);
    if (initializer->distribution == STK__CUT_NORMAL)
        u = BELOW_CUT + (1 - 2 * BELOW_CUT) * u;
    return (float)(low + high * normal_at(u));
}

void stk__initializer_fill(const struct stk__initializer *initializer, uint64_t seed,
                           const char *name, int64_t first, int64_t n, float *out)
{
    uint64_t mixed = stk__hash_mix(seed, stk__hash_bytes(0, name, strlen(name)));
    const uint32_t key[2] = { (uint32_t)mixed, (uint32_t)(mixed >> 32) };
    uint32_t word[4];
    for (int64_t i = first; i < first + n; i++) {
        uint64_t block = (uint64_t)i / 4;
        const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 };
        if (initializer->distribution == STK__ALL_ONE_VALUE) {
            out[i - first] = (float)initializer->low;
            continue;
        }
        if (i == first || i % 4 == 0)
            stk__philox(counter, key, word);
        out[i - first] = value_at(initializer, word[i % 4]);
    }
}
