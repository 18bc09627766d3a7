/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_glob.c: any pattern, read as braces and matched against any name. Pattern and name are
 * separated by a NUL byte. */
#include "io/glob.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 2);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = text[size + 1] = 0;
    const char *name = text + strlen(text) + 1;
    struct stk__paths readings = { 0 };
    struct stk_error err;
    stk__glob_braces(text, &readings, &err);
    for (size_t i = 0; i < readings.n && i < 100; i++)
        stk__glob_match(stk__paths_at(&readings, i), name);
    stk__paths_free(&readings);
    free(text);
    return 0;
}
