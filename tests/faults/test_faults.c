/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c: for all n, the n-th allocation or file access of a small run fails: the answer
 * is an error that says so, nothing is left behind, and nothing hangs. */
#define _GNU_SOURCE
#include "codec/record/example.h"
#include "fault_run.h"

static void test_allocations_fail(void **state)
{
    static const char *const chains[] = {
        "range(40).map('x * 2 + 1').shuffle().batch(7)",
        "values({x: [1, 2, 3], name: ['a', '', 'ccc'], list: [[1, 2], [3], []]})",
        "values({x: [1, 2, 3], name: ['a', '', 'ccc'], list: [[1, 2], [3], "
        "[]]}).shuffle().batch(2)",
        "files('pictures/*').read().batch(2)",
        "files('pictures/*').read().cache().shuffle().batch(2)",
        "values({x: [1, 2, 3], name: ['a', '', 'ccc'], list: [[1, 2], [3], []]}).filter('x > 1')"
        ".cache().shuffle(2).batch(2).cache()",
        "range(5).shuffle().interleave(element().repeat(3).shuffle(), 2).batch(4)",
        "files('pictures/*').flat_map(fixed_length(path, 1).take(2)).batch(2)",
        "range(5).filter('x > 0').interleave(element().repeat(3).filter('x != 2'), 2).batch(4)",
        "values({p: ['words.txt', 'words.gz']}).shuffle(2).interleave(lines(p).shuffle(2), 2)"
        ".batch(3)",
        "values({p: ['words.gz']}).flat_map(lines(p).batch(2).flat_map(element().unbatch()))",
        "range(20).batch(4).rebatch([3, 2])",
        "files('pictures/*').decode().resize(5, 6).batch(2)",
        "files('formats/*').decode(4, frames=all, dtype=uint16)",
        "files('formats/*').decode(on_truncated=gray).encode_png(1).decode().resize(5, 6).batch(2)",
        "files('pictures/*').decode().encode_jpeg().batch(2)",
        "files('pictures/*').decode().encode_webp().batch(2)",
        "files('pictures/*').decode().rotate(20, bilinear, fill=3, expand=true)"
        ".random_perspective(probability=1).rot90([0, 1]).resize(5, 6).batch(2)",
        "values({image: [[[[1], [2]]], [[[3], [4]]]], seg: [[[1, 2]], [[3, 4]]], "
        "boxes: [[[0, 0, 1, 1]], [[1, 0, 2, 1]]], names: [[7], [8]]})"
        ".rotate(90, field=image, visibility=0.1, "
        "fields={seg: mask, boxes: xyxy, names: labels}).batch(2)",
        "image_folder('train').decode().resize(5, 6).batch(2).mixup(num_classes=9).cutmix()",
        "image_folder('train').decode().center_crop(3, "
        "3).normalize('imagenet').flip(probability=0.5).batch(2)",
        "files('pictures/*').decode(channels=3).resize_with_pad(5, 6, bicubic, semantics=pillow)"
        ".flip(probability=0.5).normalize('imagenet').cast(float16).layout(NCHW).batch(2)",
        "files('pictures/*').decode(channels=3).random_crop(5, 6, padding=2, fill=[1, 2, 3])"
        ".batch(2)",
        "files('pictures/*').decode(channels=3).random_resized_crop(5, 6).flip(probability=0.5)"
        ".batch(2)",
        "files('pictures/*').decode(channels=3).jpeg_quality([20, 60]).color_jitter(0.4, 0.4, 0.4, "
        "0.1).gaussian_blur(3).rand_augment(4, fill=[1, 2, 3]).resize(5, 6).batch(2)",
        "range(50).filter('x % 2 == 0').shuffle(6).batch(4)",
        "range(50).shuffle(6).map('x + 1').batch(4)",
        "range(9).filter('x > 1').zip(range(20).rename({x: y})).batch(2)",
        "range(9).filter('x > 1').concatenate(range(5), range(3)).batch(4)",
        "range(20).batch(4).map('x + 1')",
        "values({x: [1, 2, 3], name: ['a', '', 'ccc']}).batch(2).map('x = x + 1')",
        "npz('deflated.npz').zip(npy('texts.npy').rename({data: text})).shuffle().batch(2)",
        "hdf5('types.h5').batch(2)",
        "hdf5('layouts.h5', hold=0).shuffle().batch(4)",
        "lines('words.txt').shuffle(3).batch(3)",
        "lines('words.txt').repeat(3)",
        "csv('people.csv').shuffle().batch(2)",
        "csv('people.csv', {name: text(default='?'), city: category, x: columns(rest, float32)},"
        " compression=none).batch(2)",
        "csv('people.csv.gz').repeat(2).batch(2)",
        "lines(['words.gz', 'words.zst']).batch(3)",
        "fixed_length('words.txt', 5, header=4).shuffle().batch(2)",
        "fixed_length('words.gz', 7, compression=gzip).batch(50)",
        "jsonl('a.jsonl', {a: int64, b: value('b', default_value='x'), c: list('c', "
        "float32)}).batch(2)",
        "values({x: [1, 2, 3, 4], k: ['a', 'b', 'a', '']}).split([0.5, 0.5], 0, by=k).batch(2)",
        "values({x: [1, 2, 3], name: ['a', '', 'ccc'], list: [[1, 2], [3], []]}).batch(2)"
        ".unbatch().window(2, 1).unbatch().padded_batch(2, {list: [3]}, {list: -1})",
        "values({x: [1, 2, 3], name: ['a', 'b', 'a'], list: [[1, 2], [3], []]})"
        ".window(2, 1, by=name).rebatch(2)",
        "values({k: [1, 2, 1, 3, 4, 5, 6], list: [[1, 2], [3], [], [4], [5], [6], [7]]})"
        ".group_by_window(k, 2).shuffle(1)",
        "values({list: [[1, 2], [3], [], [4, 5, 6]]}).bucket_by_length(list, [2, 3], [1, 2, 1])"
        ".take(3)",
        "range(20).batch(3).ragged_batch(2).take(3).unbatch().padded_batch(3)",
        "range(30).batch(4).take(5).skip(1).prefetch(2)",
        "files('pictures/*').decode().cast(float32).crop(0, 0, 3, 3).take(-1).batch(2)",
        "files('pictures/*').decode().map('n = 1').filter('n < 9').select(n).batch(2)",
        "range(30).batch(1).unbatch().map('x + 1').map('y = x * 2; z = y').skip(2).select(x, y)",
        "values({t: ['{\"a\": 1, \"b\": 2}']}).parse_json({a: int64, b: int64}).rename({a: c, b: "
        "d}).select(d)",
        "values({record: ['\\x0a\\x0a\\x0a\\x08\\x0a\\x01a\\x12\\x03\\x1a\\x01\\x0a', '']})"
        ".parse_example({a: varlen(int64, key=b), b: fixed([2], float32, [1, 2], key=c), "
        "c: fixed([], bytes, 'text')}).batch(2)",
        "values({record: "
        "['\\x12\\x0f\\x0a\\x0d\\x0a\\x01a\\x12\\x08\\x0a\\x06\\x1a\\x04\\x0a\\x02\\x01\\x02']})"
        ".parse_sequence_example(sequence={a: fixed_sequence([2], int64)}).batch(2)",
        "values({x: ['abcd', 'ef', '']}).decode_raw(int16, little_endian=false).batch(2)",
    };
    (void)state;
    fail_each_allocation(chains, sizeof chains / sizeof *chains, "fail");
}

