/* SPDX-License-Identifier: Apache-2.0 */
/* test_sources.c: range, values, files, image_folder and lines, with good input and bad. */
#define _GNU_SOURCE
#include "file_tree.h"
#include "op_call.h"

/* ---- rows of indexed sources ---- */

/* The rows of a source at these positions, in a chunk; the caller frees it. */
static struct stk__chunk *rows_at(const struct op_call *c, int n, const uint64_t *index)
{
    struct stk__chunk *chunk = stk__chunk_new(&c->out, n ? n : 1, false);
    assert_non_null(chunk);
    chunk->n = n;
    struct stk__rows_inside inside = { 0 };
    struct stk_rows rows = { .params = c->params,
                             .state = c->state,
                             .out_type = &c->out,
                             .n = n,
                             .out = chunk->column,
                             .mask = chunk->mask,
                             .inside = &inside };
    assert_int_equal(c->op->source.rows(&rows, index), STK_OK);
    return chunk;
}

static int64_t int_at(const struct stk__chunk *chunk, int field, int row)
{
    int64_t value;
    memcpy(&value, chunk->column[field].data + (size_t)row * chunk->column[field].stride,
           sizeof value);
    return value;
}

static const char *text_at(const struct stk__chunk *chunk, int field, int row)
{
    static char text[300];
    const struct stk_span *span = &chunk->column[field].span[row];
    snprintf(text, sizeof text, "%.*s", (int)span->bytes, (const char *)span->data);
    return text;
}

static int open_source(struct op_call *c, const char *text, const struct stk_objects *objects)
{
    int code = op_call_open(c, text, objects);
    return code ? code : op_call_infer(c, 0, NULL, NULL);
}

static void expect_source_failure(const char *text, int code, const char *part)
{
    struct op_call c;
    int got = open_source(&c, text, NULL);
    if (got != code)
        fail_msg("%s gives %d (%s), not %d", text, got, c.err.text, code);
    assert_message(&c, part);
    op_call_close(&c);
}

static void expect_range(const char *text, int64_t start, int64_t stop, int64_t step)
{
    struct op_call c;
    uint64_t index[64];
    int64_t expected[64];
    int n = 0;
    for (int64_t x = start; step > 0 ? x < stop : x > stop; x += step) {
        index[n] = (uint64_t)n;
        expected[n++] = x;
    }
    assert_int_equal(open_source(&c, text, NULL), STK_OK);
    assert_int_equal(c.inf.count, n);
    assert_int_equal(c.op->source.count(c.state), n);
    struct stk__chunk *chunk = rows_at(&c, n, index);
    for (int i = 0; i < n; i++)
        assert_int_equal(int_at(chunk, 0, i), expected[i]);
    stk__chunk_free(chunk);
    op_call_close(&c);
}

static void range(void **state)
{
    (void)state;
    expect_range("range(5)", 0, 5, 1);
    expect_range("range(0)", 0, 0, 1);
    expect_range("range(-5)", 0, -5, 1);
    expect_range("range(2, 9)", 2, 9, 1);
    expect_range("range(5, 1, -2)", 5, 1, -2);
    expect_range("range(1, 5, -2)", 1, 5, -2);
    expect_range("range(-7, 20, 4)", -7, 20, 4);
    expect_range("range(3, step=-1, stop=-3)", 3, -3, -1);
    expect_source_failure("range(1, 5, 0)", STK_VALUE, "step is 0");
    expect_source_failure("range(-9000000000000000000, 9000000000000000000)", STK_VALUE, "2^56");
}

static void range_of_far_numbers(void **state)
{
    struct op_call c;
    const uint64_t index[] = { 0, 1, 17 };
    (void)state;
    assert_int_equal(open_source(&c,
                                 "range(-9000000000000000000, 9000000000000000000, "
                                 "1000000000000000000)",
                                 NULL),
                     STK_OK);
    assert_int_equal(c.inf.count, 18);
    struct stk__chunk *chunk = rows_at(&c, 3, index);
    assert_true(int_at(chunk, 0, 1) == -8000000000000000000);
    assert_true(int_at(chunk, 0, 2) == 8000000000000000000);
    stk__chunk_free(chunk);
    op_call_close(&c);
}

