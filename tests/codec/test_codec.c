/* SPDX-License-Identifier: Apache-2.0 */
/* test_codec.c: decoding against TensorFlow and Pillow, damaged and hostile files, and the op
 * decode. */
#include "base/cancel.h"
#include "base/memory/arena.h"
#include "codec/image/codec.h"
#include "lang/value.h"
#include "op/declaration.h"

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/golden/"

extern const struct stk__op stk__op_decode, stk__op_read;

/* A copy on the heap of exactly its size, so that reading past the end is seen by the sanitizer. */
struct file {
    uint8_t *bytes;
    size_t n;
};

static struct file load(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, GOLDEN "decode/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    struct file file = { NULL, (size_t)ftell(f) };
    rewind(f);
    file.bytes = malloc(file.n);
    assert_non_null(file.bytes);
    assert_int_equal(fread(file.bytes, 1, file.n, f), file.n);
    fclose(f);
    return file;
}

static struct file copy_of(const void *bytes, size_t n)
{
    struct file file = { malloc(n ? n : 1), n };
    assert_non_null(file.bytes);
    memcpy(file.bytes, bytes, n);
    return file;
}

static uint64_t fnv(const uint8_t *bytes, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* ---- decoding into the heap ---- */

static int place_on_heap(void *ctx, struct stk__image *image, struct stk_error *err)
{
    uint8_t **memory = ctx;
    (void)err;
    *memory = image->data = malloc(image->stride * image->height);
    assert_non_null(image->data);
    return STK_OK;
}

struct result {
    int code;
    struct stk__image image;
    uint64_t hash;
    bool was_placed;
    struct stk_error err;
};

static struct result decode_as(struct stk__codec *codec, struct file file,
                               struct stk__decode_request request)
{
    struct result result = { 0 };
    uint8_t *memory = NULL;
    request.bytes = file.bytes;
    request.n_bytes = file.n;
    request.max_pixels = 100000000;
    request.place = place_on_heap;
    request.ctx = &memory;
    result.code = stk__codec_decode(codec, &request, &result.image, &result.err);
    result.was_placed = memory;
    if (!result.code)
        result.hash = fnv(memory, result.image.stride * result.image.height);
    else
        assert_true(result.err.text[0]);
    free(memory);
    return result;
}

static struct result decode_rgb(struct stk__codec *codec, struct file file)
{
    return decode_as(codec, file, (struct stk__decode_request){ .channels = 3 });
}

static int open_codec(void **state)
{
    *state = stk__codec_new();
    return *state ? 0 : -1;
}

static int close_codec(void **state)
{
    stk__codec_free(*state);
    return 0;
}

/* ---- golden pixels ---- */

struct golden {
    char name[100], dct[20];
    int channels, is_oriented;
    uint32_t height, width;
    int out_channels;
    unsigned long long hash;
};

static bool next_golden(FILE *list, struct golden *g)
{
    char line[300];
    while (fgets(line, sizeof line, list))
        if (line[0] != '#') {
            assert_int_equal(sscanf(line, "%99s %d %19s %d %u %u %d %llx", g->name, &g->channels,
                                    g->dct, &g->is_oriented, &g->height, &g->width,
                                    &g->out_channels, &g->hash),
                             8);
            return true;
        }
    return false;
}

static bool matches(struct stk__codec *codec, const struct golden *g)
{
    struct file file = load(g->name);
    struct result r =
        decode_as(codec, file,
                  (struct stk__decode_request){ .channels = g->channels,
                                                .is_fast_dct = !strcmp(g->dct, "fast"),
                                                .is_oriented = g->is_oriented });
    free(file.bytes);
    bool is_equal = !r.code && r.image.height == g->height && r.image.width == g->width &&
                    r.image.channels == g->out_channels && r.hash == g->hash;
    if (!is_equal)
        print_error("%s channels=%d dct=%s orientation=%d differs: %s\n", g->name, g->channels,
                    g->dct, g->is_oriented, r.code ? r.err.text : "other pixels or shape");
    return is_equal;
}

static void pixels_equal_those_of_tensorflow_and_pillow(void **state)
{
    FILE *list = fopen(GOLDEN "decode.txt", "r");
    assert_non_null(list);
    struct golden g;
    int n = 0, n_different = 0;
    for (; next_golden(list, &g); n++)
        n_different += !matches(*state, &g);
    fclose(list);
    assert_true(n > 400);
    assert_int_equal(n_different, 0);
}

static void probe_says_what_decoding_gives(void **state)
{
    (void)state;
    FILE *list = fopen(GOLDEN "decode.txt", "r");
    assert_non_null(list);
    struct golden g;
    while (next_golden(list, &g)) {
        struct stk__image_info info;
        struct stk_error err;
        struct file file = load(g.name);
        assert_int_equal(stk__image_info(file.bytes, file.n, &info, &err), STK_OK);
        free(file.bytes);
        if (!strncmp(g.name, "orientation_", 12))
            assert_int_equal(info.orientation, g.name[12] - '0');
        if (g.is_oriented)
            continue;
        assert_int_equal(info.width, g.width);
        assert_int_equal(info.height, g.height);
        if (!g.channels)
            assert_int_equal(info.channels, g.out_channels);
    }
    fclose(list);
}

/* ---- damage ---- */

static const char *const victims[] = { "q20_420.jpg",
                                       "progressive_422.jpg",
                                       "restart_blocks.jpg",
                                       "cmyk.jpg",
                                       "orientation_6.jpg",
                                       "rgb_8.png",
                                       "palette_4_interlaced_marked.png",
                                       "gray_alpha_16.png",
                                       "orientation_6.png" };
enum { N_VICTIMS = sizeof victims / sizeof *victims };

static void cut_file_is_error_or_whole_picture(void **state)
{
    for (int v = 0; v < N_VICTIMS; v++) {
        struct file whole = load(victims[v]);
        uint64_t hash = decode_rgb(*state, whole).hash;
        for (size_t n = 0; n < whole.n; n++) {
            struct file part = copy_of(whole.bytes, n);
            struct result r = decode_rgb(*state, part);
            free(part.bytes);
            assert_true(r.code == STK_DATA || (r.code == STK_OK && r.hash == hash));
            if (n < whole.n - 16)
                assert_int_equal(r.code, STK_DATA);
        }
        free(whole.bytes);
    }
}

static void cut_jpeg_says_so(void **state)
{
    struct file whole = load("q90_444.jpg");
    struct file part = copy_of(whole.bytes, whole.n / 2);
    struct result r = decode_rgb(*state, part);
    assert_int_equal(r.code, STK_DATA);
    assert_string_equal(r.err.text, "truncated JPEG at byte 2049: premature end of JPEG file");
    free(part.bytes);
    free(whole.bytes);
    whole = load("rgb_8.png");
    part = copy_of(whole.bytes, whole.n / 2);
    r = decode_rgb(*state, part);
    assert_int_equal(r.code, STK_DATA);
    assert_string_equal(r.err.text, "truncated PNG at byte 576: premature end of PNG file");
    free(part.bytes);
    free(whole.bytes);
}

static void flipped_bits_never_crash(void **state)
{
    for (int v = 0; v < N_VICTIMS; v++) {
        struct file file = load(victims[v]);
        for (size_t bit = 0; bit < file.n * 8; bit += bit < 5600 ? 1 : 5) {
            file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            struct result r = decode_as(
                *state, file, (struct stk__decode_request){ .channels = 0, .is_oriented = true });
            assert_true(r.code == STK_OK || r.code == STK_DATA);
            file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(file.bytes);
    }
}

/* PNG's checksums leave no flipped bit unseen, up to the last byte. */
static void flipped_png_data_is_error(void **state)
{
    struct file file = load("rgb_8.png");
    size_t data = 8 + 25 + 8; /* signature, header, length and name of the first chunk of pixels */
    for (size_t i = data; i < file.n; i++) {
        file.bytes[i] ^= 0x10;
        assert_int_equal(decode_rgb(*state, file).code, STK_DATA);
        file.bytes[i] ^= 0x10;
    }
    free(file.bytes);
}

static void expect_refusal(struct stk__codec *codec, const void *bytes, size_t n, const char *text)
{
    struct file file = copy_of(bytes, n);
    struct result r = decode_rgb(codec, file);
    free(file.bytes);
    assert_int_equal(r.code, STK_DATA);
    assert_false(r.was_placed);
    assert_string_equal(r.err.text, text);
}

#define NOT_OURS "not a JPEG, PNG, GIF, WebP or BMP: "

static void other_content_is_named(void **state)
{
    expect_refusal(*state, "", 0, "the file is empty");
    expect_refusal(*state, "hello world\n", 12, NOT_OURS "starts with 'hello wo'");
    expect_refusal(*state, "a\n\xff", 3, NOT_OURS "starts with 'a\\x0a\\xff'");
    expect_refusal(*state, "\xff\xd8", 2, "truncated JPEG at byte 2: premature end of JPEG file");
    expect_refusal(*state, "\xff", 1, NOT_OURS "starts with '\\xff'");
    expect_refusal(*state, "II*\0....", 8, NOT_OURS "it looks like TIFF");
    expect_refusal(*state, "....ftypavif", 12, NOT_OURS "it looks like AVIF");
}

/* ---- hostile headers ---- */

static size_t find_frame(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (bytes[i] == 0xff && (bytes[i + 1] == 0xc0 || bytes[i + 1] == 0xc2))
            return i + 5; /* height, then width */
    fail();
    return 0;
}

static void store_big_endian(uint8_t *at, uint32_t value, int n)
{
    while (n-- > 0) {
        at[n] = (uint8_t)value;
        value >>= 8;
    }
}

static struct result decode_resized_jpeg(struct stk__codec *codec, const char *name,
                                         unsigned height, unsigned width)
{
    struct file file = load(name);
    size_t at = find_frame(file.bytes, file.n);
    store_big_endian(file.bytes + at, height, 2);
    store_big_endian(file.bytes + at + 2, width, 2);
    struct result r = decode_rgb(codec, file);
    free(file.bytes);
    assert_int_equal(r.code, STK_DATA);
    assert_false(r.was_placed);
    return r;
}

static void jpeg_that_promises_too_much_gets_no_memory(void **state)
{
    static const char *const names[] = { "q20_420.jpg", "progressive_420.jpg" };
    for (int i = 0; i < 2; i++) {
        decode_resized_jpeg(*state, names[i], 65535, 65535);
        struct result r = decode_resized_jpeg(*state, names[i], 65000, 65000);
        assert_non_null(strstr(r.err.text, "refused JPEG at byte "));
        assert_non_null(strstr(r.err.text, ": 65000 x 65000 pixels are more than "
                                           "max_pixels=100000000 allows"));
        r = decode_resized_jpeg(*state, names[i], 10000, 9999);
        assert_non_null(strstr(r.err.text, ": that cannot hold 9999 x 10000 pixels"));
        decode_resized_jpeg(*state, names[i], 0, 70);
        decode_resized_jpeg(*state, names[i], 45, 0);
    }
    assert_true(stk__codec_bytes(*state) < 1 << 20);
}

static uint32_t crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n * 8; i++) {
        uint32_t bit = bytes[i / 8] >> i % 8 & 1;
        crc = crc >> 1 ^ (((crc ^ bit) & 1) ? 0xedb88320 : 0);
    }
    return ~crc;
}

