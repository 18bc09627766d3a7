/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c: (value - mean) / std for each channel, as one multiplication and one addition. */
#include "kernel/finish.h"
#include "op/image/image_op.h"

#include <float.h>
#include <math.h>

enum preset { IMAGENET, UNIT, SYMMETRIC };
static const char *const preset_names[] = { "imagenet", "unit", "symmetric", NULL };
static const struct {
    int n;
    double mean[3], std[3];
} presets[] = {
    [IMAGENET] = { 3, { 0.485, 0.456, 0.406 }, { 0.229, 0.224, 0.225 } },
    [UNIT] = { 1, { 0 }, { 1 } },
    [SYMMETRIC] = { 1, { 0.5 }, { 0.5 } },
};

enum scale { SCALE_AUTO, SCALE_BYTE, SCALE_RAW };
static const char *const scale_names[] = { "auto", "byte", "raw", NULL };

struct normalize {
    struct stk_numbers mean, std;
    int scale;
    const char *field;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(normalize, mean, preset_names, 1, 4096, STK_REQUIRED,
                    "mean of each channel, one number for all, or imagenet, unit, symmetric"),
    STK_NUMBERS_ROW(normalize, std, NULL, 1, 4096, STK_TAKES_NONE,
                    "standard deviation of each channel, or one number; none: 1, or the preset's"),
    STK_CHOICE_ROW(normalize, scale, scale_names, SCALE_AUTO, 0,
                   "byte: divide by 255 first; raw: do not; auto: if the values were uint8"),
    STK_TEXT_ROW(normalize, field, NULL, STK_TAKES_NONE, "the field; none: the only one that fits"),
    STK_ROWS_END,
};

struct state {
    int field;
    struct stk__affine affine;
    int channels;
    const float *mul, *add; /* [channels] */
};

static bool fits(const struct stk_field *field)
{
    return (field->kind == STK_FIXED || field->kind == STK_SHAPED) && field->rank >= 1 &&
           (field->dtype == STK_U8 || field->dtype == STK_F32);
}

/* Per-channel numbers in force, and how many. */
struct constants {
    const double *mean, *std;
    int n_mean, n_std;
};

static struct constants choose(const struct normalize *normalize)
{
    static const double one = 1;
    int choice = normalize->mean.choice;
    if (choice >= 0)
        return (struct constants){ presets[choice].mean, presets[choice].std, presets[choice].n,
                                   presets[choice].n };
    struct constants all = { normalize->mean.item, &one, normalize->mean.n, 1 };
    if (normalize->std.n) {
        all.std = normalize->std.item;
        all.n_std = normalize->std.n;
    }
    return all;
}

static int check(const struct normalize *normalize, const struct constants *all, int64_t channels,
                 struct stk_error *err)
{
    if (normalize->mean.choice >= 0 && normalize->std.n)
        return stk_fail(err, STK_VALUE,
                        "'%s' brings its own std; leave std out or give mean as numbers",
                        preset_names[normalize->mean.choice]);
    if (channels < 1)
        return stk_fail(err, STK_TYPE,
                        "the number of channels must be known: the last dimension differs between "
                        "elements; say how many, e.g. decode(channels=3)");
    if (all->n_mean != 1 && all->n_mean != channels)
        return stk_fail(err, STK_VALUE, "mean has %d numbers, but there are %lld channels",
                        all->n_mean, (long long)channels);
    if (all->n_std != 1 && all->n_std != channels)
        return stk_fail(err, STK_VALUE, "std has %d numbers, but there are %lld channels",
                        all->n_std, (long long)channels);
    for (int i = 0; i < all->n_std; i++) {
        if (!(fabs(all->std[i]) >= FLT_MIN))
            return stk_fail(err, STK_VALUE, "std must not be 0");
    }
    return STK_OK;
}

static bool is_byte_scaled(const struct normalize *normalize, const struct stk_field *field)
{
    if (normalize->scale != SCALE_AUTO)
        return normalize->scale == SCALE_BYTE;
    return field->dtype == STK_U8 || field->flags & STK_FIELD_255;
}

/* (x / divisor - mean) / std = x * (1 / (divisor * std)) + (-mean / std), each rounded to float32
 * once. */
