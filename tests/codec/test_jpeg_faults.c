/* SPDX-License-Identifier: Apache-2.0 */
/* test_jpeg_faults.c: every class of malformed JPEG, in every way of decoding: with each kind of
 * processor, both transforms, in part and smaller, for each on_truncated. What is done to a file
 * decides whether it is refused; who decodes it does not. A message says where and why. What libjpeg
 * only warns about, and no pixel depends on, is read and counted. */
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
    stk_cpu_limit("auto", NULL);
    stk__codec_free(*state);
    return 0;
}

/* ---- damage ---- */

/* The size that the library's fast loop wants to have before it, and more: where it would run. */
static const struct jpeg_recipe recipes[] = {
    { 300, 280, 90, JPEG_YCC, 2, 2, .restart = 0 },
    { 300, 280, 90, JPEG_YCC, 1, 1, .is_optimized = true },
    { 330, 240, 90, JPEG_YCC, 2, 1, .restart = 7 },
    { 400, 300, 90, JPEG_GRAY, 1, 1, .restart = 0 },
    { 200, 280, 90, JPEG_RGB, 1, 1, .is_optimized = true },
    { 200, 200, 90, JPEG_CMYK, 1, 1, .restart = 0 }, /* the library's from here on */
    { 300, 280, 90, JPEG_YCC, 4, 2, .restart = 0 },
    { 300, 280, 90, JPEG_YCC, 2, 2, .is_progressive = true },
};
enum { N_RECIPES = sizeof recipes / sizeof *recipes, N_OURS = 5 };

static size_t find_marker(struct jpeg_file file, int marker)
{
    for (size_t at = 2; at + 4 <= file.n;
         at += 2 + (size_t)(file.bytes[at + 2] << 8) + file.bytes[at + 3]) {
        assert_int_equal(file.bytes[at], 0xff);
        if (file.bytes[at + 1] == marker)
            return at;
    }
    fail_msg("no marker %x", (unsigned)marker);
    return 0;
}

/* Baseline, extended or progressive. */
static size_t find_frame(struct jpeg_file file)
{
    size_t at = 2;
    while (file.bytes[at] != 0xff || file.bytes[at + 1] < 0xc0 || file.bytes[at + 1] > 0xc2)
        at++;
    return at;
}

/* In the middle of the coded bytes of the first scan, not within a stuffed zero or a marker. */
static size_t middle_of_scan(struct jpeg_file file)
{
    size_t begin = find_marker(file, 0xda), end = begin + 2;
    while (file.bytes[end] != 0xff || !file.bytes[end + 1] ||
           (file.bytes[end + 1] >= 0xd0 && file.bytes[end + 1] <= 0xd7) ||
           end < begin + 2 + file.bytes[begin + 3])
        end++;
    size_t at = begin + (end - begin) / 2;
    while (file.bytes[at] == 0xff || file.bytes[at - 1] == 0xff)
        at++;
    return at;
}

/* Replaces n_old bytes. */
static void splice(struct jpeg_file *file, size_t at, size_t n_old, const char *bytes, size_t n_new)
{
    struct jpeg_file next = { malloc(file->n - n_old + n_new), file->n - n_old + n_new };
    assert_non_null(next.bytes);
    memcpy(next.bytes, file->bytes, at);
    memcpy(next.bytes + at, bytes, n_new);
    memcpy(next.bytes + at + n_new, file->bytes + at + n_old, file->n - at - n_old);
    free(file->bytes);
    *file = next;
}

/* Each returns where the damage is. */
typedef size_t damage(struct jpeg_file *file);

/* Ones alone are no code, and 64 of them are more than any extra bits take. */
static size_t bad_code(struct jpeg_file *file)
{
    size_t at = middle_of_scan(*file);
    splice(file, at, 0, "\xff\0\xff\0\xff\0\xff\0\xff\0\xff\0\xff\0\xff", 16);
    return at;
}

static size_t early_end(struct jpeg_file *file)
{
    size_t at = middle_of_scan(*file);
    splice(file, at, 0, "\xff\xd9", 2);
    return at;
}

static size_t cut_file(struct jpeg_file *file)
{
    file->n = middle_of_scan(*file);
    return file->n;
}

