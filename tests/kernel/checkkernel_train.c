/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_train.c: the training step's kernels, which agree within a tolerance. */
#include "checkkernel_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

/* Operands of a step; each level gets a copy. */
struct step {
    float weight[MOST], first[MOST], second[MOST], gradient[MOST];
    size_t n;
    struct stk__step_rates rates;
};

float random_real(float size)
{
    return ((float)(int32_t)(random_word() >> 40) / (1 << 23) - 1) * size;
}

static void make_step(struct step *step, size_t n, bool is_extreme)
{
    static const float odd[] = { 0, -0.0f, 1e-40f, 1e20f, -3e38f, INFINITY, NAN, 1e-20f };
    step->n = n;
    for (size_t i = 0; i < MOST; i++) {
        step->weight[i] = random_real(1);
        step->first[i] = random_real(0.5f);
        step->second[i] = fabsf(random_real(0.5f));
        step->gradient[i] =
            is_extreme && random_word() % 4 == 0 ? odd[random_word() % 8] : random_real(2);
    }
    step->rates = (struct stk__step_rates){ .grad_factor = 0.5f,
                                            .clip = random_word() % 2 ? INFINITY : 0.4f,
                                            .pull = random_word() % 2 ? 0.01f : 0,
                                            .keep = 0.99f,
                                            .decay = random_word() % 2 ? 0.01f : 0,
                                            .momentum = 0.9f,
                                            .push = -0.1f,
                                            .from_first = 0.9f,
                                            .from_gradient = -0.1f,
                                            .take_first = 0.1f,
                                            .take_second = 0.001f,
                                            .rate = 0.01f,
                                            .epsilon = 1e-7f };
}

/* To 1e-6 of the value, and of 1 where operands of that size cancelled. */
static bool is_near(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabsf(a - b) <= 1e-6f * fmaxf(1, fabsf(b));
}

/* What lies behind the span must be as it was. */
static bool is_near_all(const float *a, const float *b, size_t n)
{
    bool is_all = true;
    for (size_t i = 0; i < n; i++)
        is_all &= is_near(a[i], b[i]);
    return is_all && !memcmp(a + n, b + n, (MOST - n) * sizeof *a);
}

enum kind { SGD, SGD_PLAIN, ADAM, N_KINDS };
static const char *const names[N_KINDS] = { "train sgd momentum f32", "train sgd f32",
                                            "train adam f32" };

static bool run_step(int level, enum kind kind, struct step *step)
{
    const struct stk__optimizer_kernels *kernels = &stk__train_kernels_at(level)->optimizer;
    const struct stk__step_span span = { step->weight, kind == SGD_PLAIN ? NULL : step->first,
                                         kind == ADAM ? step->second : NULL, step->gradient,
                                         step->n };
    return kind == ADAM ? kernels->adam(&span, &step->rates) : kernels->sgd(&span, &step->rates);
}

static struct step operands, by_scalar, by_level;

static int check_step(int level, enum kind kind)
{
    by_scalar = by_level = operands;
    bool is_finite = run_step(0, kind, &by_scalar);
    bool is_same = run_step(level, kind, &by_level) == is_finite &&
                   is_near_all(by_level.weight, by_scalar.weight, operands.n) &&
                   is_near_all(by_level.first, by_scalar.first, operands.n) &&
                   is_near_all(by_level.second, by_scalar.second, operands.n);
    if (!is_same)
        printf("FAIL %s: %zu weights\n", names[kind], operands.n);
    return !is_same;
}

static int check_squares(int level)
{
    double a = stk__train_kernels_at(0)->optimizer.squares(operands.gradient, operands.n);
    double b = stk__train_kernels_at(level)->optimizer.squares(operands.gradient, operands.n);
    bool is_same = isfinite(a) == isfinite(b) && (!isfinite(a) || fabs(a - b) <= 1e-12 * a);
    if (!is_same)
        printf("FAIL train squares f32: %zu values\n", operands.n);
    return !is_same;
}

/* ---- cross entropy ---- */

static const char entropy_name[] = "train cross entropy f32", softmax_name[] = "train softmax f32";

/* Logits are the weights, larger, and targets the second moments. */
static float run_entropy(int level, struct step *step)
{
    const struct stk__loss_kernels *kernels = &stk__train_kernels_at(level)->loss;
    return kernels->cross_entropy(step->weight, step->n, 0.25f, step->second);
}

static void run_softmax(int level, struct step *step)
{
    stk__train_kernels_at(level)->loss.softmax(step->weight, step->n, step->first);
}

static int check_row(int level, const char *filter, bool is_extreme)
{
    static const float odd[] = { -INFINITY, -200, 1e30f, -1e30f, NAN, 0, -0.0f, 90 };
    for (size_t i = 0; i < operands.n; i++) {
        operands.weight[i] *= 20;
        if (is_extreme && random_word() % 64 == 0)
            operands.weight[i] = odd[random_word() % 8];
        operands.second[i] = random_word() % 3 ? operands.second[i] / (float)operands.n : 0;
    }
    by_scalar = by_level = operands;
    float loss = run_entropy(0, &by_scalar);
    bool is_same = is_near(run_entropy(level, &by_level), loss) &&
                   is_near_all(by_level.second, by_scalar.second, operands.n);
    run_softmax(0, &by_scalar);
    run_softmax(level, &by_level);
    bool is_softmax = is_near_all(by_level.first, by_scalar.first, operands.n);
    int n_bad = 0;
    if (is_wanted(entropy_name, filter) && !is_same)
        n_bad += printf("FAIL %s: %zu classes\n", entropy_name, operands.n) > 0;
    if (is_wanted(softmax_name, filter) && !is_softmax)
        n_bad += printf("FAIL %s: %zu classes\n", softmax_name, operands.n) > 0;
    return n_bad;
}

int check_train(int level, const char *filter)
{
    int n_bad = 0;
    for (int round = 0; round < 400 && n_bad < 20; round++) {
        bool is_extreme = round % 4 == 3;
        make_step(&operands, 1 + random_word() % (round % 8 ? 100 : MOST - 1), is_extreme);
        for (int kind = 0; kind < N_KINDS; kind++)
            n_bad += is_wanted(names[kind], filter) ? check_step(level, (enum kind)kind) : 0;
        n_bad += is_wanted("train squares f32", filter) ? check_squares(level) : 0;
        n_bad += check_row(level, filter, is_extreme);
    }
    return n_bad;
}

/* ---- timing ---- */

struct timed {
    int level, kind; /* N_KINDS: cross entropy */
};

static void run_timed(void *ctx)
{
    struct timed *timed = ctx;
    if (timed->kind < N_KINDS) {
        run_step(timed->level, (enum kind)timed->kind, &operands);
        return;
    }
    memset(operands.second, 0, operands.n * sizeof *operands.second);
    operands.second[3] = 1;
    run_entropy(timed->level, &operands);
}

void bench_train(int level, const char *filter)
{
    make_step(&operands, MOST, false);
    for (int kind = 0; kind <= N_KINDS; kind++) {
        struct timed scalar = { 0, kind }, other = { level, kind };
        const char *name = kind < N_KINDS ? names[kind] : entropy_name;
        double n = kind < N_KINDS ? MOST : 10;
        if (kind == N_KINDS)
            make_step(&operands, (size_t)n, false);
        if (is_wanted(name, filter))
            print_time(name, kind < N_KINDS ? "weight" : "class", time_call(run_timed, &scalar) / n,
                       time_call(run_timed, &other) / n);
    }
}
