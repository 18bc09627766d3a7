/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode_op.c: the options of the op decode in chains: shapes and dtypes, crops that reach into
 * the decoder, files that are cut. */
#define _GNU_SOURCE
#include "api_call.h"
#include "temporary.h"

#include <unistd.h>

#define GOLDEN "tests/golden/"

static void check_shape(const char *options, const char *file, int dtype, int rank,
                        const int64_t *shape)
{
    char chain[300];
    snprintf(chain, sizeof chain, "files('" GOLDEN "%s').decode(%s).batch(1)", file, options);
    struct stk_iterator *it = start_chain(chain, "");
    struct stk_batch *batch = next(it);
    struct stk_view view = view_of(batch, "image");
    assert_int_equal(view.dtype, dtype);
    assert_int_equal(view.rank, rank + 1);
    check_numbers(view.shape + 1, shape, rank);
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void options_give_shape_and_dtype(void **state)
{
    (void)state;
#define SHAPE(...) ((const int64_t[]){ __VA_ARGS__ })
    check_shape("", "formats/frames.gif", STK_U8, 3, SHAPE(12, 15, 3));
    check_shape("frames=all", "formats/frames.gif", STK_U8, 4, SHAPE(4, 12, 15, 3));
    check_shape("frames=2", "formats/frames.gif", STK_U8, 4, SHAPE(2, 12, 15, 3));
    check_shape("4, frames=99", "formats/frames.webp", STK_U8, 4, SHAPE(3, 12, 15, 4));
    check_shape("frames=all", "decode/gray.jpg", STK_U8, 4, SHAPE(1, 29, 23, 3));
    check_shape("0", "decode/gray_alpha_16.png", STK_U8, 3, SHAPE(21, 18, 2));
    check_shape("0, dtype=uint16", "decode/gray_alpha_16.png", STK_U16, 3, SHAPE(21, 18, 2));
    check_shape("palette=index", "decode/palette_2.png", STK_U8, 3, SHAPE(21, 18, 1));
    check_shape("palette=index, frames=1", "formats/one.gif", STK_U8, 4, SHAPE(1, 13, 17, 1));
}

static void expect_refusal(const char *options, const char *message)
{
    char chain[200];
    struct stk_dataset *data = NULL;
    struct stk_error err;
    snprintf(chain, sizeof chain, "files('" GOLDEN "formats/one.gif').decode(%s)", options);
    assert_int_not_equal(stk_dataset_new(chain, NULL, &data, &err), STK_OK);
    if (!strstr(err.text, message))
        fail_msg("%s: %s", chain, err.text);
}

static void options_that_contradict_are_refused(void **state)
{
    (void)state;
    expect_refusal("frames=0", "frames is none, all or a whole number from 1, not 0");
    expect_refusal("frames=2.5", "frames is none, all or a whole number from 1, not 2.5");
    expect_refusal("frames=1e10", "frames is none, all or a whole number");
    expect_refusal("frames=every", "frames");
    expect_refusal("4, palette=index", "palette=index gives one channel, not 4");
    expect_refusal("palette=index, dtype=uint16", "palette=index gives uint8");
    expect_refusal("dtype=float32", "dtype");
    expect_refusal("on_truncated=black", "on_truncated");
}

/* ---- crops ---- */

struct kind {
    const char *file, *options;
    size_t height, width, pixel_bytes;
};

static const struct kind kinds[] = {
    { "decode/q75_420.jpg", "dtype=uint16", 45, 70, 6 },
    { "decode/progressive_420.jpg", "4", 33, 41, 4 },
    { "decode/orientation_6.jpg", "orientation=true, dtype=uint16", 34, 21, 6 },
    { "decode/rgba_16.png", "4, dtype=uint16", 21, 18, 8 },
    { "decode/palette_4_interlaced.png", "palette=index", 21, 18, 1 },
    { "formats/frames.gif", "1", 12, 15, 1 },
    { "formats/rgb.bmp", "on_truncated=gray", 8, 11, 3 },
    { "formats/lossy_alpha.webp", "4, dtype=uint16", 21, 34, 8 },
};

/* A crop right behind decode has only its part decoded; the pixels stay the same. */
static void crop_behind_decode_is_a_part_of_the_picture(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *k = &kinds[i];
        char chain[300];
        size_t n, n_part, row = k->width * k->pixel_bytes;
        snprintf(chain, sizeof chain, "files('" GOLDEN "%s').decode(%s).batch(1)", k->file,
                 k->options);
        uint8_t *whole = bytes_of_first(chain, "image", &n);
        assert_int_equal(n, k->height * row);
        snprintf(chain, sizeof chain, "files('" GOLDEN "%s').decode(%s).crop(2, 3, 4, 5).batch(1)",
                 k->file, k->options);
        uint8_t *part = bytes_of_first(chain, "image", &n_part);
        assert_int_equal(n_part, 4 * 5 * k->pixel_bytes);
        for (size_t y = 0; y < 4; y++)
            assert_memory_equal(part + y * 5 * k->pixel_bytes,
                                whole + (y + 2) * row + 3 * k->pixel_bytes, 5 * k->pixel_bytes);
        free(whole);
        free(part);
    }
}

/* ---- files that are cut ---- */

/* Half of a file, under a name of its own. */
static void write_half(const char *name, const char *path)
{
    static uint8_t bytes[1 << 16];
    FILE *src = fopen(name, "rb"), *dst = fopen(path, "wb");
    assert_true(src && dst);
    size_t n = fread(bytes, 1, sizeof bytes, src);
    assert_int_equal(fwrite(bytes, 1, n / 2, dst), n / 2);
    fclose(src);
    fclose(dst);
}

static void cut_file_is_bad_or_a_picture(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH], chain[TEMPORARY_PATH + 100];
    assert_true(make_temporary_file(path, "stoker_cut"));
    write_half(GOLDEN "decode/q75_420.jpg", path);
    snprintf(chain, sizeof chain, "files('%s').decode().batch(1)", path);
    struct stk_iterator *it = start_chain(chain, "");
    struct stk_batch *batch = NULL;
    struct stk_error err;
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_non_null(strstr(err.text, "truncated JPEG at byte 862: premature end of JPEG file"));
    stk_iterator_free(it);
    snprintf(chain, sizeof chain, "files('%s').decode(on_truncated=gray).batch(1)", path);
    size_t n;
    uint8_t *pixels = bytes_of_first(chain, "image", &n);
    for (size_t i = n - 70 * 3; i < n; i++)
        assert_int_equal(pixels[i], 128);
    free(pixels);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_give_shape_and_dtype),
        cmocka_unit_test(options_that_contradict_are_refused),
        cmocka_unit_test(crop_behind_decode_is_a_part_of_the_picture),
        cmocka_unit_test(cut_file_is_bad_or_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
