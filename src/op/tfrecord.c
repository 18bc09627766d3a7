/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c: the records of TFRecord files. */
#include "base/error.h"
#include "codec/tfrecord.h"
#include "op/tfrecord_scan.h"

#include <stdlib.h>

struct tfrecord {
    struct stk_texts file;
    bool verify;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(tfrecord, file, 1, INT32_MAX, STK_REQUIRED,
                  "a path or a pattern, or a list of them"),
    STK_BOOL_ROW(tfrecord, verify, true, 0, "check every record's checksum, not only its length's"),
    STK_TEXT_ROW(tfrecord, index, "auto", STK_TUNABLE, STK__INDEX_HELP),
    STK_ROWS_END,
};

static void close_tfrecord(void *state)
{
    stk__record_files_free(state);
}

static int open_tfrecord(const void *given, struct stk_arena *arena, void **state,
                         struct stk_error *err)
{
    const struct tfrecord *p = given;
    const struct stk__record_scan scan = { .scan = stk__tfrecord_scan,
                                           .format = "tfrecord",
                                           .home = p->index };
    struct stk__paths paths = { 0 };
    struct stk__record_files *records;
    (void)arena;
    int code = stk__record_paths(&p->file, &paths, err);
    if (!code)
        code = stk__record_files_open(&paths, &scan, &records, err);
    stk__paths_free(&paths);
    if (!code)
        *state = records;
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] =
        (struct stk_field){ .name = "record", .kind = STK_BYTES, .dtype = STK_U8 };
    inf->from[0] = -1;
    return STK_OK;
}

static int64_t count(const void *state)
{
    return (int64_t)stk__record_files_count(state);
}

static int n_places(const void *state)
{
    (void)state;
    return 1;
}

static void locate(const void *state, int n, const uint64_t *index, struct stk_place *out)
{
    stk__record_files_locate(state, n, index, out);
}

static struct stk__data_files *files(const void *state)
{
    return ((const struct stk__record_files *)state)->files;
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    const struct tfrecord *p = r->params;
    (void)index;
    for (int i = 0; i < r->n; i++) {
        const struct stk_span *frame = &r->fetched[i];
        struct stk_error err;
        uint64_t length;
        if (r->mask[i] != STK_LIVE)
            continue;
        int code = stk__tfrecord_open(frame->data, frame->bytes, p->verify, &length, &err);
        if (code)
            stk_rows_fail(r, i, code, "%s", err.text);
        else
            r->out[0].span[i] = (struct stk_span){ frame->data + STK__TFRECORD_HEADER,
                                                   (size_t)length, frame->owner };
    }
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    stk__record_files_describe(state, index, "record", text, size);
}

const struct stk_op stk__op_tfrecord = {
    .decl = { "tfrecord", 1, "The records of TFRecord files.",
              "One field `record` (bytes) for every record, in the order of the files given; those "
              "of a pattern are sorted. parse_example takes them apart. Any record can be reached, "
              "so len, shuffle() and shard work on the whole; to know where records lie, the "
              "headers of all files are read once, and remembered for large files (index).\n"
              "\n"
              "    tfrecord('train-*.tfrecord').shuffle().batch(256)\n"
              "    tfrecord('train-*.tfrecord', index='/tmp')\n"
              "\n"
              "Checksums are verified. A record that is damaged is a bad element with file, number "
              "and byte; behind a damaged header the next good one is looked for, so on_error=skip "
              "loses nothing else.",
              params, sizeof(struct tfrecord) },
    .flags = STK_OP_ROOT,
    .open = open_tfrecord,
    .close = close_tfrecord,
    .infer = infer,
    .source = { .count = count,
                .n_places = n_places,
                .locate = locate,
                .files = files,
                .rows = rows,
                .describe = describe },
};