/* Bad elements are left out or replaced; want of memory is not their fault and must not cost
 * good ones. */
static void test_allocations_fail_among_bad_elements(void **state)
{
    static const char *const on_error[] = { "skip", "replace" };
    static const char *const chains[] = { "files('mixed/*').decode().resize(5, 6).batch(2)",
                                          "files('spoilt/*').decode().resize(5, 6).batch(2)" };
    (void)state;
    for (int i = 0; i < 8; i++) { /* the bad one is in the middle, or the first that workers see */
        const struct settings s = { chains[i / 4], i & 1 ? "2" : "0", on_error[i / 2 % 2] };
        fail_allocations(&s, false);
    }
}

static void test_descriptions_without_memory(void **state)
{
    const struct settings s = { "descriptions", "0", "fail" };
    bool has_failed = true;
    (void)state;
    stk_text_free(stk_ops_json());
    stk_text_free(stk_devices_json());
    long before = fault_live_blocks();
    for (long n = 1; has_failed; n++) {
        watch(&s, n, 0);
        fault_arm(FAULT_ALLOCATION, n, false);
        char *ops = stk_ops_json(), *devices = stk_devices_json();
        has_failed = fault_disarm();
        assert_int_equal(!ops || !devices, has_failed);
        stk_text_free(ops);
        stk_text_free(devices);
        check_nothing_left(&s, n, before);
    }
    alarm(0);
}

