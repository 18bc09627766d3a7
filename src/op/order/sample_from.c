/* SPDX-License-Identifier: Apache-2.0 */
/* sample_from.c: elements of several inputs, drawn by weight.
 *
 * Draw i of a pass is a word that depends on the pass's key and i alone. It falls on one of the
 * inputs that are left; if that one turns out to have ended, the same word falls on one of the
 * others. So whether an end is known beforehand makes no difference.
 */
#include "base/type.h"
#include "op/order/order.h"

#include <math.h>
#include <stdlib.h>

struct sample_from {
    struct stk__chains inputs;
    struct stk_numbers weights;
    int64_t seed;
    bool stop_on_empty;
};

static const struct stk_param params[] = {
    STK__CHAINS_ROW(sample_from, inputs, STK_REQUIRED, "chains to draw from, with the same fields"),
    STK_NUMBERS_ROW(sample_from, weights, NULL, 1, STK_MAX_INPUTS, STK_TAKES_NONE,
                    "how often each input is drawn, in proportion; none: all alike"),
    STK_INT_ROW(sample_from, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_BOOL_ROW(sample_from, stop_on_empty, false, 0,
                 "end with the first input that has ended; false: go on with the others"),
    STK_ROWS_END,
};

/* What infer finds out. */
struct mixture {
    int n;
    double weight[STK_MAX_INPUTS];
};

static double weight_of(const struct sample_from *p, int i)
{
    return p->weights.n ? p->weights.item[i] : 1;
}

static int check_weights(const struct stk_infer *inf, struct stk_error *err)
{
    const struct sample_from *p = inf->params;
    double sum = 0;
    if (p->weights.n && p->weights.n != inf->n_inputs)
        return stk_fail(err, STK_VALUE, "weights has %d numbers for %d inputs", p->weights.n,
                        inf->n_inputs);
    for (int i = 0; i < p->weights.n; i++) {
        if (!(p->weights.item[i] >= 0) || isinf(p->weights.item[i]))
            return stk_fail(err, STK_VALUE, "weight %d is %g; it must be a number from 0 on", i + 1,
                            p->weights.item[i]);
        sum += p->weights.item[i];
    }
    if (p->weights.n && (!(sum > 0) || isinf(sum)))
        return stk_fail(err, STK_VALUE, "the weights add up to %g; no input could be drawn", sum);
    return STK_OK;
}

/* Of the inputs that can be drawn: their sum, or how long it takes until the first ends. */
static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct sample_from *p = inf->params;
    struct stk_infer drawn = { .n_inputs = 0 };
    bool is_endless = true;
    for (int i = 0; i < inf->n_inputs; i++) {
        if (weight_of(p, i) == 0)
            continue;
        drawn.in_count[drawn.n_inputs++] = inf->in_count[i];
        is_endless &= inf->in_count[i] == STK_INFINITE_COUNT;
    }
    if (!p->stop_on_empty)
        return stk__sum_counts(&drawn, 0, out, err);
    *out = is_endless ? STK_INFINITE_COUNT : STK_UNKNOWN_COUNT;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct sample_from *p = inf->params;
    if (inf->n_inputs == 0)
        return stk_fail(err, STK_VALUE,
                        "nothing to draw from; give chains, as in sample_from([range(3), "
                        "range(5)])");
    int code = check_weights(inf, err);
    if (!code)
        code = stk__infer_same(inf, 0, err);
    if (code)
        return code;
    struct mixture *mixture = stk_arena_alloc(inf->arena, sizeof *mixture);
    if (!mixture)
        return stk_fail(err, STK_MEMORY, "out of memory");
    mixture->n = inf->n_inputs;
    for (int i = 0; i < mixture->n; i++)
        mixture->weight[i] = weight_of(p, i);
    inf->state = mixture;
    return count(inf, &inf->count, err);
}

/* ---- drawing ---- */

struct drawing {
    const struct sample_from *params;
    const struct mixture *mixture;
    uint64_t op_seed;
    uint64_t key, n_drawn; /* of this pass */
    uint32_t ended;        /* a bit for each input */
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct drawing *d = calloc(1, sizeof *d);
    if (!d)
        return stk_fail(err, STK_MEMORY, "out of memory");
    d->params = b->params;
    d->mixture = b->state;
    d->op_seed = b->seed;
    *run = d;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct drawing *d = run;
    d->key = stk__hash_mix(stk__hash_mix(d->op_seed, stk__user_seed(d->params->seed)), path);
    d->n_drawn = 0;
    d->ended = 0;
}

static bool is_left(const struct drawing *d, int i)
{
    return d->mixture->weight[i] > 0 && !(d->ended & 1u << i);
}

static int wanted(void *run)
{
    const struct drawing *d = run;
    double sum = 0, reached = 0;
    int last = -1;
    if (d->params->stop_on_empty && d->ended)
        return -1;
    for (int i = 0; i < d->mixture->n; i++)
        sum += is_left(d, i) ? d->mixture->weight[i] : 0;
    double at = (double)(stk__hash_mix(d->key, d->n_drawn) >> 11) * 0x1p-53 * sum;
    for (int i = 0; i < d->mixture->n; i++) {
        if (!is_left(d, i))
            continue;
        last = i;
        reached += d->mixture->weight[i];
        if (at < reached)
            break;
    }
    return last;
}

static bool take(void *run, int input, const struct stk__chunk *in, int row, struct stk__chunk *out)
{
    (void)input, (void)in, (void)row, (void)out;
    ((struct drawing *)run)->n_drawn++;
    return true;
}

static void ended(void *run, int input)
{
    ((struct drawing *)run)->ended |= 1u << input;
}

/* Positions that were chosen say of which input they are. */
static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    (void)run, (void)path;
    for (int i = 0; i < n; i++) {
        input[i] = (uint8_t)(position[i] >> STK__CHOSEN_BITS);
        position[i] -= stk__chosen(input[i], 0);
    }
}

const struct stk__op stk__op_sample_from = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
    .decl = { "sample_from", 1, "Mix inputs at random, by weight.",
              "Each element is the next one of an input that is drawn by chance, without "
              "replacement, as tf.data's sample_from_datasets. Written after a chain, that chain "
              "is the first input. The inputs must have the same fields. An input of weight 0 is "
              "never read.\n"
              "\n"
              "    sample_from([range(3), range(100, 103)], weights=[0.5, 0.5])\n"
              "    sample_from([range(3).repeat(), range(100, 200)], [1, 3], stop_on_empty=true)\n"
              "\n"
              "When an input has ended, the others go on and the mixture is not the same any "
              "more; stop_on_empty=true ends there instead. Inputs with repeat() never end.\n"
              "\n"
              "What is drawn depends on the run's seed, `seed`, the place of the call, the epoch "
              "and the number of the draw; other than in tf.data, every epoch draws anew. Where "
              "all inputs can be read at random only numbers are drawn: elements are made on all "
              "workers.",
              params, sizeof(struct sample_from) },
    .flags = STK__OP_MULTI | STK__OP_ADDRESSES | STK__OP_SHUFFLES,
    .infer = infer,
    .order = { .count = count, .at = at },
    .choice = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .wanted = wanted,
                .take = take,
                .ended = ended },
};
