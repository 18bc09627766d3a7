/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npz.c: any bytes as a zip file: its directory, and its members inflated. Seeds:
 * tests/golden/arrays. */
#include "codec/array/inflate.h"
#include "codec/array/zip_directory.h"

#include <stdlib.h>

enum { MOST_BYTES = 1 << 16, MOST_MEMBERS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void read_member(const uint8_t *data, size_t size, const struct stk__zip_member *m)
{
    static void *state;
    uint64_t offset;
    struct stk_error err;
    if (m->offset > size || size - m->offset < STK__ZIP_LOCAL ||
        stk__zip_data(data + m->offset, m, size, &offset, &err))
        return;
    check(offset <= size && m->stored_bytes <= size - offset);
    if (m->method != STK__ZIP_DEFLATED || m->bytes > MOST_BYTES)
        return;
    if (!state)
        state = malloc(stk__inflate_state_bytes());
    uint8_t *out = malloc((size_t)m->bytes + 1);
    struct stk__inflation job = { STK__INFLATE_RAW,        data + offset,
                                  (size_t)m->stored_bytes, out,
                                  (size_t)m->bytes,        0 };
    if (state && out && !stk__inflate(state, &job))
        check(job.written <= m->bytes);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stk__zip_directory found;
    struct stk__zip_member m;
    struct stk_error err;
    size_t tail = size < STK__ZIP_TAIL ? size : STK__ZIP_TAIL, at = 0;
    if (stk__zip_find(data + size - tail, tail, size, &found, &err))
        return 0;
    check(found.offset <= size && found.bytes <= size - found.offset);
    for (uint64_t i = 0; i < found.n_members && i < MOST_MEMBERS; i++) {
        if (stk__zip_next(data + found.offset, (size_t)found.bytes, &at, &m, &err))
            return 0;
        check(at <= found.bytes);
        read_member(data, size, &m);
    }
    return 0;
}