static struct result decode_resized_png(struct stk__codec *codec, uint32_t height, uint32_t width)
{
    enum { IHDR = 12, N_IHDR = 17 };
    struct file file = load("rgb_8.png");
    store_big_endian(file.bytes + IHDR + 4, width, 4);
    store_big_endian(file.bytes + IHDR + 8, height, 4);
    store_big_endian(file.bytes + IHDR + N_IHDR, crc_of(file.bytes + IHDR, N_IHDR), 4);
    struct result r = decode_rgb(codec, file);
    free(file.bytes);
    assert_int_equal(r.code, STK_DATA);
    assert_false(r.was_placed);
    return r;
}

static void png_that_promises_too_much_gets_no_memory(void **state)
{
    struct result r = decode_resized_png(*state, 0x7fffffff, 0x7fffffff);
    assert_non_null(strstr(r.err.text, "max_pixels=100000000"));
    decode_resized_png(*state, 0x80000000, 1);
    decode_resized_png(*state, 0xffffffff, 0xffffffff);
    r = decode_resized_png(*state, 9999, 10000);
    assert_non_null(strstr(r.err.text, "cannot hold 10000 x 9999 pixels"));
    decode_resized_png(*state, 0, 18);
    decode_resized_png(*state, 21, 0);
    assert_true(stk__codec_bytes(*state) < 1 << 20);
}

