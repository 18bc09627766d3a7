/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse.c: ops carried out by the op before them deliver the same bytes as by themselves:
 * random chains with and without the passes, at every level of the machine. */
#define _GNU_SOURCE
#include "api_call.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "rewrite/rewrites.h"
#include "temporary.h"

#include <unistd.h>

static uint64_t random_state = 7;

static uint64_t random_below(uint64_t n)
{
    return stk__hash_mix(random_state++, 11) % n;
}

/* ---- chains ---- */

struct text {
    char data[2048];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text->len +=
        (size_t)vsnprintf(text->data + text->len, sizeof text->data - text->len, format, args);
    va_end(args);
    assert_true(text->len < sizeof text->data);
}

#define PICK(list) (list)[random_below(sizeof(list) / sizeof *(list))]

static void add_words(struct text *text)
{
    static const char *const ways[] = {
        "bilinear",
        "nearest",
        "area",
        "bicubic",
        "mitchell",
        "gaussian",
        "lanczos5",
        "bilinear, antialias=true",
        "lanczos3, antialias=true",
        "nearest, semantics=pillow",
        "bilinear, semantics=pillow",
        "bicubic, semantics=pillow",
        "area, semantics=pillow",
        "lanczos3, semantics=pillow",
        "hamming, semantics=pillow",
        "nearest, semantics=opencv",
        "bilinear, semantics=opencv",
        "bicubic, semantics=opencv",
        "area, semantics=opencv",
        "lanczos4, semantics=opencv",
    };
    static const char *const dtypes[] = { "auto", "auto", "keep", "uint8", "float32", "float16" };
    add(text, "method=%s, dtype=%s)", PICK(ways), PICK(dtypes));
}

static int random_side(void)
{
    return (int)(20 + random_below(50));
}

static void add_resize(struct text *text)
{
    switch (random_below(6)) {
    case 0:
        add(text, ".resize_side(%d, ", random_side());
        break;
    case 1:
        add(text, ".resize_with_pad(%d, %d, fill=%d, ", random_side(), random_side(),
            (int)random_below(2) * 130);
        break;
    case 2:
        add(text, ".resize_and_crop(%d, %d, ", random_side(), random_side());
        break;
    case 3: /* whole factors */
        add(text, ".resize_with_crop_or_pad(40, 60).resize(%d, 20, ", 20 - (int)random_below(2));
        break;
    case 4:
        add(text, ".random_resized_crop(%d, %d, scale=[0.1, 1], ", random_side(), random_side());
        break;
    default:
        add(text, ".resize(%d, %d, ", random_side(), random_side());
    }
}

static void add_tail(struct text *text)
{
    static const char *const flips[] = { "flip(probability=0.5)", "flip(vertical)",
                                         "flip(both, probability=0.4)",
                                         "flip(vertical, probability=0.5, seed=3)" };
    static const char *const affines[] = { "scale(1/255)", "normalize(imagenet)", "scale(0.3, 4)" };
    static const char *const casts[] = { "cast(float16)", "cast(bfloat16)", "cast(float32)",
                                         "cast(uint8)" };
    bool is_half = strstr(text->data, "dtype=float16") != NULL;
    static const char *const crops[] = { "center_crop(", "crop(1, 0, ", "random_crop(",
                                         "random_crop(padding=2, padding_mode=reflect, seed=9, " };
    if (random_below(2))
        add(text, ".%sheight=%d, width=%d)", PICK(crops), 11 + (int)random_below(8),
            9 + (int)random_below(8));
    for (int i = 0; i < 3; i++)
        if (random_below(3) == 0)
            add(text, ".%s", PICK(flips));
    for (int i = 0; i < 2; i++)
        if (random_below(2) && !is_half)
            add(text, ".%s", PICK(affines));
    if (random_below(3) == 0)
        add(text, ".%s", PICK(casts));
    if (random_below(3) == 0)
        add(text, ".layout(NCHW)");
}

static void make_chain(struct text *text)
{
    *text = (struct text){ .len = 0 };
    add(text, "files('tests/golden/decode/{q*,opt*,orient*,kept*}.jpg').decode(channels=%d)",
        random_below(5) ? 3 : 1);
    if (random_below(4) == 0)
        add(text, ".cast(float32)");
    add_resize(text);
    add_words(text);
    if (!strstr(text->data, "channels=1"))
        add_tail(text);
    else if (random_below(2))
        add(text, ".flip(probability=0.5).layout(NCHW)");
}

static char cut_files[TEMPORARY_PATH];

