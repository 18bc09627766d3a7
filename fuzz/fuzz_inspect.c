/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_inspect.c: any bytes as the beginning of a file that is looked at: whoever recognises them
 * describes them; what is said is JSON, and what is proposed is a chain.
 *
 * Input: flags, then the bytes: as they are, in a TFRecord, or in a tar archive. */
#include "base/crc32c.h"
#include "base/memory/arena.h"
#include "codec/text/json.h"
#include "lang/lang.h"
#include "look/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct stk__inspector *const inspectors[] = {
    &stk__inspect_image, &stk__inspect_npy, &stk__inspect_npz,
    &stk__inspect_hdf5,  &stk__inspect_tar, &stk__inspect_tfrecord,
    &stk__inspect_jsonl, &stk__inspect_csv, &stk__inspect_text,
};

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

static void put_number(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

/* One record of all the bytes, which are an Example perhaps. */
static size_t make_record(uint8_t *head, const uint8_t *data, size_t n)
{
    put_number(head, n, 8);
    put_number(head + 8, stk__crc32c_mask(stk__crc32c(0, head, 8)), 4);
    memcpy(head + 12, data, n);
    put_number(head + 12 + n, stk__crc32c_mask(stk__crc32c(0, data, n)), 4);
    return n + 16;
}

/* One member whose name is the first bytes. */
static size_t make_member(uint8_t *head, const uint8_t *data, size_t n)
{
    unsigned sum = 0;
    memset(head, 0, 512);
    memcpy(head, data, n < 40 ? n : 40);
    snprintf((char *)head + 124, 12, "%011o", (unsigned)n);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    for (int i = 0; i < 512; i++)
        sum += head[i];
    snprintf((char *)head + 148, 7, "%06o", sum);
    memcpy(head + 512, data, n);
    return 512 + n;
}

static void check_json(const struct stk__inspection *in)
{
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_piece found[1];
    struct stk__json_fault fault;
    struct stk__text out = { 0 };
    struct stk_arena arena;
    struct stk_error err;
    stk__arena_init(&arena, 256);
    must(stk__json_tree_add(&tree, "format", &arena, &err) == 0);
    stk__inspect_json_out(in, &out);
    must(!out.failed &&
         stk__json_scan(&tree, (struct stk__json_piece){ (uint8_t *)out.data, out.len }, found,
                        &fault));
    must(found[0].data != NULL);
    stk__text_free(&out);
    stk__arena_free(&arena);
}

static void check_chain(const struct stk__inspection *in)
{
    struct stk__text chain = { 0 };
    struct stk_arena arena;
    const struct stk_value *value;
    struct stk_error err;
    stk__arena_init(&arena, 1024);
    stk__text_add(&chain, "%s('file'%s", in->source, in->rest.data);
    must(!chain.failed && !stk__parse(chain.data, NULL, &arena, &value, &err));
    stk__arena_free(&arena);
    stk__text_free(&chain);
}

static void describe(struct stk__inspection *in)
{
    struct stk_error err = { 0 };
    struct stk__text out = { 0 };
    for (size_t i = 0; i < sizeof inspectors / sizeof *inspectors; i++) {
        if (!inspectors[i]->recognises(in))
            continue;
        int code = inspectors[i]->describe(in, &err);
        must(!code || code == STK_DATA);
        if (!code) {
            must(in->format && in->sample_bytes <= in->n_head);
            check_json(in);
            stk__inspect_text_out(in, &out);
        }
        if (!code && in->source)
            check_chain(in);
        stk__text_free(&out);
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    size_t n = size - 1;
    uint8_t *head = malloc(n + 512 + 64);
    must(head != NULL);
    struct stk__inspection in = { .path = "a file", .file_bytes = n, .head = head };
    if (data[0] & 2)
        in.n_head = make_record(head, data + 1, n);
    else if (data[0] & 4)
        in.n_head = make_member(head, data + 1, n);
    else
        memcpy(head, data + 1, in.n_head = n);
    in.is_whole = data[0] & 1;
    in.compression = STK__COMPRESSION_NONE;
    memset(head + in.n_head, 0, 64);
    describe(&in);
    stk__text_free(&in.rest);
    stk__text_free(&in.pattern);
    for (int i = 0; i < 2; i++) {
        stk__text_free(&in.facts[i]);
        stk__text_free(&in.notes[i]);
        stk__text_free(&in.fields[i]);
    }
    free(head);
    return 0;
}
