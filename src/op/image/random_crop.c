/* SPDX-License-Identifier: Apache-2.0 */
/* random_crop.c: a window at a random place of an image, which may be padded first. */
#include "base/rng.h"
#include "op/image/cut.h"
#include "op/order/order.h"

enum { MAX_SIDE = 1 << 20, MAX_PADDING = 1 << 15, MAX_FILL = 4096 };

static const char *const padding_names[] = { "constant", "edge", "reflect", "symmetric", NULL };

struct random_crop {
    int64_t height, width;
    struct stk_numbers padding;
    bool pad_if_needed;
    int padding_mode;
    struct stk_numbers fill;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_INT_ROW(random_crop, height, 0, 1, MAX_SIDE, STK_REQUIRED, "rows that are kept"),
    STK_INT_ROW(random_crop, width, 0, 1, MAX_SIDE, STK_REQUIRED, "columns that are kept"),
    STK_NUMBERS_ROW(random_crop, padding, NULL, 1, 4, STK_TAKES_NONE,
                    "pixels put around the image first: one number, [left and right, top and "
                    "bottom] or [left, top, right, bottom]"),
    STK_BOOL_ROW(random_crop, pad_if_needed, false, 0,
                 "put as many more on both sides as a smaller image lacks"),
    STK_CHOICE_ROW(random_crop, padding_mode, padding_names, STK__PAD_CONSTANT, 0,
                   "what is put there: fill, the border pixel, or the mirror image without or with "
                   "the border pixel twice"),
    STK_NUMBERS_ROW(random_crop, fill, NULL, 1, MAX_FILL, STK_TAKES_NONE,
                    "value for padding_mode=constant, one or one per channel; none: 0"),
    STK_INT_ROW(random_crop, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_TEXT_ROW(random_crop, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(random_crop),
    STK_ROWS_END,
};

/* Pixels before and behind an image. */
struct margin {
    int64_t before, behind;
};

/* Along y, or x. */
static struct margin margin_of(const struct random_crop *call, bool is_y)
{
    const double *item = call->padding.item;
    switch (call->padding.n) {
    case 0:
        return (struct margin){ 0, 0 };
    case 4:
        return (struct margin){ (int64_t)item[is_y], (int64_t)item[2 + is_y] };
    default: {
        int64_t both = (int64_t)item[call->padding.n == 2 && is_y];
        return (struct margin){ both, both };
    }
    }
}

/* Where the window begins along an axis, seen from the image; false: too small. */
static bool place(const struct random_crop *call, bool is_y, int32_t n_image, uint32_t word,
                  int32_t *first)
{
    struct margin margin = margin_of(call, is_y);
    int64_t length = is_y ? call->height : call->width;
    int64_t n = n_image + margin.before + margin.behind;
    if (n < length && call->pad_if_needed) {
        margin.before += length - n;
        n += 2 * (length - n);
    }
    if (n < length)
        return false;
    *first =
        (int32_t)((int64_t)((uint64_t)word * (uint64_t)(n - length + 1) >> 32) - margin.before);
    return true;
}

static int choose(const struct stk_rows *rows, int row, const int32_t size[2],
                  struct stk__image_region *out, struct stk_error *err)
{
    const struct random_crop *call = rows->params;
    uint32_t words[4];
    stk_rows_random(rows, row, stk__user_seed(call->seed), 0, words);
    out->height = (int32_t)call->height;
    out->width = (int32_t)call->width;
    if (!place(call, true, size[0], words[0], &out->top) ||
        !place(call, false, size[1], words[1], &out->left))
        return stk_fail(err, STK_DATA,
                        "the image is %d x %d pixels (height x width), with its padding smaller "
                        "than the crop of %d x %d; resize it first, or set pad_if_needed",
                        size[0], size[1], out->height, out->width);
    return STK_OK;
}

static int check_padding(const struct random_crop *call, struct stk_error *err)
{
    if (call->padding.n == 3)
        return stk_fail(err, STK_VALUE,
                        "padding is one number, [left and right, top and bottom] or [left, top, "
                        "right, bottom], not three numbers");
    for (int i = 0; i < call->padding.n; i++) {
        double n = call->padding.item[i];
        if (!(n >= 0 && n <= MAX_PADDING) || n != (double)(int64_t)n)
            return stk_fail(err, STK_VALUE, "padding must be whole numbers from 0 to %d, not %g",
                            MAX_PADDING, n);
    }
    if (call->fill.n && call->padding_mode != STK__PAD_CONSTANT)
        return stk_fail(err, STK_VALUE, "fill is for padding_mode=constant; leave one of them out");
    if (call->follow.fields.n && call->padding_mode != STK__PAD_CONSTANT)
        return stk_fail(err, STK_VALUE, "fields follow padding_mode=constant only");
    return STK_OK;
}

/* What an image must have so that the crop fits. */
static void least_size(const struct random_crop *call, int64_t least[2])
{
    struct margin y = margin_of(call, true), x = margin_of(call, false);
    least[0] = call->pad_if_needed ? 0 : call->height - y.before - y.behind;
    least[1] = call->pad_if_needed ? 0 : call->width - x.before - x.behind;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct random_crop *call = inf->params;
    const int64_t size[2] = { call->height, call->width };
    int64_t least[2];
    struct stk__cut_words words = { .field = call->field,
                                    .follow = call->follow,
                                    .fill = call->fill };
    struct stk__cut *cut = stk_arena_alloc(inf->arena, sizeof *cut);
    if (!cut)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = check_padding(call, err);
    if (code)
        return code;
    *cut = (struct stk__cut){ .choose = choose, .padding = (enum stk__padding)call->padding_mode };
    code = stk__cut_infer(inf, &words, size, cut, err);
    least_size(call, least);
    return code ? code : stk__cut_check(inf, cut, least, err);
}

static bool is_inside(const struct random_crop *call)
{
    struct margin y = margin_of(call, true), x = margin_of(call, false);
    return !call->pad_if_needed && !y.before && !y.behind && !x.before && !x.behind;
}

static bool finish(const void *given, const void *state, struct stk__op_finish *out)
{
    const struct random_crop *call = given;
    const int64_t least[2] = { call->height, call->width };
    stk__cut_finish(call, state, least, out);
    return is_inside(call);
}

static int part(const void *given, const void *state, struct stk_arena *arena,
                struct stk__image_part *out)
{
    return is_inside(given) ? stk__cut_part(given, state, arena, out) : STK_OK;
}

static const char doc[] =
    "Keeps height x width pixels of an image of any dtype from a random place on, each as likely\n"
    "as the others: torchvision's RandomCrop. The image may be padded first; with pad_if_needed\n"
    "one that is still too small gets what it lacks on both sides. Padding with the mirror image\n"
    "goes on beyond its end, back and forth. Otherwise an image smaller than the crop is a bad\n"
    "element. Where the crop lies depends on the seeds, the epoch and the image alone: of the\n"
    "row's random numbers the first gives the top, the second the left.\n"
    "\n"
    "    files('*.jpg').decode().random_crop(224, 224, pad_if_needed=true)\n"
    "    files('*.png').decode().random_crop(32, 32, padding=4, padding_mode=reflect)\n";

const struct stk__op stk__op_random_crop = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "random_crop", 1, "Keep a random window of an image.", doc, params,
              sizeof(struct random_crop) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .finish = finish,
    .part = part,
    .row = { .run = stk__cut_run },
};