static void values_of_all_types(void **state)
{
    struct op_call c;
    const uint64_t index[] = { 2, 0 };
    float real[2];
    (void)state;
    assert_int_equal(open_source(&c,
                                 "values({i: [1, -2, 3], r: [1, 2.5, 3], s: ['a', 'bc', ''], "
                                 "b: [true, false, true], m: [[1, 2], [3, 4], [5.0, 6]], "
                                 "v: [[1], [], [2, 3]]})",
                                 NULL),
                     STK_OK);
    assert_int_equal(c.inf.count, 3);
    assert_int_equal(c.out.n_fields, 6);
    assert_int_equal(c.out.field[1].dtype, STK_F32);
    assert_int_equal(c.out.field[2].kind, STK_BYTES);
    assert_int_equal(c.out.field[2].flags, STK_FIELD_TEXT);
    assert_int_equal(c.out.field[3].dtype, STK_BOOL);
    assert_int_equal(c.out.field[4].rank, 1);
    assert_int_equal(c.out.field[4].shape[0], 2);
    assert_int_equal(c.out.field[5].kind, STK_RAGGED);
    assert_int_equal(c.out.field[5].dtype, STK_I64);
    assert_int_equal(c.out.field[5].shape[0], -1);
    struct stk__chunk *chunk = rows_at(&c, 2, index);
    assert_int_equal(int_at(chunk, 0, 0), 3);
    assert_int_equal(int_at(chunk, 0, 1), 1);
    assert_string_equal(text_at(chunk, 2, 0), "");
    assert_string_equal(text_at(chunk, 2, 1), "a");
    assert_int_equal(chunk->column[3].data[0], 1);
    memcpy(real, chunk->column[4].data, sizeof real);
    assert_true(real[0] == 5 && real[1] == 6);
    assert_int_equal(chunk->column[5].span[0].bytes, 16);
    assert_int_equal(((const int64_t *)(void *)chunk->column[5].span[0].data)[1], 3);
    assert_int_equal(chunk->column[5].span[1].bytes, 8);
    stk__chunk_free(chunk);
    op_call_close(&c);
}

static void values_of_shapes(void **state)
{
    struct op_call c;
    (void)state;
    assert_int_equal(open_source(&c,
                                 "values({x: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "
                                 "y: [[[1, 2]], [[3, 4], [5, 6]]], e: [[], []]})",
                                 NULL),
                     STK_OK);
    assert_int_equal(c.out.field[0].rank, 2);
    assert_int_equal(c.out.field[0].shape[1], 2);
    assert_int_equal(c.out.field[1].kind, STK_RAGGED);
    assert_int_equal(c.out.field[1].rank, 2);
    assert_int_equal(c.out.field[1].shape[1], 2);
    assert_int_equal(c.out.field[2].kind, STK_RAGGED);
    op_call_close(&c);
    assert_int_equal(open_source(&c, "values({x: []})", NULL), STK_OK);
    assert_int_equal(c.inf.count, 0);
    op_call_close(&c);
}

static void values_that_fail(void **state)
{
    (void)state;
    expect_source_failure("values(3)", STK_VALUE, "wants a map");
    expect_source_failure("values({})", STK_VALUE, "wants a map");
    expect_source_failure("values({x: 3})", STK_VALUE, "wants a list");
    expect_source_failure("values({x: [1, 2], y: [1]})", STK_VALUE,
                          "'y' has 1 values, but 'x' has 2");
    expect_source_failure("values({x: [1, 'a']})", STK_VALUE, "mixes");
    expect_source_failure("values({x: [1, true]})", STK_VALUE, "mixes");
    expect_source_failure("values({x: [1, [2]]})", STK_VALUE, "mixes lists");
    expect_source_failure("values({x: [[1], 2]})", STK_VALUE, "mixes lists");
    expect_source_failure("values({x: [cat, dog]})", STK_VALUE, "quotes");
    expect_source_failure("values({x: [[['a']], [['b']]]})", STK_VALUE,
                          "strings in lists of lists");
    expect_source_failure("values({x: ['a', ['b']]})", STK_VALUE, "mixes lists");
    expect_source_failure("values({x: [['a'], [1]]})", STK_VALUE, "mixes numbers, strings");
    expect_source_failure("values({x: [[[1], [2, 3]], [[4], [5]]]})", STK_VALUE,
                          "different lengths");
    expect_source_failure("values({x: [[[[[[[[[[1]]]]]]]]]]})", STK_VALUE, "too deeply");
    expect_source_failure("values({x: [1e300]})", STK_VALUE, "too large for float32");
}