static void test_looking_into_records_without_memory(void **state)
{
    static const uint8_t bytes[] = "\x0a\x17\x0a\x0a\x0a\x01"
                                   "a\x12\x05\x1a\x03\x0a\x01\x05\x0a\x09\x0a\x03"
                                   "b/c\x12\x02\x22\x00";
    const struct stk__piece record = { bytes, sizeof bytes - 1 };
    const struct settings s = { "stk__example_infer", "0", "fail" };
    bool has_failed = true;
    (void)state;
    long before = fault_live_blocks();
    for (long n = 1; has_failed; n++) {
        struct stk__text call = { 0 }, notes = { 0 };
        struct stk_error err = { 0 };
        watch(&s, n, 0);
        fault_arm(FAULT_ALLOCATION, n, false);
        int rc = stk__example_infer(&record, 1, &call, &notes, &err);
        has_failed = fault_disarm();
        if (rc != (has_failed ? STK_MEMORY : STK_OK))
            fail_msg("allocation %ld: gives %d: %s", n, rc, err.text);
        if (!rc)
            assert_string_equal(call.data, "parse_example({a: int64})");
        stk__text_free(&call);
        stk__text_free(&notes);
        check_nothing_left(&s, n, before);
    }
    alarm(0);
}

/* ---- file accesses ---- */

static void check_fail(const struct settings *s, long n)
{
    const char *name = base_name(fault_path());
    if (is_same(&found, &expected))
        return; /* a stream that was read once more, and then it worked */
    if (found.rc != STK_IO || found.err.code != STK_IO || !strstr(found.err.text, name))
        fail_msg("%s, workers=%s, access %ld (%s): gives %d: %s", s->chain, s->workers, n, name,
                 found.rc, found.err.text);
}

/* Exactly the row of the file that failed is missing, in one of the two epochs. */
static void check_skip(const struct settings *s, long n)
{
    const char *name = base_name(fault_path());
    int n_missing = 0;
    bool is_right = found.rc == STK_END && found.n_rows == expected.n_rows - 1;
    for (int i = 0, k = 0; is_right && i < expected.n_rows; i++) {
        if (k < found.n_rows && !strcmp(expected.origin[i], found.origin[k])) {
            k++;
            continue;
        }
        is_right = !n_missing++ && !strcmp(base_name(expected.origin[i]), name);
    }
    if (!is_right)
        fail_msg("%s, workers=%s, access %ld (%s): gives %d with %d rows: %s", s->chain, s->workers,
                 n, name, found.rc, found.n_rows, found.err.text);
}

static void fail_accesses(const struct settings *s)
{
    long before = warm_up(s);
    bool has_failed = true;
    for (long n = 1; has_failed; n++) {
        watch(s, n, 0);
        fault_arm(FAULT_ACCESS, n, false);
        run(s, &found);
        has_failed = fault_disarm();
        if (!has_failed)
            assert_true(is_same(&found, &expected));
        else if (strcmp(s->on_error, "skip"))
            check_fail(s, n);
        else
            check_skip(s, n);
        check_nothing_left(s, n, before);
    }
    alarm(0);
}

