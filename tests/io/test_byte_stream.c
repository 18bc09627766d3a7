/* SPDX-License-Identifier: Apache-2.0 */
/* test_byte_stream.c: files, pipes and compressed data as bytes from front to back; damage of every
 * kind. */
#define _GNU_SOURCE
#include "file_tree.h"
#include "io/byte_stream.h"

#include <malloc.h>
#include <pthread.h>

#define STREAMS "tests/golden/streams/"
enum { MOST = 64 << 10 };

struct content {
    uint8_t data[MOST];
    size_t bytes;
    int code; /* how it ended */
    struct stk_error err;
    uint64_t file_offset;
};

static struct content expected, packed;

/* Everything of a stream, in pieces of `step` bytes. */
static void read_all(struct stk__byte_stream *stream, size_t step, struct content *out)
{
    out->bytes = 0;
    do {
        size_t got = 0, room = MOST - out->bytes;
        out->code = stk__byte_stream_read(stream, out->data + out->bytes, step < room ? step : room,
                                          &got, &out->err);
        assert_true(out->code == STK_OK ? got > 0 && got <= step : got == 0);
        out->bytes += got;
        assert_int_equal(stk__byte_stream_offset(stream), out->bytes);
        assert_true(out->bytes < MOST);
    } while (out->code == STK_OK || out->code == STK_AGAIN);
    out->file_offset = stk__byte_stream_file_offset(stream);
}

static void read_path(const char *path, enum stk__compression compression, size_t step,
                      struct content *out)
{
    struct stk__byte_stream *stream = NULL;
    struct stk__byte_stream_options options = { .path = path, .compression = compression };
    out->bytes = 0;
    out->code = stk__byte_stream_open(&options, &stream, &out->err);
    if (!out->code)
        read_all(stream, step, out);
    stk__byte_stream_close(stream);
}

static void load(const char *name, struct content *out)
{
    char path[200];
    snprintf(path, sizeof path, STREAMS "%s", name);
    copy_file(path, "loaded");
    read_path("loaded", STK__COMPRESSION_NONE, MOST, out);
    assert_int_equal(out->code, STK_END);
    assert_true(out->bytes > 0);
}

static void assert_prefix(const struct content *got, const char *what)
{
    if (got->bytes > expected.bytes || memcmp(got->data, expected.data, got->bytes) != 0)
        fail_msg("%s: wrong bytes", what);
}

static void assert_says(const struct content *got, int code, const char *part, const char *what)
{
    if (got->code != code || !strstr(got->err.text, part))
        fail_msg("%s ends with %d '%s', not %d '%s'", what, got->code, got->err.text, code, part);
}

static const struct case_of {
    const char *name;
    enum stk__compression compression;
} cases[] = {
    { "text.txt", STK__COMPRESSION_NONE },   { "text.gz", STK__COMPRESSION_GZIP },
    { "stored.gz", STK__COMPRESSION_GZIP },  { "header.gz", STK__COMPRESSION_GZIP },
    { "members.gz", STK__COMPRESSION_GZIP }, { "padded.gz", STK__COMPRESSION_GZIP },
    { "text.zlib", STK__COMPRESSION_ZLIB },  { "fast.zlib", STK__COMPRESSION_ZLIB },
    { "best.zlib", STK__COMPRESSION_ZLIB },  { "fixed.zlib", STK__COMPRESSION_ZLIB },
    { "text.zst", STK__COMPRESSION_ZSTD },   { "stream.zst", STK__COMPRESSION_ZSTD },
    { "frames.zst", STK__COMPRESSION_ZSTD }, { "skip_first.zst", STK__COMPRESSION_ZSTD },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void every_format(void **state)
{
    static const size_t steps[] = { 1, 7, 16, 17, 1000, MOST };
    static struct content got;
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        load(cases[i].name, &packed);
        for (size_t k = 0; k < 2 * sizeof steps / sizeof *steps; k++) {
            bool is_auto = k % 2;
            read_path("loaded", is_auto ? STK__COMPRESSION_AUTO : cases[i].compression,
                      steps[k / 2], &got);
            assert_prefix(&got, cases[i].name);
            if (got.code != STK_END)
                fail_msg("%s, %zu at a time: %s", cases[i].name, steps[k / 2], got.err.text);
            assert_int_equal(got.bytes, expected.bytes);
            assert_int_equal(got.file_offset, packed.bytes);
        }
    }
}

/* malloc keeps what is given back for each thread, which a budget of a run does not see. zstd has its own. Under
 * AddressSanitizer malloc says nothing about itself. */
