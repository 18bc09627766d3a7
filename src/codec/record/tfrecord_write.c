/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_write.c: elements as records of a TFRecord file, each a tf.train.Example.
 *
 *     uint64 length | uint32 masked CRC32C of the length | data | uint32 masked CRC32C of the data
 *
 * All little-endian; the file has neither head nor end.
 */
#include "base/crc32c.h"
#include "codec/record/record_out.h"
#include "codec/record/tfrecord_frame.h"

#include <string.h>

static void store(char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
}

static uint32_t masked_sum(const char *data, size_t bytes)
{
    return stk__crc32c_mask(stk__crc32c(0, data, bytes));
}

size_t stk__tfrecord_begin(struct stk__text *out)
{
    static const char head[STK__TFRECORD_HEADER];
    size_t at = out->len;
    stk__text_add_n(out, head, sizeof head);
    return at;
}

void stk__tfrecord_end(struct stk__text *out, size_t at)
{
    char tail[STK__TFRECORD_FOOTER];
    if (out->failed)
        return;
    char *data = out->data + at + STK__TFRECORD_HEADER;
    size_t bytes = out->len - at - STK__TFRECORD_HEADER;
    store(out->data + at, bytes, 8);
    store(out->data + at + 8, masked_sum(out->data + at, 8), 4);
    store(tail, masked_sum(data, bytes), sizeof tail);
    stk__text_add_n(out, tail, sizeof tail);
}

static int write(const struct stk__record_layout *layout, const struct stk__record_value *value,
                 uint64_t number, struct stk__text *out, struct stk_error *err)
{
    (void)number; /* records are told apart by their place */
    size_t at = stk__tfrecord_begin(out);
    int rc = stk__example_write(layout, value, out, err);
    if (rc && !out->failed)
        out->len = at;
    if (out->failed || rc)
        return out->failed ? STK_OK : rc;
    stk__tfrecord_end(out, at);
    return STK_OK;
}

static void finish(struct stk__text *out)
{
    (void)out;
}

const struct stk__record_format stk__record_tfrecord = {
    .name = "tfrecord",
    .lay_out = stk__example_lay_out,
    .write = write,
    .finish = finish,
    .describe = stk__example_describe,
};
