/* SPDX-License-Identifier: Apache-2.0 */
/* test_baseline.c: our JPEG decoder against libjpeg-turbo: the same bits, on files over the grid of
 * qualities, samplings, sizes, restart intervals and codes, whole and in part. */
#define _POSIX_C_SOURCE 200809L
#include "base/cpu.h"
#include "jpeg_case.h"

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct sampling {
    enum jpeg_colours colours;
    int across, down;
} samplings[] = {
    { JPEG_GRAY, 1, 1 }, { JPEG_GRAY, 2, 2 }, { JPEG_YCC, 1, 1 },
    { JPEG_YCC, 2, 1 },  { JPEG_YCC, 2, 2 },  { JPEG_YCC, 1, 2 },
    { JPEG_YCC, 4, 1 },  { JPEG_RGB, 1, 1 },  { JPEG_RGB, 2, 2 },
};
enum { N_SAMPLINGS = sizeof samplings / sizeof *samplings };

static const int all_channels[] = { 0, 1, 3, 4 };

static void describe(const struct jpeg_recipe *r, const struct jpeg_wish *wish, const char *what)
{
    print_error("%s: %d x %d, quality %d, colours %d, sampling %d x %d, restart %d, optimized %d, "
                "motif %d; channels %d, scale %d, fast %d, region %u x %u at %u, %u\n",
                what, r->width, r->height, r->quality, (int)r->colours, r->across, r->down,
                r->restart, r->is_optimized, (int)r->motif, wish->channels, wish->scale,
                wish->is_fast, wish->region.width, wish->region.height, wish->region.x,
                wish->region.y);
}

/* ---- whole pictures ---- */

/* Decodes by the library and by ours with the kernels of every level. */
static bool agrees(struct stk__codec *codec, const struct jpeg_recipe *recipe,
                   struct jpeg_file file, int channels)
{
    struct jpeg_wish wish = { .channels = channels, .is_by_library = true, .is_fast = draw(2) };
    struct jpeg_shot theirs = decode_jpeg(codec, file, &wish);
    bool is_good = !theirs.code;
    wish.is_by_library = false;
    for (int level = 0; level <= (int)stk__cpu_best() && is_good; level++) {
        wish.kernels = &stk__kernels_at(level)->jpeg;
        struct jpeg_shot ours = decode_jpeg(codec, file, &wish);
        is_good = ours.is_own && is_same_shot(&ours, &theirs);
        if (!is_good)
            describe(recipe, &wish, ours.is_own ? "other pixels" : "not decoded");
        free_shot(&ours);
    }
    free_shot(&theirs);
    return is_good;
}

static bool recipe_agrees(struct stk__codec *codec, const struct jpeg_recipe *recipe, int channels)
{
    struct jpeg_file file = make_jpeg(recipe);
    bool is_good = agrees(codec, recipe, file, channels);
    free(file.bytes);
    return is_good;
}

/* Everything that has few values is drawn, not crossed. */
static bool sizes_agree(struct stk__codec *codec, struct jpeg_recipe recipe)
{
    static const int sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65 };
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    static const int restarts[] = { 0, 0, 1, 2, 7 };
    bool is_good = true;
    for (int i = 0; i < N_SIZES * N_SIZES && is_good; i++) {
        recipe.width = sizes[i % N_SIZES];
        recipe.height = sizes[i / N_SIZES];
        recipe.restart = restarts[draw(5)];
        recipe.is_optimized = draw(2);
        recipe.has_no_marker = recipe.colours != JPEG_RGB && draw(4) == 0;
        recipe.motif = draw(3);
        is_good = recipe_agrees(codec, &recipe, all_channels[draw(4)]);
    }
    return is_good;
}

static void pixels_equal_the_library_s(void **state)
{
    static const int qualities[] = { 1, 25, 75, 92, 100 };
    for (int q = 0; q < 5; q++)
        for (int s = 0; s < N_SAMPLINGS; s++)
            assert_true(sizes_agree(*state, (struct jpeg_recipe){ .quality = qualities[q],
                                                                  .colours = samplings[s].colours,
                                                                  .across = samplings[s].across,
                                                                  .down = samplings[s].down }));
}

