/* SPDX-License-Identifier: Apache-2.0 */
/* test_resize_golden.c: resizing, at every level of the machine, against tests/golden/resize.bin,
 * which tf.image.resize wrote. golden/make_resize.py has the format. */
#include "base/cpu.h"
#include "kernel/kernel.h"
#include "kernel/resize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct sample {
    uint32_t method, src_dtype, channels, src_height, src_width, height, width, dtype;
};

static const enum stk__taps_kind kind_of[] = { STK__LERP, STK__NEAREST, STK__AREA, STK__TRIANGLE };

static uint8_t *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    uint8_t *data = malloc(1 << 20);
    assert_non_null(data);
    *bytes = fread(data, 1, 1 << 20, file);
    fclose(file);
    return data;
}

static size_t image_bytes(uint32_t dtype, uint32_t height, uint32_t width, uint32_t channels)
{
    return (size_t)height * width * channels * (dtype ? 4 : 1);
}

static uint8_t *copy_exact(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes); /* no readable tail: a read too far is seen by a sanitizer */
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    return copy;
}

static void resize(const struct sample *s, int level, const void *src, void *dst)
{
    enum stk__taps_kind kind = kind_of[s->method];
    int channels = (int)s->channels;
    void *mem_x = malloc(stk__taps_bytes(kind, (int)s->src_width, (int)s->width));
    void *mem_y = malloc(stk__taps_bytes(kind, (int)s->src_height, (int)s->height));
    void *mem_row = malloc(stk__lerp_row_bytes((int)s->width, channels));
    struct stk__taps x, y;
    struct stk__lerp_row row;
    stk__taps_init(&x, kind, (int)s->src_width, (int)s->width, mem_x);
    stk__taps_init(&y, kind, (int)s->src_height, (int)s->height, mem_y);
    struct stk__resize resize = { .kind = kind,
                                  .channels = channels,
                                  .x = &x,
                                  .y = &y,
                                  .src_is_u8 = !s->src_dtype,
                                  .dst_is_u8 = !s->dtype };
    if (kind == STK__LERP) {
        stk__lerp_row_init(&row, &x, channels, mem_row);
        resize.lerp_x = &row;
    }
    size_t n = stk__resize_row_values(&resize);
    resize.row[0] = malloc(n * sizeof(float));
    resize.row[1] = malloc(n * sizeof(float));
    resize.sum = malloc(n * sizeof(float));
    stk__resize_image(&resize, &stk__kernels_at(level)->image, src, dst);
    free(resize.row[0]);
    free(resize.row[1]);
    free(resize.sum);
    free(mem_x);
    free(mem_y);
    free(mem_row);
}

static void check(const struct sample *s, const uint8_t *data, int level)
{
    size_t src_bytes = image_bytes(s->src_dtype, s->src_height, s->src_width, s->channels);
    size_t bytes = image_bytes(s->dtype, s->height, s->width, s->channels);
    uint8_t *src = copy_exact(data, src_bytes), *out = malloc(bytes);
    assert_non_null(out);
    resize(s, level, src, out);
    if (memcmp(out, data + src_bytes, bytes))
        fail_msg("%s: method %u, dtype %u, %ux%ux%u to %ux%u differs from TensorFlow",
                 stk__cpu_level_names[level], s->method, s->src_dtype, s->src_height, s->src_width,
                 s->channels, s->height, s->width);
    free(src);
    free(out);
}

static void test_equals_tensorflow(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *file = read_all("tests/golden/resize.bin", &bytes);
    uint32_t n;
    assert_memory_equal(file, "STKR", 4);
    memcpy(&n, file + 4, sizeof n);
    const uint8_t *at = file + 8;
    for (uint32_t i = 0; i < n; i++) {
        struct sample s;
        memcpy(&s, at, sizeof s);
        at += sizeof s;
        for (int level = 0; level <= (int)stk__cpu_best(); level++)
            check(&s, at, level);
        at += image_bytes(s.src_dtype, s.src_height, s.src_width, s.channels) +
              image_bytes(s.dtype, s.height, s.width, s.channels);
    }
    assert_ptr_equal(at, file + bytes);
    assert_true(n > 100);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_equals_tensorflow) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
