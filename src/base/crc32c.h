/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h: the checksum of TFRecord, iSCSI and ext4: CRC-32 with Castagnoli's polynomial. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A running checksum that begins with 0: any split of the bytes into calls gives the same. */
uint32_t stk__crc32c(uint32_t crc, const void *data, size_t bytes);

/* As TFRecord stores it, so that the checksum of data that holds checksums stays good. */
static inline uint32_t stk__crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
