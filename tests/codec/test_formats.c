/* SPDX-License-Identifier: Apache-2.0 */
/* test_formats.c: GIF, WebP, BMP, 16-bit and palette PNG against TensorFlow and Pillow; files of
 * every format that are cut, damaged or meant to harm. */
#include "codec/image/lzw.h"

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h> /* jpeglib.h wants size_t and FILE declared */

#include <jpeglib.h>

#include "picture_file.h"

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
    char name[100];
    int channels, bits, frames, is_indexed;
    uint32_t n_frames, height, width;
    int out_channels;
    unsigned long long hash;
};

static bool next_golden(FILE *list, struct golden *g)
{
    char line[300];
    while (fgets(line, sizeof line, list)) {
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%99s %d %d %d %d %u %u %u %d %llx", g->name, &g->channels,
                                &g->bits, &g->frames, &g->is_indexed, &g->n_frames, &g->height,
                                &g->width, &g->out_channels, &g->hash),
                         10);
        return true;
    }
    return false;
}

static FILE *open_goldens(void)
{
    FILE *list = fopen("tests/golden/formats.txt", "r");
    assert_non_null(list);
    return list;
}

static struct picture_file load_golden(const struct golden *g)
{
    char path[120];
    snprintf(path, sizeof path, "%s%s", strchr(g->name, '/') ? "" : "formats/", g->name);
    return picture_load(path);
}

static bool matches(struct stk__codec *codec, const struct golden *g)
{
    struct picture_file file = load_golden(g);
    struct picture p =
        picture_decode(codec, file,
                       (struct stk__decode_request){ .channels = g->channels,
                                                     .is_wide = g->bits == 16,
                                                     .is_indexed = g->is_indexed,
                                                     .max_frames = (uint32_t)g->frames });
    uint32_t n_frames = g->frames ? g->n_frames : 0;
    bool is_equal = !p.code && p.image.frames == n_frames && p.image.height == g->height &&
                    p.image.width == g->width && p.image.channels == g->out_channels &&
                    p.image.is_wide == (g->bits == 16) && p.hash == g->hash;
    if (!is_equal)
        print_error("%s channels=%d bits=%d frames=%d index=%d differs: %s\n", g->name, g->channels,
                    g->bits, g->frames, g->is_indexed,
                    p.code ? p.err.text : "other pixels or shape");
    free(p.image.data);
    free(file.bytes);
    return is_equal;
}

static void pixels_equal_those_of_tensorflow_and_pillow(void **state)
{
    FILE *list = open_goldens();
    struct golden g;
    int n = 0, n_different = 0;
    for (; next_golden(list, &g); n++)
        n_different += !matches(*state, &g);
    fclose(list);
    assert_true(n > 500);
    assert_int_equal(n_different, 0);
}

static void probe_says_what_decoding_gives(void **state)
{
    (void)state;
    FILE *list = open_goldens();
    struct golden g;
    while (next_golden(list, &g)) {
        struct stk__image_info info;
        struct stk_error err;
        struct picture_file file = load_golden(&g);
        assert_int_equal(stk__image_info(file.bytes, file.n, &info, &err), STK_OK);
        assert_int_equal(info.format, stk__image_format(file.bytes, file.n));
        free(file.bytes);
        assert_int_equal(info.width, g.width);
        assert_int_equal(info.height, g.height);
        if (!g.channels)
            assert_int_equal(info.channels, g.out_channels);
    }
    fclose(list);
}

/* ---- what the options do to every format ---- */

