/* SPDX-License-Identifier: Apache-2.0 */
/* example_loop.c: how many Examples a core parses: a label and ten floats, 90 bytes or so each.
 *
 *     example_loop [ROUNDS]
 *
 * First the parser alone, then the chain values(@records).parse_example(…).batch(256) without
 * further threads, and that chain without parse_example. Records per second of the processor, the
 * best round.
 */
#define _POSIX_C_SOURCE 200809L
#include "codec/record/example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RECORDS = 200000, N_FLOATS = 10, MOST_BYTES = 128 };

struct records {
    uint8_t *data;
    int64_t *splits;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint8_t *put(uint8_t *to, const void *data, size_t bytes)
{
    memcpy(to, data, bytes);
    return to + bytes;
}

/* Lengths are below 128: one byte each. */
static uint8_t *put_entry(uint8_t *to, const char *key, const uint8_t *feature, size_t bytes)
{
    size_t key_bytes = strlen(key);
    const uint8_t head[] = { 0x0a, (uint8_t)(4 + key_bytes + bytes), 0x0a, (uint8_t)key_bytes };
    const uint8_t middle[] = { 0x12, (uint8_t)bytes };
    to = put(put(to, head, sizeof head), key, key_bytes);
    return put(put(to, middle, sizeof middle), feature, bytes);
}

static size_t write_record(uint8_t *to, int number)
{
    uint8_t label[] = { 0x1a, 3, 0x0a, 1, (uint8_t)(number % 10) };
    uint8_t floats[4 + N_FLOATS * sizeof(float)] = { 0x12, 2 + N_FLOATS * sizeof(float), 0x0a,
                                                     N_FLOATS * sizeof(float) };
    for (int i = 0; i < N_FLOATS; i++) {
        float value = (float)(number + i);
        memcpy(floats + 4 + (size_t)i * sizeof value, &value, sizeof value);
    }
    uint8_t *at = put_entry(to + 2, "label", label, sizeof label);
    at = put_entry(at, "features", floats, sizeof floats);
    to[0] = 0x0a;
    to[1] = (uint8_t)(at - to - 2);
    return (size_t)(at - to);
}

static bool make_records(struct records *records)
{
    records->data = malloc((size_t)N_RECORDS * MOST_BYTES);
    records->splits = malloc((N_RECORDS + 1) * sizeof *records->splits);
    if (!records->data || !records->splits)
        return false;
    records->splits[0] = 0;
    for (int i = 0; i < N_RECORDS; i++)
        records->splits[i + 1] =
            records->splits[i] + (int64_t)write_record(records->data + records->splits[i], i);
    return true;
}

/* Returns a sum, so that nothing is left out. */
static double parse_all(const struct records *records)
{
    struct stk__feature_keys keys = { 0 };
    struct stk__piece found[2];
    struct stk__key_order order = { .n = 0 };
    const struct stk__feature_scan scan = { .keys = &keys, .order = &order, .found = found };
    double sum = 0;
    stk__feature_keys_add(&keys, (struct stk__piece){ (const uint8_t *)"label", 5 });
    stk__feature_keys_add(&keys, (struct stk__piece){ (const uint8_t *)"features", 8 });
    for (int i = 0; i < N_RECORDS; i++) {
        struct stk__value_list list;
        int64_t label;
        float value[N_FLOATS];
        size_t n, bytes = (size_t)(records->splits[i + 1] - records->splits[i]);
        if (stk__example_scan(
                &scan, (struct stk__piece){ records->data + records->splits[i], bytes }, NULL) ||
            !stk__value_list_open(found[0], &list) || !stk__value_list_ints(&list, &label, 1, &n) ||
            !stk__value_list_open(found[1], &list) ||
            !stk__value_list_floats(&list, value, N_FLOATS, &n))
            return -1;
        sum += (double)label + value[N_FLOATS - 1];
    }
    return sum;
}

static int run_chain(const struct records *records, const char *chain)
{
    const struct stk_array array = { .data = records->data,
                                     .dtype = STK_U8,
                                     .rank = 1,
                                     .shape = { N_RECORDS },
                                     .kind = STK_BYTES,
                                     .splits = records->splits };
    struct stk_objects *objects = stk_objects_new();
    struct stk_options *options = stk_options_new();
    struct stk_dataset *data = NULL;
    struct stk_iterator *it = NULL;
    struct stk_batch *batch;
    struct stk_error err = { 0 };
    int rc = objects && options ? STK_OK : STK_MEMORY;
    if (!rc)
        rc = stk_objects_add_array(objects, "records", &array, &err);
    if (!rc)
        rc = stk_options_set(options, "workers", "0", &err);
    if (!rc)
        rc = stk_dataset_new(chain, objects, &data, &err);
    if (!rc)
        rc = stk_iterator_new(data, options, &it, &err);
    while (!rc && !(rc = stk_iterator_next(it, &batch, &err)))
        stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    stk_options_free(options);
    stk_objects_free(objects);
    if (rc != STK_END)
        fprintf(stderr, "%s: %s\n", chain, err.text);
    return rc == STK_END ? 0 : -1;
}

static int time_one(const struct records *records, const char *chain, int n_rounds)
{
    double best = 1e30;
    for (int r = 0; r < n_rounds; r++) {
        double start = now();
        if (chain ? run_chain(records, chain) : parse_all(records) < 0)
            return 1;
        double time = now() - start;
        best = time < best ? time : best;
    }
    printf("%8.2f M records/s  %s\n", N_RECORDS / best * 1e-6, chain ? chain : "the parser alone");
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const chains[] = {
        NULL,
        "values({record: @records}).parse_example({label: int64, features: fixed([10], "
        "float32)}).batch(256)",
        "values({record: @records}).batch(256)",
    };
    int n_rounds = argc > 1 ? atoi(argv[1]) : 20, rc = 0;
    struct records records;
    if (!make_records(&records))
        return 1;
    for (size_t i = 0; i < sizeof chains / sizeof *chains && !rc; i++)
        rc = time_one(&records, chains[i], n_rounds);
    free(records.data);
    free(records.splits);
    return rc;
}
