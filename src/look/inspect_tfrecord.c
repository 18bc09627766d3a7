/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_tfrecord.c: TFRecord files: records, and what is in them. */
#include "base/error.h"
#include "codec/record/example.h"
#include "codec/record/tfrecord_frame.h"
#include "look/inspect.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_RECORDS = 256 }; /* that are looked into */

struct walk {
    struct stk__sizes sizes;
    struct stk__piece record[MOST_RECORDS];
    int n_records;
    uint64_t at; /* behind the last good record */
};

/* The record at walk->at; STK_END where there is none. */
static int step(const struct stk__inspection *in, struct walk *walk, struct stk_error *err)
{
    const uint8_t *frame = in->head + walk->at;
    uint64_t left = in->n_head - walk->at, length;
    if (!left || (!in->is_whole && left < STK__TFRECORD_HEADER))
        return STK_END;
    bool is_header = left >= STK__TFRECORD_HEADER && stk__tfrecord_length(frame, &length);
    uint64_t room = left >= STK__TFRECORD_FRAME ? left - STK__TFRECORD_FRAME : 0;
    if (is_header && length > room)
        return !in->is_whole
                   ? STK_END
                   : stk_fail(err, STK_DATA, "the file is cut: %" PRIu64 " bytes are missing",
                              length + STK__TFRECORD_FRAME - left);
    int code = stk__tfrecord_open(frame, is_header ? length + STK__TFRECORD_FRAME : left, true,
                                  &length, err);
    if (code)
        return code;
    if (walk->n_records < MOST_RECORDS)
        walk->record[walk->n_records++] =
            (struct stk__piece){ frame + STK__TFRECORD_HEADER, (size_t)length };
    stk__sizes_add(&walk->sizes, length);
    walk->at += length + STK__TFRECORD_FRAME;
    return STK_OK;
}

static bool recognises(const struct stk__inspection *in)
{
    uint64_t length;
    return in->n_head >= STK__TFRECORD_HEADER && stk__tfrecord_length(in->head, &length);
}

static void note_lines(struct stk__inspection *in, char *line)
{
    for (char *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        stk__inspect_note(in, "%s", line);
    }
}

/* Proposes how to parse the records. */
static int propose(struct stk__inspection *in, const struct walk *walk, struct stk_error *err)
{
    struct stk__text call = { 0 }, notes = { 0 };
    int code = walk->n_records
                   ? stk__example_infer(walk->record, walk->n_records, &call, &notes, err)
                   : STK_DATA;
    if (!code) {
        stk__inspect_say(in, "content", "tf.train.%s",
                         strncmp(call.data, "parse_sequence", 14) ? "Example" : "SequenceExample");
        stk__text_add(&in->rest, ".%s", call.data);
        note_lines(in, notes.data);
    } else if (code == STK_DATA && walk->n_records) {
        stk__inspect_say(in, "content", "bytes that are no Examples");
    }
    stk__text_free(&call);
    stk__text_free(&notes);
    return !code ? stk__inspect_classes(in, err) : code == STK_DATA ? STK_OK : code;
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct walk walk = { 0 };
    int code = STK_OK;
    while (!code)
        code = step(in, &walk, err);
    in->format = "TFRecord";
    in->source = "tfrecord";
    stk__inspect_sizes(in, "records", &walk.sizes, walk.at);
    if (code != STK_END) {
        in->is_damaged = true;
        stk__inspect_note(in,
                          "damaged: record %" PRIu64 ", at byte %" PRIu64 "%s: %s; what follows "
                          "was not looked at",
                          walk.sizes.n, walk.at,
                          in->compression > STK__COMPRESSION_NONE ? " of the unpacked data" : "",
                          err->text);
    }
    for (int i = 0; i < STK__PREVIEWED && i < walk.n_records; i++)
        in->sample_bytes += walk.record[i].bytes + STK__TFRECORD_FRAME;
    stk__text_add(&in->rest, ")");
    code = propose(in, &walk, err);
    if (!walk.n_records)
        in->source = NULL;
    return code;
}

const struct stk__inspector stk__inspect_tfrecord = { recognises, describe };
