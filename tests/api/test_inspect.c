/* SPDX-License-Identifier: Apache-2.0 */
/* test_inspect.c: files of every format, whole, cut at every byte and with every bit changed:
 * stk_inspect says something or gives a reason, and never more. */
#define _GNU_SOURCE
#include "api_call.h"
#include "temporary.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[TEMPORARY_PATH];

static int make_path(void **state)
{
    (void)state;
    return make_temporary_file(path, "stoker-inspect") ? 0 : -1;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void store(const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static size_t load(const char *name, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(name, "rb");
    if (!file)
        fail_msg("no %s", name);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

/* The text of a file, or of the error. Returns new. */
static char *look(const char *name, bool json, int *code)
{
    struct stk_error err = { 0 };
    char *text = NULL;
    *code = stk_inspect(name, json, &text, &err);
    if (!*code)
        return text;
    assert_null(text);
    assert_true(strlen(err.text) > 0);
    return strdup(err.text);
}

static void expect(const char *name, int code, const char *const *parts)
{
    int found;
    char *text = look(name, false, &found);
    if (found != code)
        fail_msg("%s: %s", name, text);
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("'%s' is not in\n%s", *parts, text);
    stk_text_free(text);
}

static void test_formats(void **state)
{
    (void)state;
    expect("tests/golden/records/plain.tfrecord", STK_OK,
           (const char *const[]){ "TFRecord, 451 bytes", "records      6", "0 to 256 bytes",
                                  "tfrecord('tests/golden/records/plain.tfrecord')", NULL });
    expect("tests/golden/records/gzip.tfrecord", STK_OK,
           (const char *const[]){ "TFRecord, gzip", "records      6", NULL });
    expect("tests/golden/records/zlib.tfrecord", STK_OK,
           (const char *const[]){ "TFRecord, zlib", "records      6", NULL });
    expect("tests/golden/records/pictures.tar", STK_OK,
           (const char *const[]){ "tar, 20480", "samples      4", ".jpg", "in 4 samples",
                                  "{image: 'jpg', label: 'cls'}).decode()", "uint8[?, ?, 3]",
                                  NULL });
    expect("tests/golden", STK_OK, (const char *const[]){ "directory", NULL });
    store("one\ntwo\nthree", 13);
    expect(path, STK_OK,
           (const char *const[]){ "text, 13", "lines        3", "\"one\" | \"two\" | \"three\"",
                                  "/stoker-inspect_", NULL });
}

static void test_text_formats(void **state)
{
    static const char table[] = "id;name\n1;\"a; b\"\n2;c\n";
    static const char objects[] = "{\"id\": 1, \"tags\": [1]}\n{\"id\": 2.5, \"more\": \"x\"}\n";
    static const char broken[] = "{\"a\": 1}\n{\"a\": \n";
    (void)state;
    store(table, sizeof table - 1);
    expect(path, STK_OK,
           (const char *const[]){ "CSV", "rows         2", "', delimiter=';')", "\"a; b\" | \"c\"",
                                  "int64[]", NULL });
    store(objects, sizeof objects - 1);
    expect(path, STK_OK,
           (const char *const[]){ "JSON lines", "tags: list('tags', int64, default_value=[])",
                                  "lines        2", "{id: float64, ",
                                  "more: value('more', text, default_value='')", NULL });
    store(broken, sizeof broken - 1);
    expect(path, STK_OK, (const char *const[]){ "line 2, byte 6 of it", path, NULL });
}

static void test_arrays(void **state)
{
    (void)state;
    expect("tests/golden/arrays/volume.h5", STK_OK,
           (const char *const[]){ "HDF5", "elements     9", "uint8[12, 10, 3]", "hdf5('", NULL });
    static const char magic[] = "\x93NUMPY\1\0";
    store(magic, sizeof magic - 1);
    expect(path, STK_OK, (const char *const[]){ "npy", "this is no npy file", NULL });
}

static void test_refused(void **state)
{
    (void)state;
    store("", 0);
    expect(path, STK_DATA, (const char *const[]){ "is empty", NULL });
    store("\0\1\2\3", 4);
    expect(path, STK_DATA, (const char *const[]){ "begins with the bytes 00 01 02 03", NULL });
    expect("/nonexistent", STK_IO, (const char *const[]){ "No such file", NULL });
    expect("/dev/null", STK_IO, (const char *const[]){ "neither a file", NULL });
}

static void test_damage_has_a_place(void **state)
{
    uint8_t bytes[512];
    size_t n = load("tests/golden/records/plain.tfrecord", bytes, sizeof bytes);
    (void)state;
    store(bytes, n - 1);
    expect(path, STK_OK,
           (const char *const[]){ "records      5", "record 5, at byte", "1 bytes are missing",
                                  NULL });
    bytes[60] ^= 1;
    store(bytes, n);
    expect(path, STK_OK,
           (const char *const[]){ "records      2", "record 2, at byte 33", "checksum", NULL });
}

/* A result or a reason, both as text and as JSON. */
static void look_twice(void)
{
    for (int json = 0; json < 2; json++) {
        int code;
        char *text = look(path, json, &code);
        assert_non_null(text);
        assert_true(code == STK_OK || code == STK_DATA || code == STK_IO);
        stk_text_free(text);
    }
}

static void damage(const char *name, size_t step)
{
    static uint8_t bytes[1 << 16], changed[1 << 16];
    size_t n = load(name, bytes, sizeof bytes);
    for (size_t i = 0; i < n; i += step) {
        store(bytes, i);
        look_twice();
        memcpy(changed, bytes, n);
        changed[i] ^= (uint8_t)(1 << i % 8);
        store(changed, n);
        look_twice();
    }
}

static void test_damage(void **state)
{
    (void)state;
    damage("tests/golden/records/plain.tfrecord", 1);
    damage("tests/golden/records/gzip.tfrecord", 1);
    damage("tests/golden/records/zlib.tfrecord", 1);
    damage("tests/golden/records/pictures.tar", 211);
    damage("tests/golden/arrays/volume.h5", 797);
}

/* Of a large file only the beginning is looked at, and that is said. */
static void test_large(void **state)
{
    uint8_t bytes[512];
    size_t n = load("tests/golden/records/plain.tfrecord", bytes, sizeof bytes);
    FILE *file = fopen(path, "wb");
    (void)state;
    assert_non_null(file);
    for (size_t done = 0; done < (size_t)65 << 20; done += n)
        assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    expect(path, STK_OK,
           (const char *const[]){ "only the first", "were looked at", "there are about", NULL });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_text_formats),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damage_has_a_place),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