static const char *const samples[] = {
    "decode/q75_420.jpg",    "decode/progressive_420.jpg", "decode/gray.jpg",
    "decode/rgb_8.png",      "decode/rgba_16.png",         "decode/palette_4_interlaced.png",
    "formats/frames.gif",    "formats/cleared.gif",        "formats/interlaced_21.gif",
    "formats/rgb.bmp",       "formats/bits_565.bmp",       "formats/rle_8.bmp",
    "formats/rle_4.bmp",     "formats/palette_4.bmp",      "formats/lossy_80.webp",
    "formats/lossless.webp", "formats/lossy_alpha.webp",   "formats/frames.webp",
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

/* 16-bit PNG has more in it. */
static void wide_samples_are_257_times_narrow_ones(void **state)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        struct picture_file file = picture_load(samples[i]);
        struct stk__decode_request request = { .channels = 3 };
        struct picture narrow = picture_decode(*state, file, request);
        request.is_wide = true;
        struct picture wide = picture_decode(*state, file, request);
        assert_int_equal(narrow.code | wide.code, STK_OK);
        size_t n = stk__image_bytes(&narrow.image);
        assert_int_equal(stk__image_bytes(&wide.image), 2 * n);
        for (size_t k = 0; k < n; k++) {
            uint16_t sample;
            memcpy(&sample, wide.image.data + 2 * k, 2);
            if (strstr(samples[i], "_16"))
                assert_int_equal(sample >> 8, narrow.image.data[k]);
            else
                assert_int_equal(sample, narrow.image.data[k] * 257);
        }
        free(narrow.image.data);
        free(wide.image.data);
        free(file.bytes);
    }
}

static void first_frame_is_the_picture(void **state)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        struct picture_file file = picture_load(samples[i]);
        struct stk__decode_request request = { .channels = 4 };
        struct picture plain = picture_decode(*state, file, request);
        request.max_frames = 1;
        struct picture one = picture_decode(*state, file, request);
        assert_int_equal(plain.image.frames, 0);
        assert_int_equal(one.image.frames, 1);
        assert_true(plain.hash == one.hash);
        free(plain.image.data);
        free(one.image.data);
        free(file.bytes);
    }
}

static void choose_middle(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    (void)ctx;
    *region = (struct stk__region){ width / 4, height / 3, width - width / 2, height / 2 };
}

static void part_of_every_frame_is_cut_out(void **state)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        struct picture_file file = picture_load(samples[i]);
        struct stk__decode_request request = { .channels = 3, .max_frames = 9, .is_wide = i % 2 };
        struct picture all = picture_decode(*state, file, request);
        request.choose = choose_middle;
        struct picture part = picture_decode(*state, file, request);
        assert_int_equal(all.code | part.code, STK_OK);
        assert_int_equal(all.image.frames, part.image.frames);
        struct stk__region r;
        choose_middle(NULL, all.image.width, all.image.height, &r);
        size_t pixel = stk__image_pixel_bytes(&all.image);
        for (uint32_t f = 0; f < all.image.frames; f++)
            for (uint32_t y = 0; y < r.height; y++)
                assert_memory_equal(part.image.data + (f * r.height + y) * part.image.stride,
                                    all.image.data +
                                        (f * all.image.height + r.y + y) * all.image.stride +
                                        r.x * pixel,
                                    r.width * pixel);
        free(all.image.data);
        free(part.image.data);
        free(file.bytes);
    }
}

static void webp_is_turned_by_its_exif(void **state)
{
    struct picture_file file = picture_load("formats/orientation_6.webp");
    struct stk__decode_request request = { .channels = 4 };
    struct picture stored = picture_decode(*state, file, request);
    request.is_oriented = true;
    struct picture turned = picture_decode(*state, file, request);
    assert_int_equal(stored.code | turned.code, STK_OK);
    uint32_t width = stored.image.width, height = stored.image.height;
    assert_int_equal(turned.image.width, height);
    assert_int_equal(turned.image.height, width);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            assert_memory_equal(turned.image.data + x * turned.image.stride + (height - 1 - y) * 4,
                                stored.image.data + y * stored.image.stride + x * 4, 4);
    free(stored.image.data);
    free(turned.image.data);
    free(file.bytes);
}