static size_t no_quant_tables(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xdb);
    for (size_t i = at; file->bytes[i + 1] == 0xdb;)
        splice(file, i, 2 + (size_t)(file->bytes[i + 2] << 8) + file->bytes[i + 3], "", 0);
    return find_marker(*file, 0xda);
}

/* Frames and scans may not name tables that no file can have, either. */
static size_t table_out_of_range(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xda);
    file->bytes[at + 6] = 0x77;
    return at;
}

static size_t code_table_too_short(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xc4);
    file->bytes[at + 2] = 0;
    file->bytes[at + 3] = 12;
    return at;
}

static size_t frame_too_long(struct jpeg_file *file)
{
    size_t frame = find_frame(*file);
    file->bytes[frame + 3]++;
    return frame;
}

static size_t twelve_bits(struct jpeg_file *file)
{
    size_t frame = find_frame(*file);
    file->bytes[frame + 4] = 12;
    return frame;
}

static size_t overfull_code(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xc4);
    file->bytes[at + 5] = 3; /* codes of one bit */
    return at;
}

/* Height and width. */
static size_t set_size(struct jpeg_file *file, const char *size)
{
    size_t frame = find_frame(*file);
    memcpy(file->bytes + frame + 5, size, 4);
    return frame;
}

static size_t size_of_65535(struct jpeg_file *file)
{
    return set_size(file, "\xff\xff\xff\xff");
}

static size_t size_of_60000(struct jpeg_file *file)
{
    return set_size(file, "\xea\x60\xea\x60");
}

static size_t two_bytes(struct jpeg_file *file)
{
    return file->n = 2;
}

struct fault {
    const char *name;
    damage *apply;
    const char *cause; /* what the message must have; NULL: anything */
    bool is_cut;       /* on_truncated decides */
    bool is_in_scan;   /* a part above it may be good */
    bool spares_progressive;
};

