/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_write.c: elements as records of a TFRecord file, each a tf.train.Example.
 *
 *     uint64 length | uint32 masked CRC32C of the length | data | uint32 masked CRC32C of the data
 *
 * All little-endian; the file has neither head nor end.
 */
#include "base/crc32c.h"
#include "codec/record_out.h"

#include <string.h>

enum { HEAD_BYTES = 12 };

static void store(char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
}

static uint32_t masked_sum(const char *data, size_t bytes)
{
    return stk__crc32c_mask(stk__crc32c(0, data, bytes));
}

static int write(const struct stk__record_layout *layout, const struct stk__record_value *value,
                 uint64_t number, struct stk__text *out, struct stk_error *err)
{
    char head[HEAD_BYTES] = { 0 }, tail[4];
    size_t at = out->len;
    (void)number; /* records are told apart by their place */
    stk__text_add_n(out, head, sizeof head);
    int rc = stk__example_write(layout, value, out, err);
    if (out->failed)
        return STK_OK;
    if (rc) {
        out->len = at;
        return rc;
    }
    size_t bytes = out->len - at - sizeof head;
    store(out->data + at, bytes, 8);
    store(out->data + at + 8, masked_sum(out->data + at, 8), 4);
    store(tail, masked_sum(out->data + at + sizeof head, bytes), sizeof tail);
    stk__text_add_n(out, tail, sizeof tail);
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
