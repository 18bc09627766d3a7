/* SPDX-License-Identifier: Apache-2.0 */
/* test_stream_copy.c: copies past the caches, at all alignments and of all sizes, touch nothing else. */
#include "base/crc32c.h"
#include "base/memory/stream_copy.h"
#include "base/memory/summed_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096 };

static void copy_at(size_t from, size_t to, size_t bytes)
{
    static uint8_t src[ROOM], dst[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        src[i] = (uint8_t)(i * 131 + i / 256);
        dst[i] = 0xee;
    }
    stk__copy_streamed(dst + to, src + from, bytes, src);
    stk__copy_streamed_end();
    assert_memory_equal(dst + to, src + from, bytes);
    for (size_t i = 0; i < ROOM; i++)
        if (i < to || i >= to + bytes)
            assert_int_equal(dst[i], 0xee);
}

static void test_all_alignments(void **state)
{
    (void)state;
    for (size_t from = 0; from < 70; from += 7)
        for (size_t to = 0; to < 70; to++)
            for (size_t bytes = 0; bytes < 300; bytes += bytes < 70 ? 1 : 37)
                copy_at(from, to, bytes);
}

static void test_rows_of_both_kinds(void **state)
{
    (void)state;
    static uint8_t src[STK__STREAMED_BYTES + 1], dst[STK__STREAMED_BYTES + 1];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t bytes = STK__STREAMED_BYTES - 1; bytes <= sizeof src; bytes++) {
        memset(dst, 0, sizeof dst);
        stk__copy_row(dst, src, bytes);
        assert_memory_equal(dst, src, bytes);
        assert_true(bytes == sizeof dst || dst[bytes] == 0);
    }
}

/* The checksum goes on from any other, at all alignments, with blocks and what is left of them. */
static void test_sums(void **state)
{
    enum { MOST = STK__STREAMED_BYTES + 9000 };
    static uint8_t src[MOST + 64], dst[MOST + 64];
    (void)state;
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 11);
    for (size_t trial = 0; trial < 400; trial++) {
        size_t from = trial * 13 % 64, to = trial * 7 % 64;
        size_t bytes = trial % 4 ? MOST - trial * 37 % 9000 : trial * 11;
        uint32_t before = (uint32_t)(trial * 40503u), sum = stk__crc32c(before, src + from, bytes);
        memset(dst, 0xee, sizeof dst);
        assert_int_equal(stk__copy_summed(dst + to, src + from, bytes, before), sum);
        assert_memory_equal(dst + to, src + from, bytes);
        for (size_t i = 0; i < sizeof dst; i += i == to && bytes ? bytes : 1)
            if (i < to || i >= to + bytes)
                assert_int_equal(dst[i], 0xee);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_alignments),
        cmocka_unit_test(test_rows_of_both_kinds),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
