/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_example.c: any bytes as an Example and as a SequenceExample: scanned, all that is
 * found is read, and a spec is inferred. It needs no seeds: the format is short. */
#include "codec/record/example.h"

#include <stdlib.h>
#include <string.h>

enum { N_KEYS = 3, ROOM = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_feature(struct stk__piece feature)
{
    struct stk__value_list list;
    struct stk_span string[ROOM];
    int64_t number[ROOM];
    float real[ROOM];
    size_t n = 0, most;
    bool is_good = false;
    if (!stk__value_list_open(feature, &list))
        return;
    if (list.kind == STK__FEATURE_FLOATS)
        is_good = stk__value_list_floats(&list, real, ROOM, &n);
    else if (list.kind == STK__FEATURE_INTS)
        is_good = stk__value_list_ints(&list, number, ROOM, &n);
    else if (list.kind == STK__FEATURE_BYTES)
        is_good = stk__value_list_bytes(&list, string, ROOM, &n);
    most = stk__value_list_most(&list);
    if (is_good && n > most && list.kind != STK__FEATURE_BYTES)
        abort();
    for (size_t i = 0; is_good && list.kind == STK__FEATURE_BYTES && i < n && i < ROOM; i++)
        if (string[i].data < feature.data ||
            string[i].data + string[i].bytes > feature.data + feature.bytes)
            abort();
}

static void read_list(struct stk__piece list)
{
    struct stk__piece step;
    while (list.bytes && stk__feature_list_next(&list, &step))
        read_feature(step);
}

/* The two halves as two records. */
static void infer_spec(struct stk__piece record)
{
    size_t half = record.bytes / 2;
    const struct stk__piece records[] = { { record.data, half },
                                          { record.data + half, record.bytes - half },
                                          record };
    struct stk__text call = { 0 }, notes = { 0 };
    struct stk_error err;
    stk__example_infer(records, 2, &call, &notes, &err);
    stk__example_infer(&records[2], 1, &call, &notes, &err);
    stk__text_free(&call);
    stk__text_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char names[] = "abc";
    struct stk__feature_keys keys = { 0 };
    struct stk__key_order order[3];
    struct stk__piece found[N_KEYS], lists[N_KEYS];
    struct stk_error err;
    uint8_t *copy = malloc(size ? size : 1); /* of that size, so that every byte too far is seen */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    const struct stk__piece record = { copy, size };
    const struct stk__feature_scan scan = { .keys = &keys, .order = &order[0], .found = found };
    const struct stk__feature_scan context = { .keys = &keys, .order = &order[1], .found = found };
    const struct stk__feature_scan steps = { .keys = &keys, .order = &order[2], .found = lists };
    for (int i = 0; i < N_KEYS; i++) {
        order[i].n = 0;
        stk__feature_keys_add(&keys, (struct stk__piece){ (const uint8_t *)names + i, 1 });
    }
    for (int round = 0; round < 2; round++) /* the second knows the order of the first */
        if (!stk__example_scan(&scan, record, &err))
            for (int i = 0; i < N_KEYS; i++)
                read_feature(found[i]);
    if (!stk__sequence_scan(&context, &steps, record, &err))
        for (int i = 0; i < N_KEYS; i++) {
            read_feature(found[i]);
            read_list(lists[i]);
        }
    infer_spec(record);
    free(copy);
    return 0;
}
