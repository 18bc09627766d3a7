/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tar_cut.c: archives as the input says, whose samples are found at random and cut out of a
 * stream: the same ones where nothing is damaged, and the same for every step of the stream.
 *
 * Input: a byte for the step of the stream, then members: kind, length of the name, length of the
 * content, name, content. */
#include "base/hash.h"
#include "base/rows/chunk.h"
#include "cut_records.h"
#include "op/source/tar_sample.h"

#include <stdio.h>

enum { MOST_MEMBERS = 6, MOST_BYTES = MOST_MEMBERS * 2 * STK__TAR_BLOCK, MOST_SAMPLES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct archive {
    uint8_t bytes[MOST_BYTES];
    size_t n;
};

static void put_checksum(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < STK__TAR_BLOCK; i++)
        sum += header[i];
    snprintf((char *)header + 148, 7, "%06o", sum);
}

/* One member; its kind says what is odd about it. */
static void put_member(struct archive *a, uint8_t kind, struct stk_span name,
                       struct stk_span content)
{
    static const char types[8] = { '0', '0', '0', 'x', 'L', '5', 0, 'S' };
    uint8_t *header = a->bytes + a->n;
    size_t padded = (content.bytes + STK__TAR_BLOCK - 1) / STK__TAR_BLOCK * STK__TAR_BLOCK;
    memset(header, 0, STK__TAR_BLOCK + padded);
    memcpy(header, name.data, name.bytes);
    memcpy(header + 257, "ustar", 6);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)content.bytes);
    header[156] = (uint8_t)types[kind % 8];
    if (kind / 8 % 8 == 1) /* a size of the input's, or a name in two pieces */
        memcpy(header + 124, content.data, content.bytes < 12 ? content.bytes : 12);
    if (kind / 8 % 8 == 2)
        memcpy(header + 345, content.data, content.bytes < 100 ? content.bytes : 100);
    if (kind / 8 % 8 == 3)
        header[156] = content.bytes ? content.data[0] : 0;
    put_checksum(header);
    if (kind / 8 % 8 == 4)
        header[5] ^= 1;
    if (kind / 8 % 8 == 5)
        memset(header, 0, STK__TAR_BLOCK);
    if (content.bytes)
        memcpy(header + STK__TAR_BLOCK, content.data, content.bytes);
    a->n += STK__TAR_BLOCK + padded;
}

static void make_archive(struct archive *a, const uint8_t *data, size_t size)
{
    int n_members = 0;
    a->n = 0;
    for (size_t at = 0; at + 3 <= size && n_members < MOST_MEMBERS; n_members++) {
        size_t left = size - at - 3, name = data[at + 1] % 100, content = data[at + 2];
        name = name < left ? name : left;
        content = content < left - name ? content : left - name;
        uint8_t *text = (uint8_t *)(uintptr_t)(data + at + 3);
        put_member(a, data[at], (struct stk_span){ text, name, NULL },
                   (struct stk_span){ text + name, content, NULL });
        at += 3 + name + content;
    }
}

/* What the samples hold, those that are good. */
struct samples {
    const struct cutting *how;
    const struct archive *archive;
    uint64_t hash[MOST_SAMPLES];
    int n;
    struct stk__chunk *row;
};

static void take(void *ctx, size_t at, size_t bytes)
{
    static struct stk__pool *pool;
    struct samples *s = ctx;
    struct stk_error err;
    if (!pool) {
        pool = stk__pool_new();
        must(pool != NULL);
        stk__pool_limit(pool, 0); /* what is given back is gone, as the sanitizer wants it */
    }
    struct stk_buffer *buffer = stk__buffer_new(pool, bytes);
    must(buffer && s->n < MOST_SAMPLES);
    memcpy(buffer->data, s->archive->bytes + at, bytes);
    struct stk_span record = { buffer->data, bytes, buffer };
    int code = s->how->cutter->write(s->how->context, record, s->row, &err);
    must(!code || (code == STK_DATA && *err.text));
    for (int f = 0; f < 2 && !code; f++) {
        struct stk_span *span = &s->row->column[f].span[0];
        must(span->data >= buffer->data && span->bytes <= bytes &&
             span->data + span->bytes <= buffer->data + bytes);
        s->hash[s->n] = stk__hash_bytes(f ? s->hash[s->n] : 0, span->data, span->bytes);
    }
    s->n += !code;
    stk__spans_drop(s->row->column[0].span, 1);
    stk__spans_drop(s->row->column[1].span, 1);
    stk__buffer_unref(buffer);
}

static void scan_all(struct samples *s)
{
    struct stk__record_index *index = scan_memory(stk__tar_scan, s->archive->bytes, s->archive->n);
    uint64_t end = 0;
    for (uint64_t i = 0; index && i < stk__record_index_count(index); i++) {
        struct stk__file_place place;
        stk__record_index_at(index, i, &place);
        must(place.offset >= end && place.bytes && place.offset <= s->archive->n &&
             place.bytes <= s->archive->n - place.offset);
        end = place.offset + place.bytes;
        take(s, (size_t)place.offset, (size_t)place.bytes);
    }
    stk__record_index_free(index);
}

static bool is_same(const struct samples *a, const struct samples *b)
{
    return a->n == b->n && !memcmp(a->hash, b->hash, (size_t)a->n * sizeof *a->hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct stk_type type = {
        2, { { .name = "k", .kind = STK_BYTES }, { .name = "a", .kind = STK_BYTES } }
    };
    static struct cutting how;
    static struct stk__chunk *row;
    static struct archive archive;
    if (!size)
        return 0;
    if (!how.cutter) {
        how = open_cutting("tar('/dev/null', {k: '__key__', a: 'a;jpg'})");
        row = stk__chunk_new(&type, 1, 0);
        must(row != NULL);
    }
    make_archive(&archive, data + 1, size - 1);
    struct samples at_once = { &how, &archive, { 0 }, 0, row }, in_steps = at_once, found = at_once;
    struct stk_span bytes = { archive.bytes, archive.n, NULL };
    bool is_clean = cut_all(&how, bytes, archive.n + 1, take, &at_once);
    must(cut_all(&how, bytes, 300 + data[0] * 61u, take, &in_steps) == is_clean);
    must(is_same(&at_once, &in_steps));
    scan_all(&found);
    must(!is_clean || is_same(&at_once, &found));
    return 0;
}
