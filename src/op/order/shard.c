/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c: every n-th element. */
#include "op/order/order.h"

#include <stdlib.h>

enum remainder { UNEVEN, DROP, PAD };
static const char *const remainders[] = { "uneven", "drop", "pad", NULL };

struct shard {
    int64_t num_shards, index;
    int remainder;
};

struct sharding {
    uint64_t num_shards, index, phase; /* phase: of the next row, modulo num_shards */
};

static const struct stk_param params[] = {
    STK_INT_ROW(shard, num_shards, STK_NONE, 1, STK__MAX_COUNT, STK_TAKES_NONE,
                "number of shards; none takes the run's world"),
    STK_INT_ROW(shard, index, STK_NONE, 0, STK__MAX_COUNT, STK_TAKES_NONE,
                "which shard, from 0; none takes the run's rank"),
    STK_CHOICE_ROW(shard, remainder, remainders, UNEVEN, 0,
                   "what is left when elements are dealt out: the first shards get one more "
                   "(uneven), nobody gets it (drop), or all get one, some from the beginning again "
                   "(pad)"),
    STK_ROWS_END,
};

static struct sharding resolve(const struct shard *p, int rank, int world)
{
    if (p->num_shards != STK_NONE)
        return (struct sharding){ .num_shards = (uint64_t)p->num_shards,
                                  .index = (uint64_t)p->index };
    if (world < 1)
        return (struct sharding){ .num_shards = 1 };
    return (struct sharding){ .num_shards = (uint64_t)world, .index = (uint64_t)rank };
}

static int check(const struct shard *p, int rank, int world, struct stk_error *err)
{
    if ((p->num_shards == STK_NONE) != (p->index == STK_NONE))
        return stk_fail(err, STK_VALUE,
                        "give num_shards and index, or neither of them to take the "
                        "run's world and rank");
    if (p->num_shards == STK_NONE && world > 0 && (rank < 0 || rank >= world))
        return stk_fail(err, STK_VALUE, "rank is %d, but with world=%d it must be 0 to %d", rank,
                        world, world - 1);
    if (p->index >= p->num_shards && p->index != STK_NONE)
        return stk_fail(err, STK_VALUE, "index is %lld, but %lld shards are numbered 0 to %lld",
                        (long long)p->index, (long long)p->num_shards,
                        (long long)p->num_shards - 1);
    return STK_OK;
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    int code = check(inf->params, inf->inside->rank, inf->inside->world, err);
    if (code)
        return code;
    const struct shard *p = inf->params;
    struct sharding s = resolve(p, inf->inside->rank, inf->inside->world);
    int64_t in = inf->in_count[0], n = (int64_t)s.num_shards;
    bool has_one_more =
        p->remainder == UNEVEN ? (int64_t)s.index < in % n : p->remainder == PAD && in % n;
    *out = in < 0 ? in : in / n + has_one_more;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    return stk__infer_order(inf, count, err);
}

/* What is left can be told only where the input's length is known and any place can be asked for. */
static enum stk__op_mode mode(const void *given)
{
    const struct shard *p = given;
    return p->remainder == UNEVEN ? STK__MODE_EITHER : STK__MODE_ORDER;
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    struct sharding s = resolve(run->params, run->rank, run->world);
    (void)path, (void)input;
    for (int i = 0; i < n; i++)
        position[i] = position[i] * s.num_shards + s.index;
    bool wraps = ((const struct shard *)run->params)->remainder == PAD && run->in_count[0] > 0;
    for (int i = 0; wraps && i < n; i++)
        position[i] %= (uint64_t)run->in_count[0];
}

static bool passes_all(const void *given, int64_t in_count)
{
    (void)in_count;
    return ((const struct shard *)given)->num_shards == 1;
}

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    int code = check(b->params, b->rank, b->world, err);
    if (code)
        return code;
    struct sharding *s = malloc(sizeof *s);
    if (!s)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *s = resolve(b->params, b->rank, b->world);
    *run = s;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct sharding *s = run;
    (void)path;
    s->phase = 0;
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct sharding *s = run;
    for (int i = 0; i < n; i++) {
        if (s->phase == s->index) {
            if (out->n == out->cap)
                return i;
            stk__chunk_append(out, in, from + i, 1);
        }
        s->phase = s->phase + 1 == s->num_shards ? 0 : s->phase + 1;
    }
    return n;
}

const struct stk__op stk__op_shard = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "shard", 1, "Keep every num_shards-th element, for one of several processes.",
              "Yields the elements whose position modulo `num_shards` is `index`, so that "
              "num_shards runs with index 0, 1, … together see each element once. Without "
              "arguments the numbers come from the run's options rank and world (one shard if "
              "they are not set); those come from the launcher (torchrun, mpirun, srun) unless "
              "they are given.\n"
              "\n"
              "    files('train/*/*.jpg').shard(4, 0).shuffle().decode()\n"
              "    image_folder('train').shuffle().shard().decode()\n"
              "    range(10).shard(4, 3, remainder=pad)\n"
              "\n"
              "Where processes must take the same number of steps, remainder=drop leaves the last "
              "elements out, others in every epoch if they are shuffled, and remainder=pad gives "
              "some of the first ones twice.\n"
              "\n"
              "Bad elements keep their place: the shards do not shift, whatever on_error says. "
              "Put a shard before a shuffle to give each process a fixed part of the data, or "
              "behind a global shuffle with the same seed to deal each epoch out anew.",
              params, sizeof(struct shard) },
    .flags = STK__OP_ADDRESSES,
    .mode = mode,
    .infer = infer,
    .passes_all = passes_all,
    .order = { .count = count, .at = at },
    .serial = { .begin = begin, .end = free, .next_epoch = next_epoch, .step = step },
};