static void colours_are_no_index(void **state)
{
    static const char *const names[] = { "decode/q75_420.jpg", "decode/rgb_8.png",
                                         "formats/lossless.webp", "formats/rgb.bmp" };
    for (int i = 0; i < 4; i++) {
        struct picture_file file = picture_load(names[i]);
        struct picture p = picture_decode(
            *state, file, (struct stk__decode_request){ .is_indexed = true, .channels = 1 });
        assert_int_equal(p.code, STK_DATA);
        assert_string_equal(p.err.text,
                            "palette=index wants a palette or gray; the file has neither");
        assert_null(p.image.data);
        free(file.bytes);
    }
}

/* ---- cut files ---- */

static struct picture decode_part(struct stk__codec *codec, struct picture_file whole, size_t n,
                                  struct stk__decode_request request)
{
    struct picture_file part = picture_copy(whole.bytes, n);
    struct picture p = picture_decode(codec, part, request);
    free(part.bytes);
    return p;
}

static void cut_file_is_error_or_whole_picture(void **state)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        struct picture_file whole = picture_load(samples[i]);
        struct stk__decode_request request = { .channels = 3, .max_frames = UINT32_MAX };
        struct picture p = picture_decode(*state, whole, request);
        uint64_t hash = p.hash;
        free(p.image.data);
        for (size_t n = 0; n < whole.n; n++) {
            p = decode_part(*state, whole, n, request);
            assert_true(p.code == STK_DATA || (!p.code && p.hash == hash));
            if (n + 16 < whole.n)
                assert_int_equal(p.code, STK_DATA);
            free(p.image.data);
        }
        free(whole.bytes);
    }
}

/* Once the header is there, every longer part is a picture, of the same size. */
static void cut_file_is_a_picture_if_wanted(void **state)
{
    for (int i = 0; i < N_SAMPLES - 1; i++) { /* the last is an animated WebP */
        struct picture_file whole = picture_load(samples[i]);
        for (int how = STK__TRUNCATED_GRAY; how <= STK__TRUNCATED_KEEP; how++) {
            struct stk__decode_request request = { .channels = 4,
                                                   .is_wide = how == STK__TRUNCATED_KEEP,
                                                   .on_truncated = (enum stk__on_truncated)how };
            struct picture all = picture_decode(*state, whole, request);
            assert_int_equal(all.code, STK_OK);
            size_t n_bad = 0;
            for (size_t n = 0; n < whole.n; n++) {
                struct picture p = decode_part(*state, whole, n, request);
                assert_true(p.code == STK_OK || p.code == STK_DATA);
                assert_true(!p.code || n_bad == n);
                n_bad += p.code != 0;
                assert_true(p.code || p.image.height == all.image.height);
                free(p.image.data);
            }
            assert_true(n_bad < whole.n);
            free(all.image.data);
        }
        free(whole.bytes);
    }
}

/* Rows that are there come first; the others are all 128, or all 0. */
static void check_rows(const struct picture *part, const struct picture *all, bool is_bottom_up,
                       int fill, uint32_t *n_there)
{
    uint32_t height = all->image.height;
    size_t stride = all->image.stride;
    *n_there = 0;
    for (uint32_t i = 0; i < height; i++) {
        uint32_t y = is_bottom_up ? height - 1 - i : i;
        const uint8_t *row = part->image.data + y * stride;
        bool is_there = !memcmp(row, all->image.data + y * stride, stride);
        assert_true(!is_there || *n_there == i);
        *n_there += is_there;
        for (size_t k = 0; k < stride && i > *n_there; k++)
            assert_int_equal(row[k], fill);
    }
}

static void missing_rows_are_gray_or_zero(void **state)
{
    static const char *const names[] = { "decode/rgb_8.png", "formats/one.gif", "formats/rgb.bmp",
                                         "formats/palette_8.bmp" };
    for (int i = 0; i < 4; i++) {
        struct picture_file whole = picture_load(names[i]);
        for (int how = STK__TRUNCATED_GRAY; how <= STK__TRUNCATED_KEEP; how++) {
            struct stk__decode_request request = { .channels = 3,
                                                   .on_truncated = (enum stk__on_truncated)how };
            struct picture all = picture_decode(*state, whole, request);
            uint32_t last = 0, n_steps = 0;
            for (size_t n = 0; n < whole.n; n++) {
                uint32_t n_there;
                struct picture p = decode_part(*state, whole, n, request);
                if (!p.code) {
                    check_rows(&p, &all, strstr(names[i], "bmp"),
                               how == STK__TRUNCATED_GRAY ? 128 : 0, &n_there);
                    assert_true(n_there >= last);
                    n_steps += n_there > last;
                    last = n_there;
                }
                free(p.image.data);
            }
            assert_true(last + 1 >= all.image.height);
            assert_true(n_steps >= all.image.height / 2); /* rows come one by one */
            free(all.image.data);
        }
        free(whole.bytes);
    }
}

