/* SPDX-License-Identifier: Apache-2.0 */
/* zip_directory.h: the directory of a zip file, as npz files have it. The caller reads the bytes:
 *
 *     … | member | member | … | directory | [zip64 end | locator] | end [comment]
 *
 * first the tail, which says where the directory is, then the directory, then the 30 bytes before
 * a member, which say where its data begins. */
#pragma once
#include <stoker/op.h>

enum {
    STK__ZIP_TAIL = 65536 + 22 + 20 + 56 + 64, /* bytes at the end that hold the ends */
    STK__ZIP_LOCAL = 30,
    STK__ZIP_STORED = 0,
    STK__ZIP_DEFLATED = 8,
};

struct stk__zip_directory {
    uint64_t offset, bytes, n_members;
};

struct stk__zip_member {
    const char *name; /* in the directory's bytes, not terminated */
    size_t name_len;
    uint64_t offset, stored_bytes, bytes; /* of its local header; of its data */
    uint32_t crc;
    uint16_t method;
    bool is_encrypted;
};

/* From the last n bytes of a file (STK__ZIP_TAIL, or all of a shorter one). */
int stk__zip_find(const uint8_t *tail, size_t n, uint64_t file_bytes,
                  struct stk__zip_directory *out, struct stk_error *err);

/* The member at *at, which moves on. */
int stk__zip_next(const uint8_t *directory, size_t n, size_t *at, struct stk__zip_member *out,
                  struct stk_error *err);

/* Where a member's data begins, from the STK__ZIP_LOCAL bytes at its offset. */
int stk__zip_data(const uint8_t *local, const struct stk__zip_member *member, uint64_t file_bytes,
                  uint64_t *offset, struct stk_error *err);
