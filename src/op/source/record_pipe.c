/* SPDX-License-Identifier: Apache-2.0 */
/* record_pipe.c: records out of a stream of bytes. Bytes that are damaged are passed over; those in a
 * row that were lost are one bad row. */
#include "op/source/record_pipe.h"

#include "base/error.h"

#include <stdio.h>

struct run {
    struct stk__stream_run stream;
    const struct stk__cutter *cutter;
    const void *context;
    uint64_t lost; /* bytes before the next record that are none */
    bool is_over;  /* the file has no more records */
};

static void add_bad(struct run *r, struct stk__chunk *out, uint64_t offset, int code,
                    const char *cause)
{
    char text[STK_ERROR_TEXT];
    snprintf(text, sizeof text, "%.400s (at byte %llu, unpacked)", cause,
             (unsigned long long)offset);
    stk__chunk_fault(out, out->n++, code, r->cutter->op, text);
}

/* One bad row for everything that was passed over. */
static void add_lost(struct run *r, struct stk__chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    char cause[160];
    snprintf(cause, sizeof cause, "damaged: %llu bytes are lost, up to the next good %s",
             (unsigned long long)r->lost, r->cutter->noun);
    add_bad(r, out, stk__block_reader_offset(blocks) - r->lost, STK_DATA, cause);
    stk__block_reader_cut(blocks, 0, 0);
    r->lost = 0;
}

static void add_record(struct run *r, size_t bytes, struct stk__chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    uint64_t offset = stk__block_reader_offset(blocks);
    struct stk_error err = { 0 };
    int code = r->cutter->write(r->context, stk__block_reader_cut(blocks, bytes, bytes), out, &err);
    if (code)
        add_bad(r, out, offset, code, err.text);
    else
        out->n++;
}

static void finish_file(struct run *r, struct stk__chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    size_t left = stk__block_reader_left(blocks);
    if (r->lost) {
        r->lost += left;
        blocks->row += left;
        add_lost(r, out);
    } else if (left) {
        add_bad(r, out, stk__block_reader_offset(blocks), STK_DATA,
                "truncated: the file ends within it");
        stk__block_reader_cut(blocks, left, left);
    }
    stk__block_reader_close(blocks);
}

/* Takes one record, or passes over what is none. */
static void take(struct run *r, enum stk__cut what, size_t bytes, struct stk__chunk *out)
{
    struct stk__block_reader *blocks = &r->stream.blocks;
    if (what != STK__CUT_LOST && r->lost) {
        add_lost(r, out);
    } else if (what == STK__CUT_RECORD) {
        add_record(r, bytes, out);
    } else {
        r->is_over = what == STK__CUT_END;
        r->lost += what == STK__CUT_LOST ? bytes : 0;
        blocks->row += r->is_over ? stk__block_reader_left(blocks) : bytes;
    }
}

static int advance(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct run *r = run;
    struct stk__block_reader *blocks = &r->stream.blocks;
    if (!blocks->stream) {
        r->lost = 0;
        r->is_over = false;
        return stk__block_reader_open(blocks, err);
    }
    size_t have = stk__block_reader_left(blocks), bytes = 0;
    enum stk__cut what = STK__CUT_MORE;
    if (have && r->is_over)
        what = STK__CUT_END;
    else if (have)
        what = r->cutter->cut(r->context, stk__block_reader_data(blocks), have, blocks->is_ended,
                              &bytes);
    if (what == STK__CUT_MORE && !blocks->is_ended)
        return stk__block_reader_fill(blocks, err);
    if (what == STK__CUT_MORE)
        finish_file(r, out);
    else
        take(r, what, bytes, out);
    return STK_OK;
}

int stk__record_pipe_begin(struct stk__pool *pool, struct stk__block_files *files,
                           const struct stk__cutter *cutter, const void *context, void **run,
                           struct stk_error *err)
{
    int code = stk__stream_begin(pool, files, advance, sizeof(struct run), run, err);
    if (code)
        return code;
    struct run *r = *run;
    r->cutter = cutter;
    r->context = context;
    return STK_OK;
}
