/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c: any text as JSON, of which several values are wanted; what is found lies in the text
 * and can be converted. The text ends where its memory does. */
#include "codec/text/json_string.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_PATHS = 5 };

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void convert(struct stk__json_piece value, const uint8_t *end)
{
    struct stk__json_piece item, key;
    struct stk__json_fault fault;
    int64_t whole;
    double real;
    float single;
    switch (stk__json_kind(value)) {
    case STK__JSON_STRING: {
        size_t bytes = 0;
        uint8_t *text = malloc(value.bytes);
        check(text != NULL);
        bool is_good = stk__json_unescape(value, text, &bytes, &fault);
        check(is_good ? bytes + 2 <= value.bytes : fault.at < value.bytes);
        check(!is_good || !stk__json_plain(value).data || bytes == value.bytes - 2);
        check(!is_good || stk__json_string_is(value, (const char *)text, bytes));
        free(text);
        break;
    }
    case STK__JSON_ARRAY:
        while (stk__json_next(&value, &item))
            convert(item, end);
        break;
    case STK__JSON_OBJECT:
        while (stk__json_member(&value, &key, &item)) {
            check(stk__json_kind(key) == STK__JSON_STRING);
            convert(item, end);
        }
        break;
    case STK__JSON_NUMBER:
        check(!stk__json_i64(value, end, &whole) || stk__json_f64(value, end, &real));
        check(stk__json_f64(value, end, &real) == stk__json_f32(value, end, &single));
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[N_PATHS] = { "a", "a.b", "[1]", "a[0].c", "$" };
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk__json_piece found[N_PATHS];
    struct stk__json_fault fault;
    struct stk_arena arena;
    struct stk_error err;
    uint8_t *text = malloc(size ? size : 1);
    check(text != NULL);
    if (size)
        memcpy(text, data, size);
    stk__arena_init(&arena, 1 << 12);
    for (int i = 0; i < N_PATHS; i++)
        check(stk__json_tree_add(&tree, paths[i], &arena, &err) == i);
    if (!stk__json_scan(&tree, (struct stk__json_piece){ text, size }, found, &fault)) {
        check(fault.what && fault.at <= size);
    } else {
        for (int i = 0; i < N_PATHS; i++)
            if (found[i].data)
                convert(found[i], text + size);
    }
    stk__arena_free(&arena);
    free(text);
    return 0;
}
