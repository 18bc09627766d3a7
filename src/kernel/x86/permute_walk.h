/* SPDX-License-Identifier: Apache-2.0 */
/* permute_walk.h: cycle walking for vector versions of permute.
 *
 * A vector that waits for its slowest lane would redo all of them. So a block is encrypted once
 * from end to end; the positions that came out above count are gathered, encrypted again as a
 * dense array, and put back, until none is left. Each pass shrinks the rest by at least about a
 * half.
 */
#pragma once
#include "kernel/permute.h"

#include <string.h>

enum { STK__WALK_BLOCK = 1024, STK__WALK_LANES = 32 };

/* Encrypts n positions, a multiple of STK__WALK_LANES, in place. */
typedef void (*stk__encrypt_fn)(const struct stk__cipher *cipher, uint64_t *position, int n);

static inline int stk__walk_round_up(int n)
{
    return (n + STK__WALK_LANES - 1) / STK__WALK_LANES * STK__WALK_LANES;
}

static inline void stk__walk_block(const struct stk__cipher *cipher, stk__encrypt_fn encrypt,
                                   uint64_t *position, int n, uint64_t count)
{
    uint64_t again[STK__WALK_BLOCK];
    uint16_t place[STK__WALK_BLOCK];
    int n_again = 0;
    for (int i = 0; i < n; i++) {
        place[n_again] = (uint16_t)i;
        n_again += position[i] >= count;
    }
    while (n_again) {
        int n_all = n_again, padded = stk__walk_round_up(n_again);
        for (int i = 0; i < padded; i++)
            again[i] = i < n_all ? position[place[i]] : 0;
        encrypt(cipher, again, padded);
        n_again = 0;
        for (int i = 0; i < n_all; i++) {
            uint16_t at = place[i];
            position[at] = again[i];
            place[n_again] = at;
            n_again += again[i] >= count;
        }
    }
}

static inline void stk__walk(stk__encrypt_fn encrypt, uint64_t *position, int n, uint64_t count,
                             uint64_t key)
{
    if (count <= STK__FEW) {
        stk__permute_few(position, n, count, key);
        return;
    }
    struct stk__cipher cipher = stk__cipher_make(count, key);
    for (int at = 0; at < n; at += STK__WALK_BLOCK) {
        int block = n - at < STK__WALK_BLOCK ? n - at : STK__WALK_BLOCK;
        int whole = block / STK__WALK_LANES * STK__WALK_LANES;
        encrypt(&cipher, position + at, whole);
        if (whole < block) {
            uint64_t rest[STK__WALK_LANES] = { 0 };
            size_t rest_bytes = (size_t)(block - whole) * sizeof *rest;
            memcpy(rest, position + at + whole, rest_bytes);
            encrypt(&cipher, rest, STK__WALK_LANES);
            memcpy(position + at + whole, rest, rest_bytes);
        }
        stk__walk_block(&cipher, encrypt, position + at, block, count);
    }
}
