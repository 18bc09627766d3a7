/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c: keeps the elements for which an expression is true. */
#include "op/declaration.h"
#include "op/field/expr_run.h"

struct filter {
    const char *expression;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(filter, expression, NULL, STK_REQUIRED, "a condition such as 'label < 5'"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct filter *filter = inf->params;
    const struct stk__expr_program *program;
    int rc = stk__expr_compile(filter->expression, inf->in[0], STK__EXPR_FILTER, inf->arena,
                               &program, err);
    if (rc)
        return rc;
    stk_infer_pass(inf);
    stk__expr_infer_reads(inf, program);
    inf->count = STK_UNKNOWN_COUNT;
    inf->scratch_bytes = program->scratch_bytes + 1;
    inf->state = (void *)program; /* handed back as const */
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    struct stk_column keep = { .data = stk_rows_alloc(rows, (size_t)rows->n + 1), .stride = 1 };
    int rc = keep.data ? stk__expr_run(rows->state, rows, &keep) : STK_MEMORY;
    for (int i = 0; !rc && i < rows->n; i++)
        if (rows->mask[i] == STK_LIVE && !keep.data[i])
            rows->mask[i] = STK_DEAD;
    return rc;
}

static const char doc[] =
    "The condition is one bool per element, in the language of map. Conditions on every value\n"
    "of a field are put into any() or all().\n"
    "\n"
    "Where it looks at nothing that ops before it read or decode, it comes before them, and an\n"
    "element that it drops is not made. So it cannot be bad either: an error in an element that\n"
    "is filtered out does not count.\n"
    "\n"
    "    range(10).filter('x % 2 == 0')\n"
    "    range(10).filter('x > 2 and not (x == 5)')\n";

const struct stk__op stk__op_filter = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "filter", 1, "Keep the elements for which a condition is true.", doc, params,
              sizeof(struct filter) },
    .flags = STK_OP_FILTER,
    .infer = infer,
    .row = { .run = run },
};
