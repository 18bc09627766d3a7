/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c: files written by the encoders: the bytes of Pillow's JPEGs, and pixels that come
 * back. */
#define _POSIX_C_SOURCE 200809L
#include "api_call.h"
#include "codec/image/encode.h"
#include "picture_file.h"

static int open_encoder(void **state)
{
    *state = stk__encoder_new();
    return *state ? 0 : -1;
}

static int close_encoder(void **state)
{
    stk__encoder_free(*state);
    return 0;
}

/* As make_encode.py draws. Free data. */
static struct stk__pixels draw(uint32_t height, uint32_t width, int channels, bool is_wide)
{
    size_t n = (size_t)height * width * (size_t)channels;
    uint8_t *data = malloc(n << is_wide);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        unsigned c = (unsigned)(i % (size_t)channels);
        unsigned x = (unsigned)(i / (size_t)channels % width);
        unsigned y = (unsigned)(i / (size_t)channels / width);
        uint8_t value = (uint8_t)(x * (3 + c) + y * (5 - c) + x * y % 11 * 7);
        data[i << is_wide] = value;
        if (is_wide)
            data[2 * i + 1] = (uint8_t)(value * 7 + i);
    }
    return (struct stk__pixels){ data, height, width, channels, is_wide };
}

static void jpeg_has_the_bytes_of_pillows(void **state)
{
    FILE *list = fopen("tests/golden/encode.txt", "r");
    assert_non_null(list);
    char line[200];
    int n = 0;
    while (fgets(line, sizeof line, list)) {
        unsigned height, width;
        int channels, quality, sampling, is_progressive, is_optimized;
        size_t n_bytes;
        unsigned long long hash;
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%u %u %d %d %d %d %d %zu %llx", &height, &width, &channels,
                                &quality, &sampling, &is_progressive, &is_optimized, &n_bytes,
                                &hash),
                         9);
        struct stk__jpeg_options options = { .quality = quality,
                                             .across = sampling == 444 ? 1 : 2,
                                             .down = sampling == 420 ? 2 : 1,
                                             .is_progressive = is_progressive,
                                             .is_optimized = is_optimized };
        struct stk__pixels pixels = draw(height, width, channels, false);
        struct stk__encoded out;
        struct stk_error err;
        assert_int_equal(stk__encode_jpeg(*state, &pixels, &options, &out, &err), STK_OK);
        if (out.n_bytes != n_bytes || picture_hash(out.bytes, out.n_bytes) != hash)
            fail_msg("other bytes (%zu) than in: %s", out.n_bytes, line);
        free((void *)(uintptr_t)pixels.data);
        n++;
    }
    fclose(list);
    assert_true(n > 100);
}

static void check_same_pixels(const struct stk__encoded *encoded, const struct stk__pixels *pixels)
{
    struct stk__codec *codec = stk__codec_new();
    struct picture_file file = picture_copy(encoded->bytes, encoded->n_bytes);
    struct picture p =
        picture_decode(codec, file, (struct stk__decode_request){ .is_wide = pixels->is_wide });
    assert_int_equal(p.code, STK_OK);
    assert_int_equal(p.image.height, pixels->height);
    assert_int_equal(p.image.width, pixels->width);
    assert_int_equal(p.image.channels, pixels->channels);
    assert_memory_equal(p.image.data, pixels->data, stk__image_bytes(&p.image));
    free(p.image.data);
    free(file.bytes);
    stk__codec_free(codec);
}

static void png_gives_the_same_pixels_back(void **state)
{
    for (int channels = 1; channels <= 4; channels++)
        for (int is_wide = 0; is_wide < 2; is_wide++)
            for (int level = 0; level <= 9; level += 3) {
                struct stk__pixels pixels = draw(23, 41, channels, is_wide);
                struct stk__encoded out;
                struct stk_error err;
                assert_int_equal(stk__encode_png(*state, &pixels, level, &out, &err), STK_OK);
                check_same_pixels(&out, &pixels);
                free((void *)(uintptr_t)pixels.data);
            }
}

static void lossless_webp_gives_the_same_pixels_back(void **state)
{
    for (int channels = 3; channels <= 4; channels++) {
        struct stk__pixels pixels = draw(23, 41, channels, false);
        struct stk__encoded out;
        struct stk_error err;
        assert_int_equal(stk__encode_webp(*state, &pixels, 60, true, &out, &err), STK_OK);
        check_same_pixels(&out, &pixels);
        free((void *)(uintptr_t)pixels.data);
    }
}