static void values_of_the_caller(void **state)
{
    static const int16_t data[] = { 1, 2, 3, 4, 5, 6 };
    const struct stk_array array = { .data = data, .dtype = STK_I16, .rank = 2, .shape = { 3, 2 } };
    const struct stk_array scalar = { .data = data, .dtype = STK_I16, .rank = 0 };
    struct stk_objects *objects = stk_objects_new();
    struct op_call c;
    const uint64_t index[] = { 2, 1 };
    (void)state;
    assert_int_equal(stk_objects_add_array(objects, "a", &array, NULL), STK_OK);
    assert_int_equal(open_source(&c, "values({x: @a, y: [7, 8, 9]})", objects), STK_OK);
    assert_int_equal(c.inf.count, 3);
    assert_int_equal(c.out.field[0].dtype, STK_I16);
    assert_int_equal(c.out.field[0].rank, 1);
    struct stk__chunk *chunk = rows_at(&c, 2, index);
    assert_memory_equal(chunk->column[0].data, data + 4, 4);
    assert_memory_equal(chunk->column[0].data + chunk->column[0].stride, data + 2, 4);
    stk__chunk_free(chunk);
    op_call_close(&c);
    if (stk_objects_add_array(objects, "s", &scalar, NULL) == STK_OK) {
        assert_int_equal(open_source(&c, "values({x: @s})", objects), STK_VALUE);
        op_call_close(&c);
    }
    stk_objects_free(objects);
}

/* ---- files ---- */

/* Opens a source of files and checks paths and labels: "path=label path=label". */
static void expect_files(const char *text, const char *expected)
{
    struct op_call c;
    char got[2000] = "", described[300];
    size_t len = 0;
    if (open_source(&c, text, NULL))
        fail_msg("%s: %s", text, c.err.text);
    assert_int_equal(c.out.field[0].flags, STK_FIELD_PATH | STK_FIELD_TEXT);
    for (uint64_t i = 0; i < (uint64_t)c.inf.count; i++) {
        struct stk__chunk *chunk = rows_at(&c, 1, &i);
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%s", i ? " " : "",
                                text_at(chunk, 0, 0));
        if (c.out.n_fields > 1)
            len += (size_t)snprintf(got + len, sizeof got - len, "=%d", (int)int_at(chunk, 1, 0));
        c.op->source.describe(c.state, i, described, sizeof described);
        assert_string_equal(described, text_at(chunk, 0, 0));
        stk__chunk_free(chunk);
    }
    assert_string_equal(got, expected);
    op_call_close(&c);
}

