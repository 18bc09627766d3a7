/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_scan.c: from header to header.
 *
 * Small records are passed over within large reads; behind a large record only a header is read.
 */
#include "op/source/tfrecord_scan.h"

#include "base/error.h"
#include "codec/record/tfrecord_frame.h"

#include <stdlib.h>

enum { WINDOW = 256 << 10, LARGE = 64 << 10 };

struct scanner {
    struct stk__data_files *files;
    size_t file;
    uint64_t bytes;
    uint8_t *window;
    uint64_t from, to; /* of the file, in the window */
    struct stk_error *err;
    int code;
};

/* At least n bytes of the file, read with what is likely to be wanted next; NULL after a failure. */
static const uint8_t *look(struct scanner *s, uint64_t offset, uint64_t n, uint64_t likely)
{
    if (offset >= s->from && offset + n <= s->to)
        return s->window + (offset - s->from);
    uint64_t left = s->bytes - offset, wanted = likely > n ? likely : n;
    const struct stk__file_place place = { offset, wanted < left ? wanted : left,
                                           (uint32_t)s->file };
    s->from = s->to = 0;
    s->code = stk__data_file_read(s->files, place, s->window, s->err);
    if (s->code) {
        stk__error_prefix(s->err, "'%s': ", s->files->item[s->file].path);
        return NULL;
    }
    s->from = offset;
    s->to = offset + place.bytes;
    return s->window;
}

static bool is_header(const struct scanner *s, const uint8_t *header, uint64_t offset,
                      uint64_t *length)
{
    uint64_t left = s->bytes - offset;
    if (left < STK__TFRECORD_FRAME || header[7] || header[6])
        return false; /* no file is so long; this makes most tries cheap */
    return stk__tfrecord_length(header, length) && *length <= left - STK__TFRECORD_FRAME;
}

/* Where the next good header is, or the end of the file. */
static uint64_t find_header(struct scanner *s, uint64_t offset)
{
    uint64_t length;
    for (; s->bytes - offset >= STK__TFRECORD_FRAME; offset++) {
        const uint8_t *header = look(s, offset, STK__TFRECORD_HEADER, WINDOW);
        if (!header || is_header(s, header, offset, &length))
            return offset;
    }
    return s->bytes;
}

static uint64_t find_next(struct scanner *s, uint64_t offset, uint64_t likely, bool *is_good)
{
    uint64_t length;
    const uint8_t *header = NULL;
    if (s->bytes - offset >= STK__TFRECORD_FRAME &&
        !(header = look(s, offset, STK__TFRECORD_HEADER, likely)))
        return offset;
    *is_good = header && is_header(s, header, offset, &length);
    return *is_good ? offset + STK__TFRECORD_FRAME + length : find_header(s, offset + 1);
}

static int scan(struct scanner *s, struct stk__record_index *out)
{
    uint64_t likely = WINDOW, n_good = 0;
    for (uint64_t offset = 0, next; offset < s->bytes && !s->code; offset = next) {
        bool is_good = false;
        next = find_next(s, offset, likely, &is_good);
        if (!s->code && stk__record_index_add(out, offset))
            s->code = stk__out_of_memory(s->err);
        likely = next - offset > LARGE ? STK__TFRECORD_HEADER : WINDOW;
        n_good += is_good;
    }
    if (!s->code && stk__record_index_close(out, s->bytes))
        s->code = stk__out_of_memory(s->err);
    if (!s->code && s->bytes && !n_good)
        s->code = stk_fail(s->err, STK_DATA, "'%s' is no TFRecord file: it has no good record",
                           s->files->item[s->file].path);
    return s->code;
}

int stk__tfrecord_scan(const void *context, struct stk__data_files *files, size_t file,
                       struct stk__record_index *out, struct stk_error *err)
{
    uint64_t bytes = files->item[file].bytes;
    struct scanner s = { .files = files,
                         .file = file,
                         .bytes = bytes,
                         .window = malloc(bytes < WINDOW ? bytes + 1 : WINDOW),
                         .err = err };
    (void)context;
    if (!s.window)
        return stk__out_of_memory(err);
    int code = scan(&s, out);
    free(s.window);
    return code;
}