/* An 8 x 8 gray picture in one scan for DC and n for single AC coefficients, first without their
 * last bit, then that bit: all codes are the one-bit code 0, in a byte padded with ones. */
static struct file many_scans(int n_scans)
{
    static const uint8_t head[] = {
        0xff, 0xd8, 0xff, 0xc2, 0,    11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, /* frame */
        0xff, 0xc4, 0,    20,   0x00, 1,  0, 0, 0, 0, 0, 0, 0, 0,    0,
        0,    0,    0,    0,    0,    0,  0, /* DC codes */
        0xff, 0xc4, 0,    20,   0x10, 1,  0, 0, 0, 0, 0, 0, 0, 0,    0,
        0,    0,    0,    0,    0,    0,  0, /* AC codes */
        0xff, 0xdb, 0,    67,   0,
    };
    struct file file = { calloc(1, 4096), 0 };
    assert_non_null(file.bytes);
    memcpy(file.bytes, head, sizeof head);
    memset(file.bytes + sizeof head, 1, 64);
    file.n = sizeof head + 64;
    for (int i = 0; i <= n_scans; i++) {
        uint8_t band = (uint8_t)(i ? (i - 1) % 63 + 1 : 0);
        uint8_t bits = !i ? 0 : i <= 63 ? 0x01 : 0x10;
        const uint8_t scan[] = { 0xff, 0xda, 0, 8, 1, 1, 0, band, band, bits, 0x7f };
        memcpy(file.bytes + file.n, scan, sizeof scan);
        file.n += sizeof scan;
    }
    memcpy(file.bytes + file.n, "\xff\xd9", 2);
    file.n += 2;
    return file;
}