static void files(void **state)
{
    (void)state;
    expect_files("files('flat/*')", "flat/x.txt flat/y.txt");
    expect_files("files(['tree/7.jpg', 'flat/*', 'flat/x.txt'])",
                 "flat/x.txt flat/y.txt tree/7.jpg");
    expect_files("files(['nosuch.jpg', 'also'])", "also nosuch.jpg");
    expect_files("files('flat/*', labels=[5, -6])", "flat/x.txt=5 flat/y.txt=-6");
    expect_files("files(['z', 'y', 'x'], labels=[0, 1, 2])", "x=2 y=1 z=0");
    expect_files("files(['z', 'y', 'z'], labels=[4, 1, 4])", "y=1 z=4");
    expect_files("files('{flat,tree}/{x.txt,7.jpg}', labels=parent)", "flat/x.txt=0 tree/7.jpg=1");
    expect_source_failure("files('flat/*', labels=[5])", STK_VALUE, "1 labels for 2 files");
    expect_source_failure("files('flat/*', labels=[5, 1.5])", STK_VALUE, "label 2 is 1.5");
    expect_source_failure("files(['z', 'z'], labels=[1, 2])", STK_VALUE,
                          "twice, with labels 1 and 2");
    expect_source_failure("files('x.jpg', labels=parent)", STK_VALUE, "'x.jpg' has no directory");
    expect_source_failure("files('flat/*.jpg')", STK_IO, "no file matches 'flat/*.jpg'");
    expect_source_failure("files(['flat/*', 'flat/*.jpg'])", STK_IO,
                          "no file matches 'flat/*.jpg'");
}

static void files_know_their_classes(void **state)
{
    struct op_call c;
    (void)state;
    assert_int_equal(open_source(&c, "files('{flat,tree}/{x.txt,7.jpg}', labels=parent)", NULL),
                     STK_OK);
    assert_string_equal(c.op->source.class_name(c.state, "label", 1), "tree");
    assert_null(c.op->source.class_name(c.state, "label", 2));
    assert_null(c.op->source.class_name(c.state, "label", -1));
    assert_null(c.op->source.class_name(c.state, "path", 0));
    op_call_close(&c);
}

static void image_folder(void **state)
{
    struct op_call c;
    (void)state;
    touch("photos/dog/b.JPEG");
    touch("photos/dog/a.jpg");
    touch("photos/dog/notes.txt");
    touch("photos/dog/more/c.Png");
    touch("photos/dog/g.webp");
    touch("photos/dog/h.GIF");
    touch("photos/dog/i.bmp");
    touch("photos/dog/.thumbs/d.jpg");
    touch("photos/cat/e.png");
    touch("photos/cat 2/f.jpg");
    touch("photos/readme.jpg");
    mkdir("photos/ant", 0777);
    const char *expected = "photos/cat 2/f.jpg=2 photos/cat/e.png=1 photos/dog/a.jpg=3 "
                           "photos/dog/b.JPEG=3 photos/dog/g.webp=3 photos/dog/h.GIF=3 "
                           "photos/dog/i.bmp=3 photos/dog/more/c.Png=3";
    expect_files("image_folder('photos')", expected);
    assert_int_equal(open_source(&c, "image_folder('photos/')", NULL), STK_OK);
    assert_int_equal(c.inf.count, 8);
    assert_string_equal(c.op->source.class_name(c.state, "label", 0), "ant");
    assert_string_equal(c.op->source.remark(c.state),
                        "left out: 1 other file, 1 image in no class folder");
    assert_string_equal(c.op->source.class_name(c.state, "label", 2), "cat 2");
    op_call_close(&c);
    expect_source_failure("image_folder('nosuch')", STK_IO, "'nosuch': No such file");
    expect_source_failure("image_folder('flat')", STK_IO, "'flat' has no subdirectories");
    expect_source_failure("image_folder('tree/a/deep')", STK_OK, "");
    touch("sheets/a/b.tif");
    expect_source_failure("image_folder('sheets')", STK_IO, "which hold 1 other files");
    mkdir("bare", 0777);
    mkdir("bare/class", 0777);
    expect_source_failure("image_folder('bare')", STK_IO, "no images");
    expect_source_failure("image_folder('')", STK_VALUE, "empty");
}

/* ---- lines ---- */

struct stream {
    struct op_call call;
    void *run;
    int n; /* rows read */
};

static void stream_open(struct stream *s, const char *text)
{
    if (open_source(&s->call, text, NULL))
        fail_msg("%s: %s", text, s->call.err.text);
    s->n = 0;
    assert_int_equal(s->call.inf.count, STK_UNKNOWN_COUNT);
    struct stk__pool *pool = stk__pool_new();
    const struct stk__source_start begin = { s->call.params, s->call.state, pool };
    assert_non_null(pool);
    assert_int_equal(s->call.op->source.begin(&begin, &s->run, &s->call.err), STK_OK);
    stk__pool_unref(pool); /* the run has its own reference */
}

