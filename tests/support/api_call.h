/* SPDX-License-Identifier: Apache-2.0 */
/* api_call.h: for tests: the public functions with their errors checked. Includes nothing of the
 * library but stoker.h. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <stoker/stoker.h>
#include <string.h>

static inline struct stk_dataset *make_dataset_with(const char *text,
                                                    const struct stk_objects *objects)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    if (stk_dataset_new(text, objects, &data, &err))
        fail_msg("%s\n%s", text, err.text);
    return data;
}

static inline struct stk_dataset *make_dataset(const char *text)
{
    return make_dataset_with(text, NULL);
}

/* Options from "workers=2 seed=7". */
static inline struct stk_options *make_options(const char *text)
{
    struct stk_options *options = stk_options_new();
    struct stk_error err;
    char copy[256], *rest = copy, *word;
    assert_non_null(options);
    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        *value++ = 0;
        if (stk_options_set(options, word, value, &err))
            fail_msg("%s", err.text);
    }
    return options;
}

/* As stk_iterator_new, with options as text. */
static inline int try_start(struct stk_dataset *data, const char *text, struct stk_iterator **it,
                            struct stk_error *err)
{
    struct stk_options *options = make_options(text);
    int rc = stk_iterator_new(data, options, it, err);
    stk_options_free(options);
    return rc;
}

static inline struct stk_iterator *start(struct stk_dataset *data, const char *options)
{
    struct stk_iterator *it = NULL;
    struct stk_error err;
    if (try_start(data, options, &it, &err))
        fail_msg("%s", err.text);
    return it;
}

/* Makes a dataset, starts it and lets go of it. */
static inline struct stk_iterator *start_chain(const char *text, const char *options)
{
    struct stk_dataset *data = make_dataset(text);
    struct stk_iterator *it = start(data, options);
    stk_dataset_unref(data);
    return it;
}

static inline struct stk_batch *next(struct stk_iterator *it)
{
    struct stk_batch *batch = NULL;
    struct stk_error err;
    if (stk_iterator_next(it, &batch, &err))
        fail_msg("%s", err.text);
    return batch;
}

/* Reads on; returns how it ends and how many rows came. */
static inline int drain(struct stk_iterator *it, int64_t *n_rows, struct stk_error *err)
{
    struct stk_batch *batch;
    int rc;
    *n_rows = 0;
    while ((rc = stk_iterator_next(it, &batch, err)) == STK_OK) {
        *n_rows += stk_batch_n_rows(batch);
        stk_batch_unref(batch);
    }
    return rc;
}

static inline struct stk_view view_of(const struct stk_batch *batch, const char *field)
{
    struct stk_view view;
    struct stk_error err;
    if (stk_batch_view(batch, field, &view, &err))
        fail_msg("%s", err.text);
    return view;
}

/* The values of a field of the first batch. Free them. */
static inline uint8_t *bytes_of_first(const char *chain, const char *field, size_t *n)
{
    struct stk_iterator *it = start_chain(chain, "workers=1");
    struct stk_batch *batch = next(it);
    struct stk_view view = view_of(batch, field);
    *n = view.kind == STK_BYTES ? (size_t)view.splits[1] : (size_t)stk_dtype_bytes(view.dtype);
    for (int i = 0; i < view.rank && view.kind != STK_BYTES; i++)
        *n *= (size_t)view.shape[i];
    uint8_t *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    memcpy(bytes, view.data, *n);
    stk_batch_unref(batch);
    stk_iterator_free(it);
    return bytes;
}

static inline void check_numbers(const int64_t *found, const int64_t *expected, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(found[i], expected[i]);
}

/* CHECK_NUMBERS(view.shape, 2, 3) */
#define CHECK_NUMBERS(found, ...)                                                                  \
    check_numbers(found, (const int64_t[]){ __VA_ARGS__ },                                         \
                  (int)(sizeof(const int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)))