/* At one size, every combination of the rest. */
static void every_way_of_coding_agrees(void **state)
{
    for (int i = 0; i < N_SAMPLINGS * 4 * 5 * 2 * 2; i++) {
        const struct sampling *sampling = &samplings[i % N_SAMPLINGS];
        int rest = i / N_SAMPLINGS;
        struct jpeg_recipe recipe = { .width = 45,
                                      .height = 38,
                                      .quality = rest / 40 ? 95 : 60,
                                      .colours = sampling->colours,
                                      .across = sampling->across,
                                      .down = sampling->down,
                                      .restart = rest / 4 % 5,
                                      .is_optimized = rest / 20 % 2 };
        assert_true(recipe_agrees(*state, &recipe, all_channels[rest % 4]));
    }
}

/* More than one chunk to a row, and more bytes than the buffer of a scan holds. */
static void large_pictures_agree(void **state)
{
    static const struct jpeg_recipe recipes[] = {
        { 2900, 21, 90, JPEG_YCC, 1, 1, .restart = 50 },
        { 4100, 40, 90, JPEG_YCC, 2, 2, .is_optimized = true },
        { 5000, 9, 80, JPEG_YCC, 4, 1, .restart = 1 },
        { 6001, 33, 85, JPEG_YCC, 1, 2, .restart = 1000 },
        { 9000, 17, 85, JPEG_GRAY, 1, 1, .restart = 0 },
        { 1100, 700, 100, JPEG_YCC, 1, 1, .motif = MOTIF_NOISE },
        { 1000, 900, 100, JPEG_YCC, 2, 2, .motif = MOTIF_STARK, .is_optimized = true },
        { 700, 900, 100, JPEG_RGB, 1, 1, .motif = MOTIF_NOISE, .restart = 4000 },
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        assert_true(recipe_agrees(*state, &recipes[i], 3));
}

/* ---- regions ---- */

static struct stk__region draw_region(uint32_t width, uint32_t height)
{
    struct stk__region region = { .width = 1 + draw(width), .height = 1 + draw(height) };
    region.x = draw(width - region.width + 1);
    region.y = draw(height - region.height + 1);
    return region;
}

static void check_region(struct stk__codec *codec, const struct jpeg_recipe *recipe,
                         struct jpeg_file file, struct jpeg_wish wish)
{
    struct jpeg_shot whole = decode_jpeg(codec, file, &wish);
    wish.region = draw_region(whole.image.width, whole.image.height);
    for (int by_library = 0; by_library < 2; by_library++) {
        wish.is_by_library = by_library;
        struct jpeg_shot part = decode_jpeg(codec, file, &wish);
        if (part.is_own == by_library || !is_part_of(&part, &whole, &wish.region)) {
            describe(recipe, &wish, "other pixels in a region");
            fail();
        }
        free_shot(&part);
    }
    free_shot(&whole);
}

static void region_equals_part_of_whole(void **state)
{
    static const int restarts[] = { 0, 0, 1, 5, 40 };
    for (int i = 0; i < 1500; i++) {
        const struct sampling *sampling = &samplings[draw(N_SAMPLINGS)];
        struct jpeg_recipe recipe = { .width = 1 + (int)draw(draw(8) ? 100 : 3000),
                                      .height = 1 + (int)draw(100),
                                      .quality = 30 + (int)draw(70),
                                      .colours = sampling->colours,
                                      .across = sampling->across,
                                      .down = sampling->down,
                                      .restart = restarts[draw(5)],
                                      .is_optimized = draw(2) };
        struct jpeg_file file = make_jpeg(&recipe);
        for (int k = 0; k < 4; k++) {
            int level = (int)draw((unsigned)stk__cpu_best() + 1);
            check_region(*state, &recipe, file,
                         (struct jpeg_wish){ .channels = all_channels[draw(4)],
                                             .is_fast = draw(2),
                                             .kernels = &stk__kernels_at(level)->jpeg });
        }
        free(file.bytes);
    }
}

/* EXIF with one entry, the orientation, behind the first two bytes. */
static struct jpeg_file with_orientation(struct jpeg_file file, int orientation)
{
    const uint8_t exif[] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0,
                             'M',  'M',  0, 42, 0,   0,   0,   8,   0, 1,
                             1,    0x12, 0, 3,  0,   0,   0,   1,   0, (uint8_t)orientation,
                             0,    0,    0, 0,  0,   0 };
    struct jpeg_file turned = { malloc(file.n + sizeof exif), file.n + sizeof exif };
    assert_non_null(turned.bytes);
    memcpy(turned.bytes, file.bytes, 2);
    memcpy(turned.bytes + 2, exif, sizeof exif);
    memcpy(turned.bytes + 2 + sizeof exif, file.bytes + 2, file.n - 2);
    return turned;
}