static void stream_close(struct stream *s)
{
    s->call.op->source.end(s->run);
    op_call_close(&s->call);
}

/* Reads to the end with chunks of `cap` rows and appends the rows, each in brackets; returns the
 * code. */
static int stream_read(struct stream *s, int cap, struct stk__text *out)
{
    for (;;) {
        struct stk__chunk *chunk = stk__chunk_new(&s->call.out, cap, false);
        int code = s->call.op->source.next(s->run, chunk, &s->call.err);
        assert_true(code == STK_OK || chunk->n == 0); /* none: it has searched for long */
        for (int i = 0; i < chunk->n; i++) {
            const struct stk_span *span = &chunk->column[0].span[i];
            stk__text_add(out, "[");
            stk__text_add_n(out, (const char *)span->data, span->bytes);
            stk__text_add(out, "]");
        }
        s->n += chunk->n;
        stk__chunk_free(chunk);
        if (code)
            return code;
    }
}

static void expect_lines(const char *text, const char *expected)
{
    for (int cap = 1; cap < 5; cap++) {
        struct stream s;
        stream_open(&s, text);
        for (int epoch = 0; epoch < 2; epoch++) {
            struct stk__text got = { 0 };
            assert_int_equal(stream_read(&s, cap, &got), STK_END);
            assert_string_equal(got.data ? got.data : "", expected);
            stk__text_free(&got);
            assert_int_equal(s.call.op->source.rewind(s.run, &s.call.err), STK_OK);
        }
        stream_close(&s);
    }
}

static void lines(void **state)
{
    static const struct {
        const char *data, *expected;
    } cases[] = {
        { "", "" },
        { "\n", "[]" },
        { "a", "[a]" },
        { "a\n", "[a]" },
        { "a\n\nb", "[a][][b]" },
        { "a\r\nb\r", "[a][b\r]" },
        { "\r\n\r\r\n", "[][\r]" },
        { "x\ry\n", "[x\ry]" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("t.txt", cases[i].data, strlen(cases[i].data));
        expect_lines("lines('t.txt')", cases[i].expected);
    }
    write_file("u.txt", "1\n2", 3);
    write_file("v.txt", "", 0);
    write_file("w.txt", "3\n", 2);
    expect_lines("lines(['w.txt', 'v.txt', 'u.txt'])", "[3][1][2]");
    expect_lines("lines('[u-w].txt')", "[1][2][3]");
}

/* Lines of every length around the size of a block, and longer than several. */
static void lines_across_blocks(void **state)
{
    struct stk__text data = { 0 }, expected = { 0 };
    struct stream s;
    (void)state;
    for (int i = 0; i < 60; i++) {
        size_t len = i == 20 ? 1500000 : i == 40 ? 262144 : (size_t)random_below(70000);
        stk__text_add(&expected, "[");
        for (size_t k = 0; k < len; k++) {
            char c = (char)('a' + (k + (size_t)i) % 26);
            stk__text_add_n(&data, &c, 1);
            stk__text_add_n(&expected, &c, 1);
        }
        stk__text_add(&data, i % 3 ? "\n" : "\r\n");
        stk__text_add(&expected, "]");
    }
    write_file("long.txt", data.data, data.len);
    for (int cap = 1; cap < 200; cap *= 7) {
        struct stk__text got = { 0 };
        stream_open(&s, "lines('long.txt')");
        assert_int_equal(stream_read(&s, cap, &got), STK_END);
        assert_int_equal(s.n, 60);
        assert_int_equal(got.len, expected.len);
        assert_memory_equal(got.data, expected.data, got.len);
        stk__text_free(&got);
        stream_close(&s);
    }
    stk__text_free(&data);
    stk__text_free(&expected);
}

static void lines_know_their_places(void **state)
{
    static const char *const places[] = { "m.txt, line 1", "m.txt, line 2", "o.txt, line 1",
                                          "o.txt, line 2" };
    struct stk__text got = { 0 };
    struct stream s;
    char text[100];
    (void)state;
    write_file("m.txt", "a\nb\n", 4);
    write_file("n.txt", "", 0);
    write_file("o.txt", "c\nd\n", 4);
    stream_open(&s, "lines(['m.txt', 'n.txt', 'o.txt'])");
    assert_int_equal(stream_read(&s, 3, &got), STK_END);
    for (uint64_t i = 0; i < 4; i++) {
        s.call.op->source.describe(s.call.state, i, text, sizeof text);
        assert_string_equal(text, places[i]);
    }
    stk__text_free(&got);
    stream_close(&s);
}

/* A file whose second line has `len` bytes. */
static void write_long_line(const char *path, size_t len, const char *end)
{
    char *data = malloc(len + 16);
    memcpy(data, "ok\n", 3);
    memset(data + 3, 'x', len);
    strcpy(data + 3 + len, end);
    write_file(path, data, 3 + len + strlen(end));
    free(data);
}

static void lines_that_are_too_long(void **state)
{
    enum { MOST = 16 << 20 };
    static const char *const ends[] = { "", "\n", "\nmore" };
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int extra = 0; extra < 2; extra++) {
            struct stk__text got = { 0 };
            struct stream s;
            write_long_line("big.txt", MOST + (size_t)extra, ends[i]);
            if (extra)
                expect_source_failure("lines('big.txt')", STK_DATA,
                                      "'big.txt': the line at byte 3 is longer than 16 MiB");
            if (system("rm -f big.fifo; mkfifo big.fifo; cat big.txt > big.fifo 2> /dev/null &"))
                fail_msg("no pipe");
            stream_open(&s, "lines('big.fifo')");
            assert_int_equal(stream_read(&s, 10, &got), extra ? STK_DATA : STK_END);
            assert_int_equal(s.n, extra ? 1 : i == 2 ? 3 : 2);
            if (extra)
                assert_message(&s.call, "'big.fifo', line 2 (at byte 3) is longer than 16 MiB");
            stk__text_free(&got);
            stream_close(&s);
        }
}

