/* SPDX-License-Identifier: Apache-2.0 */
/* stream_run.c: begin, rewind, next and end, the same for all streams of rows. */
#include "op/source/stream_run.h"

#include "base/error.h"

#include <stdlib.h>

int stk__stream_begin(struct stk__pool *pool, struct stk__block_files *files,
                      stk__advance_fn advance, size_t bytes, void **run, struct stk_error *err)
{
    struct stk__stream_run *r = calloc(1, bytes);
    if (!r)
        return stk__out_of_memory(err);
    r->advance = advance;
    stk__block_reader_begin(&r->blocks, files, pool);
    *run = r;
    return STK_OK;
}

void stk__stream_end(void *run)
{
    stk__block_reader_end(&((struct stk__stream_run *)run)->blocks);
    free(run);
}

int stk__stream_rewind(void *run, struct stk_error *err)
{
    (void)err;
    stk__block_reader_rewind(&((struct stk__stream_run *)run)->blocks);
    return STK_OK;
}

/* Stops after about one block, so that long rows do not pile up in a chunk, and before it has to
 * wait for more; without a row after some more, so that a run can be ended that finds none. What goes wrong
 * behind rows that were appended goes wrong again in the next call, which reports it. */
int stk__stream_next(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct stk__stream_run *r = run;
    const uint64_t most_searched = 32 * STK__BLOCK_BYTES;
    int before = out->n, code = STK_OK;
    uint64_t start = r->blocks.total;
    while (!code && out->n < out->cap) {
        bool has_rows = out->n > before;
        uint64_t searched = r->blocks.total - start;
        if (searched >= (has_rows ? STK__BLOCK_BYTES : most_searched) ||
            (has_rows && stk__block_reader_may_wait(&r->blocks)))
            break;
        code = r->advance(run, out, err);
    }
    return out->n > before || code == STK_AGAIN ? STK_OK : code;
}

int stk__record_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){ .name = "record", .kind = STK_BYTES, .dtype = STK_U8 };
    inf->from[0] = -1;
    return STK_OK;
}
