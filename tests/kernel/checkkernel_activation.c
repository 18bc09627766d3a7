/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_activation.c: activations and their gradients at every level, plain C too, against the C
 * library's double functions. */
#include "checkkernel_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };
static const double root_half = 0.70710678118654752440, peak = 0.39894228040143267794;
static const double slope = 0.1, low = 0, high = 6;

/* ---- what is wanted ---- */

static double clamp(double x)
{
    return x < low ? low : x > high ? high : x;
}

static double clamp_slope(double y)
{
    return y > low && y < high ? 1 : 0;
}

static double leaky(double x)
{
    return x < 0 ? slope * x : x;
}

static double leaky_slope(double x)
{
    return x > 0 ? 1 : slope;
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x * root_half);
}

static double gelu_slope(double x)
{
    return 0.5 * erfc(-x * root_half) + x * peak * exp(-0.5 * x * x);
}

static double inner(double x)
{
    return 2 * peak * (x + 0.044715 * x * x * x);
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(inner(x)));
}

static double gelu_tanh_slope(double x)
{
    double t = tanh(inner(x));
    return fabs(x) > 1e3
               ? x > 0
               : 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 2 * peak * (1 + 3 * 0.044715 * x * x);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double swish(double x)
{
    return x * sigmoid(x);
}

static double swish_slope(double x)
{
    double s = sigmoid(x);
    return fabs(x) > 1e3 ? x > 0 : s + x * s * (1 - s);
}

static double sigmoid_slope(double y)
{
    return y * (1 - y);
}

static double tanh_slope(double y)
{
    return 1 - y * y;
}

/* ---- what is checked ---- */

/* One of `value` and `gradient`, or neither: those with limits. */
struct row {
    const char *name;
    double (*wanted)(double x);
    size_t value, gradient; /* in the table of kernels */
    bool by_operand;        /* within 4e-7 of the operand, too, not of the value alone */
};

#define PLACE(name) offsetof(struct stk__activation_kernels, name)
static const struct row rows[] = {
    { "train clamp", clamp, 0, 0, false },
    { "train clamp gradient", clamp_slope, 0, 0, false },
    { "train leaky", leaky, 0, 0, false },
    { "train leaky gradient", leaky_slope, 0, 0, false },
    { "train gelu", gelu, PLACE(gelu), 0, true },
    { "train gelu tanh", gelu_tanh, PLACE(gelu_tanh), 0, true },
    { "train swish", swish, PLACE(swish), 0, true },
    { "train sigmoid", sigmoid, PLACE(sigmoid), 0, false },
    { "train tanh", tanh, PLACE(tanh), 0, false },
    { "train gelu gradient", gelu_slope, 0, PLACE(gelu_gradient), true },
    { "train gelu tanh gradient", gelu_tanh_slope, 0, PLACE(gelu_tanh_gradient), true },
    { "train swish gradient", swish_slope, 0, PLACE(swish_gradient), true },
    { "train sigmoid gradient", sigmoid_slope, 0, PLACE(sigmoid_gradient), true },
    { "train tanh gradient", tanh_slope, 0, PLACE(tanh_gradient), true },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static float from[MOST], dy[MOST], found[MOST + 1];

static void run_row(const struct stk__activation_kernels *k, int which, size_t n)
{
    const struct row *row = &rows[which];
    stk__activation_fn *value;
    stk__activation_gradient_fn *gradient;
    memcpy(&value, (const char *)k + row->value, sizeof value);
    memcpy(&gradient, (const char *)k + row->gradient, sizeof gradient);
    if (row->value)
        value(from, n, found);
    else if (row->gradient)
        gradient(from, dy, n, found);
    else if (row->wanted == clamp)
        k->clamp(from, n, (float)low, (float)high, found);
    else if (row->wanted == clamp_slope)
        k->clamp_gradient(from, dy, n, (float)low, (float)high, found);
    else if (row->wanted == leaky)
        k->leaky(from, n, (float)slope, found);
    else
        k->leaky_gradient(from, dy, n, (float)slope, found);
}

static bool is_gradient(const struct row *row)
{
    return row->gradient || row->wanted == clamp_slope || row->wanted == leaky_slope;
}

/* Gradients of y are of what sigmoid and tanh give. */
static void make_values(const struct row *row, size_t n)
{
    static const float odd[] = { 0,     -0.0f, 1e-30f, 6,      -6,    1e30f, -1e30f, NAN,
                                 88.5f, -88.f, 104,    -103.f, 1e-8f, -20,   20,     -1e-3f };
    bool is_of_y = row->wanted == sigmoid_slope || row->wanted == tanh_slope;
    for (size_t i = 0; i < n; i++) {
        static const float sizes[] = { 0.01f, 1, 5, 30, 120 };
        from[i] = random_real(is_of_y ? 1 : sizes[random_word() % 5]);
        if (!is_of_y && random_word() % 16 == 0)
            from[i] = odd[random_word() % 16];
        dy[i] = random_real(2);
    }
}

static bool is_right(const struct row *row, float x, float d, float y)
{
    double wanted = row->wanted(x) * (is_gradient(row) ? (double)d : 1);
    double size = fabs(wanted);
    if (isnan(wanted) || isnan(y))
        return isnan(wanted) && isnan(y);
    if (row->by_operand)
        size = fmax(size, is_gradient(row) ? fabs((double)d) : fabs((double)x));
    return fabs(y - wanted) <= 4e-7 * size + 1e-30;
}

static int check_row(int level, int which)
{
    const struct row *row = &rows[which];
    size_t n = 1 + random_word() % (random_word() % 8 ? 40 : MOST);
    make_values(row, n);
    found[n] = 17;
    run_row(&stk__train_kernels_at(level)->activation, which, n);
    for (size_t i = 0; i < n; i++)
        if (!is_right(row, from[i], dy[i], found[i])) {
            printf("FAIL %s at level %d: of %.9g (dy %.9g) %.9g, not %.9g\n", row->name, level,
                   from[i], dy[i], found[i],
                   row->wanted(from[i]) * (is_gradient(row) ? (double)dy[i] : 1));
            return 1;
        }
    if (found[n] != 17)
        printf("FAIL %s: writes behind %zu values\n", row->name, n);
    return found[n] != 17;
}

/* ---- softmax ---- */

/* What is right, and by how much it may be off: x less the greatest is rounded. */
static void softmax(const float *x, size_t channels, double *y, double *off)
{
    double most = x[0], sum = 0;
    for (size_t c = 1; c < channels; c++)
        most = fmax(most, x[c]);
    for (size_t c = 0; c < channels; c++)
        sum += y[c] = exp(x[c] - most);
    for (size_t c = 0; c < channels; c++)
        y[c] /= sum;
    for (size_t c = 0; c < channels; c++)
        off[c] = y[c] * (1e-6 + 1.2e-7 * (most - x[c])) + 1e-30;
}

/* The gradient of the floats that were found. */
static bool is_gradient_right(const float *y, const float *d, const float *dx, size_t channels)
{
    double sum = 0, most = 0;
    for (size_t c = 0; c < channels; c++) {
        sum += (double)y[c] * d[c];
        most = fmax(most, fabs((double)d[c]));
    }
    for (size_t c = 0; c < channels; c++)
        if (!(fabs(dx[c] - y[c] * (d[c] - sum)) <= 1e-6 * y[c] * most))
            return false;
    return true;
}

static int check_softmax(int level)
{
    static float dx[MOST];
    double wanted[MOST], off[MOST];
    const struct stk__activation_kernels *k = &stk__train_kernels_at(level)->activation;
    size_t n = 1 + random_word() % 7, channels = 1 + random_word() % (random_word() % 4 ? 40 : 500);
    bool is_same = true;
    for (size_t i = 0; i < n * channels; i++) {
        from[i] = random_real(20);
        dy[i] = random_real(1);
    }
    found[n * channels] = dx[n * channels] = 17;
    k->softmax(from, n, channels, found);
    k->softmax_gradient(found, dy, n, channels, dx);
    for (size_t p = 0; p < n * channels; p += channels) {
        softmax(from + p, channels, wanted, off);
        for (size_t c = 0; c < channels; c++)
            is_same &= fabs(found[p + c] - wanted[c]) <= off[c];
        is_same &= is_gradient_right(found + p, dy + p, dx + p, channels);
    }
    is_same &= found[n * channels] == 17 && dx[n * channels] == 17;
    if (!is_same)
        printf("FAIL train pixel softmax at level %d: %zu pixels of %zu channels\n", level, n,
               channels);
    return !is_same;
}

int check_activations(int level, const char *filter)
{
    int n_bad = 0;
    for (int round = 0; round < 200 && n_bad < 20; round++)
        for (int at = level == 1 ? 0 : level; at <= level; at++) {
            for (int i = 0; i < N_ROWS; i++)
                n_bad += is_wanted(rows[i].name, filter) ? check_row(at, i) : 0;
            n_bad += is_wanted("train pixel softmax", filter) ? check_softmax(at) : 0;
        }
    return n_bad;
}

/* ---- timing ---- */

struct timed {
    int level, row;
};

static void run_timed(void *ctx)
{
    struct timed *timed = ctx;
    run_row(&stk__train_kernels_at(timed->level)->activation, timed->row, MOST);
}

void bench_activations(int level, const char *filter)
{
    for (int i = 0; i < N_ROWS; i++) {
        struct timed scalar = { 0, i }, other = { level, i };
        for (size_t k = 0; k < MOST; k++) {
            from[k] = random_real(3);
            dy[k] = random_real(1);
        }
        if (is_wanted(rows[i].name, filter))
            print_time(rows[i].name, "value", time_call(run_timed, &scalar) / MOST,
                       time_call(run_timed, &other) / MOST);
    }
}
