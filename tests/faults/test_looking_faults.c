/* SPDX-License-Identifier: Apache-2.0 */
/* test_looking_faults.c: inspect and statistics while memory and reads fail: an error that says so,
 * or the same text, and nothing left behind. */
#define _GNU_SOURCE
#include "fault_run.h"

/* What one look says, as people read it and as JSON; the text of an error starts with its code. */
struct said {
    int code;
    char *text[2];
    struct stk_error err;
};

typedef void (*look_fn)(const char *what, struct said *out);

static void inspect(const char *path, struct said *out)
{
    out->code = STK_OK;
    for (int json = 0; json < 2 && !out->code; json++)
        out->code = stk_inspect(path, json, &out->text[json], &out->err);
}

static void count(const char *chain, struct said *out)
{
    struct stk_dataset *data = NULL;
    struct stk_options *options = stk_options_new();
    struct stk_statistics counted = { 0 };
    out->code = options ? STK_OK : no_memory(&out->err);
    if (!out->code)
        out->code = stk_options_set(options, "workers", "2", &out->err);
    if (!out->code)
        out->code = stk_dataset_new(chain, NULL, &data, &out->err);
    if (!out->code)
        out->code = stk_dataset_statistics(data, options, NULL, &counted, &out->err);
    out->text[0] = counted.text;
    out->text[1] = counted.json;
    stk_dataset_unref(data);
    stk_options_free(options);
}

static void look(look_fn how, const char *what, struct said *out)
{
    memset(out, 0, sizeof *out);
    how(what, out);
}

static void forget(struct said *said)
{
    stk_text_free(said->text[0]);
    stk_text_free(said->text[1]);
}

static bool says_same(const struct said *a, const struct said *b)
{
    return !a->code && !b->code && !strcmp(a->text[0], b->text[0]) &&
           !strcmp(a->text[1], b->text[1]);
}

/* A read that fails in the middle may also be a note in what inspect says. */
static void check(const char *what, enum fault_kind kind, long n, const struct said *s)
{
    bool is_memory = kind == FAULT_ALLOCATION;
    bool is_right = is_memory ? s->code == STK_MEMORY : s->code == STK_IO || s->code == STK_OK;
    if (!is_right || (s->code && s->err.code != s->code))
        fail_msg("%s, %s %ld: gives %d: %s", what, is_memory ? "allocation" : "access", n, s->code,
                 s->code ? s->err.text : s->text[1]);
}

static void fail_looks(look_fn how, const char *what, enum fault_kind kind)
{
    const struct settings s = { what, "2", "fail" };
    struct said wanted, said;
    bool has_failed = true;
    look(how, what, &wanted);
    forget(&wanted);
    look(how, what, &wanted);
    if (wanted.code)
        fail_msg("%s: %s", what, wanted.err.text);
    long before = fault_live_blocks(), n = 1;
    for (; has_failed; n++) {
        watch(&s, n, 0);
        fault_arm(kind, n, false);
        look(how, what, &said);
        has_failed = fault_disarm();
        if (!says_same(&said, &wanted)) {
            assert_true(has_failed);
            check(what, kind, n, &said);
        }
        forget(&said);
        check_nothing_left(&s, n, before);
    }
    alarm(0);
    assert_true(n > 3);
    forget(&wanted);
}

static const char *const files[] = {
    "a.jsonl",      "people.csv", "words.txt", "examples.tfrecord", "pictures.tar", "gzip.tfrecord",
    "deflated.npz", "volume.npy", "volume.h5", "lengths.h5",        "picture.png",  "train",
};

static const char *const chains[] = {
    "csv('people.csv').batch(2)",
    "tfrecord('examples.tfrecord').take(20).batch(3)",
    "npy('volume.npy').batch(2)",
    "jsonl('a.jsonl', {a: int64, l: list('l', float32)}).batch(2)",
    "image_folder('train').decode().resize(4, 4).batch(2)",
};

static void test_inspect_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fail_looks(inspect, files[i], FAULT_ALLOCATION);
}

static void test_inspect_without_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fail_looks(inspect, files[i], FAULT_ACCESS);
}

static void test_statistics_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        fail_looks(count, chains[i], FAULT_ALLOCATION);
}

static void test_statistics_without_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        fail_looks(count, chains[i], FAULT_ACCESS);
}

static int set_up(void **state)
{
    static const char people[] = "name,age,height,city\n\"A\",31,1.7,Bern\nB,44,,Oslo\n";
    static const char texts[] = "{\"a\": 1, \"l\": [1, 2]}\n{\"a\": 2, \"l\": []}\n";
    static const char words[] = "one\ntwo\nthree\n";
    if (enter(state))
        return -1;
    signal(SIGALRM, report_hang);
    n_files_at_start = count_open_files();
    write_file("people.csv", people, sizeof people - 1);
    write_file("a.jsonl", texts, sizeof texts - 1);
    write_file("words.txt", words, sizeof words - 1);
    copy_file("tests/golden/records/examples.tfrecord", "examples.tfrecord");
    copy_file("tests/golden/records/gzip.tfrecord", "gzip.tfrecord");
    copy_file("tests/golden/records/pictures.tar", "pictures.tar");
    copy_file("tests/golden/arrays/volume.npy", "volume.npy");
    copy_file("tests/golden/arrays/deflated.npz", "deflated.npz");
    copy_file("tests/golden/arrays/volume.h5", "volume.h5");
    copy_file("tests/golden/arrays/lengths.h5", "lengths.h5");
    copy_file("tests/golden/decode/gray_8.png", "picture.png");
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/gray.jpg", "train/dog/1.jpg");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inspect_without_memory),
        cmocka_unit_test(test_inspect_without_reads),
        cmocka_unit_test(test_statistics_without_memory),
        cmocka_unit_test(test_statistics_without_reads),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