static void say_nothing(j_common_ptr cinfo, int level)
{
    (void)cinfo, (void)level;
}

static void leave(j_common_ptr cinfo)
{
    longjmp(cinfo->client_data, 1);
}

/* libjpeg-turbo by its own source of bytes, which puts an end mark where the file ends. */
static bool decode_by_library(struct picture_file file, uint8_t *dst, size_t stride)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr faults;
    jmp_buf on_fault;
    cinfo.err = jpeg_std_error(&faults);
    faults.emit_message = say_nothing;
    faults.error_exit = leave;
    cinfo.client_data = on_fault;
    jpeg_create_decompress(&cinfo);
    if (setjmp(on_fault)) {
        jpeg_destroy_decompress(&cinfo);
        return false;
    }
    jpeg_mem_src(&cinfo, file.bytes, file.n);
    jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = JCS_RGB;
    jpeg_start_decompress(&cinfo);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW row = dst + cinfo.output_scanline * stride;
        jpeg_read_scanlines(&cinfo, &row, 1);
    }
    jpeg_destroy_decompress(&cinfo);
    return true;
}

/* But for files cut in tables between scans, which it refuses. */
static void cut_jpeg_is_as_libjpeg_delivers_it(void **state)
{
    static const char *const names[] = { "decode/q75_420.jpg", "decode/progressive_420.jpg",
                                         "decode/restart_blocks.jpg", "decode/q90_444.jpg" };
    for (int i = 0; i < 4; i++) {
        struct picture_file whole = picture_load(names[i]);
        int n_compared = 0;
        for (size_t n = 0; n < whole.n; n += 3) {
            struct picture p = decode_part(
                *state, whole, n,
                (struct stk__decode_request){ .channels = 3, .on_truncated = STK__TRUNCATED_GRAY });
            if (p.code)
                continue;
            struct picture_file part = picture_copy(whole.bytes, n);
            uint8_t *expected = malloc(stk__image_bytes(&p.image));
            assert_non_null(expected);
            if (decode_by_library(part, expected, p.image.stride)) {
                assert_memory_equal(p.image.data, expected, stk__image_bytes(&p.image));
                n_compared++;
            }
            free(expected);
            free(part.bytes);
            free(p.image.data);
        }
        assert_true(n_compared > 50);
        free(whole.bytes);
    }
}

static void frames_that_are_missing_are_left_out(void **state)
{
    struct picture_file whole = picture_load("formats/frames.gif");
    struct stk__decode_request request = { .channels = 3,
                                           .max_frames = UINT32_MAX,
                                           .on_truncated = STK__TRUNCATED_KEEP };
    struct picture all = picture_decode(*state, whole, request);
    uint32_t last = 0;
    for (size_t n = 0; n < whole.n; n++) {
        struct picture p = decode_part(*state, whole, n, request);
        if (!p.code) {
            assert_in_range(p.image.frames, last ? last : 1, all.image.frames);
            last = p.image.frames;
            size_t before = all.image.stride * all.image.height * (last - 1);
            assert_memory_equal(p.image.data, all.image.data, before);
        }
        free(p.image.data);
    }
    assert_int_equal(last, 4);
    free(all.image.data);
    free(whole.bytes);
}

/* ---- damaged files ---- */

