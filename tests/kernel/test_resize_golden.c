/* SPDX-License-Identifier: Apache-2.0 */
/* test_resize_golden.c: resizing, at every level of the machine, against tests/golden/resize.bin,
 * which TensorFlow, Pillow, torchvision and OpenCV wrote. golden/make_resize.py has the format. */
#include "base/cpu.h"
#include "kernel/resize_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct sample {
    uint32_t semantics, method, antialias, src_dtype, channels;
    uint32_t src_height, src_width, height, width, dtype;
    float tolerance;
};

static uint8_t *read_all(const char *path, size_t *bytes)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    uint8_t *data = malloc(MOST);
    assert_non_null(data);
    *bytes = fread(data, 1, MOST, file);
    fclose(file);
    return data;
}

static size_t n_values(const struct sample *s)
{
    return (size_t)s->height * s->width * s->channels;
}

static size_t src_bytes(const struct sample *s)
{
    return (size_t)s->src_height * s->src_width * s->channels * (s->src_dtype ? 4 : 1);
}

static size_t out_bytes(const struct sample *s)
{
    return n_values(s) * (s->dtype ? 4 : 1);
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static void *take(size_t bytes) /* no readable tail: a read too far is seen by a sanitizer */
{
    void *data = malloc(bytes);
    assert_non_null(data);
    return data;
}

static void resize(const struct sample *s, int level, const void *src, void *dst)
{
    const struct stk__resize_way way = { (enum stk__semantics)s->semantics,
                                         (enum stk__method)s->method, s->antialias != 0,
                                         !s->src_dtype };
    struct stk__size in = { (int)s->src_height, (int)s->src_width };
    struct stk__size out = { (int)s->height, (int)s->width };
    int channels = (int)s->channels;
    assert_true(stk__resize_has(&way));
    struct stk__route route = stk__route_find(&way, in, out, channels);
    struct stk__resize_wish columns = { 0, out.width, false }, lines = { 0, out.height, false };
    struct stk__axis across = stk__route_x(&route, columns), down = stk__route_y(&route, lines);
    enum stk__across_kind kind = stk__route_across(&route);
    void *mem_x = take(stk__across_bytes(&across, kind, channels));
    void *mem_y = take(stk__taps_bytes(&down));
    struct stk__across x;
    struct stk__taps y;
    stk__across_init(&x, &across, kind, channels, mem_x);
    stk__taps_init(&y, &down, mem_y);
    struct stk__finish finish = { .dtype = route.rounding ? STK_U8 : route.dtype,
                                  .rounding = route.rounding,
                                  .channels = channels };
    assert_int_equal(finish.dtype, s->dtype ? STK_F32 : STK_U8);
    struct stk__resize all = {
        &route, &x, &y, columns, src_bytes(s) / s->src_height, &finish, NULL
    };
    all.work = aligned_alloc(64, (stk__resize_bytes(&all) + 63) / 64 * 64);
    assert_non_null(all.work);
    stk__resize_image(&all, stk__kernels_at(level), src,
                      (struct stk__target){ dst, out_bytes(s) / s->height, 0, true });
    free(all.work);
    free(mem_x);
    free(mem_y);
}

/* The greatest difference, relative to the greatest value. */
static double difference(const struct sample *s, const uint8_t *a, const uint8_t *b)
{
    double worst = 0, greatest = 1e-30;
    for (size_t i = 0; i < n_values(s); i++) {
        float x = a[i], y = b[i];
        if (s->dtype) {
            memcpy(&x, a + 4 * i, sizeof x);
            memcpy(&y, b + 4 * i, sizeof y);
        }
        worst = fmax(worst, fabs((double)x - y));
        greatest = fmax(greatest, fabs((double)y));
    }
    return worst / greatest;
}

static void check(const struct sample *s, const uint8_t *data, int level)
{
    static const char *const names[] = { "tf", "pillow", "opencv" };
    uint8_t *src = take(src_bytes(s)), *out = take(out_bytes(s));
    const uint8_t *expected = data + padded(src_bytes(s));
    memcpy(src, data, src_bytes(s));
    resize(s, level, src, out);
    if (difference(s, out, expected) > s->tolerance)
        fail_msg("%s: %s, method %u, antialias %u, dtype %u, %ux%ux%u to %ux%u: off by %g",
                 stk__cpu_level_names[level], names[s->semantics], s->method, s->antialias,
                 s->src_dtype, s->src_height, s->src_width, s->channels, s->height, s->width,
                 difference(s, out, expected));
    free(src);
    free(out);
}

static void test_equals_the_libraries(void **state)
{
    (void)state;
    size_t bytes;
    uint8_t *file = read_all("tests/golden/resize.bin", &bytes);
    uint32_t n, n_seen[3] = { 0 };
    assert_memory_equal(file, "STKR", 4);
    memcpy(&n, file + 4, sizeof n);
    const uint8_t *at = file + 8;
    for (uint32_t i = 0; i < n; i++) {
        struct sample s;
        memcpy(&s, at, sizeof s);
        at += sizeof s;
        assert_true(s.semantics < 3);
        n_seen[s.semantics]++;
        for (int level = 0; level <= (int)stk__cpu_best(); level++)
            check(&s, at, level);
        at += padded(src_bytes(&s)) + padded(out_bytes(&s));
    }
    assert_ptr_equal(at, file + bytes);
    for (int i = 0; i < 3; i++)
        assert_true(n_seen[i] > 50);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_equals_the_libraries) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
