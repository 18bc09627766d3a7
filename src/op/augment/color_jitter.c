/* SPDX-License-Identifier: Apache-2.0 */
/* color_jitter.c: brightness, contrast, saturation and hue by chance, in an order by chance. */
#include "base/cancel.h"
#include "op/augment/pixel_op.h"

struct color_jitter {
    struct stk_numbers brightness, contrast, saturation, hue;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(color_jitter, brightness, NULL, 1, 2, STK_TAKES_NONE,
                    "factors are drawn from 1 - this to 1 + this, or from [least, greatest]"),
    STK_NUMBERS_ROW(color_jitter, contrast, NULL, 1, 2, STK_TAKES_NONE, "the same for contrast"),
    STK_NUMBERS_ROW(color_jitter, saturation, NULL, 1, 2, STK_TAKES_NONE,
                    "the same for saturation"),
    STK_NUMBERS_ROW(color_jitter, hue, NULL, 1, 2, STK_TAKES_NONE,
                    "turns are drawn from -this to this, or from [least, greatest]; up to 0.5"),
    STK__CHANCE_ROWS(color_jitter),
    STK_ROWS_END,
};

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, N_STEPS };

struct state {
    struct stk__pixel_state pixel; /* first */
    struct stk__range range[N_STEPS];
    bool is_wanted[N_STEPS];
};

/* One number is a distance from the middle, which for factors is 1. */
static int read_range(struct state *state, int step, const struct stk_numbers *numbers,
                      const char *name, struct stk_error *err)
{
    const struct stk__range bounds =
        step == HUE ? (struct stk__range){ -0.5, 0.5 } : (struct stk__range){ 0, 1e6 };
    struct stk__range *range = &state->range[step];
    double middle = step == HUE ? 0 : 1;
    if (!numbers->n)
        return STK_OK;
    *range = (struct stk__range){ numbers->item[0], numbers->item[numbers->n - 1] };
    if (numbers->n == 1) {
        if (!(range->lo >= 0))
            return stk_fail(err, STK_VALUE, "%s must be 0 or more, or [least, greatest]", name);
        *range = (struct stk__range){ middle - range->lo, middle + range->lo };
        if (step != HUE && range->lo < 0)
            range->lo = 0;
    }
    if (!(bounds.lo <= range->lo && range->lo <= range->hi && range->hi <= bounds.hi))
        return stk_fail(err, STK_VALUE,
                        "%s gives a range of %g to %g, which must rise and be "
                        "within %g..%g",
                        name, range->lo, range->hi, bounds.lo, bounds.hi);
    state->is_wanted[step] = range->lo != middle || range->hi != middle;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct color_jitter *call = inf->params;
    const struct stk_numbers *numbers[N_STEPS] = { &call->brightness, &call->contrast,
                                                   &call->saturation, &call->hue };
    static const char *const names[N_STEPS] = { "brightness", "contrast", "saturation", "hue" };
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
    if (code)
        return code;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *state = (struct state){ .pixel = *(const struct stk__pixel_state *)inf->state };
    for (int i = 0; i < N_STEPS && !code; i++)
        code = read_range(state, i, numbers[i], names[i], err);
    inf->state = state;
    return code;
}

static void take_step(const struct stk__raster *raster, int step, double amount)
{
    switch (step) {
    case BRIGHTNESS:
        stk__adjust_brightness(raster, amount);
        break;
    case CONTRAST:
        stk__adjust_contrast(raster, amount);
        break;
    case SATURATION:
        stk__adjust_saturation(raster, amount);
        break;
    default:
        stk__adjust_hue(raster, amount);
    }
}

/* Three words for the order, then one for each of the four, wanted or not. */
static int change(struct stk__pixel_row *pixels)
{
    const struct state *state = pixels->rows->state;
    struct stk__raster raster = pixels->raster;
    int order[N_STEPS] = { BRIGHTNESS, CONTRAST, SATURATION, HUE };
    double amount[N_STEPS];
    for (int i = N_STEPS - 1; i > 0; i--) {
        int64_t other = stk__dice_whole(&pixels->dice, 0, i + 1);
        int step = order[i];
        order[i] = order[other];
        order[other] = step;
    }
    for (int i = 0; i < N_STEPS; i++)
        amount[i] = stk__dice_in(&pixels->dice, state->range[i]);
    for (int i = 0; i < N_STEPS && !stk__cancel_is_asked(); i++) {
        if (!state->is_wanted[order[i]])
            continue;
        take_step(&raster, order[i], amount[order[i]]);
        raster.src = raster.dst;
    }
    if (raster.src != raster.dst)
        stk__adjust_nothing(&raster);
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct color_jitter *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static const char doc[] =
    "Changes brightness, contrast, saturation and hue by random amounts in a random order, as\n"
    "torchvision's ColorJitter does on tensors: each of the four is adjust_brightness,\n"
    "adjust_contrast, adjust_saturation or adjust_hue, and is left out where nothing is given.\n"
    "What is drawn depends on the seeds, the epoch and the image alone, not on workers or "
    "batches.\n"
    "\n"
    "    files('*.jpg').decode(channels=3).color_jitter(0.4, 0.4, 0.4, 0.1)\n"
    "    files('*.jpg').decode(channels=3).color_jitter(brightness=[0.8, 1.5], probability=0.8)\n";

const struct stk__op stk__op_color_jitter = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "color_jitter", 1, "Change brightness, contrast, saturation and hue by chance.", doc,
              params, sizeof(struct color_jitter) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