static void flipped_bits_never_crash(void **state)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        struct picture_file file = picture_load(samples[i]);
        for (size_t bit = 0; bit < file.n * 8; bit += bit < 3000 ? 1 : 5) {
            static const int channels[] = { 0, 1, 3, 4 };
            struct stk__decode_request request = {
                .channels = channels[bit & 3],
                .is_wide = bit & 4,
                .max_frames = bit & 8 ? 5 : 0,
                .is_indexed = (bit & 0x70) == 0x30,
                .is_oriented = bit & 0x40,
                .on_truncated = (enum stk__on_truncated)(bit % 3),
            };
            file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            struct picture p = picture_decode(*state, file, request);
            assert_true(p.code == STK_OK || p.code == STK_DATA);
            free(p.image.data);
            file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(file.bytes);
    }
}

struct hostile {
    const char *name;
    size_t at;
    const char *bytes;
    size_t n;
    const char *message; /* part of it */
};

/* A file of ours with a few other bytes in it. */
static const struct hostile hostile[] = {
    { "formats/rgb.bmp", 18, "\xff\xff\xff\x7f", 4, "max_pixels=1048576" },
    { "formats/rgb.bmp", 18, "\x00\x04\x00\x00\x00\x04", 6,
      "truncated BMP at byte 342: 0 of 1024" },
    { "formats/rgb.bmp", 22, "\x00\x00\x00\x80", 4, "max_pixels=1048576" },
    { "formats/rgb.bmp", 18, "\x00\x00\x00\x00", 4, "the picture is empty" },
    { "formats/rgb.bmp", 28, "\x05", 1, "bad BMP: the coding, or the number of bits" },
    { "formats/rgb.bmp", 30, "\x04", 1, "bad BMP: the coding, or the number of bits" },
    { "formats/rgb.bmp", 10, "\xff\xff\xff\xff", 4, "truncated BMP" },
    { "formats/one.gif", 812, "\x0d", 1, "has codes of 13 bits" },
    { "formats/rle_8.bmp", 18, "\xff\xff\xff\x7f", 4, "max_pixels=1048576" },
    { "formats/frames.gif", 6, "\xff\xff\xff\xff", 4, "max_pixels=1048576" },
    { "formats/one.gif", 781, "\x3c", 1, "no block begins with 0x3c" },
    { "formats/one.gif", 781, ";", 1, "it has no frames" },
    { "formats/lossy_80.webp", 26, "\xff\x3f\xff\x3f", 4, "max_pixels=1048576" },
    { "formats/lossless.webp", 20, "\x2e", 1, "bad WebP" },
};

static void hostile_files_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const struct hostile *h = &hostile[i];
        struct picture_file file = picture_load(h->name);
        assert_true(h->at + h->n <= file.n);
        memcpy(file.bytes + h->at, h->bytes, h->n);
        struct picture p =
            picture_decode(*state, file, (struct stk__decode_request){ .channels = 3 });
        if (p.code != STK_DATA || !strstr(p.err.text, h->message))
            fail_msg("%s with %zu bytes at %zu: %s", h->name, h->n, h->at,
                     p.code ? p.err.text : "is a picture");
        free(p.image.data);
        free(file.bytes);
    }
    assert_true(stk__codec_bytes(*state) < 4 << 20);
}

static void frames_count_against_the_limit(void **state)
{
    static const char *const names[] = { "formats/frames.gif", "formats/frames.webp" };
    static const uint32_t n_frames[] = { 4, 3 };
    for (int i = 0; i < 2; i++) {
        struct picture_file file = picture_load(names[i]);
        struct stk__decode_request request = { .channels = 3,
                                               .max_frames = UINT32_MAX,
                                               .max_pixels = 12 * 15 * n_frames[i] - 1 };
        struct picture p = picture_decode(*state, file, request);
        assert_int_equal(p.code, STK_DATA);
        assert_non_null(strstr(p.err.text, "frames of 15 x 12 pixels are more than max_pixels="));
        assert_null(p.image.data);
        request.max_frames = 2;
        p = picture_decode(*state, file, request);
        assert_int_equal(p.code, STK_OK);
        free(p.image.data);
        free(file.bytes);
    }
}