static void test_accesses_fail(void **state)
{
    static const char *const chains[] = {
        "files('pictures/*').read().batch(2)",
        "files('pictures/*').decode().resize(5, 6).batch(2)",
        "files('pictures/*').shuffle().decode().resize(5, 6)",
        "files('pictures/*').decode().resize(5, 6).shuffle(2).batch(3)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        for (int mode = 0; mode < 4; mode++) {
            const struct settings s = { chains[i], mode & 1 ? "2" : "0",
                                        mode & 2 ? "skip" : "fail" };
            fail_accesses(&s);
        }
    }
    const struct settings lines[] = { { "lines(['words.txt', 'more.txt']).batch(3)", "0", "fail" },
                                      { "lines(['words.txt', 'more.txt']).batch(3)", "2",
                                        "fail" } };
    fail_accesses(&lines[0]);
    fail_accesses(&lines[1]);
    const struct settings packed = { "lines(['words.gz', 'words.zst']).batch(30)", "2", "fail" };
    fail_accesses(&packed);
}

/* ---- files ---- */

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive";
    static const char people[] = "name,age,height,city\n\"A \"\"n\"\"\",31,1.7,Bern\n,44,,Oslo\n";
    static const char texts[] =
        "{\"a\": 1, \"b\": \"\\u00e4\", \"c\": [1, 2]}\n\n{\"a\": 2, \"c\": []}";
    if (enter(state))
        return -1;
    signal(SIGALRM, report_hang);
    n_files_at_start = count_open_files();
    write_file("words.txt", words, sizeof words - 1);
    write_file("more.txt", words, sizeof words - 1);
    write_file("people.csv", people, sizeof people - 1);
    if (system("gzip -k people.csv"))
        return -1;
    write_file("a.jsonl", texts, sizeof texts - 1);
    copy_file("tests/golden/streams/text.gz", "words.gz");
    copy_file("tests/golden/streams/text.zst", "words.zst");
    copy_file("tests/golden/arrays/deflated.npz", "deflated.npz");
    copy_file("tests/golden/arrays/unicode.npy", "texts.npy");
    copy_file("tests/golden/arrays/types.h5", "types.h5");
    copy_file("tests/golden/arrays/layouts.h5", "layouts.h5");
    copy_file("tests/golden/decode/gray.jpg", "pictures/0.jpg");
    copy_file("tests/golden/decode/optimized.jpg", "pictures/1.jpg");
    copy_file("tests/golden/decode/gray_8.png", "pictures/2.png");
    copy_file("tests/golden/decode/gray_progressive.jpg", "pictures/3.jpg");
    copy_file("tests/golden/formats/frames.gif", "formats/0.gif");
    copy_file("tests/golden/formats/rle_8.bmp", "formats/1.bmp");
    copy_file("tests/golden/formats/lossy_alpha.webp", "formats/2.webp");
    copy_file("tests/golden/formats/frames.webp", "formats/3.webp");
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/orientation_3.jpg", "train/dog/1.jpg");
    copy_file("tests/golden/decode/gray.jpg", "mixed/0.jpg");
    write_file("mixed/1.jpg", words, sizeof words - 1);
    copy_file("tests/golden/decode/optimized.jpg", "mixed/2.jpg");
    write_file("spoilt/0.jpg", words, sizeof words - 1);
    for (char name[] = "spoilt/1.jpg"; name[7] <= '9'; name[7]++)
        copy_file("tests/golden/decode/gray.jpg", name);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_allocations_fail_among_bad_elements),
        cmocka_unit_test(test_descriptions_without_memory),
        cmocka_unit_test(test_looking_into_records_without_memory),
        cmocka_unit_test(test_accesses_fail),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
