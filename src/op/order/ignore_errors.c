/* SPDX-License-Identifier: Apache-2.0 */
/* ignore_errors.c: leaves bad elements out. */
#include "base/rows/chunk.h"
#include "op/declaration.h"

static const struct stk_param params[] = { STK_ROWS_END };

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    inf->count = STK_UNKNOWN_COUNT;
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        const struct stk__fault *fault =
            rows->mask[i] == STK_BAD ? stk__fault_find(*rows->inside->faults, i) : NULL;
        if (!fault || fault->code == STK_MEMORY) /* another time it would be there */
            continue;
        rows->mask[i] = STK_DEAD;
        stk__fault_forget(rows->inside->faults, i);
    }
    return STK_OK;
}

const struct stk__op stk__op_ignore_errors = {
    .subject = STK__ABOUT_RUNNING,
    .decl = { "ignore_errors", 1, "Leave out elements that are bad.",
              "What could not be read, decoded or computed in the ops before it vanishes here, "
              "with on_error=fail as with skip; ops behind it neither see nor count it. "
              "on_error=replace is refused beside it: what drops elements cannot be reached by "
              "number. A bad element is no error any more, so max_errors does not count it either: "
              "on_error=skip does the same for "
              "the whole chain and reports what it left out.\n"
              "\n"
              "    files('train/*/*.jpg').decode().ignore_errors().take(1000)\n"
              "    values({x: [1, 0, 2]}).map('y = 10 // x').ignore_errors()\n"
              "\n"
              "Behind `batch` and its kin it leaves out bad elements too, and batches are filled "
              "up with those that follow; a batch that became bad itself, because its elements "
              "differ in shape or in an op behind it, is left out whole. A stream that breaks "
              "still ends the run.\n"
              "\n"
              "    values({x: [1, 0, 2]}).map('y = 10 // x').batch(2).ignore_errors()",
              params, 0 },
    .flags = STK_OP_FILTER | STK__OP_FORGIVES,
    .infer = infer,
    .row = { .run = run },
};
