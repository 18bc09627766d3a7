/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h: one 64-bit hash over everything a run delivered. Not for cryptography. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stoker/stoker.h>

struct cli_digest {
    uint64_t lane[4];
    uint64_t n_bytes;
    unsigned char carry[32]; /* the last n_bytes % 32 */
    uint64_t epoch;
};

void cli_digest_begin(struct cli_digest *digest);

/* Any split of the same bytes into calls gives the same digest. */
void cli_digest_add(struct cli_digest *digest, const void *data, size_t n_bytes);

/* Rows, and each field's name, dtype, shape, splits and values; a mark where an epoch begins. */
void cli_digest_batch(struct cli_digest *digest, const struct stk_batch *batch);

uint64_t cli_digest_end(const struct cli_digest *digest);
