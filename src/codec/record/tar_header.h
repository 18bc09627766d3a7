/* SPDX-License-Identifier: Apache-2.0 */
/* tar_header.h: members of tar archives (ustar, GNU, pax) and how WebDataset names samples.
 *
 *     [pax or GNU headers of the next member] header (512) data, padded to 512 … two blocks of zeros
 */
#pragma once
#include <stoker/op.h>

enum { STK__TAR_BLOCK = 512, STK__TAR_MOST_HEADERS = 1 << 20 };

struct stk__tar_member {
    /* Not terminated; in the bytes that were parsed, or in `joined`, so a member is not copied. */
    const uint8_t *name;
    size_t name_bytes;
    uint8_t joined[256]; /* a name that the header has in two pieces */
    bool is_file;
    bool is_sparse; /* of GNU tar: the data are a map of holes and what lies between them */
    uint64_t data;  /* behind the first of its headers */
    uint64_t size;
    uint64_t total; /* headers, data and padding */
};

/* The member whose first header is at `at`; its data need not be there. STK_OK; STK_END at a block
 * of zeros; STK_AGAIN if more bytes are needed; STK_DATA with the cause. */
int stk__tar_parse(const uint8_t *at, uint64_t bytes, struct stk__tar_member *out,
                   struct stk_error *err);

/* True if the block is a header whose checksum is right. */
bool stk__tar_is_header(const uint8_t *block);

/* A sample's members share the name up to the first dot behind the last slash; what follows that
 * dot says which of them it is. */
struct stk__tar_name {
    const uint8_t *key, *extension;
    size_t key_bytes, extension_bytes;
};

/* False for what is no part of a sample: no regular file, no dot, or a name such as `__meta__`. */
bool stk__tar_split(const struct stk__tar_member *member, struct stk__tar_name *out);
