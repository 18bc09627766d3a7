/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: four lanes of xor, rotate and multiply, 32 bytes a step.
 *
 * Each step is a bijection of its lane for given data and of the data for a given lane, so two
 * streams that differ in one word never meet in that step. Lanes, tail and length are folded
 * together at the end.
 */
#include "digest.h"

#include <string.h>

enum { BLOCK = 32 };

static const uint64_t prime = 0x9fb21c651e98df25u;

static uint64_t load(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t step(uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * prime;
}

static uint64_t fold(uint64_t hash, uint64_t word)
{
    hash = step(hash, word);
    return hash ^ hash >> 32;
}

void cli_digest_begin(struct cli_digest *digest)
{
    *digest = (struct cli_digest){
        .lane = { 0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u,
                  0x082efa98ec4e6c89u },
        .epoch = UINT64_MAX,
    };
}

static void add_blocks(struct cli_digest *digest, const unsigned char *p, size_t n_blocks)
{
    uint64_t a = digest->lane[0], b = digest->lane[1], c = digest->lane[2], d = digest->lane[3];
    for (; n_blocks; n_blocks--, p += BLOCK) {
        a = step(a, load(p));
        b = step(b, load(p + 8));
        c = step(c, load(p + 16));
        d = step(d, load(p + 24));
    }
    digest->lane[0] = a, digest->lane[1] = b, digest->lane[2] = c, digest->lane[3] = d;
}

void cli_digest_add(struct cli_digest *digest, const void *data, size_t n_bytes)
{
    const unsigned char *p = data;
    size_t held = digest->n_bytes % BLOCK;
    if (!n_bytes)
        return;
    digest->n_bytes += n_bytes;
    if (held) {
        size_t n = n_bytes < BLOCK - held ? n_bytes : BLOCK - held;
        memcpy(digest->carry + held, p, n);
        p += n, n_bytes -= n;
        if (held + n < BLOCK)
            return;
        add_blocks(digest, digest->carry, 1);
    }
    add_blocks(digest, p, n_bytes / BLOCK);
    memcpy(digest->carry, p + n_bytes / BLOCK * BLOCK, n_bytes % BLOCK);
}

static void add_word(struct cli_digest *digest, uint64_t word)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> 8 * i);
    cli_digest_add(digest, bytes, sizeof bytes);
}

/* Values in row-major order whatever the strides: dimensions from n_outer on lie in one run of
 * run_bytes. */
static void add_values(struct cli_digest *digest, const struct stk_view *view, int dim, int n_outer,
                       const char *p)
{
    if (dim == n_outer) {
        size_t run_bytes = stk_dtype_bytes(view->dtype);
        for (int d = n_outer; d < view->rank; d++)
            run_bytes *= (size_t)view->shape[d];
        cli_digest_add(digest, p, run_bytes);
        return;
    }
    for (int64_t i = 0; i < view->shape[dim]; i++)
        add_values(digest, view, dim + 1, n_outer, p + i * view->strides[dim]);
}

static int count_outer(const struct stk_view *view)
{
    int64_t run = (int64_t)stk_dtype_bytes(view->dtype);
    int n = view->rank;
    for (; n > 0 && (view->shape[n - 1] == 1 || view->strides[n - 1] == run); n--)
        run *= view->shape[n - 1];
    return n;
}

static void add_view(struct cli_digest *digest, const struct stk_view *view)
{
    size_t name_len = strlen(view->name);
    add_word(digest, name_len);
    cli_digest_add(digest, view->name, name_len);
    add_word(digest,
             (uint64_t)view->kind << 32 | (uint64_t)view->dtype << 16 | (uint64_t)view->rank);
    for (int d = 0; d < view->rank; d++)
        add_word(digest, (uint64_t)view->shape[d]);
    int64_t n_splits = view->splits ? view->n_splits : 0;
    add_word(digest, (uint64_t)n_splits);
    for (int64_t i = 1; i < n_splits; i++)
        add_word(digest, (uint64_t)(view->splits[i] - view->splits[i - 1]));
    if (view->row_splits)
        add_word(digest, (uint64_t)view->n_row_splits);
    for (int64_t i = 1; i < view->n_row_splits; i++)
        add_word(digest, (uint64_t)(view->row_splits[i] - view->row_splits[i - 1]));
    for (int d = 0; d < view->row_rank; d++)
        add_word(digest, (uint64_t)view->row_shape[d]);
    if (view->kind != STK_BYTES)
        add_values(digest, view, 0, count_outer(view), view->data);
    else if (n_splits > 1)
        cli_digest_add(digest, (const char *)view->data + view->splits[0],
                       (size_t)(view->splits[n_splits - 1] - view->splits[0]));
}

void cli_digest_batch(struct cli_digest *digest, const struct stk_batch *batch)
{
    struct stk_position position;
    stk_batch_position(batch, &position);
    if (position.epoch != digest->epoch) {
        digest->epoch = position.epoch;
        add_word(digest, UINT64_MAX);
        add_word(digest, position.epoch);
    }
    add_word(digest, (uint64_t)stk_batch_n_rows(batch));
    int n_fields = stk_batch_n_fields(batch);
    add_word(digest, (uint64_t)n_fields);
    for (int i = 0; i < n_fields; i++) {
        struct stk_view view;
        if (stk_batch_view_at(batch, i, &view) == STK_OK)
            add_view(digest, &view);
    }
}

uint64_t cli_digest_end(const struct cli_digest *digest)
{
    unsigned char tail[BLOCK] = { 0 };
    memcpy(tail, digest->carry, digest->n_bytes % BLOCK);
    uint64_t hash = digest->n_bytes;
    for (int i = 0; i < BLOCK; i += 8)
        hash = fold(hash, load(tail + i));
    for (int i = 0; i < 4; i++)
        hash = fold(hash, digest->lane[i]);
    hash = fold(hash, 0);
    return fold(hash, 0);
}