static const struct fault faults[] = {
    { "bad code", bad_code, "bad Huffman code", false, true, true },
    { "early end", early_end, NULL, true, true, false },
    { "cut", cut_file, "premature end", true, false, false },
    { "no quantization tables", no_quant_tables, "quantization table", false, false, false },
    { "table out of range", table_out_of_range, "table", false, false, false },
    { "code table too short", code_table_too_short, NULL, false, false, false },
    { "frame too long", frame_too_long, NULL, false, false, false },
    { "twelve bits", twelve_bits, "precision 12", false, false, false },
    { "overfull code", overfull_code, NULL, false, false, false },
    { "65535 x 65535", size_of_65535, "65500", false, false, false },
    { "60000 x 60000", size_of_60000, "max_pixels", false, false, false },
    { "two bytes", two_bytes, NULL, false, false, false },
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

/* ---- every way ---- */

/* One way of decoding, on the kind of processor in force. */
static struct jpeg_wish wish_of(int way, const struct jpeg_recipe *recipe)
{
    struct jpeg_wish wish = { .channels = 3,
                              .is_fast = way & 1,
                              .on_truncated = (enum stk__on_truncated)(way / 2 % 3),
                              .scale = 1 };
    unsigned width = (unsigned)recipe->width, height = (unsigned)recipe->height;
    switch (way / 6) {
    case 1:
        wish.scale = 2;
        break;
    case 2:
        wish.scale = 8;
        break;
    case 3: /* above the middle */
        wish.region = (struct stk__region){ 10, 8, width / 2, height / 4 };
        break;
    case 4:
        wish.region = (struct stk__region){ width / 3, height / 3, width / 2, height / 2 };
        break;
    default:
        break;
    }
    return wish;
}
enum { N_WAYS = 5 * 6 };

/* The number behind "byte". */
static size_t place_in(const char *text)
{
    const char *at = strstr(text, " byte ");
    if (!at)
        fail_msg("no place: %s", text);
    return strtoul(at + 6, NULL, 10);
}

/* Places are exact but for one: libjpeg takes an MCU at a time and keeps its place in it to itself.
 * What it says of a code is where that MCU begins, or a few bytes behind the code. In these files
 * no MCU has more bytes than that. */
enum { MCU_BYTES = 300 };

static void check_place(const struct fault *fault, const char *text, size_t at)
{
    size_t said = place_in(text);
    if (fault->apply == bad_code ? said + MCU_BYTES < at || said > at + 16 : said != at)
        fail_msg("%s at byte %zu: '%s'", fault->name, at, text);
    if (!strstr(text, fault->apply == bad_code ? " near byte " : " at byte "))
        fail_msg("%s: '%s'", fault->name, text);
}

struct verdicts {
    int code[N_WAYS];
    char text[N_WAYS][sizeof((struct stk_error *)0)->text];
};

/* The whole picture, or a part that has the middle, shows the damage. */
static void check_verdict(const struct fault *fault, const struct jpeg_recipe *recipe, int way,
                          const struct jpeg_shot *shot, size_t at)
{
    bool is_above = way / 6 == 3, is_tolerant = way / 2 % 3 > 0;
    if (fault->is_cut && is_tolerant) {
        assert_int_equal(shot->code, STK_OK);
        return;
    }
    if (is_above && fault->is_in_scan)
        return; /* only that all agree */
    if (shot->code != STK_DATA)
        fail_msg("%s, sampling %d x %d, way %d: accepted", fault->name, recipe->across,
                 recipe->down, way);
    if (fault->cause && !strstr(shot->err.text, fault->cause) &&
        !(fault->spares_progressive && recipe->is_progressive))
        fail_msg("%s: '%s'", fault->name, shot->err.text);
    check_place(fault, shot->err.text, at);
}

static void judge(struct stk__codec *codec, const struct fault *fault,
                  const struct jpeg_recipe *recipe, struct verdicts *verdicts)
{
    struct jpeg_file file = make_jpeg(recipe);
    size_t at = fault->apply(&file);
    for (int way = 0; way < N_WAYS; way++) {
        struct jpeg_wish wish = wish_of(way, recipe);
        struct jpeg_shot shot = decode_jpeg(codec, file, &wish);
        check_verdict(fault, recipe, way, &shot, at);
        verdicts->code[way] = shot.code;
        snprintf(verdicts->text[way], sizeof verdicts->text[way], "%s",
                 shot.code ? shot.err.text : "");
        free_shot(&shot);
    }
    free(file.bytes);
}

static void every_fault_is_judged_alike(void **state)
{
    static struct verdicts verdicts[STK__N_CPU_LEVELS];
    for (int f = 0; f < N_FAULTS; f++)
        for (int r = 0; r < N_RECIPES; r++)
            for (int level = 0; level <= (int)stk__cpu_best(); level++) {
                assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
                judge(*state, &faults[f], &recipes[r], &verdicts[level]);
                for (int way = 0; way < N_WAYS; way++) {
                    assert_int_equal(verdicts[level].code[way], verdicts[0].code[way]);
                    assert_string_equal(verdicts[level].text[way], verdicts[0].text[way]);
                }
            }
}

/* ---- flaws ---- */

static size_t garbage_between_segments(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xdb);
    splice(file, at, 0, "lorem ipsum", 11);
    return at;
}

static size_t zero_before_scan(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xda);
    splice(file, at, 0, "", 1);
    return at;
}

/* The end of a segment whose length is too small, with what looks like a restart in it. */
static size_t restart_before_frame(struct jpeg_file *file)
{
    size_t at = find_frame(*file);
    splice(file, at, 0,
           "ab\xff\0cd\xff\xd0"
           "ef",
           10);
    return at;
}

static size_t zeroed_parameters(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xda), end = at + 2 + file->bytes[at + 3];
    memset(file->bytes + end - 3, 0, 3);
    return at;
}

static size_t odd_parameters(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xda), end = at + 2 + file->bytes[at + 3];
    memcpy(file->bytes + end - 3, "\x01\xff\x12", 3);
    return at;
}

static size_t version_of_jfif(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xe0);
    file->bytes[at + 9] = 7;
    return at;
}

static size_t unknown_transform(struct jpeg_file *file)
{
    splice(file, 2, 0,
           "\xff\xee\0\x0e"
           "Adobe\0d\0\0\0\0\x09",
           16);
    return 2;
}

