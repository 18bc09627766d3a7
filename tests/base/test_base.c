/* SPDX-License-Identifier: Apache-2.0 */
/* test_base.c: what everything stands on: random words, hashes, texts, types, errors, arenas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "base/memory/gauge.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/type.h"

static uint64_t random_state = 1;
static uint64_t random_below(uint64_t n)
{
    return stk__below(stk__hash_mix(0, random_state++), n);
}

/* ---- random words and hashes ---- */

/* The known-answer vectors of Random123 1.09 (kat_vectors, philox4x32 10). */
static void test_philox_published_vectors(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        stk__philox(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void test_words_as_numbers(void **state)
{
    (void)state;
    assert_true(stk__unit_float(0) == 0);
    assert_true(stk__unit_float(UINT32_MAX) < 1);
    assert_true(stk__unit_float(0x80000000u) == 0.5f);
    assert_int_equal(stk__below(0, 10), 0);
    assert_int_equal(stk__below(UINT64_MAX, 10), 9);
    assert_int_equal(stk__below((uint64_t)1 << 63, 10), 5);
    assert_true(stk__below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
}

/* The numbers are those of tests/model/bits.py, which was written apart from the C. */
static void test_hash_known_values(void **state)
{
    static const struct {
        size_t len;
        uint64_t from_0, from_7;
    } cases[] = {
        { 0, 0xfeb01e9a9c67553b, 0x4dc1aa2e636bd935 },
        { 31, 0x04cfbdd4071997e1, 0xb0d48ee4643d6d0d },
        { 32, 0xdf86646991171471, 0xf259b563c914ffb8 },
        { 100, 0x7ec2294351b13202, 0x79c0afb856766195 },
    };
    unsigned char data[101];
    (void)state;
    for (int i = 0; i < 101; i++)
        data[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(stk__hash_bytes(0, data, cases[i].len) == cases[i].from_0);
        assert_true(stk__hash_bytes(7, data, cases[i].len) == cases[i].from_7);
    }
    assert_true(stk__hash_bytes(0, NULL, 0) == cases[0].from_0);
    assert_true(stk__hash_bytes(0, "a", 1) == 0x37e25825d3347c2d);
    assert_true(stk__hash_bytes(0, "abcdefgh", 8) == 0xf39eb1a51310d5aa);
}

/* Every bit of every length counts, wherever the data lies. */
static void test_hash_sees_every_bit(void **state)
{
    unsigned char data[80] = { 0 };
    (void)state;
    for (size_t len = 1; len <= 70; len++) {
        uint64_t before = stk__hash_bytes(0, data, len);
        assert_true(before != stk__hash_bytes(0, data, len - 1));
        for (size_t bit = 0; bit < 8 * len; bit++) {
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(stk__hash_bytes(0, data, len) != before);
            data[bit / 8] = 0;
        }
        assert_true(stk__hash_bytes(0, data + 3, len) == before);
    }
}

/* RFC 3720, B.4. */
static void test_crc32c_published_values(void **state)
{
    unsigned char bytes[32] = { 0 };
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        assert_int_equal(stk_cpu_limit(plain ? "scalar" : "auto", NULL), STK_OK);
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(stk__crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
        memset(bytes, 0xff, sizeof bytes);
        assert_int_equal(stk__crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
        for (int i = 0; i < 32; i++)
            bytes[i] = (unsigned char)i;
        assert_int_equal(stk__crc32c(0, bytes, sizeof bytes), 0x46dd794e);
        assert_int_equal(stk__crc32c(0, "123456789", 9), 0xe3069283);
        assert_int_equal(stk__crc32c(7, NULL, 0), 7);
    }
    stk_cpu_limit("auto", NULL);
    assert_int_equal(stk__crc32c_mask(0), 0xa282ead8);
    assert_int_equal(stk__crc32c_mask(0xe3069283), 0xc78ab0e5);
}

/* Every length and alignment around the widths that vector code works with, and any split. */
static void test_crc32c_is_the_same_by_table(void **state)
{
    static unsigned char bytes[5000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)random_below(256);
    for (int i = 0; i < 2000; i++) {
        size_t from = random_below(64), n = i < 600 ? (size_t)i : random_below(4900);
        size_t cut = random_below(n + 1);
        uint32_t fast = stk__crc32c(0, bytes + from, n);
        assert_int_equal(
            stk__crc32c(stk__crc32c(0, bytes + from, cut), bytes + from + cut, n - cut), fast);
        stk_cpu_limit("scalar", NULL);
        assert_int_equal(stk__crc32c(0, bytes + from, n), fast);
        stk_cpu_limit("auto", NULL);
    }
}

static void test_mix(void **state)
{
    struct stk__key key = stk__key_make(1, 2, 3), other = stk__key_make(3, 2, 1);
    (void)state;
    assert_true(stk__hash_mix(0, 0) == 0x8209b480faed1b10);
    assert_true(stk__hash_mix(1, 2) == 0x272f6d14c9fcba77);
    assert_true(stk__hash_mix(2, 1) == 0x70ba6edbfd9b45f6);
    assert_true(stk__hash_mix(UINT64_MAX, UINT64_MAX) == 0x2139e5e966665f3f);
    assert_true(key.hi == stk__hash_mix(stk__hash_mix(1, 2), 3));
    assert_true(key.lo == stk__hash_mix(key.hi, 1 ^ 2 ^ 3));
    assert_true(key.hi != other.hi && key.lo != other.lo);
    struct stk__key join = stk__key_join(key, other), back = stk__key_join(other, key);
    assert_true(join.hi == stk__hash_mix(key.hi, other.hi) &&
                join.lo == stk__hash_mix(key.lo, other.lo));
    assert_true(join.hi != back.hi && join.lo != back.lo);
}

/* ---- texts ---- */

static void check_real(double value)
{
    struct stk__text text = { 0 };
    double back = 0;
    stk__text_add_real(&text, value);
    const char *end = stk__parse_real(text.data, &back);
    assert_non_null(end);
    assert_int_equal(*end, 0);
    if (isnan(value))
        assert_true(isnan(back));
    else
        assert_memory_equal(&back, &value, sizeof back);
    assert_true(strpbrk(text.data, ".e") || isnan(value) || isinf(value));
    assert_null(strchr(text.data, ','));
    stk__text_free(&text);
}

static void check_reals(void)
{
    static const double edges[] = { 0.0,      -0.0,     1,         -1,      0.1,
                                    1e22,     1e23,     5e-324,    DBL_MIN, DBL_MAX,
                                    -DBL_MAX, INFINITY, -INFINITY, NAN,     9007199254740993.0,
                                    1.0 / 3 };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        check_real(edges[i]);
    for (int i = 0; i < 10000; i++) {
        uint64_t bits = stk__hash_mix(17, (uint64_t)i);
        double value;
        memcpy(&value, &bits, sizeof value);
        check_real(value);
    }
}

static void test_reals_read_back(void **state)
{
    (void)state;
    check_reals();
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        check_reals(); /* a decimal comma must not get in */
    setlocale(LC_NUMERIC, "C");
    double ignored;
    assert_null(stk__parse_real("x", &ignored));
}

static void test_reals_are_short(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0.1, "0.1" }, { 2, "2.0" },          { -0.0, "-0.0" }, { 1e300, "1e+300" },
                  { NAN, "nan" }, { -INFINITY, "-inf" }, { 0.5, "0.5" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__text text = { 0 };
        stk__text_add_real(&text, cases[i].value);
        assert_string_equal(text.data, cases[i].text);
        stk__text_free(&text);
    }
}

static void test_json_escapes(void **state)
{
    static const char raw[] = "a\"b\\c\n\t\x01\x1f\0z/\x7f\xc3\xa4";
    struct stk__text text = { 0 };
    (void)state;
    stk__text_add_json(&text, raw, sizeof raw - 1);
    assert_string_equal(text.data, "\"a\\\"b\\\\c\\n\\t\\u0001\\u001f\\u0000z/\\u007f\xc3\xa4\"");
    stk__text_free(&text);
    stk__text_add_json(&text, "", 0);
    assert_string_equal(text.data, "\"\"");
    stk__text_free(&text);
}

static void test_text_grows(void **state)
{
    struct stk__text text = { 0 };
    (void)state;
    for (int i = 0; i < 1000; i++)
        stk__text_add(&text, "%d,", i);
    stk__text_add_n(&text, "end", 3);
    assert_int_equal(text.len, strlen(text.data));
    assert_int_equal(text.len, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_true(text.cap > text.len);
    assert_string_equal(text.data + text.len - 7, "999,end");
    char *taken = stk__text_take(&text);
    assert_non_null(taken);
    assert_true(!text.data && !text.len && !text.cap);
    stk_text_free(taken);
    char *empty = stk__text_take(&text);
    assert_string_equal(empty, "");
    stk_text_free(empty);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    struct stk_error err;
    char longest[2 * STK_ERROR_TEXT];
    (void)state;
    assert_int_equal(stk_fail(&err, STK_IO, "no %s", "file"), STK_IO);
    assert_true(err.code == STK_IO && err.at == 0 && err.len == 0);
    assert_string_equal(err.text, "no file");
    assert_int_equal(stk__fail_at(&err, STK_NAME, 3, 4, "%d", 5), STK_NAME);
    assert_true(err.code == STK_NAME && err.at == 3 && err.len == 4);
    stk__error_prefix(&err, "%s: ", "op");
    assert_string_equal(err.text, "op: 5");
    assert_true(err.code == STK_NAME && err.at == 3 && err.len == 4);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    stk_fail(&err, STK_DATA, "%s", longest);
    assert_int_equal(strlen(err.text), STK_ERROR_TEXT - 1);
    stk__error_prefix(&err, "pre ");
    assert_int_equal(strlen(err.text), STK_ERROR_TEXT - 1);
    assert_memory_equal(err.text, "pre xx", 6);
    stk__error_prefix(&err, "%s", longest);
    assert_int_equal(strlen(err.text), STK_ERROR_TEXT - 1);
    assert_int_equal(stk_fail(NULL, STK_IO, "x"), STK_IO);
    assert_int_equal(stk__fail_at(NULL, STK_IO, 0, 0, "x"), STK_IO);
    stk__error_prefix(NULL, "x");
    assert_int_equal(stk__out_of_memory(&err), STK_MEMORY);
    assert_string_equal(err.text, "out of memory");
}

static void test_status_texts(void **state)
{
    (void)state;
    assert_string_equal(stk_status_text(STK_OK), "ok");
    assert_string_equal(stk_status_text(STK_STATE), "wrong state");
    assert_string_equal(stk_status_text(-1), "unknown status");
    assert_string_equal(stk_status_text(STK_AGAIN + 1), "unknown status");
}

/* ---- processor ---- */

static void test_cpu_limit(void **state)
{
    struct stk_error err = { 0 };
    (void)state;
    for (int i = 0; i < STK__N_CPU_LEVELS; i++) {
        const char *name = stk__cpu_level_names[i];
        if (i <= (int)stk__cpu_best()) {
            assert_int_equal(stk_cpu_limit(name, &err), STK_OK);
            assert_int_equal(stk__cpu_level(), i);
        } else {
            assert_int_equal(stk_cpu_limit(name, &err), STK_VALUE);
            assert_non_null(strstr(err.text, name));
            assert_non_null(strstr(err.text, stk__cpu_level_names[stk__cpu_best()]));
        }
    }
    stk_cpu_limit("scalar", NULL);
    assert_int_equal(stk_cpu_limit("sse9", &err), STK_VALUE);
    assert_non_null(strstr(err.text, "'sse9'"));
    assert_non_null(strstr(err.text, "auto, scalar, avx2, avx512"));
    assert_int_equal(stk_cpu_limit("", NULL), STK_VALUE);
    assert_int_equal(stk__cpu_level(), STK__CPU_SCALAR); /* an error changes nothing */
    assert_int_equal(stk_cpu_limit("auto", &err), STK_OK);
    assert_int_equal(stk__cpu_level(), stk__cpu_best());
}

/* ---- types ---- */

static void check_field_text(const struct stk_field *field, const char *expected)
{
    struct stk__text text = { 0 };
    stk__field_text(field, &text);
    assert_string_equal(text.data, expected);
    stk__text_free(&text);
}

static void test_type_texts(void **state)
{
    static const struct stk_type type = {
        3,
        { { .name = "image",
            .kind = STK_SHAPED,
            .dtype = STK_U8,
            .rank = 3,
            .shape = { -1, -1, 3 } },
          { .name = "label", .kind = STK_FIXED, .dtype = STK_I64 },
          { .name = "path", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PATH } }
    };
    struct stk__text text = { 0 };
    (void)state;
    stk__type_text(&type, &text);
    assert_string_equal(text.data, "{image: uint8[?, ?, 3], label: int64[], path: path}");
    stk__text_free(&text);
    check_field_text(&(struct stk_field){ .kind = STK_BYTES, .flags = STK_FIELD_TEXT }, "text");
    check_field_text(&(struct stk_field){ .kind = STK_BYTES, .flags = STK_FIELD_PACKED },
                     "list of bytes");
    uint8_t lists = STK_FIELD_PACKED | STK_FIELD_LISTS;
    check_field_text(&(struct stk_field){ .kind = STK_BYTES, .flags = lists },
                     "list of list of bytes");
    check_field_text(&(struct stk_field){ .kind = STK_BYTES,
                                          .flags = STK_FIELD_PACKED | STK_FIELD_TEXT,
                                          .rank = 1,
                                          .shape = { 3 } },
                     "text[3]");
    check_field_text(
        &(struct stk_field){ .kind = STK_BYTES, .flags = lists, .rank = 1, .shape = { -1 } },
        "list of bytes[?]");
    check_field_text(
        &(struct stk_field){
            .kind = STK_RAGGED, .dtype = STK_I64, .flags = lists, .rank = 1, .shape = { -1 } },
        "list of list of ragged int64[?]");
    check_field_text(
        &(struct stk_field){ .kind = STK_RAGGED, .dtype = STK_F32, .rank = 2, .shape = { -1, 2 } },
        "ragged float32[?, 2]");
    assert_int_equal(stk_type_find(&type, "label"), 1);
    assert_int_equal(stk_type_find(&type, "labe"), -1);
    assert_int_equal(stk_field_bytes(&type.field[1]), 8);
    assert_int_equal(
        stk_field_bytes(&(struct stk_field){ .dtype = STK_F32, .rank = 2, .shape = { 3, 5 } }), 60);
}

static void test_dtypes(void **state)
{
    (void)state;
    for (int d = 0; d < STK_N_DTYPES; d++) {
        assert_string_equal(stk_dtype_name(d), stk__dtype_names[d]);
        assert_true(stk_dtype_bytes(d) >= 1 && stk_dtype_bytes(d) <= 8);
        assert_non_null(strchr("buif", stk__dtype_kind(d)));
    }
    assert_null(stk__dtype_names[STK_N_DTYPES]);
    assert_null(stk_dtype_name(-1));
    assert_null(stk_dtype_name(STK_N_DTYPES));
    assert_int_equal(stk_dtype_bytes(STK_N_DTYPES), 0);
    assert_string_equal(stk_dtype_name(STK_BF16), "bfloat16");
    assert_true(stk_dtype_bytes(STK_U8) == 1 && stk_dtype_bytes(STK_F16) == 2 &&
                stk_dtype_bytes(STK_F64) == 8);
}

/* ---- arenas ---- */

/* Fills the memory and reads the 64 bytes behind it, so that a sanitizer sees whether it is
 * ours. */
static void use(uint8_t *memory, size_t bytes, uint8_t value)
{
    unsigned sum = 0;
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    memset(memory, value, bytes);
    for (int i = 0; i < 64; i++)
        sum += memory[bytes + (size_t)i];
    assert_true(sum <= 64 * 255);
}

static void test_arena_pieces(void **state)
{
    enum { N = 500 };
    struct stk_arena arena;
    static uint8_t *piece[N];
    static size_t bytes[N];
    (void)state;
    stk__arena_init(&arena, 1024);
    for (int i = 0; i < N; i++) {
        bytes[i] = random_below(i % 50 ? 700 : 100000);
        piece[i] = stk__arena_take(&arena, bytes[i]);
        use(piece[i], bytes[i], (uint8_t)i);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < bytes[i]; k++)
            assert_int_equal(piece[i][k], (uint8_t)i); /* nobody else's */
    const uint8_t *cleared = stk_arena_alloc(&arena, 1000);
    for (int k = 0; k < 1000; k++)
        assert_int_equal(cleared[k], 0);
    assert_string_equal(stk_arena_text(&arena, "hello"), "hello");
    assert_string_equal(stk__arena_text_n(&arena, "hello", 2), "he");
    assert_string_equal(stk__arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_null(stk__arena_take(&arena, SIZE_MAX - 10));
    assert_null(stk__arena_take(&arena, SIZE_MAX / 8)); /* more than there is */
    size_t total = arena.total_bytes, least = 0;
    for (int i = 0; i < N; i++)
        least += bytes[i];
    assert_true(total >= least);
    stk__arena_free(&arena);
    assert_true(arena.total_bytes == 0 && !arena.first);
}

static void test_arena_rewind(void **state)
{
    struct stk_arena arena;
    (void)state;
    stk__arena_init(&arena, 4096);
    struct stk__arena_mark empty = stk__arena_mark(&arena);
    void *first = stk__arena_take(&arena, 100);
    struct stk__arena_mark mark = stk__arena_mark(&arena);
    void *second = stk__arena_take(&arena, 200);
    stk__arena_take(&arena, 50000);
    size_t total = arena.total_bytes;
    stk__arena_rewind(&arena, mark);
    assert_ptr_equal(stk__arena_take(&arena, 200), second);
    stk__arena_take(&arena, 50000);
    assert_int_equal(arena.total_bytes, total); /* blocks are kept */
    stk__arena_rewind(&arena, empty);
    assert_ptr_equal(stk__arena_take(&arena, 1), first);
    stk__arena_free(&arena);
}

/* What a worker's scratch does for every ticket. */
static void scratch_round(struct stk_arena *arena)
{
    for (int i = 0; i < 10; i++)
        use(stk__arena_take(arena, 30000), 30000, (uint8_t)i);
    stk__arena_reset(arena);
}

static void test_arena_reset_settles(void **state)
{
    struct stk_arena arena;
    (void)state;
    stk__arena_init(&arena, 4096);
    stk__arena_reset(&arena); /* an empty one */
    scratch_round(&arena);
    scratch_round(&arena);
    const void *block = arena.first;
    size_t total = arena.total_bytes;
    assert_non_null(block);
    for (int i = 0; i < 5; i++) {
        scratch_round(&arena);
        assert_ptr_equal(arena.first, block); /* one block that holds it all */
        assert_int_equal(arena.total_bytes, total);
    }
    use(stk__arena_take(&arena, (size_t)9 << 20), (size_t)9 << 20, 1);
    stk__arena_reset(&arena);
    assert_true(arena.total_bytes <= (size_t)5 << 20); /* one large element is not kept for ever */
    scratch_round(&arena);
    stk__arena_free(&arena);
    stk__arena_init(&arena, 4096);
    use(stk__arena_take(&arena, (size_t)9 << 20), (size_t)9 << 20, 1);
    stk__arena_reset(&arena); /* the first block is the large one */
    assert_true(arena.total_bytes <= (size_t)5 << 20);
    stk__arena_free(&arena);
}

/* A worker for which nothing is set aside, such as one that fetches, takes no more than it asks for, however large
 * the pictures were that the arena had before. */
static void test_arena_takes_little_beyond_its_grant(void **state)
{
    const size_t picture = (size_t)3 << 20, little = (size_t)128 << 10;
    struct stk__gauge gauge = { .granted_bytes = 2 * picture };
    struct stk_arena arena;
    (void)state;
    stk__arena_init(&arena, 4096);
    stk__gauge_use(&gauge);
    stk__gauge_join(&arena);
    stk__arena_take(&arena, picture / 2);
    stk__arena_take(&arena, picture / 2);
    stk__arena_reset(&arena); /* the next block has room for both */
    stk__gauge_release(&gauge);
    gauge.granted_bytes = 0;
    use(stk__arena_take(&arena, 100), 100, 1);
    assert_in_range(gauge.held_bytes, 100, little);
    stk__gauge_release(&gauge);
    gauge.is_unlimited = true; /* somebody else has set it aside */
    use(stk__arena_take(&arena, 100), 100, 1);
    assert_true(gauge.held_bytes >= picture);
    stk__gauge_part(&arena);
    stk__gauge_use(NULL);
    stk__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_published_vectors),
        cmocka_unit_test(test_words_as_numbers),
        cmocka_unit_test(test_hash_known_values),
        cmocka_unit_test(test_hash_sees_every_bit),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_crc32c_published_values),
        cmocka_unit_test(test_crc32c_is_the_same_by_table),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_reals_are_short),
        cmocka_unit_test(test_json_escapes),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_status_texts),
        cmocka_unit_test(test_cpu_limit),
        cmocka_unit_test(test_type_texts),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_arena_pieces),
        cmocka_unit_test(test_arena_rewind),
        cmocka_unit_test(test_arena_reset_settles),
        cmocka_unit_test(test_arena_takes_little_beyond_its_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
