/* SPDX-License-Identifier: Apache-2.0 */
/* split.c: one of several disjoint parts, always the same one. */
#include "kernel/kernel.h"
#include "op/order/order.h"

#include <math.h>

static const uint64_t SALT = 0x73706c6974; /* "split" */

struct split {
    struct stk_numbers fractions;
    int64_t part, seed;
    const char *by;
};

/* Made by scan: the input positions of the rows whose value falls into the part. */
struct chosen {
    int64_t n;
    uint64_t position[];
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(split, fractions, NULL, 1, 1000, STK_REQUIRED,
                    "sizes of the parts as fractions of the input; their sum is at most 1"),
    STK_INT_ROW(split, part, 0, 0, 999, 0, "which part to yield, from 0"),
    STK_INT_ROW(split, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "another division; none is 0. The run's seed has no influence"),
    STK_TEXT_ROW(split, by, NULL, STK_TAKES_NONE,
                 "a field: elements with equal values go to the same part"),
    STK_ROWS_END,
};

/* The sum of the first n fractions, from left to right. */
static double sum_of(const struct split *p, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += p->fractions.item[i];
    return sum;
}

static int check(const struct split *p, struct stk_error *err)
{
    for (int i = 0; i < p->fractions.n; i++)
        if (!(p->fractions.item[i] > 0))
            return stk_fail(err, STK_VALUE, "fraction %d is %g; each must be above 0", i + 1,
                            p->fractions.item[i]);
    double sum = sum_of(p, p->fractions.n);
    if (sum > 1 + 1e-9)
        return stk_fail(err, STK_VALUE, "the fractions add up to %g; at most 1 can be given away",
                        sum);
    if (p->part >= p->fractions.n)
        return stk_fail(err, STK_VALUE, "part is %lld, but the %d parts are numbered from 0",
                        (long long)p->part, p->fractions.n);
    return STK_OK;
}

/* Where part number `part` begins in the permuted input. */
static uint64_t cut(const struct split *p, int64_t part, int64_t n)
{
    double at = floor((double)n * sum_of(p, part) + 0.5);
    return at < (double)n ? (uint64_t)at : (uint64_t)n;
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct split *p = inf->params;
    const struct chosen *chosen = inf->state;
    int64_t n = inf->in_count[0];
    if (n < 0)
        return stk_fail(err, STK_VALUE,
                        "the input is %s; only an input of known length can be split",
                        n == STK_INFINITE_COUNT ? "endless" : "of unknown length");
    if (p->by)
        *out = chosen ? chosen->n : STK_UNKNOWN_COUNT;
    else
        *out = (int64_t)(cut(p, p->part + 1, n) - cut(p, p->part, n));
    return STK_OK;
}

static bool is_any(const struct stk_field *field)
{
    (void)field;
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct split *p = inf->params;
    int code = check(p, err);
    if (code)
        return code;
    if (p->by && stk_infer_pick(inf, p->by, is_any, "a field", err) < 0)
        return STK_NAME;
    return stk__infer_order(inf, count, err);
}

static const char *scan_field(const void *given)
{
    return ((const struct split *)given)->by;
}

static uint64_t key_of(const struct split *p)
{
    return stk__hash_mix(SALT, stk__user_seed(p->seed));
}

static int scan(const void *given, struct stk_arena *arena, const uint64_t *hash, int64_t n,
                void **state, struct stk_error *err)
{
    const struct split *p = given;
    double first = sum_of(p, p->part), end = sum_of(p, p->part + 1);
    int64_t n_chosen = 0;
    struct chosen *chosen = NULL;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            chosen = stk_arena_alloc(arena,
                                     sizeof *chosen + (size_t)n_chosen * sizeof *chosen->position);
        if (pass == 1 && !chosen)
            return stk_fail(err, STK_MEMORY, "out of memory");
        n_chosen = 0;
        for (int64_t i = 0; i < n; i++) {
            double x = (double)(stk__hash_mix(key_of(p), hash[i]) >> 11) * 0x1p-53;
            if (!(first <= x && x < end))
                continue;
            if (chosen)
                chosen->position[n_chosen] = (uint64_t)i;
            n_chosen++;
        }
    }
    chosen->n = n_chosen;
    *state = chosen;
    return STK_OK;
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const struct split *p = run->params;
    const struct chosen *chosen = run->state;
    (void)path, (void)input;
    if (p->by) {
        for (int i = 0; i < n; i++)
            position[i] = chosen->position[position[i]];
        return;
    }
    uint64_t first = cut(p, p->part, run->in_count[0]);
    for (int i = 0; i < n; i++)
        position[i] += first;
    stk__kernels()->permute(position, n, (uint64_t)run->in_count[0], key_of(p));
}

const struct stk__op stk__op_split = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "split", 1, "Keep one of several disjoint parts, such as train or test.",
              "Every element belongs to one part (or to none, if the fractions do not add up to "
              "1). The division depends on `seed` alone: it is the same in every epoch, on every "
              "machine and under every seed of the run, so two chains that differ in `part` "
              "never share an element. The input must have a known length and an order that "
              "does not change: split comes before shuffle.\n"
              "\n"
              "    image_folder('photos').split([0.8, 0.2], 0).shuffle().decode()\n"
              "    image_folder('photos').split([0.8, 0.2], 1).decode()\n"
              "    values({id: [1, 1, 2, 2, 3], x: [1, 2, 3, 4, 5]}).split([0.5, 0.5], 0, by=id)\n"
              "\n"
              "Without `by` the parts have exactly the sizes asked for, rounded, and a part is "
              "in random order. With `by`, elements that agree in that field stay together (all "
              "pictures of one person), input order is kept, and an element stays in its part "
              "when others are added or removed; sizes are then only about right. The field is "
              "read for all elements when the dataset is made.",
              params, sizeof(struct split) },
    .scan_field = scan_field,
    .scan = scan,
    .flags = STK__OP_STABLE,
    .infer = infer,
    .order = { .count = count, .at = at },
};
