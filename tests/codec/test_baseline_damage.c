/* SPDX-License-Identifier: Apache-2.0 */
/* test_baseline_damage.c: JPEG files that somebody damaged, or wrote with malice: with our decoder
 * in front of it, the library's decision and its pixels are what they are without. */
#include "base/cpu.h"
#include "jpeg_case.h"

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
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

/* ---- segments ---- */

struct segment {
    size_t at, n; /* with marker and length */
};

enum { MAX_SEGMENTS = 32 };

/* Segments between the first two bytes and the scan's data. */
static int list_segments(struct jpeg_file file, struct segment *list)
{
    int n = 0;
    size_t at = 2;
    while (n < MAX_SEGMENTS && at + 4 <= file.n && file.bytes[at] == 0xff) {
        size_t length = 2 + (size_t)(file.bytes[at + 2] << 8 | file.bytes[at + 3]);
        if (length > file.n - at)
            break;
        list[n++] = (struct segment){ at, length };
        if (file.bytes[at + 1] == 0xda)
            break;
        at += length;
    }
    return n;
}

static void replace(struct jpeg_file *file, size_t at, size_t n_old, const uint8_t *bytes,
                    size_t n_new)
{
    struct jpeg_file next = { malloc(file->n - n_old + n_new + 1), file->n - n_old + n_new };
    assert_non_null(next.bytes);
    memcpy(next.bytes, file->bytes, at);
    if (n_new)
        memcpy(next.bytes + at, bytes, n_new);
    memcpy(next.bytes + at + n_new, file->bytes + at + n_old, file->n - at - n_old);
    free(file->bytes);
    *file = copy_bytes(next.bytes, next.n);
    free(next.bytes);
}

/* ---- ways to damage a file ---- */

static size_t draw_place(const struct jpeg_file *file)
{
    return draw((unsigned)file->n);
}

static void flip_bit(struct jpeg_file *file)
{
    file->bytes[draw_place(file)] ^= (uint8_t)(1u << draw(8));
}

static void change_byte(struct jpeg_file *file)
{
    static const uint8_t likely[] = { 0, 1, 0x11, 0x7f, 0x80, 0xff, 0xd9, 0xd0 };
    file->bytes[draw_place(file)] = draw(2) ? likely[draw(8)] : (uint8_t)draw(256);
}

static void change_header(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    int n = list_segments(*file, list);
    if (!n)
        return;
    struct segment segment = list[draw((unsigned)n)];
    size_t at = segment.at + draw(draw(2) && segment.n > 20 ? 20 : (unsigned)segment.n);
    file->bytes[at] = (uint8_t)(draw(2) ? draw(256) : file->bytes[at] + draw(3) - 1);
}

static void cut(struct jpeg_file *file)
{
    size_t n = draw(2) ? draw_place(file) : file->n - draw(file->n < 8 ? (unsigned)file->n : 8);
    replace(file, n, file->n - n, NULL, 0);
}

static void insert_garbage(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    uint8_t bytes[8];
    int n = list_segments(*file, list);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(draw(3) ? draw(256) : 0xff);
    size_t at = n && draw(2) ? list[draw((unsigned)n)].at : draw_place(file);
    replace(file, at, 0, bytes, 1 + draw(8));
}

static void insert_marker(struct jpeg_file *file)
{
    static const uint8_t markers[] = { 0x01, 0xc0, 0xc4, 0xd0, 0xd1, 0xd7, 0xd8, 0xd9,
                                       0xda, 0xdb, 0xdc, 0xdd, 0xe0, 0xee, 0xfe, 0xff };
    const uint8_t bytes[] = { 0xff, markers[draw(16)], 0, 2 };
    replace(file, draw_place(file), 0, bytes, draw(2) ? 2 : 4);
}

static void remove_bytes(struct jpeg_file *file)
{
    size_t at = draw_place(file), most = file->n - at < 9 ? file->n - at : 9;
    replace(file, at, draw((unsigned)most), NULL, 0);
}

static void repeat_segment(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    int n = list_segments(*file, list);
    if (!n)
        return;
    struct segment segment = list[draw((unsigned)n)];
    struct jpeg_file copy = copy_bytes(file->bytes + segment.at, segment.n);
    replace(file, list[draw((unsigned)n)].at, 0, copy.bytes, copy.n);
    free(copy.bytes);
}

