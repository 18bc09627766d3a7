/* SPDX-License-Identifier: Apache-2.0 */
/* golden_cases.h: reads tests/golden/train_*.bin; golden/train_cases.py has the format. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GOLDEN_ARRAYS = 8 };

struct golden_case {
    const char *text; /* NUL-terminated */
    int n_arrays;
    size_t n[GOLDEN_ARRAYS];
    const float *array[GOLDEN_ARRAYS];
};

struct golden {
    uint8_t *data;
    size_t at, bytes;
    uint32_t n_cases, n_read;
    char *text;
};

static inline uint32_t golden_word(struct golden *golden)
{
    uint32_t word;
    assert_true(golden->at + sizeof word <= golden->bytes);
    memcpy(&word, golden->data + golden->at, sizeof word);
    golden->at += sizeof word;
    return word;
}

static inline struct golden golden_open(const char *path)
{
    struct golden golden = { 0 };
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    fseek(file, 0, SEEK_END);
    golden.bytes = (size_t)ftell(file);
    rewind(file);
    golden.data = malloc(golden.bytes);
    assert_non_null(golden.data);
    assert_int_equal(fread(golden.data, 1, golden.bytes, file), golden.bytes);
    fclose(file);
    assert_memory_equal(golden.data, "STKT", 4);
    golden.at = 4;
    golden.n_cases = golden_word(&golden);
    assert_true(golden.n_cases > 0);
    return golden;
}

/* False: that was the last. What was read before is gone. */
static inline bool golden_next(struct golden *golden, struct golden_case *out)
{
    free(golden->text);
    golden->text = NULL;
    if (golden->n_read++ == golden->n_cases)
        return false;
    size_t len = golden_word(golden);
    golden->text = calloc(len + 1, 1);
    assert_non_null(golden->text);
    memcpy(golden->text, golden->data + golden->at, len);
    golden->at += (len + 3) / 4 * 4;
    *out = (struct golden_case){ .text = golden->text, .n_arrays = (int)golden_word(golden) };
    assert_true(out->n_arrays <= GOLDEN_ARRAYS);
    for (int i = 0; i < out->n_arrays; i++) {
        out->n[i] = golden_word(golden);
        out->array[i] = (const float *)(void *)(golden->data + golden->at);
        golden->at += out->n[i] * sizeof(float);
        assert_true(golden->at <= golden->bytes);
    }
    return true;
}

static inline void golden_close(struct golden *golden)
{
    assert_int_equal(golden->at, golden->bytes);
    free(golden->text);
    free(golden->data);
}
