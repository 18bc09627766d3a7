/* SPDX-License-Identifier: Apache-2.0 */
/* update.c: see update.h. */
#include "train/optimizer/update.h"

/* Gradients that a mask went over stay in the first cache level. */
enum { BLOCK = 1024 };

struct stk__weight_update stk__update_of(float *weight, float *first, float *second)
{
    return (
        struct stk__weight_update){ .weight = weight, .slot = { first, second }, .rate_factor = 1 };
}

/* Nearly all weights have the rates of those of whom nothing is asked. */
void stk__updates_begin(struct stk__updates *u, int64_t step, double factor)
{
    double rate = stk__schedule_rate(&u->optimizer->rate, step);
    const struct stk__step_rates plain =
        stk__optimizer_rates_at(u->optimizer, rate, step, factor, true);
    for (int w = 0; w < u->n_weights; w++) {
        struct stk__weight_update *of = &u->of[w];
        bool is_plain = of->rate_factor == 1 && !of->is_undecayed;
        of->rates = is_plain ? plain
                             : stk__optimizer_rates_at(u->optimizer, rate * of->rate_factor, step,
                                                       factor, !of->is_undecayed);
    }
}

/* ---- spans ---- */

static int64_t block_end(const struct stk__gradient_span *span, int64_t at)
{
    return span->n - at < BLOCK ? span->n : at + BLOCK;
}

/* The gradients [at, end) of a span, those that count. */
static const float *masked(const uint8_t *mask, const struct stk__gradient_span *span, int64_t at,
                           int64_t end, float *block)
{
    for (int64_t i = at; i < end; i++)
        block[i - at] = mask[span->first + i] ? span->at[i] : 0;
    return block;
}

static void clear(const struct stk__weight_update *of, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n; i++)
        of->weight[i] = of->mask[i] ? of->weight[i] : 0;
}

static bool step(const struct stk__optimizer *optimizer, const struct stk__weight_update *of,
                 int64_t first, int64_t n, const float *gradient)
{
    const struct stk__step_span span = { .weight = of->weight + first,
                                         .first = of->slot[0] ? of->slot[0] + first : NULL,
                                         .second = of->slot[1] ? of->slot[1] + first : NULL,
                                         .gradient = gradient,
                                         .n = (size_t)n };
    return stk__optimizer_step(optimizer, &span, &of->rates, (struct stk__weight_copy){ 0 });
}

static bool step_masked(const struct stk__optimizer *optimizer, const struct stk__weight_update *of,
                        const struct stk__gradient_span *span)
{
    float block[BLOCK];
    bool is_finite = true;
    for (int64_t at = 0, end; at < span->n; at = end) {
        end = block_end(span, at);
        is_finite &=
            step(optimizer, of, span->first + at, end - at, masked(of->mask, span, at, end, block));
        clear(of, span->first + at, end - at);
    }
    return is_finite;
}

bool stk__update_wants_gradient(const struct stk__updates *u, int weight)
{
    return !u->of[weight].is_frozen;
}

bool stk__update_span(const struct stk__updates *u, const struct stk__gradient_span *span)
{
    const struct stk__weight_update *of = &u->of[span->weight];
    if (of->is_frozen)
        return true;
    bool is_finite = of->mask ? step_masked(u->optimizer, of, span)
                              : step(u->optimizer, of, span->first, span->n, span->at);
    for (int64_t i = span->first; of->average && i < span->first + span->n; i++)
        of->average[i] += of->average_share * (of->weight[i] - of->average[i]);
    return is_finite;
}

double stk__update_squares(const struct stk__updates *u, const struct stk__gradient_span *span)
{
    const struct stk__weight_update *of = &u->of[span->weight];
    float block[BLOCK];
    double sum = 0;
    if (of->is_frozen)
        return 0;
    if (!of->mask)
        return stk__gradient_squares(span->at, (size_t)span->n);
    for (int64_t at = 0, end; at < span->n; at = end) {
        end = block_end(span, at);
        sum += stk__gradient_squares(masked(of->mask, span, at, end, block), (size_t)(end - at));
    }
    return sum;
}

/* ---- what layers read ---- */

bool stk__updates_want_settling(const struct stk__updates *u)
{
    for (int w = 0; w < u->n_weights; w++)
        if (u->of[w].mask || u->of[w].derive)
            return true;
    return false;
}

void stk__update_settle_mask(const struct stk__updates *u, int weight, int64_t first, int64_t n)
{
    if (u->of[weight].mask)
        clear(&u->of[weight], first, n);
}

void stk__update_settle_used(const struct stk__updates *u, int weight, int64_t first, int64_t n)
{
    const struct stk__weight_update *of = &u->of[weight];
    if (of->derive)
        of->derive(of, first, n, u->used[weight]);
}