static void remove_segment(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    int n = list_segments(*file, list);
    if (!n)
        return;
    struct segment segment = list[draw((unsigned)n)];
    replace(file, segment.at, segment.n, NULL, 0);
}

/* Steps so large that products leave 16 bits. */
static void raise_steps(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    int n = list_segments(*file, list);
    for (int i = 0; i < n; i++)
        if (file->bytes[list[i].at + 1] == 0xdb)
            for (size_t k = 5; k < list[i].n; k++)
                if (draw(4) == 0)
                    file->bytes[list[i].at + k] = (uint8_t)(255 - draw(20));
}

/* Steps of 16 bits. */
static void widen_steps(struct jpeg_file *file)
{
    struct segment list[MAX_SEGMENTS];
    int n = list_segments(*file, list);
    for (int i = 0; i < n; i++) {
        const uint8_t *old = file->bytes + list[i].at;
        uint8_t wide[2 + 2 + 1 + 128] = { 0xff, 0xdb, 0, 131 };
        if (old[1] != 0xdb || list[i].n != 2 + 2 + 1 + 64)
            continue;
        wide[4] = old[4] | 0x10;
        for (int k = 0; k < 64; k++) {
            wide[5 + 2 * k] = (uint8_t)(draw(30) ? 0 : draw(256));
            wide[6 + 2 * k] = old[5 + k];
        }
        replace(file, list[i].at, list[i].n, wide, sizeof wide);
        return;
    }
}

static void (*const damages[])(struct jpeg_file *file) = {
    flip_bit,      change_byte,  change_header,  change_header,  cut,         insert_garbage,
    insert_marker, remove_bytes, repeat_segment, remove_segment, raise_steps, widen_steps,
};
enum { N_DAMAGES = sizeof damages / sizeof *damages };

/* ---- comparing ---- */

static const struct jpeg_recipe victims[] = {
    { 40, 30, 90, JPEG_YCC, 2, 2, .restart = 0 },
    { 33, 17, 75, JPEG_YCC, 1, 1, .is_optimized = true },
    { 50, 20, 95, JPEG_YCC, 2, 1, .restart = 2 },
    { 20, 44, 50, JPEG_YCC, 1, 2, .restart = 1 },
    { 70, 9, 85, JPEG_YCC, 4, 1, .restart = 0 },
    { 33, 31, 90, JPEG_GRAY, 1, 1, .restart = 3 },
    { 25, 25, 90, JPEG_RGB, 1, 1, .is_optimized = true },
    { 24, 24, 100, JPEG_YCC, 1, 1, .motif = MOTIF_STARK },
    { 24, 24, 3, JPEG_GRAY, 1, 1, .motif = MOTIF_STARK },
};
enum { N_VICTIMS = sizeof victims / sizeof *victims };

struct tally {
    int n_own, n_good, n_bad;
};

/* A wish is fulfilled by both in the same way. */
static void compare(struct stk__codec *codec, struct jpeg_file file, struct jpeg_wish wish,
                    struct tally *tally)
{
    struct jpeg_shot ours = decode_jpeg(codec, file, &wish);
    wish.is_by_library = true;
    struct jpeg_shot theirs = decode_jpeg(codec, file, &wish);
    bool is_same = is_same_shot(&ours, &theirs);
    tally->n_own += ours.is_own;
    tally->n_good += !theirs.code;
    tally->n_bad += theirs.code != STK_OK;
    free_shot(&ours);
    free_shot(&theirs);
    if (is_same)
        return;
    print_error("ours: %s; the library's: %s\n", ours.code ? ours.err.text : "a picture",
                theirs.code ? theirs.err.text : "a picture");
    FILE *kept = fopen("test_baseline_damage.jpg", "wb");
    if (kept && fwrite(file.bytes, 1, file.n, kept) == file.n && !fclose(kept))
        print_error("the file is test_baseline_damage.jpg\n");
    fail();
}

