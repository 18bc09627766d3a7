/* SPDX-License-Identifier: Apache-2.0 */
/* balance.c: every class as often as the largest one.
 *
 * Classes take turns, in the order in which they first appear. A class is gone through in a random
 * order, again and again in another one, until the largest has been gone through once:
 *
 *     classes  a: 0 1 2 3   b: 4 5          position    0 1 2 3 4 5 6 7
 *                                           class       a b a b a b a b
 *                                           element     2 5 0 4 3 4 1 5
 */
#include "base/numbering.h"
#include "kernel/kernel.h"
#include "op/order/order.h"

#include <stdlib.h>

struct balance {
    const char *field;
    int64_t seed;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(balance, field, NULL, STK_REQUIRED, "the field whose values are the classes"),
    STK_INT_ROW(balance, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_ROWS_END,
};

/* Made by scan: the input positions of each class. */
struct classes {
    uint32_t n;
    uint64_t largest;
    uint64_t *first;  /* [n + 1]: where the class begins in member */
    uint32_t *member; /* positions, class by class */
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct classes *classes = inf->state;
    int64_t n = inf->in_count[0];
    if (n < 0)
        return stk_fail(err, STK_VALUE,
                        "the input is %s; only an input of known length can be balanced",
                        n == STK_INFINITE_COUNT ? "endless" : "of unknown length");
    if (!classes) {
        *out = STK_UNKNOWN_COUNT;
        return STK_OK;
    }
    if (classes->n && classes->largest > (uint64_t)STK__MAX_COUNT / classes->n)
        return stk__check_count(UINT64_MAX, err);
    *out = (int64_t)(classes->n * classes->largest);
    return STK_OK;
}

static bool is_any(const struct stk_field *field)
{
    (void)field;
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct balance *p = inf->params;
    if (stk_infer_pick(inf, p->field, is_any, "a field", err) < 0)
        return STK_NAME;
    return stk__infer_order(inf, count, err);
}

static const char *scan_field(const void *given)
{
    return ((const struct balance *)given)->field;
}

/* Numbers the class of every row. */
static int classify(const uint64_t *hash, int64_t n, uint32_t *class_of, uint32_t *n_classes)
{
    struct stk__numbering numbering = { 0 };
    int code = STK_OK;
    for (int64_t i = 0; i < n && !code; i++)
        code = stk__numbering_find(&numbering, hash[i], &class_of[i]);
    *n_classes = numbering.n;
    stk__numbering_free(&numbering);
    return code;
}

/* Sorts the rows by class; first[c] ends up where class c begins. */
static void gather(struct classes *classes, const uint32_t *class_of, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        classes->first[class_of[i] + 1]++;
    for (uint32_t c = 0; c < classes->n; c++) {
        uint64_t size = classes->first[c + 1];
        classes->largest = size > classes->largest ? size : classes->largest;
        classes->first[c + 1] += classes->first[c];
    }
    for (int64_t i = 0; i < n; i++)
        classes->member[classes->first[class_of[i]]++] = (uint32_t)i;
    for (uint32_t c = classes->n; c > 0; c--)
        classes->first[c] = classes->first[c - 1];
    classes->first[0] = 0;
}

static int scan(const void *given, struct stk_arena *arena, const uint64_t *hash, int64_t n,
                void **state, struct stk_error *err)
{
    (void)given;
    if (n > UINT32_MAX)
        return stk_fail(err, STK_VALUE, "takes at most %lld elements, not %lld",
                        (long long)UINT32_MAX, (long long)n);
    uint32_t *class_of = malloc(sizeof *class_of * (size_t)(n + 1));
    struct classes *classes = stk_arena_alloc(arena, sizeof *classes);
    int code = class_of && classes ? classify(hash, n, class_of, &classes->n) : STK_MEMORY;
    if (!code) {
        classes->first = stk_arena_alloc(arena, sizeof(uint64_t) * ((size_t)classes->n + 1));
        classes->member = stk_arena_alloc(arena, sizeof(uint32_t) * (size_t)(n + 1));
        code = classes->first && classes->member ? STK_OK : STK_MEMORY;
    }
    if (!code)
        gather(classes, class_of, n);
    free(class_of);
    *state = classes;
    return code ? stk_fail(err, code, "out of memory") : STK_OK;
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const struct balance *p = run->params;
    const struct classes *classes = run->state;
    stk__permute_fn permute = stk__kernels()->permute;
    uint64_t seed = stk__hash_mix(run->seed, stk__user_seed(p->seed));
    (void)input;
    for (int i = 0; i < n; i++) {
        uint64_t class = position[i] % classes->n, turn = position[i] / classes->n;
        uint64_t first = classes->first[class], size = classes->first[class + 1] - first;
        uint64_t pass = turn / size, member = turn % size;
        path[i] = stk__hash_mix(path[i], pass); /* so that random ops change every copy otherwise */
        permute(&member, 1, size, stk__hash_mix(stk__hash_mix(seed, path[i]), class));
        position[i] = classes->member[first + member];
    }
}

const struct stk__op stk__op_balance = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "balance", 1, "Show every class as often as the largest.",
              "Elements with equal values in `field` are a class. Classes take turns, so a batch "
              "of as many elements as there are classes has one of each. A class is gone through "
              "in random order; a small one again and again, each time in another order, until "
              "the largest has been seen once. An epoch has as many elements as there are "
              "classes, times the size of the largest; `take` makes it shorter.\n"
              "\n"
              "    image_folder('train').balance(label).decode()\n"
              "    values({y: [0, 0, 0, 1]}).balance(y).batch(2)\n"
              "    values({y: [0, 0, 0, 1]}).balance(y).shuffle()\n"
              "\n"
              "The field is read for all elements when the dataset is made, so the input must "
              "have a known length and an order that does not change: balance comes before "
              "shuffle. Behind balance any element can be reached by its position. The copies of "
              "an "
              "element get random numbers of their own in the ops behind it and before it.",
              params, sizeof(struct balance) },
    .scan_field = scan_field,
    .scan = scan,
    .flags = STK__OP_STABLE | STK__OP_SHUFFLES,
    .infer = infer,
    .order = { .count = count, .at = at },
};
