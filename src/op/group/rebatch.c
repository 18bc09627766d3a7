/* SPDX-License-Identifier: Apache-2.0 */
/* rebatch.c: batches of other sizes: unbatch, which is put in before it, and batch. */
#include "op/declaration.h"
#include "op/group/grouping.h"

#include <math.h>

struct rebatch {
    struct stk_numbers batch_size;
    bool drop_remainder;
};

enum { MOST_SIZES = 1 << 16 };

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(
        rebatch, batch_size, NULL, 1, MOST_SIZES, STK_REQUIRED,
        "elements in a batch; a list: in each batch, one after the other, over and over"),
    STK_BOOL_ROW(rebatch, drop_remainder, false, 0, "leave out a last batch that is not full"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct rebatch *p = inf->params;
    int64_t left = inf->in_count[0], all = 0, n = p->batch_size.n;
    (void)err;
    *out = left;
    if (left < 0)
        return STK_OK;
    for (int64_t i = 0; i < n; i++)
        all += (int64_t)p->batch_size.item[i];
    *out = left / all * n;
    left %= all;
    for (int64_t i = 0; left > 0; i++) {
        left -= (int64_t)p->batch_size.item[i];
        *out += left >= 0 || !p->drop_remainder;
    }
    return STK_OK;
}

static int check_sizes(const struct stk_numbers *sizes, struct stk_error *err)
{
    for (int i = 0; i < sizes->n; i++)
        if (!(sizes->item[i] >= 1 && sizes->item[i] <= INT32_MAX) ||
            sizes->item[i] != floor(sizes->item[i]))
            return stk_fail(err, STK_VALUE, "batch_size: %g is no whole number from 1 to %d",
                            sizes->item[i], INT32_MAX);
    return STK_OK;
}

/* Batches of one size cut none of the runs that rows come in: each is full. */
static bool divides_runs(const struct stk_infer *inf, const struct stk_numbers *sizes)
{
    bool divides = inf->inside->in_run > 0;
    for (int i = 0; i < sizes->n && divides; i++)
        divides =
            sizes->item[i] == sizes->item[0] && !(inf->inside->in_run % (int64_t)sizes->item[i]);
    return divides;
}

static int64_t rows_of(const struct stk_infer *inf, const struct stk__grouping *g,
                       const struct stk_numbers *sizes)
{
    if (divides_runs(inf, sizes))
        return g->size;
    return sizes->n > 1 ? -1 : stk__grouping_rows(inf, g);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct rebatch *p = inf->params;
    int code = check_sizes(&p->batch_size, err);
    double most = 0;
    for (int i = 0; i < p->batch_size.n; i++)
        most = p->batch_size.item[i] > most ? p->batch_size.item[i] : most;
    struct stk__grouping *g =
        code ? NULL : stk__grouping_new(inf, (int64_t)most, p->drop_remainder, err);
    if (!g)
        return code ? code : STK_MEMORY;
    bool is_cycled = p->batch_size.n > 1;
    g->n_sizes = is_cycled ? p->batch_size.n : 0;
    g->cycled_size = p->batch_size.item;
    g->drops_remainder |= divides_runs(inf, &p->batch_size); /* there is none */
    code = stk__grouping_infer(inf, g, rows_of(inf, g, &p->batch_size), err);
    return code ? code : count(inf, &inf->count, err);
}

extern const struct stk__op stk__op_unbatch;

const struct stk__op stk__op_rebatch = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "rebatch", 1, "Put the rows of batches together in batches of another size.",
              "The same as `unbatch` and `batch`: rows keep their order, and no row is lost or "
              "doubled where batches begin and end elsewhere.\n"
              "\n"
              "    range(10).batch(4).rebatch(3)\n"
              "    range(12).batch(6).map('y = x * 2').rebatch(4, drop_remainder=true)\n"
              "    range(10).batch(4).rebatch([2, 1])\n"
              "\n"
              "A list gives the sizes of one batch after the other; behind its end it begins "
              "again, and so it does with every epoch.\n"
              "\n"
              "Where the rows of every batch that comes are known and a multiple of batch_size, "
              "the "
              "shape of the new ones is known too.\n"
              "\n"
              "With on_error=skip a batch is filled up with the rows that follow a bad one.",
              params, sizeof(struct rebatch) },
    .flags = STK__OP_BATCH,
    .implies = { .op = &stk__op_unbatch, .shares_params = true },
    .infer = infer,
    .order = { .count = count },
};
