/* SPDX-License-Identifier: Apache-2.0 */
/* resizer.c: what is decided before anything runs: words, types, and what is carried out on the
 * way. */
#include "op/image/resizer.h"

#include "base/error.h"

#include <string.h>

const char *const stk__resize_methods[] = { "bilinear", "nearest",  "area",     "bicubic",
                                            "lanczos3", "lanczos4", "lanczos5", "mitchell",
                                            "gaussian", "hamming",  NULL };
const char *const stk__resize_semantics[] = { "tf", "pillow", "opencv", NULL };

enum antialias { ANTIALIAS_AUTO, ANTIALIAS_OFF, ANTIALIAS_ON };
const char *const stk__resize_antialias[] = { "auto", "false", "true", NULL };

enum dtype { DTYPE_AUTO, DTYPE_KEEP, DTYPE_U8, DTYPE_F16, DTYPE_BF16, DTYPE_F32 };
const char *const stk__resize_dtypes[] = { "auto",     "keep",    "uint8", "float16",
                                           "bfloat16", "float32", NULL };

struct stk__fit stk__fit_all(struct stk__size scaled)
{
    return (struct stk__fit){ .scaled = scaled, .inner = scaled, .canvas = scaled };
}

/* ---- words ---- */

static struct stk__resize_way way_of(const struct stk__resize_words *words, bool src_is_u8)
{
    bool antialias = words->antialias == ANTIALIAS_ON;
    if (words->antialias == ANTIALIAS_AUTO)
        antialias = words->semantics == STK__PILLOW;
    return (struct stk__resize_way){ .semantics = (enum stk__semantics)words->semantics,
                                     .method = (enum stk__method)words->method,
                                     .antialias = antialias,
                                     .src_is_u8 = src_is_u8 };
}

/* What there is instead. */
static int refuse(const struct stk__resize_words *words, const struct stk__resize_way *way,
                  struct stk_error *err)
{
    static const char *const has[] = {
        [STK__TF] = "tf has bilinear, nearest, area, bicubic, lanczos3, lanczos5, mitchell and "
                    "gaussian",
        [STK__PILLOW] = "pillow has nearest, bilinear, bicubic, area (its BOX), lanczos3 (its "
                        "LANCZOS) and hamming",
        [STK__OPENCV] = "opencv has nearest, bilinear (INTER_LINEAR), bicubic, area and lanczos4",
    };
    struct stk__resize_way other = *way;
    other.antialias = !way->antialias;
    if (!stk__resize_has(&other))
        return stk_fail(err, STK_VALUE, "there is no method=%s with semantics=%s: %s",
                        stk__resize_methods[words->method], stk__resize_semantics[words->semantics],
                        has[words->semantics]);
    if (way->semantics == STK__PILLOW)
        return stk_fail(err, STK_VALUE,
                        "pillow always antialiases %s; leave antialias out, or take semantics=tf "
                        "or opencv",
                        stk__resize_methods[words->method]);
    return stk_fail(err, STK_VALUE,
                    "opencv does not antialias %s; leave antialias out, or take method=area",
                    stk__resize_methods[words->method]);
}

/* ---- types ---- */

/* The dtype that the library gives. */
static int native_dtype(const struct stk__resize_way *way)
{
    bool keeps = way->semantics != STK__TF || way->method == STK__NEAREST;
    return way->src_is_u8 && keeps ? STK_U8 : STK_F32;
}

static int result_dtype(const struct stk__resize_words *words, const struct stk__resize_way *way)
{
    switch (words->dtype) {
    case DTYPE_AUTO:
        return native_dtype(way);
    case DTYPE_KEEP:
        return way->src_is_u8 ? STK_U8 : STK_F32;
    case DTYPE_U8:
        return STK_U8;
    case DTYPE_F16:
        return STK_F16;
    case DTYPE_BF16:
        return STK_BF16;
    default:
        return STK_F32;
    }
}

int stk__resizer_infer(struct stk_infer *inf, const struct stk__resize_words *words,
                       struct stk__size size, const struct stk__resizer *like,
                       struct stk_error *err)
{
    struct stk__resizer *resizer = stk_arena_alloc(inf->arena, sizeof *resizer);
    if (!resizer)
        return stk__out_of_memory(err);
    *resizer = *like;
    const char *image = stk__follow_image(inf, words->field, &words->follow, stk__is_image_u8_f32);
    int code = stk__image_infer(inf, image, stk__is_image_u8_f32, &resizer->field, err);
    if (code)
        return code;
    struct stk_field *field = &inf->out->field[resizer->field];
    resizer->way = way_of(words, field->dtype == STK_U8);
    if (!stk__resize_has(&resizer->way))
        return refuse(words, &resizer->way, err);
    resizer->dtype = result_dtype(words, &resizer->way);
    resizer->is_rounded = resizer->dtype == STK_U8;
    if (field->dtype == STK_U8 && resizer->dtype != STK_U8)
        field->flags |= STK_FIELD_255;
    if (resizer->dtype == STK_U8)
        field->flags &= (uint8_t)~STK_FIELD_255;
    field->dtype = (uint8_t)resizer->dtype;
    stk__image_set_size(field, size.height, size.width);
    inf->state = resizer;
    return stk__follow_infer(inf, &words->follow, resizer->field, &resizer->followers, err);
}