/* Chains whose decoder may leave out what the op after it does not look at. */
static void make_part_chain(struct text *text)
{
    const char *const files[] = { "tests/golden/decode/*", "tests/golden/decode/*.jpg",
                                  "tests/golden/{decode,formats}/*.{png,gif,webp,bmp}",
                                  "tests/golden/decode/{q,opt,orient,prog,restart}*", cut_files };
    static const char *const words[] = { "",
                                         "orientation=true",
                                         "channels=1, on_truncated=gray",
                                         "channels=4, orientation=true",
                                         "dct=fast",
                                         "channels=0, orientation=true",
                                         "on_truncated=gray, orientation=true",
                                         "on_truncated=keep",
                                         "palette=index" };
    static const char *const parts[] = {
        "center_crop(",         "crop(2, 3, ",
        "random_crop(",         "random_crop(seed=4, ",
        "random_resized_crop(", "random_resized_crop(scale=[0.01, 0.3], ratio=[0.3, 2], "
    };
    static const char *const ends[] = { "",
                                        ".flip(probability=0.5)",
                                        ".cast(float16)",
                                        ".random_crop(1, 1)",
                                        ".flip(vertical).scale(0.5)",
                                        ".crop(0, 0, 1, 1)" };
    *text = (struct text){ .len = 0 };
    const char *from = PICK(files);
    add(text, "files('%s%s').decode(%s).%sheight=%d, width=%d)%s", from,
        from == cut_files ? "/*" : "", PICK(words), PICK(parts), 1 + (int)random_below(18),
        1 + (int)random_below(16), PICK(ends));
}

/* ---- comparing ---- */

/* Like stk_dataset_new, but every op stands for itself. */
static struct stk_dataset *make_plain(const char *text)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    if (stk__graph_new(text, NULL, NULL, &data, &err))
        fail_msg("%s\n%s", text, err.text);
    return data;
}

static size_t view_bytes(const struct stk_view *view)
{
    size_t bytes = stk_dtype_bytes(view->dtype);
    for (int d = 0; d < view->rank; d++)
        bytes *= (size_t)view->shape[d];
    return bytes;
}

static void assert_same_batch(const char *text, const char *level, const struct stk_batch *a,
                              const struct stk_batch *b)
{
    struct stk_view x, y;
    assert_int_equal(stk_batch_view(a, "image", &x, NULL), STK_OK);
    assert_int_equal(stk_batch_view(b, "image", &y, NULL), STK_OK);
    assert_int_equal(x.dtype, y.dtype);
    assert_int_equal(x.rank, y.rank);
    assert_memory_equal(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape);
    char *from = stk_batch_origin(a, 0), *same = stk_batch_origin(b, 0);
    assert_string_equal(from, same);
    stk_text_free(from);
    stk_text_free(same);
    if (memcmp(x.data, y.data, view_bytes(&x)))
        fail_msg("%s: %s: not what the ops give by themselves", level, text);
}

/* How many elements were compared. Chains that fail must fail alike. */
static int compare(const char *text, const char *level, const char *on_error)
{
    struct stk_dataset *plain = make_plain(text), *fused = make_dataset(text);
    char options[60];
    snprintf(options, sizeof options, "workers=0 seed=5 on_error=%s", on_error);
    struct stk_iterator *a = start(plain, options);
    options[strlen("workers=")] = '2';
    struct stk_iterator *b = start(fused, options);
    int n = 0;
    for (;; n++) {
        struct stk_batch *x = NULL, *y = NULL;
        struct stk_error first = { 0 }, second = { 0 };
        int code = stk_iterator_next(a, &x, &first);
        if (code != stk_iterator_next(b, &y, &second))
            fail_msg("%s\n%s\n%s", text, first.text, second.text);
        if (code && code != STK_END)
            assert_string_equal(first.text, second.text);
        if (code)
            break;
        assert_same_batch(text, level, x, y);
        stk_batch_unref(x);
        stk_batch_unref(y);
    }
    stk_iterator_free(a);
    stk_iterator_free(b);
    stk_dataset_unref(plain);
    stk_dataset_unref(fused);
    return n;
}

static void test_random_chains(void **state)
{
    (void)state;
    int n_elements = 0;
    for (int i = 0; i < 400; i++) {
        struct text text;
        int level = (int)random_below((uint64_t)stk__cpu_best() + 1);
        make_chain(&text);
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        n_elements += compare(text.data, stk__cpu_level_names[level], "fail");
    }
    stk_cpu_limit("auto", NULL);
    assert_true(n_elements > 4000);
}

static const char *const to_cut[] = {
    "decode/q75_420.jpg",    "decode/q90_444.jpg",       "decode/restart_rows.jpg",
    "decode/optimized.jpg",  "decode/orientation_6.jpg", "decode/progressive_420.jpg",
    "decode/rgb_8.png",      "decode/palette_4.png",     "decode/rgb_8_interlaced.png",
    "formats/lossy_80.webp", "formats/frames.gif",       "formats/rgb.bmp",
};
enum { N_TO_CUT = sizeof to_cut / sizeof *to_cut };

static void cut_path(int i, char *path, size_t size)
{
    snprintf(path, size, "%s/%d%s", cut_files, i, strrchr(to_cut[i], '.'));
}