static size_t garbage_before_end(struct jpeg_file *file)
{
    size_t at = file->n - 2;
    splice(file, at, 0, "\x12\x34\x56", 3);
    return at;
}

/* The tables of the second scan, or that scan. */
static size_t garbage_between_scans(struct jpeg_file *file)
{
    size_t at = find_marker(*file, 0xda) + 2;
    while (file->bytes[at] != 0xff || (file->bytes[at + 1] != 0xc4 && file->bytes[at + 1] != 0xda))
        at++;
    splice(file, at, 0, "lorem", 5);
    return at;
}

struct flaw {
    const char *name;
    damage *apply;
    unsigned recipes; /* a bit for each that can have it */
    bool is_behind;   /* all pixels are there before it: nobody reads so far */
};

enum { ALL = (1 << N_RECIPES) - 1, PROGRESSIVE = 1 << 7, CMYK = 1 << 5, RGB = 1 << 4 };

static const struct flaw flaws[] = {
    { "garbage", garbage_between_segments, ALL, false },
    { "zero before scan", zero_before_scan, ALL, false },
    { "restart before frame", restart_before_frame, ALL, false },
    { "zeroed parameters", zeroed_parameters, ALL & ~PROGRESSIVE, false },
    { "odd parameters", odd_parameters, ALL & ~PROGRESSIVE, false },
    { "version of JFIF", version_of_jfif, ALL & ~CMYK & ~RGB, false },
    { "unknown transform", unknown_transform, 1 << 8, false },
    { "garbage before end", garbage_before_end, ALL, true },
    { "garbage between scans", garbage_between_scans, PROGRESSIVE, false },
};
enum { N_FLAWS = sizeof flaws / sizeof *flaws };

/* With the same pixels as the file without it, and counted. */
static void check_flaw(struct stk__codec *codec, const struct flaw *flaw,
                       const struct jpeg_recipe *recipe)
{
    struct jpeg_file good = make_jpeg(recipe), flawed = make_jpeg(recipe);
    flaw->apply(&flawed);
    for (int way = 0; way < N_WAYS; way++) {
        struct jpeg_wish wish = wish_of(way, recipe);
        uint64_t n = stk__codec_n_flawed(codec);
        struct jpeg_shot expected = decode_jpeg(codec, good, &wish);
        assert_int_equal(stk__codec_n_flawed(codec), n);
        struct jpeg_shot shot = decode_jpeg(codec, flawed, &wish);
        if (shot.code)
            fail_msg("%s, way %d: %s", flaw->name, way, shot.err.text);
        assert_true(is_same_shot(&shot, &expected));
        if (!flaw->is_behind && stk__codec_n_flawed(codec) != n + 1)
            fail_msg("%s, way %d: not counted", flaw->name, way);
        free_shot(&expected);
        free_shot(&shot);
    }
    free(good.bytes);
    free(flawed.bytes);
}

static void flaws_are_read_and_counted(void **state)
{
    static const struct jpeg_recipe bare = { 120, 90, 90, JPEG_YCC, 2, 2, .has_no_marker = true };
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        for (int f = 0; f < N_FLAWS; f++)
            for (int r = 0; r <= N_RECIPES; r++)
                if (flaws[f].recipes >> r & 1)
                    check_flaw(*state, &flaws[f], r < N_RECIPES ? &recipes[r] : &bare);
    }
}

/* Of a file that is damaged below it a part is what it is of the good file, on any processor. */
static void part_above_damage_is_good(void **state)
{
    static damage *const below[] = { bad_code, early_end };
    for (int r = 0; r < N_OURS; r++)
        for (int level = 0; level <= (int)stk__cpu_best(); level++)
            for (int way = 3 * 6; way < 4 * 6; way++) {
                struct jpeg_file file = make_jpeg(&recipes[r]);
                struct jpeg_wish wish = wish_of(way, &recipes[r]);
                assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
                struct jpeg_shot good = decode_jpeg(*state, file, &wish);
                below[way % 2](&file);
                struct jpeg_shot bad = decode_jpeg(*state, file, &wish);
                assert_int_equal(bad.code, STK_OK);
                assert_true(is_same_shot(&good, &bad));
                free_shot(&good);
                free_shot(&bad);
                free(file.bytes);
            }
}