static void malloc_is_not_asked_for_much(void **state)
{
    const size_t little = 16 << 10;
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct stk__byte_stream *stream = NULL;
        struct stk__byte_stream_options options = { .path = "loaded" };
        struct stk_error err;
        uint8_t byte;
        size_t got;
        if (cases[i].compression == STK__COMPRESSION_ZSTD)
            continue;
        load(cases[i].name, &packed);
        struct mallinfo2 before = mallinfo2();
        assert_int_equal(stk__byte_stream_open(&options, &stream, &err), STK_OK);
        assert_int_equal(stk__byte_stream_read(stream, &byte, 1, &got, &err), STK_OK);
        struct mallinfo2 after = mallinfo2();
        stk__byte_stream_close(stream);
        size_t took = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
        if (took > little)
            fail_msg("%s: %zu bytes of malloc", cases[i].name, took);
    }
}

/* ---- damage ---- */

/* Without files: unpacks in pieces of up to `step` bytes. STK_END if it may end there, STK_AGAIN if
 * more is needed. Stops when `out` is full. */
static void unpack(enum stk__compression kind, const uint8_t *data, size_t bytes, size_t step,
                   struct content *out)
{
    struct stk__decompressor *d = stk__decompressor_new(kind);
    assert_non_null(d);
    struct stk__pump pump = { data, 0, out->data, MOST };
    out->code = STK_OK;
    for (size_t at = 0; !out->code && pump.out_bytes; at += step) {
        pump.in_bytes += at + step < bytes ? step : at < bytes ? bytes - at : 0;
        out->code = stk__decompressor_pump(d, &pump, &out->err);
        assert_true(out->code || pump.in_bytes == 0 || pump.out_bytes == 0);
        if (at >= bytes)
            break;
    }
    if (!out->code)
        out->code = stk__decompress_may_end(d) ? STK_END : STK_AGAIN;
    out->bytes = MOST - pump.out_bytes;
    stk__decompressor_free(d);
}

/* Input in pieces of every size: headers, blocks and trailers are cut everywhere. */
static void input_in_pieces(void **state)
{
    static struct content got;
    (void)state;
    for (int i = 1; i < N_CASES; i++) {
        load(cases[i].name, &packed);
        for (size_t step = 1; step < 100; step++) {
            unpack(cases[i].compression, packed.data, packed.bytes, step, &got);
            if (got.code != STK_END || got.bytes != expected.bytes)
                fail_msg("%s by %zu: %d %s", cases[i].name, step, got.code, got.err.text);
            assert_prefix(&got, cases[i].name);
        }
    }
}

/* Where a file may end before its end: behind a whole member or frame, and within zeros. */
static bool may_end(const char *name, size_t cut, size_t bytes)
{
    if (strcmp(name, "padded.gz") == 0)
        return cut >= packed.bytes - 300;
    return (strcmp(name, "skip_first.zst") == 0 && cut == 8) ||
           ((strcmp(name, "members.gz") == 0 || strcmp(name, "frames.zst") == 0) &&
            bytes == expected.bytes / 2);
}

static void truncated_anywhere(void **state)
{
    static struct content got;
    (void)state;
    for (int i = 1; i < N_CASES; i++) {
        load(cases[i].name, &packed);
        for (size_t cut = 0; cut < packed.bytes; cut++) {
            unpack(cases[i].compression, packed.data, cut, 100, &got);
            assert_prefix(&got, cases[i].name);
            if (got.code != STK_AGAIN &&
                (got.code != STK_END || !may_end(cases[i].name, cut, got.bytes)))
                fail_msg("%s cut at %zu: %d %s", cases[i].name, cut, got.code, got.err.text);
        }
    }
}

static void truncated_file(void **state)
{
    static struct content got;
    char says[100];
    (void)state;
    load("text.gz", &packed);
    for (size_t cut = 3; cut < packed.bytes; cut += cut < 40 ? 1 : 50) {
        write_file("cut", (const char *)packed.data, cut);
        read_path("cut", STK__COMPRESSION_AUTO, 4096, &got);
        assert_prefix(&got, "text.gz");
        snprintf(says, sizeof says, "'cut' ends at byte %zu, within its gzip data", cut);
        assert_says(&got, STK_DATA, says, "a cut file");
    }
}

/* A flipped bit is found, or it is one that says nothing about the content: of time, name, level.
 */
