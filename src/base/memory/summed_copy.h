/* SPDX-License-Identifier: Apache-2.0 */
/* summed_copy.h: a copy with the checksum of what was copied. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Copies bytes, large rows past the caches (stream_copy.h), and goes on with a CRC-32C over them (crc32c.h). Every byte
 * is read once, so what is delivered is what was summed, whoever writes to `src` meanwhile. */
uint32_t stk__copy_summed(uint8_t *dst, const uint8_t *src, size_t bytes, uint32_t crc);