static void endless_scans_are_refused(void **state)
{
    struct file few = many_scans(99), many = many_scans(101);
    assert_int_equal(decode_rgb(*state, few).code, STK_OK);
    struct result r = decode_rgb(*state, many);
    assert_int_equal(r.code, STK_DATA);
    assert_string_equal(r.err.text, "bad JPEG near byte 1238: it has more than 100 scans");
    free(few.bytes);
    free(many.bytes);
}

static void missing_component_is_error(void **state)
{
    static const uint8_t head[] = {
        0xff, 0xd8, 0xff, 0xc2, 0, 17,   8,    0, 8,  0,    8, 3,    1,    0x11, 0,  2,
        0x11, 0,    3,    0x11, 0, 0xff, 0xc4, 0, 20, 0x00, 1, 0,    0,    0,    0,  0,
        0,    0,    0,    0,    0, 0,    0,    0, 0,  0,    0, 0xff, 0xdb, 0,    67, 0,
    };
    static const uint8_t scans[] = { 0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0,    0x7f, 0xff,
                                     0xda, 0,    8, 1, 2, 0, 0, 0, 0, 0x7f, 0xff, 0xd9 };
    uint8_t bytes[sizeof head + 64 + sizeof scans];
    memcpy(bytes, head, sizeof head);
    memset(bytes + sizeof head, 1, 64);
    memcpy(bytes + sizeof head + 64, scans, sizeof scans);
    expect_refusal(*state, bytes, sizeof bytes,
                   "truncated JPEG near byte 136: there is no data for component 3 of 3");
}

/* ---- what a thread keeps ---- */

/* Removes the Huffman tables, as frames of motion JPEG come; the standard ones are then meant. */
static struct file without_tables(const char *name)
{
    struct file file = load(name);
    for (size_t i = 2; file.bytes[i + 1] != 0xda;) {
        size_t len = 2 + ((size_t)file.bytes[i + 2] << 8 | file.bytes[i + 3]);
        if (file.bytes[i + 1] == 0xc4) {
            memmove(file.bytes + i, file.bytes + i + len, file.n - i - len);
            file.n -= len;
        } else {
            i += len;
        }
    }
    return file;
}

static void tables_of_an_earlier_file_are_forgotten(void **state)
{
    struct file bare = without_tables("q75_420.jpg"), whole = load("q75_420.jpg");
    struct file other = load("optimized.jpg");
    uint64_t hash = decode_rgb(*state, whole).hash;
    assert_int_equal(decode_rgb(*state, other).code, STK_OK);
    struct result r = decode_rgb(*state, bare);
    assert_int_equal(r.code, STK_OK);
    assert_true(r.hash == hash);
    free(bare.bytes);
    free(whole.bytes);
    free(other.bytes);
}

static void codec_stops_growing(void **state)
{
    size_t bytes = 0;
    for (int round = 0; round < 3; round++) {
        for (int v = 0; v < N_VICTIMS; v++) {
            struct file file = load(victims[v]);
            decode_rgb(*state, file);
            free(file.bytes);
        }
        if (round)
            assert_int_equal(stk__codec_bytes(*state), bytes);
        bytes = stk__codec_bytes(*state);
    }
}

