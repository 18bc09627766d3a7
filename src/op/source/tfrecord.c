/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c: the records of TFRecord files. */
#include "base/error.h"
#include "codec/record/tfrecord_frame.h"
#include "op/declaration.h"
#include "op/source/packed_classes.h"
#include "op/source/record_source.h"
#include "op/source/tfrecord_scan.h"

#include <stdlib.h>

struct tfrecord {
    struct stk_texts file;
    int compression;
    bool verify;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(tfrecord, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK_CHOICE_ROW(tfrecord, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "of the files; auto: by their first bytes"),
    STK_BOOL_ROW(tfrecord, verify, true, 0, "check every record's checksum, not only its length's"),
    STK_TEXT_ROW(tfrecord, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_ROWS_END,
};

struct record_source {
    struct stk__record_source source;
    bool verifies;
    struct stk__packed_classes *classes; /* of what records hold, by name; or NULL */
};

/* ---- as a stream ---- */

/* A header of a record that is not too long, told by its upper bytes where it is not. */
static bool is_header(const uint8_t *data, uint64_t *length)
{
    return !(data[4] | data[5] | data[6] | data[7]) && stk__tfrecord_length(data, length) &&
           *length <= STK__MOST_RECORD_BYTES - STK__TFRECORD_FRAME;
}

static enum stk__cut cut(const void *context, const uint8_t *data, size_t have, bool is_ended,
                         size_t *bytes)
{
    uint64_t length;
    size_t at = 0;
    (void)context, (void)is_ended;
    while (have - at >= STK__TFRECORD_HEADER && !is_header(data + at, &length))
        at++;
    *bytes = at;
    if (at)
        return STK__CUT_LOST;
    if (have < STK__TFRECORD_HEADER)
        return STK__CUT_MORE;
    *bytes = (size_t)length + STK__TFRECORD_FRAME;
    return have < *bytes ? STK__CUT_MORE : STK__CUT_RECORD;
}

static int write_row(const void *context, struct stk_span record, struct stk__chunk *out,
                     struct stk_error *err)
{
    const struct record_source *source = context;
    uint64_t length;
    int code = stk__tfrecord_open(record.data, record.bytes, source->verifies, &length, err);
    if (!code)
        out->column[0].span[out->n] =
            (struct stk_span){ record.data + STK__TFRECORD_HEADER, (size_t)length,
                               stk__buffer_ref(record.owner) };
    return code;
}

static bool is_head(const uint8_t *head, size_t n)
{
    uint64_t length;
    return n >= STK__TFRECORD_HEADER && stk__tfrecord_length(head, &length);
}

static const struct stk__cutter cutter = {
    .op = "tfrecord", .noun = "record", .cut = cut, .write = write_row, .is_plain = is_head
};

/* ---- the source ---- */

static void close_tfrecord(void *state)
{
    struct record_source *source = state;
    if (source) {
        stk__record_source_close(&source->source);
        stk__packed_classes_close(source->classes);
    }
    free(source);
}

static const char *class_name(const void *state, const char *field, int64_t value)
{
    const struct record_source *source = state;
    return stk__packed_classes_name(source->classes, field, value);
}

static int open_tfrecord(const void *given, struct stk_arena *arena, void **state,
                         struct stk_error *err)
{
    const struct tfrecord *p = given;
    const struct stk__record_scan scan = { .scan = stk__tfrecord_scan,
                                           .format = "tfrecord",
                                           .home = p->index };
    const struct stk__record_reader format = { &scan, &cutter,
                                               (enum stk__compression)p->compression };
    struct record_source *source = calloc(1, sizeof *source);
    (void)arena;
    if (!source)
        return stk__out_of_memory(err);
    source->verifies = p->verify;
    int code = stk__record_source_open(&source->source, &p->file, &format, err);
    if (!code)
        code = stk__packed_classes_open(&source->source.list->paths, &source->classes, err);
    if (code)
        close_tfrecord(source);
    else
        *state = source;
    return code;
}

static int rows(struct stk_rows *r, const uint64_t *index)
{
    const struct tfrecord *p = r->params;
    (void)index;
    for (int i = 0; i < r->n; i++) {
        const struct stk_span *frame = &r->inside->fetched[i];
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

const struct stk__op stk__op_tfrecord = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "tfrecord", 1, "The records of TFRecord files.",
              "One field `record` (bytes) for every record, in the order of the files given; those "
              "of a pattern are sorted. parse_example takes them apart. Any record can be reached, "
              "so len, shuffle() and shard work on the whole; to know where records lie, the "
              "headers of all files are read once, and remembered for large files (index). "
              "Compressed files, pipes and standard input ('-') are a stream: there shuffle needs "
              "a buffer size.\n"
              "\n"
              "    tfrecord('train-*.tfrecord').shuffle().batch(256)\n"
              "    tfrecord('train-*.tfrecord', index=none).take(1000)\n"
              "\n"
              "Checksums are verified. A record that is damaged is a bad element with file, number "
              "and byte; behind a damaged header the next good one is looked for, so on_error=skip "
              "loses nothing else.",
              params, sizeof(struct tfrecord) },
    .flags = STK__OP_ROOT | STK__OP_BLOCKS,
    .open = open_tfrecord,
    .close = close_tfrecord,
    .held_bytes = stk__record_source_bytes,
    .infer = stk__record_infer,
    .source = { STK__RECORD_SOURCE, .rows = rows, .class_name = class_name },
};
