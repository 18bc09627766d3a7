/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gif.c: any bytes to the GIF decoder. Seeds: tests/golden/formats/ *.gif. */
#include "decode_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return decode_any(data, size, STK__FORMAT_GIF);
}