static void cancelled_run_gets_no_picture(void **state)
{
    const atomic_bool is_cancelled = true;
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++) {
        struct file file = load(victims[i]);
        const atomic_bool *before = stk__cancel_use(&is_cancelled);
        struct result r = decode_rgb(*state, file);
        stk__cancel_use(before);
        assert_int_equal(r.code, STK_CANCELLED);
        r = decode_rgb(*state, file); /* and the codec works on */
        assert_int_equal(r.code, STK_OK);
        free(file.bytes);
    }
}

static int refuse_place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    (void)ctx, (void)image;
    return stk_fail(err, STK_MEMORY, "no room");
}

static void refused_place_ends_decoding(void **state)
{
    static const char *const names[] = { "q20_420.jpg", "progressive_420.jpg", "rgb_8.png" };
    for (int i = 0; i < 3; i++) {
        struct file file = load(names[i]);
        struct stk__decode_request request = { .bytes = file.bytes,
                                               .n_bytes = file.n,
                                               .channels = 3,
                                               .max_pixels = 1 << 20,
                                               .place = refuse_place };
        struct stk__image image;
        struct stk_error err;
        assert_int_equal(stk__codec_decode(*state, &request, &image, &err), STK_MEMORY);
        assert_int_equal(decode_rgb(*state, file).code, STK_OK);
        free(file.bytes);
    }
}

static int place_with_gaps(void *ctx, struct stk__image *image, struct stk_error *err)
{
    (void)err;
    image->data = ctx;
    image->stride += 5;
    return STK_OK;
}

static void rows_go_where_the_caller_says(void **state)
{
    enum { WIDTH = 41, HEIGHT = 33, STRIDE = WIDTH * 3 + 5 };
    uint8_t *memory = malloc(HEIGHT * STRIDE);
    assert_non_null(memory);
    memset(memory, 0xa5, HEIGHT * STRIDE);
    struct file file = load("progressive_420.jpg");
    struct stk__decode_request request = { .bytes = file.bytes,
                                           .n_bytes = file.n,
                                           .channels = 3,
                                           .max_pixels = WIDTH * HEIGHT,
                                           .place = place_with_gaps,
                                           .ctx = memory };
    struct stk__image image;
    struct stk_error err;
    assert_int_equal(stk__codec_decode(*state, &request, &image, &err), STK_OK);
    for (int y = 0; y < HEIGHT; y++) {
        for (int i = WIDTH * 3; i < STRIDE; i++)
            assert_int_equal(memory[y * STRIDE + i], 0xa5);
        memmove(memory + y * WIDTH * 3, memory + y * STRIDE, WIDTH * 3);
    }
    assert_true(fnv(memory, WIDTH * HEIGHT * 3) == decode_rgb(*state, file).hash);
    free(file.bytes);
    free(memory);
}

/* ---- the op ---- */

/* Parameters by the op's own rows: memory filled with the defaults, and a place in it by name. */
union op_params {
    max_align_t align;
    uint8_t bytes[96];
};

static void *param(union op_params *params, const char *name)
{
    for (const struct stk_param *row = stk__op_decode.decl.params; row->name; row++)
        if (!strcmp(row->name, name))
            return params->bytes + row->offset;
    fail_msg("decode has no parameter %s", name);
    return NULL;
}

static union op_params default_params(void)
{
    union op_params params = { .bytes = { 0 } };
    assert_true(stk__op_decode.decl.params_size <= sizeof params);
    *(int64_t *)param(&params, "channels") = 3;
    *(int64_t *)param(&params, "max_pixels") = 100000000;
    memcpy(param(&params, "frames"), &(struct stk_numbers){ .choice = -1 },
           sizeof(struct stk_numbers));
    return params;
}

struct inference {
    struct stk_type in, out;
    struct stk_infer inf;
    struct stk__infer_inside inside;
    struct stk_arena arena;
    struct stk_error err;
};

static int infer_with(struct inference *i, const union op_params *params)
{
    i->inside = (struct stk__infer_inside){ 0 };
    i->inf = (struct stk_infer){ .params = params,
                                 .n_inputs = 1,
                                 .in = { &i->in },
                                 .out = &i->out,
                                 .arena = &i->arena,
                                 .inside = &i->inside };
    return stk__op_decode.infer(&i->inf, &i->err);
}

