/* SPDX-License-Identifier: Apache-2.0 */
/* zip_directory.c: the directory of a zip file, with the 64-bit extension. */
#include "codec/array/zip_directory.h"

#include <inttypes.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, ENTRY_BYTES = 46 };
enum { END = 0x06054b50, LOCATOR = 0x07064b50, END64 = 0x06064b50, ENTRY = 0x02014b50 };
enum { LOCAL = 0x04034b50, EXTRA_64 = 1 };

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const uint8_t *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* The last end record whose comment fills the rest of the file. */
static const uint8_t *find_end(const uint8_t *tail, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (n - i >= END_BYTES && u32(tail + i) == END && u16(tail + i + 20) == n - i - END_BYTES)
            return tail + i;
    return NULL;
}

/* Files above 4 GiB, or with more than 65535 members, say so in a larger record. */
static int read_end64(const uint8_t *tail, const uint8_t *end, uint64_t tail_offset,
                      struct stk__zip_directory *out, struct stk_error *err)
{
    const uint8_t *locator = end - LOCATOR_BYTES;
    uint64_t at = u64(locator + 8);
    if (at < tail_offset || at - tail_offset > (uint64_t)(locator - tail) ||
        (uint64_t)(locator - tail) - (at - tail_offset) < END64_BYTES ||
        u32(tail + (at - tail_offset)) != END64)
        return stk_fail(err, STK_DATA, "the 64-bit end of the zip file is not where it should be");
    const uint8_t *end64 = tail + (at - tail_offset);
    *out = (struct stk__zip_directory){ u64(end64 + 48), u64(end64 + 40), u64(end64 + 32) };
    return STK_OK;
}

int stk__zip_find(const uint8_t *tail, size_t n, uint64_t file_bytes,
                  struct stk__zip_directory *out, struct stk_error *err)
{
    const uint8_t *end = find_end(tail, n);
    if (!end)
        return stk_fail(err, STK_DATA,
                        "this is no zip file, or one that was cut off: it has no end record");
    *out = (struct stk__zip_directory){ u32(end + 16), u32(end + 12), u16(end + 10) };
    int code = STK_OK;
    if (end - tail >= LOCATOR_BYTES && u32(end - LOCATOR_BYTES) == LOCATOR)
        code = read_end64(tail, end, file_bytes - n, out, err);
    if (code)
        return code;
    if (out->offset > file_bytes || out->bytes > file_bytes - out->offset)
        return stk_fail(err, STK_DATA,
                        "the directory of the zip file is said to lie at byte %" PRIu64
                        ", outside of it",
                        out->offset);
    if (out->n_members > out->bytes / ENTRY_BYTES)
        return stk_fail(err, STK_DATA,
                        "the directory of the zip file is too short for %" PRIu64 " members",
                        out->n_members);
    return STK_OK;
}

/* Sizes and offsets of 0xffffffff are in the extra field instead, in this order. */
static bool read_extra(const uint8_t *extra, size_t n, struct stk__zip_member *m)
{
    uint64_t *wanted[] = { &m->bytes, &m->stored_bytes, &m->offset };
    while (n >= 4) {
        size_t len = u16(extra + 2);
        if (len > n - 4)
            return false;
        if (u16(extra) == EXTRA_64) {
            const uint8_t *at = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*wanted[i] != UINT32_MAX)
                    continue;
                if (len < 8)
                    return false;
                *wanted[i] = u64(at);
                at += 8;
                len -= 8;
            }
            return true;
        }
        extra += 4 + len;
        n -= 4 + len;
    }
    return true;
}

int stk__zip_next(const uint8_t *directory, size_t n, size_t *at, struct stk__zip_member *out,
                  struct stk_error *err)
{
    const uint8_t *p = directory + *at;
    size_t left = n - *at;
    if (left < ENTRY_BYTES || u32(p) != ENTRY)
        return stk_fail(err, STK_DATA, "the directory of the zip file is damaged at its byte %zu",
                        *at);
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    if (left - ENTRY_BYTES < name + extra + comment)
        return stk_fail(err, STK_DATA, "the directory of the zip file ends within a member");
    *out = (struct stk__zip_member){ .name = (const char *)p + ENTRY_BYTES,
                                     .name_len = name,
                                     .offset = u32(p + 42),
                                     .stored_bytes = u32(p + 20),
                                     .bytes = u32(p + 24),
                                     .crc = u32(p + 16),
                                     .method = u16(p + 10),
                                     .is_encrypted = p[8] & 1 };
    if (!read_extra(p + ENTRY_BYTES + name, extra, out))
        return stk_fail(err, STK_DATA, "member '%.*s' of the zip file has a damaged extra field",
                        (int)(name < 100 ? name : 100), out->name);
    *at += ENTRY_BYTES + name + extra + comment;
    return STK_OK;
}

int stk__zip_data(const uint8_t *local, const struct stk__zip_member *member, uint64_t file_bytes,
                  uint64_t *offset, struct stk_error *err)
{
    int len = (int)(member->name_len < 100 ? member->name_len : 100);
    uint64_t before = STK__ZIP_LOCAL + (uint64_t)u16(local + 26) + u16(local + 28);
    if (u32(local) != LOCAL || u16(local + 8) != member->method)
        return stk_fail(err, STK_DATA,
                        "member '%.*s' of the zip file does not begin at byte %" PRIu64
                        ", where the directory says",
                        len, member->name, member->offset);
    if (before > file_bytes - member->offset ||
        member->stored_bytes > file_bytes - member->offset - before)
        return stk_fail(err, STK_DATA, "member '%.*s' of the zip file reaches beyond its end", len,
                        member->name);
    *offset = member->offset + before;
    return STK_OK;
}