static int write_cut_files(void **state)
{
    (void)state;
    if (!make_temporary_directory(cut_files, "stoker_fuse"))
        return -1;
    for (int i = 0; i < N_TO_CUT; i++) {
        char path[TEMPORARY_PATH + 64];
        static char data[1 << 16];
        snprintf(path, sizeof path, "tests/golden/%s", to_cut[i]);
        FILE *from = fopen(path, "rb");
        cut_path(i, path, sizeof path);
        FILE *to = fopen(path, "wb");
        size_t n = from && to ? fread(data, 1, sizeof data, from) / 10 * 7 : 0;
        bool is_written = n && fwrite(data, 1, n, to) == n;
        if (from)
            fclose(from);
        if (to && fclose(to))
            is_written = false;
        if (!is_written)
            return -1;
    }
    return 0;
}

static int remove_cut_files(void **state)
{
    (void)state;
    for (int i = 0; i < N_TO_CUT; i++) {
        char path[TEMPORARY_PATH + 64];
        cut_path(i, path, sizeof path);
        unlink(path);
    }
    return rmdir(cut_files);
}

/* Files that are too small for a crop, or cut, are left out, or end the run with the same message. */
static void test_random_parts(void **state)
{
    (void)state;
    int n_elements = 0, n_failed = 0;
    for (int i = 0; i < 300; i++) {
        struct text text;
        int level = (int)random_below((uint64_t)stk__cpu_best() + 1);
        make_part_chain(&text);
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        int n_good = compare(text.data, stk__cpu_level_names[level], "skip");
        n_failed += compare(text.data, stk__cpu_level_names[level], "fail") < n_good;
        n_elements += n_good;
    }
    stk_cpu_limit("auto", NULL);
    assert_true(n_elements > 4000);
    assert_true(n_failed > 20);
}

/* ---- what is fused ---- */

static void assert_plan(const char *text, const char *part)
{
    struct stk_dataset *data = make_dataset(text);
    char *plan = NULL;
    assert_int_equal(stk_dataset_plan(data, NULL, false, &plan, NULL), STK_OK);
    if (!strstr(plan, part))
        fail_msg("no '%s' in\n%s", part, plan);
    stk_text_free(plan);
    stk_dataset_unref(data);
}

#define PICTURES "files('tests/golden/decode/q*.jpg').decode()."

static void test_what_is_fused(void **state)
{
    (void)state;
    assert_plan(PICTURES "resize_side(64).center_crop(56, 56).flip(probability=0.5)"
                         ".normalize(imagenet).cast(float16).layout(NCHW).batch(4)",
                "resize_side(64) and center_crop(56, 56) and flip(probability=0.5) and "
                "normalize(imagenet) and cast(float16) and layout(NCHW)  [");
    assert_plan(PICTURES "resize_side(64).random_crop(56, 56).batch(4)",
                "resize_side(64) and random_crop(56, 56)  [");
    assert_plan(PICTURES "resize(8, 8).crop(1, 2, 7, 6).batch(4)", ") and crop(1, 2, 7, 6)  [");
    assert_plan(PICTURES "resize(8, 8).random_crop(8, 8, padding=1).batch(4)",
                "\n      random_crop(8, 8, 1)  [");
    assert_plan(PICTURES
                "random_resized_crop(8, 8).flip(probability=0.5).normalize(imagenet).batch(4)",
                "random_resized_crop(8, 8) and flip(probability=0.5) and normalize(imagenet)  [");
    assert_plan(PICTURES "resize(8, 8, semantics=pillow).scale(1/255).batch(4)",
                "resize(8, 8, semantics=pillow) and scale(");
    assert_plan(PICTURES "crop(1, 2, 7, 6).batch(4)", "decode() of what crop needs  [");
    assert_plan(PICTURES "random_resized_crop(8, 8).flip(probability=0.5).batch(4)",
                "decode() of what random_resized_crop needs  [");
    assert_plan(PICTURES "random_crop(7, 6, padding=[0, 0]).batch(4)",
                "decode() of what random_crop needs  [");
    assert_plan(PICTURES "random_crop(7, 6, pad_if_needed=true).batch(4)", "decode()  [");
    assert_plan(PICTURES "flip().center_crop(7, 6).batch(4)", "decode()  [");
    /* one multiplication; the second op stands for itself */
    assert_plan(PICTURES "resize(8, 8).scale(0.5).scale(0.25).batch(4)", "\n      scale(0.25)  [");
    /* an image could be smaller than the crop, and the message is the crop's */
    assert_plan(PICTURES "resize_side(64, long).center_crop(50, 50)",
                "\n      center_crop(50, 50)  [");
    assert_plan(PICTURES "resize(8, 8).cast(int32).batch(4)", "\n      cast(int32)  [");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_random_parts),
        cmocka_unit_test(test_what_is_fused),
    };
    return cmocka_run_group_tests(tests, write_cut_files, remove_cut_files);
}