/* What is there of a cut file is the same pixels whoever decodes it, with either word. */
static void cut_files_have_the_same_pixels(void **state)
{
    for (int r = 0; r < N_RECIPES; r++)
        for (int fast = 0; fast < 2; fast++) {
            struct jpeg_file file = make_jpeg(&recipes[r]);
            cut_file(&file);
            struct jpeg_wish wish = { .channels = 3,
                                      .is_fast = fast,
                                      .is_by_library = true,
                                      .on_truncated = STK__TRUNCATED_GRAY };
            struct jpeg_shot first = decode_jpeg(*state, file, &wish);
            assert_int_equal(first.code, STK_OK);
            wish.is_by_library = false;
            for (int i = 0; i < 2 * ((int)stk__cpu_best() + 1); i++) {
                assert_int_equal(stk_cpu_limit(stk__cpu_level_names[i / 2], NULL), STK_OK);
                wish.on_truncated = i % 2 ? STK__TRUNCATED_KEEP : STK__TRUNCATED_GRAY;
                struct jpeg_shot shot = decode_jpeg(*state, file, &wish);
                assert_true(is_same_shot(&shot, &first));
                free_shot(&shot);
            }
            free_shot(&first);
            free(file.bytes);
        }
}

/* Thousands of scans that say nothing new: a few kilobytes, refused early. */
static void thousands_of_scans_are_refused(void **state)
{
    struct jpeg_recipe recipe = { 64, 64, 80, JPEG_YCC, 2, 2, .is_progressive = true };
    struct jpeg_file file = make_jpeg(&recipe);
    size_t scan = find_marker(file, 0xda), end = scan + 2;
    while (file.bytes[end] != 0xff || !file.bytes[end + 1])
        end++;
    struct jpeg_file one = copy_bytes(file.bytes + scan, end - scan);
    struct jpeg_file many = { malloc(file.n + 5000 * one.n), 0 };
    assert_non_null(many.bytes);
    memcpy(many.bytes, file.bytes, scan);
    many.n = scan;
    for (int i = 0; i < 5000; i++, many.n += one.n)
        memcpy(many.bytes + many.n, one.bytes, one.n);
    memcpy(many.bytes + many.n, "\xff\xd9", 2);
    many.n += 2;
    for (int way = 0; way < N_WAYS; way++) {
        struct jpeg_wish wish = wish_of(way, &recipe);
        struct jpeg_shot shot = decode_jpeg(*state, many, &wish);
        assert_int_equal(shot.code, STK_DATA);
        assert_true(place_in(shot.err.text) < scan + 102 * one.n);
        free_shot(&shot);
    }
    free(many.bytes);
    free(one.bytes);
    free(file.bytes);
}

/* Bytes too many within a scan: the pixels before them are not what was encoded. */
static void garbage_before_restart_is_refused(void **state)
{
    const struct jpeg_recipe *recipe = &recipes[2];
    struct jpeg_file file = make_jpeg(recipe);
    size_t at = middle_of_scan(file);
    while (file.bytes[at] != 0xff || file.bytes[at + 1] < 0xd0 || file.bytes[at + 1] > 0xd7)
        at++;
    splice(&file, at, 0, "\x55\xaa\x55\xaa", 4);
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        struct jpeg_wish wish = wish_of(0, recipe);
        struct jpeg_shot shot = decode_jpeg(*state, file, &wish);
        assert_int_equal(shot.code, STK_DATA);
        assert_non_null(strstr(shot.err.text, "extraneous bytes before marker 0xd"));
        free_shot(&shot);
    }
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_judged_alike),
        cmocka_unit_test(flaws_are_read_and_counted),
        cmocka_unit_test(part_above_damage_is_good),
        cmocka_unit_test(cut_files_have_the_same_pixels),
        cmocka_unit_test(garbage_before_restart_is_refused),
        cmocka_unit_test(thousands_of_scans_are_refused),
    };
    return cmocka_run_group_tests(tests, open_codec, close_codec);
}
