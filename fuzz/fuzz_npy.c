/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c: any bytes as an npy file: its header, and its first value. Seeds:
 * tests/golden/arrays. */
#include "codec/array/npy_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void read_item(const struct stk__npy *npy, const uint8_t *data, size_t n)
{
    size_t room = npy->raw.item_bytes, len;
    if (npy->n_values == 0 || room > n)
        return;
    uint8_t *item = malloc(room + 1), *text = malloc(room + 1);
    if (item && text) {
        memcpy(item, data, room);
        if (npy->raw.kind == STK__RAW_NUMBERS)
            stk__raw_settle(&npy->raw, item, 1);
        else if (stk__raw_text(&npy->raw, item, text, &len))
            check(len <= stk__raw_text_room(&npy->raw));
    }
    free(item);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stk__npy npy;
    struct stk_error err;
    size_t header;
    if (stk__npy_header_bytes(data, size, &header, &err) || header > size ||
        stk__npy_parse(data, header, &npy, &err))
        return 0;
    uint64_t values = 1;
    check(npy.rank >= 0 && npy.rank <= STK__NPY_MAX_RANK);
    for (int a = 0; a < npy.rank; a++)
        check(npy.shape[a] >= 0 &&
              !__builtin_mul_overflow(values, (uint64_t)npy.shape[a], &values));
    check(values == npy.n_values && values * npy.raw.item_bytes == npy.bytes);
    read_item(&npy, data + header, size - header);
    return 0;
}