static struct jpeg_wish draw_wish(void)
{
    static const int channels[] = { 0, 1, 3, 4 };
    unsigned level = draw((unsigned)stk__cpu_best() + 1);
    return (struct jpeg_wish){ .channels = channels[draw(4)],
                               .scale = draw(4) ? 1 : 1 << draw(4),
                               .is_fast = draw(2),
                               .on_truncated = (enum stk__on_truncated)draw(3),
                               .kernels = &stk__kernels_at((int)level)->jpeg };
}

static void damaged_files_are_judged_by_the_library(void **state)
{
    struct tally tally = { 0 };
    for (int v = 0; v < N_VICTIMS; v++) {
        struct jpeg_file whole = make_jpeg(&victims[v]);
        for (int i = 0; i < 4000; i++) {
            struct jpeg_file file = copy_bytes(whole.bytes, whole.n);
            for (unsigned k = 1 + draw(3); k && file.n; k--)
                damages[draw(N_DAMAGES)](&file);
            compare(*state, file, draw_wish(), &tally);
            free(file.bytes);
        }
        free(whole.bytes);
    }
    print_message("%d good, %d bad, %d decoded by ours\n", tally.n_good, tally.n_bad, tally.n_own);
    assert_true(tally.n_own > 3000 && tally.n_bad > 8000);
}

/* A region down to the last row meets all that there is of a scan. */
static void damage_beside_a_region_is_seen(void **state)
{
    struct tally tally = { 0 };
    for (int v = 0; v < N_VICTIMS; v++) {
        struct jpeg_file whole = make_jpeg(&victims[v]);
        for (int i = 0; i < 500; i++) {
            struct jpeg_file file = copy_bytes(whole.bytes, whole.n);
            file.bytes[file.n / 2 + draw((unsigned)file.n / 2)] ^= (uint8_t)(1u << draw(8));
            struct jpeg_wish wish = draw_wish();
            unsigned width = (unsigned)victims[v].width, height = (unsigned)victims[v].height;
            wish.scale = 1;
            wish.region = (struct stk__region){ .x = draw(width), .y = draw(height) };
            wish.region.width = 1 + draw(width - wish.region.x);
            wish.region.height = height - wish.region.y;
            compare(*state, file, wish, &tally);
            free(file.bytes);
        }
        free(whole.bytes);
    }
    assert_true(tally.n_own > 100 && tally.n_bad > 100);
}

/* A region at the top of a file that is cut below it is an error all the same. */
static void cut_below_a_region_is_seen(void **state)
{
    struct jpeg_recipe recipe = { 64, 200, 90, JPEG_YCC, 2, 2, .restart = 0 };
    struct jpeg_file whole = make_jpeg(&recipe);
    struct jpeg_wish wish = { .region = { 3, 3, 20, 20 } };
    for (size_t n = whole.n / 2; n < whole.n - 16; n += 7) {
        struct jpeg_file part = copy_bytes(whole.bytes, n);
        struct jpeg_shot shot = decode_jpeg(*state, part, &wish);
        assert_int_equal(shot.code, STK_DATA);
        free_shot(&shot);
        free(part.bytes);
    }
    free(whole.bytes);
}

/* A scan longer than any buffer that stops somewhere, with the end marker behind it. */
static void long_scan_that_stops_is_seen(void **state)
{
    struct jpeg_recipe recipe = { 600, 600, 100, JPEG_YCC, 1, 1, .motif = MOTIF_NOISE };
    struct tally tally = { 0 };
    struct jpeg_file whole = make_jpeg(&recipe);
    for (int i = 0; i < 60; i++) {
        size_t n = i < 40 ? (256u << 10) + draw(2000) : draw((unsigned)whole.n);
        struct jpeg_file file = copy_bytes(whole.bytes, n);
        memcpy(file.bytes + n - 2, "\xff\xd9", 2);
        struct jpeg_wish wish = draw_wish();
        wish.on_truncated = STK__TRUNCATED_ERROR;
        compare(*state, file, wish, &tally);
        free(file.bytes);
    }
    assert_int_equal(tally.n_bad, 60);
    free(whole.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_judged_by_the_library),
        cmocka_unit_test(damage_beside_a_region_is_seen),
        cmocka_unit_test(cut_below_a_region_is_seen),
        cmocka_unit_test(long_scan_that_stops_is_seen),
    };
    return cmocka_run_group_tests(tests, open_codec, close_codec);
}
