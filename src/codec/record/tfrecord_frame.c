/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_frame.c: frames of TFRecords. */
#include "codec/record/tfrecord_frame.h"

#include "base/crc32c.h"

#include <string.h>

static uint32_t read_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool stk__tfrecord_length(const uint8_t *header, uint64_t *length)
{
    *length = read_u32(header) | (uint64_t)read_u32(header + 4) << 32;
    return stk__crc32c_mask(stk__crc32c(0, header, 8)) == read_u32(header + 8);
}

int stk__tfrecord_open(const uint8_t *frame, uint64_t bytes, bool verifies, uint64_t *length,
                       struct stk_error *err)
{
    if (bytes < STK__TFRECORD_HEADER)
        return stk_fail(err, STK_DATA, "truncated record: the file ends within its header");
    if (!stk__tfrecord_length(frame, length))
        return stk_fail(err, STK_DATA,
                        "corrupted record: the checksum of its length is wrong (%llu bytes are "
                        "lost, up to the next good header)",
                        (unsigned long long)bytes);
    if (*length > bytes - STK__TFRECORD_HEADER ||
        bytes - STK__TFRECORD_HEADER - *length < STK__TFRECORD_FOOTER)
        return stk_fail(
            err, STK_DATA,
            "truncated record: it has %llu bytes and 4 of a checksum, but only %llu are "
            "left of the file",
            (unsigned long long)*length, (unsigned long long)(bytes - STK__TFRECORD_HEADER));
    if (!verifies)
        return STK_OK;
    uint32_t found = stk__crc32c_mask(stk__crc32c(0, frame + STK__TFRECORD_HEADER, *length));
    uint32_t said = read_u32(frame + STK__TFRECORD_HEADER + *length);
    if (found != said)
        return stk_fail(err, STK_DATA,
                        "corrupted record: the checksum of its %llu bytes is %08x, not %08x",
                        (unsigned long long)*length, found, said);
    return STK_OK;
}
