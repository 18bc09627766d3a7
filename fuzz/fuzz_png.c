/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_png.c: any bytes to the PNG decoder. Seeds: tests/golden/decode/ *.png.
 *
 * Chunks carry checksums that a random change breaks, and nothing behind them would ever be
 * reached: after each mutation half of the inputs get theirs repaired.
 */
#include "decode_any.h"

#include <png.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint32_t crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n * 8; i++) {
        uint32_t bit = bytes[i / 8] >> i % 8 & 1;
        crc = crc >> 1 ^ (((crc ^ bit) & 1) ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void repair(uint8_t *data, size_t size)
{
    size_t at = 8;
    while (size >= 12 && at <= size - 12) {
        size_t len = png_get_uint_32(data + at);
        if (len > size - at - 12)
            return;
        png_save_uint_32(data + at + 8 + len, crc_of(data + at + 4, len + 4));
        at += 12 + len;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed & 1) {
        if (size >= 8)
            memcpy(data, "\x89PNG\r\n\x1a\n", 8);
        repair(data, size);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return decode_any(data, size, STK__FORMAT_PNG);
}