/* ---- what is carried out on the way ---- */

static bool take_affine(struct stk__resizer *to, const struct stk__op_finish *finish, void *memory)
{
    if (to->is_planar || to->affine.period || (to->dtype != STK_U8 && to->dtype != STK_F32))
        return false;
    stk__affine_init(&to->affine, finish->mul, finish->add, finish->channels, memory);
    to->dtype = STK_F32;
    return true;
}

static bool take_cast(struct stk__resizer *to, const struct stk__op_finish *finish)
{
    bool is_float =
        finish->dtype == STK_F32 || finish->dtype == STK_F16 || finish->dtype == STK_BF16;
    if (!is_float || (to->dtype != STK_U8 && to->dtype != STK_F32))
        return false;
    to->dtype = finish->dtype;
    return true;
}

static bool take_crop(struct stk__resizer *to, const struct stk__op_finish *finish)
{
    if (to->is_planar || to->n_flips || to->crop.choose || finish->height > to->at_least.height ||
        finish->width > to->at_least.width)
        return false;
    to->crop = finish->crop;
    to->crop.ordinal = finish->ordinal;
    return true;
}

static bool take_flip(struct stk__resizer *to, const struct stk__op_finish *finish)
{
    if (to->is_planar || to->n_flips == STK__MAX_FLIPS)
        return false;
    to->flip[to->n_flips++] = *finish;
    return true;
}

static bool take_planes(struct stk__resizer *to)
{
    bool is_new = !to->is_planar;
    to->is_planar = true;
    return is_new;
}

int stk__resizer_take_finish(const void *params, const void *state, struct stk_arena *arena,
                             const struct stk__op_finish *finish, void **new_state)
{
    const struct stk__resizer *resizer = state;
    (void)params;
    if (finish->field != resizer->field)
        return STK_OK;
    struct stk__resizer *to = stk_arena_alloc(arena, sizeof *to);
    bool is_affine = finish->kind == STK__FINISH_AFFINE;
    void *memory = stk_arena_alloc(arena, is_affine ? stk__affine_bytes(finish->channels) : 1);
    if (!to || !memory)
        return STK_MEMORY;
    *to = *resizer;
    bool is_taken = false;
    switch (finish->kind) {
    case STK__FINISH_AFFINE:
        is_taken = take_affine(to, finish, memory);
        break;
    case STK__FINISH_CAST:
        is_taken = take_cast(to, finish);
        break;
    case STK__FINISH_CROP:
        is_taken = take_crop(to, finish);
        break;
    case STK__FINISH_FLIP:
        is_taken = take_flip(to, finish);
        break;
    case STK__FINISH_PLANES:
        is_taken = take_planes(to);
        break;
    }
    *new_state = is_taken ? to : NULL;
    return STK_OK;
}

/* Of the image, or of the window that is cut out of it. */
static double shrink(const struct stk_rows *rows, int row, const int32_t size[2])
{
    const struct stk__resizer *resizer = rows->state;
    struct stk__image_region part = { 0, 0, size[0], size[1] };
    if (resizer->choose && resizer->choose(rows, row, size, &part, NULL))
        return 1;
    struct stk__size to =
        resizer->fit(rows->params, (struct stk__size){ part.height, part.width }).scaled;
    double down = (double)part.height / to.height, across = (double)part.width / to.width;
    return down < across ? down : across;
}

int stk__resizer_part(const void *params, const void *state, struct stk_arena *arena,
                      struct stk__image_part *out)
{
    const struct stk__resizer *resizer = state;
    if (resizer->followers.n) /* they need the size of the image */
        return STK_OK;
    struct stk__resizer *cut = stk_arena_alloc(arena, sizeof *cut);
    if (!cut)
        return STK_MEMORY;
    *cut = *resizer;
    cut->is_cut = true;
    *out = (struct stk__image_part){ .field = resizer->field,
                                     .choose = resizer->choose,
                                     .shrink = shrink,
                                     .params = params,
                                     .state = state,
                                     .state_for_parts = cut };
    return STK_OK;
}