static void flipped_anywhere(void **state)
{
    static struct content got;
    (void)state;
    for (int i = 1; i < N_CASES; i++) {
        bool has_checksum =
            strcmp(cases[i].name, "frames.zst") && strcmp(cases[i].name, "skip_first.zst");
        int n_unseen = 0;
        load(cases[i].name, &packed);
        for (size_t bit = 0; bit < 8 * packed.bytes; bit++) {
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            unpack(cases[i].compression, packed.data, packed.bytes, 1 + bit % 300, &got);
            packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            n_unseen += got.code == STK_END;
            if (got.code == STK_END && has_checksum &&
                (got.bytes != expected.bytes || memcmp(got.data, expected.data, got.bytes) != 0))
                fail_msg("%s: bit %zu was flipped, and the content is another", cases[i].name, bit);
        }
        if (has_checksum && n_unseen > 8 * 40)
            fail_msg("%s: %d flipped bits were not seen", cases[i].name, n_unseen);
    }
}

static void garbage_behind(void **state)
{
    static struct content got;
    (void)state;
    for (int i = 1; i < N_CASES; i++) {
        load(cases[i].name, &packed);
        for (size_t n = 1; n < 12; n++) {
            memcpy(packed.data + packed.bytes, "XXXXXXXXXXXX", n);
            write_file("longer", (const char *)packed.data, packed.bytes + n);
            read_path("longer", cases[i].compression, 4096, &got);
            assert_prefix(&got, cases[i].name);
            assert_int_equal(got.bytes, expected.bytes);
            bool is_zstd = cases[i].compression == STK__COMPRESSION_ZSTD;
            assert_says(&got, STK_DATA,
                        !is_zstd                            ? "something follows the end"
                        : strstr(got.err.text, "not whole") ? "within its zstd data"
                                                            : "the zstd data is damaged",
                        cases[i].name);
            assert_non_null(strstr(got.err.text, "'longer'"));
        }
    }
}

/* A frame that says it has 38 bytes, and has none, also where it comes in pieces. */
static void frame_of_another_length(void **state)
{
    static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x26, 0x01,
                                     0x00, 0x00, 0x99, 0xe9, 0xd8, 0x51 };
    static struct content got;
    (void)state;
    for (size_t step = 1; step <= sizeof frame; step++) {
        unpack(STK__COMPRESSION_ZSTD, frame, sizeof frame, step, &got);
        assert_int_equal(got.code, STK_DATA);
    }
}

static void expect_refused(const char *data, size_t bytes, enum stk__compression compression,
                           const char *part)
{
    static struct content got;
    write_file("refused", data, bytes);
    read_path("refused", compression, 4096, &got);
    assert_int_equal(got.bytes, 0);
    assert_says(&got, STK_DATA, part, part);
}

static void not_what_it_should_be(void **state)
{
    static struct content got;
    (void)state;
    expect_refused("BZh91AY&SY....", 14, STK__COMPRESSION_AUTO, "this is bzip2");
    expect_refused("\xfd"
                   "7zXZ\0....",
                   10, STK__COMPRESSION_AUTO, "'refused', at byte 0: this is xz");
    expect_refused("hello, world: this is text", 26, STK__COMPRESSION_GZIP, "not gzip data");
    expect_refused("hello, world: this is text", 26, STK__COMPRESSION_ZLIB, "zlib");
    expect_refused("hello, world: this is text", 26, STK__COMPRESSION_ZSTD, "zstd data is damaged");
    expect_refused("", 0, STK__COMPRESSION_GZIP, "it is not whole");
    read_path("nowhere", STK__COMPRESSION_AUTO, 100, &got);
    assert_says(&got, STK_IO, "cannot open 'nowhere': No such file", "nowhere");
    read_path("tree", STK__COMPRESSION_AUTO, 100, &got);
    assert_says(&got, STK_IO, "cannot read 'tree' at byte 0: Is a directory", "a directory");
}

/* Text whose beginning is almost that of a compressed file, or all of it. */
static void short_and_odd_text(void **state)
{
    static const char *const texts[] = {
        "",  "x",  "x^2", "B",        "BZ",         "BZh",  "BZh9 is text",
        "(", "hC", "P*",  "P*M",      "x\n",        "\x1f", "\x1f\x8b",
        "P", "_*", "h\5", "\x28\xb5", "\xfd\x37zXY"
    };
    static struct content got;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file("odd", texts[i], strlen(texts[i]));
        read_path("odd", STK__COMPRESSION_AUTO, 5, &got);
        assert_int_equal(got.code, STK_END);
        assert_int_equal(got.bytes, strlen(texts[i]));
        assert_memory_equal(got.data, texts[i], got.bytes);
    }
}