static void lines_that_fail(void **state)
{
    struct stk__text got = { 0 };
    struct stream s;
    (void)state;
    expect_source_failure("lines('nosuch.txt')", STK_IO, "'nosuch.txt': No such file or directory");
    expect_source_failure("lines('flat')", STK_VALUE, "is a directory");
    expect_source_failure("lines('nosuch*')", STK_IO, "no file matches");
    write_file("gone.txt", "a\n", 2);
    write_file("here.txt", "b\n", 2);
    stream_open(&s, "lines(['here.txt', 'gone.txt'])");
    remove("gone.txt");
    assert_int_equal(stream_read(&s, 10, &got), STK_IO);
    assert_string_equal(got.data, "[b]");
    assert_message(&s.call, "cannot open 'gone.txt': No such file");
    mkdir("gone.txt", 0777);
    assert_int_equal(s.call.op->source.rewind(s.run, &s.call.err), STK_OK);
    assert_int_equal(stream_read(&s, 10, &got), STK_IO);
    assert_message(&s.call, "cannot read 'gone.txt' at byte 0: Is a directory");
    stk__text_free(&got);
    stream_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range),
        cmocka_unit_test(range_of_far_numbers),
        cmocka_unit_test(values_of_all_types),
        cmocka_unit_test(values_of_shapes),
        cmocka_unit_test(values_that_fail),
        cmocka_unit_test(values_of_the_caller),
        cmocka_unit_test(files),
        cmocka_unit_test(files_know_their_classes),
        cmocka_unit_test(image_folder),
        cmocka_unit_test(lines),
        cmocka_unit_test(lines_across_blocks),
        cmocka_unit_test(lines_know_their_places),
        cmocka_unit_test(lines_that_are_too_long),
        cmocka_unit_test(lines_that_fail),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