static void text_that_begins_with_bm_is_no_bmp(void **state)
{
    struct picture_file file = picture_copy("BMW is a maker of cars", 22);
    struct picture p = picture_decode(*state, file, (struct stk__decode_request){ .channels = 3 });
    assert_int_equal(p.code, STK_DATA);
    assert_string_equal(p.err.text, "not a JPEG, PNG, GIF, WebP or BMP: starts with 'BMW is a'");
    free(file.bytes);
}

/* ---- odd files, as Pillow reads them ---- */

static struct picture decode_odd(struct stk__codec *codec, struct picture_file file, bool is_flawed,
                                 struct stk__decode_request request)
{
    uint64_t n = stk__codec_n_flawed(codec);
    struct picture p = picture_decode(codec, file, request);
    if (p.code)
        fail_msg("%s", p.err.text);
    assert_int_equal(stk__codec_n_flawed(codec), n + is_flawed);
    return p;
}

static size_t pixels_of(const struct picture *p)
{
    return (size_t)p->image.width * p->image.height;
}

static void colours_that_a_palette_lacks_are_black(void **state)
{
    enum { N_USED = 46, N_LEFT = 2 };
    const struct stk__decode_request numbers = { .is_indexed = true }, colours = { .channels = 3 };
    struct picture_file file = picture_load("formats/palette_4.bmp");
    struct picture number = decode_odd(*state, file, false, numbers);
    struct picture whole = decode_odd(*state, file, false, colours);
    file.bytes[N_USED] = N_LEFT;
    struct picture p = decode_odd(*state, file, true, colours);
    for (size_t i = 0; i < pixels_of(&p); i++) {
        bool is_there = number.image.data[i] < N_LEFT;
        assert_memory_equal(p.image.data + 3 * i,
                            is_there ? whole.image.data + 3 * i : (const uint8_t *)"\0\0", 3);
    }
    free(number.image.data);
    free(whole.image.data);
    free(p.image.data);
    free(file.bytes);
}

static void pixels_behind_the_colours_are_found(void **state)
{
    const struct stk__decode_request request = { .channels = 3 };
    struct picture_file file = picture_load("formats/palette_4.bmp");
    struct picture whole = decode_odd(*state, file, false, request);
    file.bytes[10] = 14 + 40; /* the colours' place */
    struct picture p = decode_odd(*state, file, false, request);
    assert_memory_equal(p.image.data, whole.image.data, 3 * pixels_of(&p));
    free(whole.image.data);
    free(p.image.data);
    free(file.bytes);
}

static void runs_may_go_from_the_top(void **state)
{
    const struct stk__decode_request request = { .channels = 3 };
    struct picture_file file = picture_load("formats/rle_8.bmp");
    struct picture up = decode_odd(*state, file, false, request);
    uint32_t height = 0u - up.image.height;
    for (int i = 0; i < 4; i++)
        file.bytes[22 + i] = (uint8_t)(height >> 8 * i);
    struct picture down = decode_odd(*state, file, false, request);
    for (uint32_t y = 0; y < up.image.height; y++)
        assert_memory_equal(down.image.data + y * down.image.stride,
                            up.image.data + (up.image.height - 1 - y) * up.image.stride,
                            3 * up.image.width);
    free(up.image.data);
    free(down.image.data);
    free(file.bytes);
}

static void numbers_without_a_palette_are_grays(void **state)
{
    enum { FLAGS = 10, PALETTE = 13, PALETTE_BYTES = 768 };
    struct picture_file file = picture_load("formats/one.gif");
    struct picture number =
        decode_odd(*state, file, false, (struct stk__decode_request){ .is_indexed = true });
    file.bytes[FLAGS] &= 0x7f;
    file.n -= PALETTE_BYTES;
    memmove(file.bytes + PALETTE, file.bytes + PALETTE + PALETTE_BYTES, file.n - PALETTE);
    struct picture p =
        decode_odd(*state, file, true, (struct stk__decode_request){ .channels = 1 });
    assert_memory_equal(p.image.data, number.image.data, pixels_of(&p));
    free(number.image.data);
    free(p.image.data);
    free(file.bytes);
}