static bool begins_with_its_size(const uint8_t *head, size_t n)
{
    return n == STK__SNIFF_BYTES && head[8] == 'p';
}

static void a_format_may_know_better(void **state)
{
    static struct content got;
    static const char data[] = "\x1f\x8b\x08\0\0\0\0\0plain after all";
    struct stk__byte_stream *stream;
    struct stk__byte_stream_options options = { .path = "mine", .is_plain = begins_with_its_size };
    (void)state;
    write_file("mine", data, sizeof data);
    assert_int_equal(stk__byte_stream_open(&options, &stream, NULL), STK_OK);
    read_all(stream, 4096, &got);
    assert_int_equal(stk__byte_stream_compression(stream), STK__COMPRESSION_NONE);
    stk__byte_stream_close(stream);
    assert_int_equal(got.code, STK_END);
    assert_int_equal(got.bytes, sizeof data);
    assert_memory_equal(got.data, data, sizeof data);
    read_path("mine", STK__COMPRESSION_AUTO, 4096, &got);
    assert_says(&got, STK_DATA, "gzip", "without help");
}

/* ---- pipes ---- */

struct writer {
    const struct content *content;
    size_t step;
    int fd; /* -1: opens the named pipe itself */
};

static void *write_slowly(void *context)
{
    const struct writer *w = context;
    int fd = w->fd >= 0 ? w->fd : open("pipe", O_WRONLY);
    assert_true(fd >= 0);
    for (size_t done = 0; done < w->content->bytes;) {
        size_t left = w->content->bytes - done;
        ssize_t n = write(fd, w->content->data + done, w->step < left ? w->step : left);
        assert_true(n > 0);
        done += (size_t)n;
        usleep(done < 40 ? 3000 : 0);
    }
    close(fd);
    return NULL;
}

static void named_pipe(void **state)
{
    static struct content got;
    size_t n_bytes;
    struct stk__byte_stream *stream;
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (int i = 0; i < N_CASES; i++) {
        pthread_t thread;
        struct stk__byte_stream_options options = { .path = "pipe" };
        load(cases[i].name, &packed);
        assert_int_equal(stk__byte_stream_open(&options, &stream, NULL), STK_OK);
        /* nobody writes yet: neither an end nor a wait without one */
        assert_int_equal(stk__byte_stream_read(stream, got.data, 10, &n_bytes, NULL), STK_AGAIN);
        struct writer w = { &packed, (size_t)i % 3 * 500 + 1, -1 };
        assert_int_equal(pthread_create(&thread, NULL, write_slowly, &w), 0);
        read_all(stream, 4096, &got);
        pthread_join(thread, NULL);
        stk__byte_stream_close(stream);
        if (got.code != STK_END)
            fail_msg("%s: %s", cases[i].name, got.err.text);
        assert_int_equal(got.bytes, expected.bytes);
        assert_prefix(&got, cases[i].name);
    }
}

static void standard_input(void **state)
{
    static struct content got;
    int ends[2], saved = dup(STDIN_FILENO);
    (void)state;
    load("members.gz", &packed);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    pthread_t thread;
    struct writer w = { &packed, 100, ends[1] };
    assert_int_equal(pthread_create(&thread, NULL, write_slowly, &w), 0);
    read_path("-", STK__COMPRESSION_AUTO, 100, &got);
    pthread_join(thread, NULL);
    assert_int_equal(got.code, STK_END);
    assert_int_equal(got.bytes, expected.bytes);
    assert_prefix(&got, "standard input");
    close(STDIN_FILENO);
    read_path("-", STK__COMPRESSION_AUTO, 100, &got);
    assert_says(&got, STK_IO, "cannot open standard input", "closed");
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

static int begin(void **state)
{
    if (enter(state))
        return -1;
    load("text.txt", &expected);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),
        cmocka_unit_test(malloc_is_not_asked_for_much),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(truncated_file),
        cmocka_unit_test(input_in_pieces),
        cmocka_unit_test(flipped_anywhere),
        cmocka_unit_test(garbage_behind),
        cmocka_unit_test(frame_of_another_length),
        cmocka_unit_test(not_what_it_should_be),
        cmocka_unit_test(short_and_odd_text),
        cmocka_unit_test(a_format_may_know_better),
        cmocka_unit_test(named_pipe),
        cmocka_unit_test(standard_input),
    };
    return cmocka_run_group_tests(tests, begin, leave);
}