static void region_of_a_turned_picture_is_in_its_display(void **state)
{
    struct jpeg_recipe recipe = { 83, 61, 90, JPEG_YCC, 2, 2, .has_no_marker = true };
    struct jpeg_file file = make_jpeg(&recipe);
    for (int orientation = 1; orientation <= 8; orientation++) {
        struct jpeg_file turned = with_orientation(file, orientation);
        struct jpeg_wish wish = { .channels = 3, .is_oriented = true };
        struct jpeg_shot whole = decode_jpeg(*state, turned, &wish);
        assert_int_equal(whole.image.width, orientation > 4 ? 61 : 83);
        free_shot(&whole);
        for (int i = 0; i < 20; i++)
            check_region(*state, &recipe, turned, wish);
        free(turned.bytes);
    }
    free(file.bytes);
}

static void region_outside_is_refused(void **state)
{
    struct jpeg_recipe recipe = { 20, 10, 90, JPEG_GRAY, 1, 1, .restart = 0 };
    struct jpeg_file file = make_jpeg(&recipe);
    static const struct stk__region outside[] = {
        { 0, 0, 21, 10 }, { 0, 0, 20, 11 }, { 20, 0, 1, 1 },
        { 0, 10, 1, 1 },  { 5, 5, 5, 0 },   { 4294967295u, 0, 2, 1 },
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        for (int by_library = 0; by_library < 2; by_library++) {
            struct jpeg_wish wish = { .region = outside[i], .is_by_library = by_library };
            struct jpeg_shot shot = decode_jpeg(*state, file, &wish);
            assert_int_equal(shot.code, STK_VALUE);
            assert_non_null(strstr(shot.err.text, "not inside of the picture of 20 x 10 pixels"));
            free_shot(&shot);
        }
    free(file.bytes);
}

/* ---- smaller pictures ---- */

/* Ours if chroma can be made as fine as luma, the library's otherwise; with the same pixels. */
static void check_scale(struct stk__codec *codec, const struct jpeg_recipe *recipe, int scale)
{
    struct jpeg_file file = make_jpeg(recipe);
    struct jpeg_wish wish = { .channels = all_channels[draw(4)],
                              .scale = scale,
                              .is_fast = draw(2) };
    struct jpeg_shot ours = decode_jpeg(codec, file, &wish);
    wish.is_by_library = true;
    struct jpeg_shot theirs = decode_jpeg(codec, file, &wish);
    bool is_ours = recipe->across == recipe->down || recipe->colours == JPEG_GRAY;
    assert_int_equal(theirs.image.width, (recipe->width + scale - 1) / scale);
    assert_int_equal(theirs.image.height, (recipe->height + scale - 1) / scale);
    if (ours.is_own != is_ours || !is_same_shot(&ours, &theirs)) {
        describe(recipe, &wish, "other pixels at a scale");
        fail();
    }
    wish.is_by_library = false;
    if (is_ours)
        check_region(codec, recipe, file, wish);
    free_shot(&ours);
    free_shot(&theirs);
    free(file.bytes);
}

static void smaller_pictures_agree(void **state)
{
    static const int scales[] = { 2, 4, 8 };
    for (int i = 0; i < 3000; i++) {
        const struct sampling *sampling = &samplings[draw(N_SAMPLINGS)];
        struct jpeg_recipe recipe = { .width = 1 + (int)draw(draw(20) ? 100 : 3000),
                                      .height = 1 + (int)draw(100),
                                      .quality = 1 + (int)draw(100),
                                      .colours = sampling->colours,
                                      .across = sampling->across,
                                      .down = sampling->down,
                                      .restart = (int)draw(3),
                                      .is_optimized = draw(2),
                                      .motif = draw(3) };
        check_scale(*state, &recipe, scales[draw(3)]);
    }
}

/* ---- what is left to the library ---- */

static void other_kinds_are_left_to_the_library(void **state)
{
    static const struct jpeg_recipe recipes[] = {
        { 40, 30, 90, JPEG_YCC, 2, 2, .is_progressive = true },
        { 40, 30, 90, JPEG_GRAY, 1, 1, .is_progressive = true },
        { 40, 30, 90, JPEG_YCC, 1, 1, .is_arithmetic = true },
        { 40, 30, 90, JPEG_CMYK, 1, 1, .restart = 0 },
        { 40, 30, 90, JPEG_YCC, 3, 1, .restart = 0 },
        { 40, 30, 90, JPEG_YCC, 4, 2, .restart = 0 },
        { 40, 30, 90, JPEG_YCC, 1, 4, .restart = 0 },
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct jpeg_file file = make_jpeg(&recipes[i]);
        struct jpeg_wish wish = { .channels = 3 };
        struct jpeg_shot shot = decode_jpeg(*state, file, &wish);
        assert_int_equal(shot.code, STK_OK);
        assert_false(shot.is_own);
        free_shot(&shot);
        free(file.bytes);
    }
}

/* ---- files of others ---- */

static struct jpeg_file load(const char *folder, const char *name)
{
    char path[4096];
    struct jpeg_file file = { NULL, 0 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return file;
    static uint8_t bytes[16 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    if (stk__image_format(bytes, n) == STK__FORMAT_JPEG && n < sizeof bytes)
        file = copy_bytes(bytes, n);
    return file;
}

static const char *find_pictures(void)
{
    return getenv("STOKER_IMAGES") ? getenv("STOKER_IMAGES") : "../shared/images";
}

static void compare_photo(struct stk__codec *codec, struct jpeg_file file, bool is_fast, int *n_own)
{
    for (int scale = 1; scale <= 8; scale *= 2) {
        struct jpeg_wish wish = {
            .channels = 3, .scale = scale, .is_by_library = true, .is_fast = is_fast
        };
        struct jpeg_shot theirs = decode_jpeg(codec, file, &wish);
        wish.is_by_library = false;
        struct jpeg_shot ours = decode_jpeg(codec, file, &wish);
        assert_true(is_same_shot(&ours, &theirs));
        if (ours.is_own)
            check_region(codec, &(struct jpeg_recipe){ 0 }, file, wish);
        *n_own += scale == 1 && !is_fast && ours.is_own;
        free_shot(&ours);
        free_shot(&theirs);
    }
}

static void photos_agree(void **state)
{
    const char *folder = find_pictures();
    DIR *dir = opendir(folder);
    int n = 0, n_own = 0;
    if (!dir) {
        print_message("no folder %s: set STOKER_IMAGES to one with JPEG files\n", folder);
        skip();
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct jpeg_file file = load(folder, entry->d_name);
        if (!file.bytes)
            continue;
        compare_photo(*state, file, false, &n_own);
        compare_photo(*state, file, true, &n_own);
        free(file.bytes);
        n++;
    }
    closedir(dir);
    print_message("%d photos agree, %d of them by our decoder\n", n, n_own);
}

/* Pictures of about the same size take no new memory. */
static void memory_settles(void **state)
{
    struct jpeg_recipe recipe = { 500, 375, 90, JPEG_YCC, 2, 2, .restart = 0 };
    struct jpeg_file file = make_jpeg(&recipe);
    struct jpeg_wish wish = { .channels = 3 };
    size_t bytes = 0;
    for (int i = 0; i < 5; i++) {
        struct jpeg_shot shot = decode_jpeg(*state, file, &wish);
        assert_true(shot.is_own);
        free_shot(&shot);
        if (i == 0)
            bytes = stk__codec_bytes(*state);
        assert_int_equal(stk__codec_bytes(*state), bytes);
    }
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_settles),
        cmocka_unit_test(pixels_equal_the_library_s),
        cmocka_unit_test(every_way_of_coding_agrees),
        cmocka_unit_test(large_pictures_agree),
        cmocka_unit_test(region_equals_part_of_whole),
        cmocka_unit_test(region_of_a_turned_picture_is_in_its_display),
        cmocka_unit_test(region_outside_is_refused),
        cmocka_unit_test(smaller_pictures_agree),
        cmocka_unit_test(other_kinds_are_left_to_the_library),
        cmocka_unit_test(photos_agree),
    };
    return cmocka_run_group_tests(tests, open_codec, close_codec);
}
