/* SPDX-License-Identifier: Apache-2.0 */
/* tar_header.c: headers of tar archives. */
#define _GNU_SOURCE
#include "codec/record/tar_header.h"

#include <string.h>

/* Where fields of a header begin, and how long they are. */
enum {
    NAME = 0,
    NAME_BYTES = 100,
    SIZE = 124,
    SIZE_BYTES = 12,
    CHECKSUM = 148,
    CHECKSUM_BYTES = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_BYTES = 155,
    GNU_IS_EXTENDED = 482, /* in the header of a sparse member: a block of its map follows */
    MAP_IS_EXTENDED = 504, /* in such a block: another one follows */
};

static bool is_zero(const uint8_t *block)
{
    return !block[0] && !memcmp(block, block + 1, STK__TAR_BLOCK - 1);
}

/* Octal digits with spaces and NULs around them, or GNU's base 256. */
static bool read_number(const uint8_t *at, int bytes, uint64_t *out)
{
    int i = 0;
    *out = 0;
    if (at[0] & 0x80) {
        for (*out = at[0] & 0x7f, i = 1; i < bytes; i++) {
            if (*out >> 55)
                return false;
            *out = *out << 8 | at[i];
        }
        return true;
    }
    while (i < bytes && at[i] == ' ')
        i++;
    int first = i;
    for (; i < bytes && at[i] >= '0' && at[i] <= '7'; i++)
        *out = *out << 3 | (uint64_t)(at[i] - '0');
    bool has_digits = i > first;
    for (; i < bytes; i++)
        if (at[i] && at[i] != ' ')
            return false;
    return has_digits;
}

bool stk__tar_is_header(const uint8_t *block)
{
    uint64_t said;
    int64_t unsigned_sum = CHECKSUM_BYTES * ' '; /* its own bytes count as spaces */
    int64_t signed_sum = unsigned_sum;           /* as some old programs computed it */
    if (!read_number(block + CHECKSUM, CHECKSUM_BYTES, &said))
        return false;
    for (int i = 0; i < STK__TAR_BLOCK; i++) {
        unsigned_sum += block[i];
        signed_sum += (int8_t)block[i];
    }
    for (int i = CHECKSUM; i < CHECKSUM + CHECKSUM_BYTES; i++) {
        unsigned_sum -= block[i];
        signed_sum -= (int8_t)block[i];
    }
    return (int64_t)said == unsigned_sum || (int64_t)said == signed_sum;
}

static size_t text_bytes(const uint8_t *text, size_t most)
{
    const uint8_t *end = memchr(text, 0, most);
    return end ? (size_t)(end - text) : most;
}

/* What headers before the one of a member say of it. */
struct extension {
    const uint8_t *name;
    size_t name_bytes;
    uint64_t size;
    bool has_size;
    bool is_sparse; /* the content is what lies between holes, a map of them before it */
    bool has_sparse_name;
};

static bool is_word(const uint8_t *at, size_t bytes, const char *word)
{
    return bytes == strlen(word) && !memcmp(at, word, bytes);
}

static bool read_decimal(const uint8_t *at, size_t bytes, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] < '0' || at[i] > '9' || *out > UINT64_MAX / 16)
            return false;
        *out = *out * 10 + (uint64_t)(at[i] - '0');
    }
    return bytes > 0;
}

/* One line of a pax header. A sparse member's own name stands apart: its path is made up. */
static bool take_pax(struct extension *out, struct stk_span key, struct stk_span value)
{
    bool is_sparse_name = is_word(key.data, key.bytes, "GNU.sparse.name");
    if (key.bytes > 11 && !memcmp(key.data, "GNU.sparse.", 11))
        out->is_sparse = true;
    if (is_sparse_name || (!out->has_sparse_name && is_word(key.data, key.bytes, "path"))) {
        out->name = value.data;
        out->name_bytes = value.bytes;
        out->has_sparse_name |= is_sparse_name;
    }
    if (!is_word(key.data, key.bytes, "size"))
        return true;
    out->has_size = true;
    return read_decimal(value.data, value.bytes, &out->size);
}

/* Lines of "length key=value\n". */
static bool read_pax(const uint8_t *at, size_t bytes, struct extension *out)
{
    while (bytes) {
        uint64_t line;
        const uint8_t *space = memchr(at, ' ', bytes), *equals;
        if (!space || !read_decimal(at, (size_t)(space - at), &line) || line > bytes ||
            line < (uint64_t)(space - at) + 2 || at[line - 1] != '\n')
            return false;
        size_t left = (size_t)line - (size_t)(space - at) - 2;
        const uint8_t *key = space + 1;
        if (!(equals = memchr(key, '=', left)))
            return false;
        size_t key_bytes = (size_t)(equals - key), value_bytes = left - key_bytes - 1;
        if (!take_pax(out, (struct stk_span){ (uint8_t *)(uintptr_t)key, key_bytes, NULL },
                      (struct stk_span){ (uint8_t *)(uintptr_t)equals + 1, value_bytes, NULL }))
            return false;
        at += line;
        bytes -= (size_t)line;
    }
    return true;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + STK__TAR_BLOCK - 1) / STK__TAR_BLOCK * STK__TAR_BLOCK;
}

