/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_webp.c: any bytes to the WebP decoder. Seeds: tests/golden/formats/ *.webp. */
#include "decode_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return decode_any(data, size, STK__FORMAT_WEBP);
}
