/* SPDX-License-Identifier: Apache-2.0 */
/* tar_sample.h: samples of WebDataset archives: members that follow one another and share a key. */
#pragma once
#include "codec/record/tar_header.h"
#include "io/record_files.h"

/* The key of a sample that is being passed over. */
struct stk__tar_key {
    uint8_t *text;
    size_t bytes, cap;
    bool is_set;
};

/* True if the member belongs to the sample with this key; sets the key if none is set. *code is
 * STK_MEMORY when it could not be kept. */
bool stk__tar_key_takes(struct stk__tar_key *key, const struct stk__tar_name *name, int *code);
void stk__tar_key_free(struct stk__tar_key *key);

/* A stk__scan_fn: where samples begin. A damaged header and what follows it, up to a good one, is a
 * sample too, so that it is reported, and skipped, in its place. */
int stk__tar_scan(const void *context, struct stk__data_files *files, size_t file,
                  struct stk__record_index *out, struct stk_error *err);