static void start_inference(struct inference *i, const char *name, int flags)
{
    memset(i, 0, sizeof *i);
    stk__arena_init(&i->arena, 1024);
    i->in.n_fields = 2;
    i->in.field[0] = (struct stk_field){ .name = "label", .kind = STK_FIXED, .dtype = STK_I64 };
    i->in.field[1] = (struct stk_field){ .name = name, .kind = STK_BYTES, .flags = (uint8_t)flags };
}

static void op_states_its_output(void **state)
{
    (void)state;
    struct inference i;
    union op_params params = default_params();
    start_inference(&i, "bytes", 0);
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_string_equal(i.out.field[1].name, "image");
    assert_int_equal(i.out.field[1].kind, STK_SHAPED);
    assert_int_equal(i.out.field[1].dtype, STK_U8);
    assert_int_equal(i.out.field[1].rank, 3);
    assert_int_equal(i.out.field[1].shape[0], -1);
    assert_int_equal(i.out.field[1].shape[2], 3);
    assert_int_equal(i.inf.from[0], 0);
    assert_int_equal(i.inf.from[1], -1);
    *(int64_t *)param(&params, "channels") = 0;
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_int_equal(i.out.field[1].shape[2], -1);
    i.in.field[1].name = "mask";
    *(const char **)param(&params, "field") = "mask";
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_string_equal(i.out.field[1].name, "mask");
    stk__arena_free(&i.arena);
}

static void assert_reads(const struct inference *i, const char *field)
{
    const struct stk__implied *implied = &i->inside.implied;
    assert_ptr_equal(implied->op, &stk__op_read);
    assert_int_equal(implied->input, 0);
    assert_int_equal(implied->n_args, 1);
    assert_string_equal(implied->arg[0].name, "field");
    assert_string_equal(implied->arg[0].value->text, field);
}

static void op_has_paths_read(void **state)
{
    (void)state;
    struct inference i;
    union op_params params = default_params();
    start_inference(&i, "path", STK_FIELD_PATH);
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_reads(&i, "path");
    *(const char **)param(&params, "field") = "path";
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_reads(&i, "path");
    i.in.field[1].name = "bytes";
    i.in.field[1].flags = 0;
    assert_int_equal(infer_with(&i, &params), STK_OK);
    assert_null(i.inside.implied.op);
    assert_string_equal(i.out.field[1].name, "image");
    stk__arena_free(&i.arena);
}

static void op_refuses_what_it_cannot_do(void **state)
{
    (void)state;
    struct inference i;
    union op_params params = default_params();
    start_inference(&i, "bytes", 0);
    *(int64_t *)param(&params, "channels") = 2;
    assert_int_equal(infer_with(&i, &params), STK_VALUE);
    params = default_params();
    *(const char **)param(&params, "field") = "label";
    assert_int_equal(infer_with(&i, &params), STK_TYPE);
    params = default_params();
    i.in.field[0].name = "image";
    assert_int_equal(infer_with(&i, &params), STK_NAME);
    i.in.n_fields = 1;
    assert_int_equal(infer_with(&i, &params), STK_TYPE);
    stk__arena_free(&i.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_CODEC(name) cmocka_unit_test_setup_teardown(name, open_codec, close_codec)
        WITH_CODEC(pixels_equal_those_of_tensorflow_and_pillow),
        cmocka_unit_test(probe_says_what_decoding_gives),
        WITH_CODEC(cut_file_is_error_or_whole_picture),
        WITH_CODEC(cut_jpeg_says_so),
        WITH_CODEC(flipped_bits_never_crash),
        WITH_CODEC(flipped_png_data_is_error),
        WITH_CODEC(other_content_is_named),
        WITH_CODEC(jpeg_that_promises_too_much_gets_no_memory),
        WITH_CODEC(png_that_promises_too_much_gets_no_memory),
        WITH_CODEC(endless_scans_are_refused),
        WITH_CODEC(missing_component_is_error),
        WITH_CODEC(tables_of_an_earlier_file_are_forgotten),
        WITH_CODEC(codec_stops_growing),
        WITH_CODEC(refused_place_ends_decoding),
        WITH_CODEC(rows_go_where_the_caller_says),
        WITH_CODEC(cancelled_run_gets_no_picture),
        cmocka_unit_test(op_states_its_output),
        cmocka_unit_test(op_has_paths_read),
        cmocka_unit_test(op_refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
