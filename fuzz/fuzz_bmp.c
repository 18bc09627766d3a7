/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_bmp.c: any bytes to the BMP decoder. Seeds: tests/golden/formats/ *.bmp. */
#include "decode_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return decode_any(data, size, STK__FORMAT_BMP);
}
