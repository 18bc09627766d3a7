/* SPDX-License-Identifier: Apache-2.0 */
/* tar_sample.c: from header to header. */
#include "op/source/tar_sample.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 << 10, LARGE = 16 << 10 };

bool stk__tar_key_takes(struct stk__tar_key *key, const struct stk__tar_name *name, int *code)
{
    *code = STK_OK;
    if (key->is_set)
        return key->bytes == name->key_bytes && !memcmp(key->text, name->key, key->bytes);
    if (name->key_bytes > key->cap || !key->text) {
        uint8_t *text = realloc(key->text, name->key_bytes + 64);
        if (!text) {
            *code = STK_MEMORY;
            return false;
        }
        key->text = text;
        key->cap = name->key_bytes + 64;
    }
    memcpy(key->text, name->key, name->key_bytes);
    key->bytes = name->key_bytes;
    key->is_set = true;
    return true;
}

void stk__tar_key_free(struct stk__tar_key *key)
{
    free(key->text);
}

struct scanner {
    struct stk__data_files *files;
    size_t file;
    uint64_t bytes;
    uint8_t *window;
    uint64_t from, to; /* of the file, in the window */
    size_t cap;
    struct stk__tar_key key;
    struct stk_error *err;
};

/* Makes the window hold n bytes from offset, or up to the end of the file. */
static int look(struct scanner *s, uint64_t offset, uint64_t n)
{
    uint64_t left = s->bytes - offset;
    n = n < left ? n : left;
    if (offset >= s->from && offset + n <= s->to)
        return STK_OK;
    if (n > s->cap) {
        uint8_t *window = realloc(s->window, n);
        if (!window)
            return stk__out_of_memory(s->err);
        s->window = window;
        s->cap = n;
    }
    const struct stk__file_place place = { offset, n, (uint32_t)s->file };
    s->from = s->to = 0;
    int code = stk__data_file_read(s->files, place, s->window, s->err);
    if (code)
        stk__error_prefix(s->err, "'%s': ", s->files->item[s->file].path);
    s->from = offset;
    s->to = code ? offset : offset + n;
    return code;
}

/* The member at offset. STK_DATA: no good header, or not all of the member is there. */
static int member_at(struct scanner *s, uint64_t offset, uint64_t likely,
                     struct stk__tar_member *member)
{
    struct stk_error damage;
    for (uint64_t n = likely;; n *= 4) {
        int code = look(s, offset, n);
        if (code)
            return code;
        code = stk__tar_parse(s->window + (offset - s->from), s->to - offset, member, &damage);
        if (!code && member->data + member->size > s->bytes - offset)
            return STK_DATA;
        if (code != STK_AGAIN)
            return code;
        if (s->to == s->bytes)
            return STK_DATA;
    }
}

/* Where the next good header is, or the end of the file. */
static int find_header(struct scanner *s, uint64_t *offset)
{
    for (; s->bytes - *offset >= STK__TAR_BLOCK; *offset += STK__TAR_BLOCK) {
        if (*offset + STK__TAR_BLOCK > s->to || *offset < s->from) {
            int code = look(s, *offset, WINDOW);
            if (code)
                return code;
        }
        if (stk__tar_is_header(s->window + (*offset - s->from)))
            return STK_OK;
    }
    *offset = s->bytes;
    return STK_OK;
}

static int begin_sample(struct scanner *s, struct stk__record_index *out, uint64_t offset)
{
    return stk__record_index_add(out, offset) ? stk__out_of_memory(s->err) : STK_OK;
}

/* A member of the sample that is open, or the first of a new one. */
static int add_member(struct scanner *s, struct stk__record_index *out, uint64_t offset,
                      const struct stk__tar_member *member)
{
    struct stk__tar_name name;
    int code;
    if (!stk__tar_split(member, &name))
        return STK_OK;
    bool is_open = s->key.is_set;
    if (is_open && stk__tar_key_takes(&s->key, &name, &code))
        return STK_OK;
    s->key.is_set = false;
    if (!stk__tar_key_takes(&s->key, &name, &code))
        return stk__out_of_memory(s->err);
    return begin_sample(s, out, offset);
}

static int scan(struct scanner *s, struct stk__record_index *out)
{
    uint64_t offset = 0, likely = WINDOW, n_good = 0;
    int code = STK_OK;
    while (offset < s->bytes && !code) {
        struct stk__tar_member member;
        code = member_at(s, offset, likely, &member);
        if (code == STK_DATA) {
            s->key.is_set = false;
            code = begin_sample(s, out, offset);
            offset += STK__TAR_BLOCK < s->bytes - offset ? STK__TAR_BLOCK : s->bytes - offset;
            if (!code)
                code = find_header(s, &offset);
        } else if (!code) {
            code = add_member(s, out, offset, &member);
            uint64_t left = s->bytes - offset; /* the last member need not be padded */
            offset += member.total < left ? member.total : left;
            likely = member.total > LARGE ? 2 * STK__TAR_BLOCK : WINDOW;
            n_good++;
        }
    }
    if (code && code != STK_END)
        return code;
    if (stk__record_index_close(out, offset))
        return stk__out_of_memory(s->err);
    if (s->bytes && !n_good && !(code == STK_END && offset == 0))
        return stk_fail(s->err, STK_DATA, "'%s' is no tar archive: it has no good header",
                        s->files->item[s->file].path);
    return STK_OK;
}

int stk__tar_scan(const void *context, struct stk__data_files *files, size_t file,
                  struct stk__record_index *out, struct stk_error *err)
{
    struct scanner s = {
        .files = files, .file = file, .bytes = files->item[file].bytes, .err = err
    };
    (void)context;
    int code = scan(&s, out);
    stk__tar_key_free(&s.key);
    free(s.window);
    return code;
}