/* POSIX headers may have the front of a long name apart. */
static void set_name(const uint8_t *header, const struct extension *e, struct stk__tar_member *out)
{
    out->name = e->name ? e->name : header + NAME;
    out->name_bytes = e->name ? e->name_bytes : text_bytes(header + NAME, NAME_BYTES);
    size_t prefix = text_bytes(header + PREFIX, PREFIX_BYTES);
    if (e->name || !prefix || memcmp(header + MAGIC, "ustar", 6))
        return;
    memcpy(out->joined, header + PREFIX, prefix);
    out->joined[prefix] = '/';
    memcpy(out->joined + prefix + 1, out->name, out->name_bytes);
    out->name = out->joined;
    out->name_bytes += prefix + 1;
}

/* Blocks between the header of an old sparse member of GNU tar and its content: more of its map.
 * False: they are not all there. */
static bool count_map_blocks(const uint8_t *header, uint64_t bytes, uint64_t *n)
{
    bool is_extended = header[GNU_IS_EXTENDED];
    for (*n = 0; is_extended; ++*n) {
        if (bytes / STK__TAR_BLOCK < *n + 2)
            return false;
        is_extended = header[(*n + 1) * STK__TAR_BLOCK + MAP_IS_EXTENDED];
    }
    return true;
}

static int set_member(const uint8_t *header, uint64_t bytes, uint64_t before,
                      const struct extension *e, struct stk__tar_member *out, struct stk_error *err)
{
    uint64_t size, n_map_blocks = 0;
    if (!read_number(header + SIZE, SIZE_BYTES, &size))
        return stk_fail(err, STK_DATA, "the size in a tar header is no number");
    size = e->has_size ? e->size : size;
    char type = (char)header[TYPE];
    if (type == 'S' && !count_map_blocks(header, bytes, &n_map_blocks))
        return bytes < STK__TAR_MOST_HEADERS
                   ? STK_AGAIN
                   : stk_fail(err, STK_DATA, "a tar member has too many headers");
    bool has_data = type == '0' || type == 0 || type == '7' || type == 'S';
    bool is_bare = type >= '1' && type <= '6'; /* links, devices, directories */
    size = is_bare ? 0 : size;
    if (size > (uint64_t)1 << 62)
        return stk_fail(err, STK_DATA, "a tar member is said to have %llu bytes",
                        (unsigned long long)size);
    set_name(header, e, out);
    out->is_file = has_data;
    out->is_sparse = has_data && (type == 'S' || e->is_sparse);
    out->data = before + (1 + n_map_blocks) * STK__TAR_BLOCK;
    out->size = size;
    out->total = out->data + padded(size);
    return STK_OK;
}

/* A header that says something of the next: its body is text. STK_AGAIN if that is not there. */
static int read_extension(const uint8_t *header, uint64_t bytes, struct extension *e,
                          uint64_t *total, struct stk_error *err)
{
    uint64_t size;
    if (!read_number(header + SIZE, SIZE_BYTES, &size) || size > STK__TAR_MOST_HEADERS)
        return stk_fail(err, STK_DATA, "a tar header for a long name is too large");
    *total = STK__TAR_BLOCK + padded(size);
    if (bytes < *total)
        return STK_AGAIN;
    const uint8_t *body = header + STK__TAR_BLOCK;
    if (header[TYPE] == 'L') {
        e->name = body;
        e->name_bytes = text_bytes(body, (size_t)size);
    } else if (header[TYPE] == 'x' && !read_pax(body, (size_t)size, e)) {
        return stk_fail(err, STK_DATA, "a pax header is damaged");
    }
    return STK_OK;
}

int stk__tar_parse(const uint8_t *at, uint64_t bytes, struct stk__tar_member *out,
                   struct stk_error *err)
{
    struct extension e = { 0 };
    uint64_t before = 0;
    for (;;) {
        const uint8_t *header = at + before;
        if (bytes - before < STK__TAR_BLOCK)
            return STK_AGAIN;
        if (!stk__tar_is_header(header))
            return is_zero(header) && !before
                       ? STK_END
                       : stk_fail(err, STK_DATA, "the checksum of a tar header is wrong");
        if (!strchr("xgLK", header[TYPE]) || !header[TYPE])
            return set_member(header, bytes - before, before, &e, out, err);
        uint64_t total = 0;
        int code = read_extension(header, bytes - before, &e, &total, err);
        if (code)
            return code;
        before += total;
        if (before > STK__TAR_MOST_HEADERS)
            return stk_fail(err, STK_DATA, "a tar member has too many headers");
    }
}

/* ---- samples ---- */

static bool is_meta(const uint8_t *name, size_t bytes)
{
    return bytes >= 4 && !memcmp(name, "__", 2) && !memcmp(name + bytes - 2, "__", 2);
}

bool stk__tar_split(const struct stk__tar_member *member, struct stk__tar_name *out)
{
    const uint8_t *name = member->name, *end = name + member->name_bytes;
    const uint8_t *slash = memrchr(name, '/', member->name_bytes);
    const uint8_t *base = slash ? slash + 1 : name;
    const uint8_t *dot = memchr(base, '.', (size_t)(end - base));
    if (!member->is_file || !dot || is_meta(base, (size_t)(end - base)))
        return false;
    *out = (struct stk__tar_name){ name, dot + 1, (size_t)(dot - name), (size_t)(end - dot - 1) };
    return true;
}