/* Codes of 12 bits, the first 2048 of them values: clear, 5, 256 + 7, 1, the string 5 7, end. */
static void values_of_long_codes_are_their_low_bytes(void **state)
{
    static const uint8_t bytes[] = "GIF89a\5\0\1\0\0\0\0"
                                   ",\0\0\0\0\5\0\1\0\0\x0b"
                                   "\x09\x00\x58\x00\x07\x11\x00\x02\x18\x80\0;";
    static const uint8_t pixels[] = { 5, 7, 1, 5, 7 };
    struct picture_file file = picture_copy((const char *)bytes, sizeof bytes - 1);
    struct picture p =
        decode_odd(*state, file, true, (struct stk__decode_request){ .channels = 1 });
    assert_memory_equal(p.image.data, pixels, sizeof pixels);
    free(p.image.data);
    free(file.bytes);
}

/* ---- LZW ---- */

static void lzw_says_how_it_ends(void **state)
{
    (void)state;
    uint8_t dst[16];
    size_t n;
    /* codes of 3 bits: 4 clear, 1, 6 (the code just being made: 1 1), 5 end */
    const uint8_t codes[] = { 4 | 1 << 3 | (6 & 3) << 6, 6 >> 2 | 5 << 1 };
    assert_int_equal(stk__lzw_decode(codes, 2, 2, dst, 3, &n), STK__LZW_FULL);
    assert_memory_equal(dst, "\1\1\1", 3);
    assert_int_equal(stk__lzw_decode(codes, 2, 2, dst, 2, &n), STK__LZW_FULL);
    assert_int_equal(stk__lzw_decode(codes, 2, 2, dst, 9, &n), STK__LZW_CUT);
    assert_int_equal(n, 3);
    assert_int_equal(stk__lzw_decode(codes, 1, 2, dst, 9, &n), STK__LZW_CUT);
    assert_int_equal(n, 1);
    assert_int_equal(stk__lzw_decode(codes, 0, 2, dst, 9, &n), STK__LZW_CUT);
    assert_int_equal(n, 0);
    const uint8_t strange[] = { 4 | 7 << 3 };
    assert_int_equal(stk__lzw_decode(strange, 1, 2, dst, 9, &n), STK__LZW_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_CODEC(name) cmocka_unit_test_setup_teardown(name, open_codec, close_codec)
        WITH_CODEC(pixels_equal_those_of_tensorflow_and_pillow),
        cmocka_unit_test(probe_says_what_decoding_gives),
        WITH_CODEC(wide_samples_are_257_times_narrow_ones),
        WITH_CODEC(first_frame_is_the_picture),
        WITH_CODEC(part_of_every_frame_is_cut_out),
        WITH_CODEC(webp_is_turned_by_its_exif),
        WITH_CODEC(colours_are_no_index),
        WITH_CODEC(cut_file_is_error_or_whole_picture),
        WITH_CODEC(cut_file_is_a_picture_if_wanted),
        WITH_CODEC(missing_rows_are_gray_or_zero),
        WITH_CODEC(cut_jpeg_is_as_libjpeg_delivers_it),
        WITH_CODEC(frames_that_are_missing_are_left_out),
        WITH_CODEC(flipped_bits_never_crash),
        WITH_CODEC(hostile_files_are_refused),
        WITH_CODEC(frames_count_against_the_limit),
        WITH_CODEC(text_that_begins_with_bm_is_no_bmp),
        WITH_CODEC(colours_that_a_palette_lacks_are_black),
        WITH_CODEC(pixels_behind_the_colours_are_found),
        WITH_CODEC(runs_may_go_from_the_top),
        WITH_CODEC(numbers_without_a_palette_are_grays),
        WITH_CODEC(values_of_long_codes_are_their_low_bytes),
        cmocka_unit_test(lzw_says_how_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