static int make_affine(struct stk_infer *inf, struct state *state, const struct constants *all,
                       double divisor)
{
    const struct stk_field *field = &inf->in[0]->field[state->field];
    int channels = (int)field->shape[field->rank - 1];
    float *mul = stk_arena_alloc(inf->arena, (size_t)channels * sizeof *mul);
    float *add = stk_arena_alloc(inf->arena, (size_t)channels * sizeof *add);
    void *memory = stk_arena_alloc(inf->arena, stk__affine_bytes(channels));
    if (!mul || !add || !memory)
        return STK_MEMORY;
    for (int c = 0; c < channels; c++) {
        double mean = all->mean[all->n_mean == 1 ? 0 : c], std = all->std[all->n_std == 1 ? 0 : c];
        mul[c] = (float)(1 / (divisor * std));
        add[c] = (float)(-mean / std);
    }
    stk__affine_init(&state->affine, mul, add, channels, memory);
    state->channels = channels;
    state->mul = mul;
    state->add = add;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct normalize *normalize = inf->params;
    const char *what = "an image or vector of uint8 or float32";
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->field = stk_infer_pick(inf, normalize->field, fits, what, err);
    if (state->field < 0)
        return err ? err->code : STK_TYPE;
    const struct stk_field *in = &inf->in[0]->field[state->field];
    struct constants all = choose(normalize);
    int code = check(normalize, &all, in->shape[in->rank - 1], err);
    if (code)
        return code;
    if (make_affine(inf, state, &all, is_byte_scaled(normalize, in) ? 255 : 1))
        return stk_fail(err, STK_MEMORY, "out of memory");
    stk_infer_pass(inf);
    inf->from[state->field] = -1;
    inf->reads = UINT32_C(1) << state->field;
    inf->is_optional = true;
    inf->out->field[state->field].dtype = STK_F32;
    inf->out->field[state->field].flags &= (uint8_t)~STK_FIELD_255;
    inf->state = state;
    return STK_OK;
}

/* Values of a row, and where they are and go. */
struct cell {
    const void *src;
    float *dst;
    int64_t n;
};

static struct cell fixed_cell(const struct stk_rows *rows, int field, int row)
{
    const struct stk_column *in = &rows->in[field], *out = &rows->out[field];
    return (struct cell){ in->data + (size_t)row * in->stride,
                          (float *)(void *)(out->data + (size_t)row * out->stride),
                          (int64_t)(out->stride / sizeof(float)) };
}

static struct cell shaped_cell(struct stk_rows *rows, int field, int row)
{
    const struct stk_column *in = &rows->in[field];
    struct stk_column *out = &rows->out[field];
    size_t rank = (size_t)in->rank, at = (size_t)row * rank, n = 1;
    for (size_t d = 0; d < rank; d++) {
        out->dims[at + d] = in->dims[at + d];
        n *= (size_t)in->dims[at + d];
    }
    float *dst = stk_rows_alloc(rows, n * sizeof *dst);
    out->span[row] =
        (struct stk_span){ .data = (uint8_t *)dst, .bytes = dst ? n * sizeof *dst : 0 };
    return (struct cell){ in->span[row].data, dst, (int64_t)n };
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const struct stk__image_kernels *kernels = &stk__kernels()->image;
    const struct stk_field *in = &rows->in_type->field[state->field];
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct cell cell = in->kind == STK_FIXED ? fixed_cell(rows, state->field, i)
                                                 : shaped_cell(rows, state->field, i);
        if (!cell.dst)
            return STK_MEMORY;
        if (in->dtype == STK_U8)
            kernels->affine_u8(cell.dst, cell.src, cell.n, &state->affine);
        else
            kernels->affine_f32(cell.dst, cell.src, cell.n, &state->affine);
    }
    return STK_OK;
}

static bool finish(const void *call, const void *given, struct stk__op_finish *out)
{
    const struct state *state = given;
    (void)call;
    out->kind = STK__FINISH_AFFINE;
    out->field = state->field;
    out->channels = state->channels;
    out->mul = state->mul;
    out->add = state->add;
    return true;
}

static const char doc[] =
    "Gives float32 (value - mean) / std for each channel, which is the last dimension. Means\n"
    "and deviations are for values from 0 to 1, so with scale=auto what was uint8 is divided by\n"
    "255 first: uint8 itself, and the floats that resize makes of it, also after center_crop\n"
    "and flip. Other floats are taken as they are; so are all values with scale=raw, and with\n"
    "scale=byte all are divided.\n"
    "\n"
    "imagenet is mean [0.485, 0.456, 0.406], std [0.229, 0.224, 0.225] and needs three\n"
    "channels; unit only divides, to 0..1; symmetric is mean 0.5, std 0.5: -1..1. A value costs\n"
    "one multiplication and one addition in float32: x * (1 / (255 * std)) + (-mean / std), the\n"
    "constants rounded once.\n"
    "\n"
    "    files('*.jpg').decode().resize(224, 224).normalize('imagenet')\n"
    "    files('*.jpg').decode().normalize([123.7, 116.8, 103.9], [58.4, 57.1, 57.4], scale=raw)\n";

const struct stk__op stk__op_normalize = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "normalize", 1, "Subtract a mean and divide by a deviation, per channel.", doc,
              params, sizeof(struct normalize) },
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