static void too_large_pictures_are_refused(void **state)
{
    uint8_t *data = calloc(70000, 1);
    assert_non_null(data);
    struct stk__pixels pixels = { data, 1, 70000, 1, false };
    struct stk__encoded out;
    struct stk_error err;
    struct stk__jpeg_options options = { .quality = 75, .across = 1, .down = 1 };
    assert_int_equal(stk__encode_jpeg(*state, &pixels, &options, &out, &err), STK_DATA);
    assert_non_null(strstr(err.text, "cannot be a JPEG: maximum supported image dimension"));
    assert_int_equal(stk__encode_webp(*state, &pixels, 75, false, &out, &err), STK_DATA);
    assert_non_null(strstr(err.text, "cannot be a WebP"));
    assert_int_equal(stk__encode_png(*state, &pixels, 6, &out, &err), STK_OK);
    pixels.height = pixels.width = 0;
    assert_int_equal(stk__encode_jpeg(*state, &pixels, &options, &out, &err), STK_DATA);
    assert_int_equal(stk__encode_png(*state, &pixels, 6, &out, &err), STK_DATA);
    assert_int_equal(stk__encode_webp(*state, &pixels, 75, false, &out, &err), STK_DATA);
    free(data);
}

/* ---- the ops ---- */

static void check_chains_agree(const char *a, const char *b)
{
    size_t n_a, n_b;
    uint8_t *one = bytes_of_first(a, "image", &n_a), *other = bytes_of_first(b, "image", &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(one, other, n_a);
    free(one);
    free(other);
}

static void ops_take_images_there_and_back(void **state)
{
    (void)state;
    check_chains_agree("files('tests/golden/decode/rgba_16.png').decode(4, dtype=uint16)"
                       ".encode_png(1).decode(4, dtype=uint16).batch(1)",
                       "files('tests/golden/decode/rgba_16.png').decode(4, dtype=uint16).batch(1)");
    check_chains_agree("files('tests/golden/decode/rgb_8.png').decode()"
                       ".encode_webp(lossless=true).decode().batch(1)",
                       "files('tests/golden/decode/rgb_8.png').decode().batch(1)");
    size_t n;
    uint8_t *bytes = bytes_of_first("files('tests/golden/decode/rgb_8.png').decode()"
                                    ".encode_jpeg(quality=50, optimize=true).batch(1)",
                                    "bytes", &n);
    assert_int_equal(stk__image_format(bytes, n), STK__FORMAT_JPEG);
    free(bytes);
}

static void expect_refusal(const char *chain, const char *message)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    assert_int_not_equal(stk_dataset_new(chain, NULL, &data, &err), STK_OK);
    if (!strstr(err.text, message))
        fail_msg("%s: %s", chain, err.text);
}

static void ops_refuse_what_formats_cannot_hold(void **state)
{
    (void)state;
    expect_refusal("files('a').decode(4).encode_jpeg()",
                   "has 4 channels; the format takes one of 13");
    expect_refusal("files('a').decode(dtype=uint16).encode_jpeg()", "of uint8");
    expect_refusal("files('a').decode().resize(4, 4).encode_png()", "of uint8 or uint16");
    expect_refusal("files('a').decode().encode_jpeg(subsampling=423)", "444, 422 or 420, not 423");
    expect_refusal("files('a').decode().encode_jpeg(quality=0)", "quality");
    struct stk_iterator *it = start_chain(
        "files('tests/golden/decode/gray_alpha_8.png').decode(0).encode_jpeg().batch(1)", "");
    struct stk_batch *batch = NULL;
    struct stk_error err;
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_non_null(strstr(err.text, "the image has 2 channels; the format takes one of 13"));
    stk_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_ENCODER(name) cmocka_unit_test_setup_teardown(name, open_encoder, close_encoder)
        WITH_ENCODER(jpeg_has_the_bytes_of_pillows),
        WITH_ENCODER(png_gives_the_same_pixels_back),
        WITH_ENCODER(lossless_webp_gives_the_same_pixels_back),
        WITH_ENCODER(too_large_pictures_are_refused),
        cmocka_unit_test(ops_take_images_there_and_back),
        cmocka_unit_test(ops_refuse_what_formats_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
