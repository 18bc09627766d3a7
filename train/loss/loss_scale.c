/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scale.c: the rules of Keras 3, Keras 2 and PyTorch. */
#include "train/loss/loss_scale.h"

#include "train/model/declared.h"

#include <float.h>
#include <math.h>

static const char *const forms[] = { "keras3", "keras2", "pytorch", NULL };

struct dynamic {
    double initial;
    int64_t growth_steps;
    double growth, backoff;
    int form;
};

static const struct stk_param dynamic_rows[] = {
    STK_REAL_ROW(dynamic, initial, NAN, FLT_MIN, FLT_MAX, STK_TAKES_NONE,
                 "the first scale; none: 2**15, with form=pytorch 2**16"),
    STK_INT_ROW(dynamic, growth_steps, 2000, 1, INT64_MAX, 0,
                "finite steps in a row after which the scale grows"),
    STK_REAL_ROW(dynamic, growth, 2, 1, FLT_MAX, 0, "what it is multiplied with then"),
    STK_REAL_ROW(dynamic, backoff, 0.5, FLT_MIN, 1, 0,
                 "what it is multiplied with after a step that is not finite"),
    STK_CHOICE_ROW(dynamic, form, forms, STK__SCALE_KERAS3, 0, "whose rules"),
    STK_ROWS_END,
};

struct fixed {
    double scale;
};

static const struct stk_param fixed_rows[] = {
    STK_REAL_ROW(fixed, scale, 0, FLT_MIN, FLT_MAX, STK_REQUIRED, "the scale of every step"),
    STK_ROWS_END,
};

enum { DYNAMIC, FIXED, N_CALLS };

static const struct stk_decl decls[N_CALLS] = {
    [DYNAMIC] = { "dynamic", 1, "A scale that grows until gradients are no longer finite.",
                  "A step whose gradients are not all finite changes no weight, and does not count "
                  "as a step of the optimizer. With keras3 the scale may fall below 1 and become "
                  "infinite, with keras2 neither, with pytorch the first alone.\n"
                  "\n"
                  "    dynamic()\n"
                  "    dynamic(form=pytorch, growth_steps=1000)",
                  dynamic_rows, sizeof(struct dynamic) },
    [FIXED] = { "fixed", 1, "The same scale in every step.",
                "Steps whose gradients are not finite are left out, too.\n"
                "\n"
                "    fixed(1024)",
                fixed_rows, sizeof(struct fixed) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1] };
const struct stk__namespace stk__loss_scales = { "loss scale", calls, N_CALLS };

static int read_dynamic(const struct stk__call *call, struct stk_arena *arena,
                        struct stk__loss_scale *out, struct stk_error *err)
{
    struct dynamic p;
    int rc = stk__call_bind(call, &decls[DYNAMIC], arena, &p, err);
    if (rc)
        return rc;
    double initial = p.form == STK__SCALE_PYTORCH ? 0x1p16 : 0x1p15;
    *out = (struct stk__loss_scale){ .is_dynamic = true,
                                     .form = (enum stk__loss_scale_form)p.form,
                                     .scale = (float)(isnan(p.initial) ? initial : p.initial),
                                     .growth_steps = p.growth_steps,
                                     .growth = p.growth,
                                     .backoff = p.backoff };
    return STK_OK;
}

static int read_fixed(const struct stk__call *call, struct stk_arena *arena,
                      struct stk__loss_scale *out, struct stk_error *err)
{
    struct fixed p;
    int rc = stk__call_bind(call, &decls[FIXED], arena, &p, err);
    if (!rc)
        *out = (struct stk__loss_scale){ .scale = (float)p.scale };
    return rc;
}

static int read_number(const struct stk_value *value, struct stk__loss_scale *out,
                       struct stk_error *err)
{
    double scale = value->kind == STK__INT ? (double)value->integer : value->real;
    if (!(scale >= FLT_MIN && scale <= FLT_MAX))
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "a loss scale is above 0 and no larger than a float32 holds");
    *out = (struct stk__loss_scale){ .scale = (float)scale };
    return STK_OK;
}

int stk__loss_scale_read(const struct stk_value *value, struct stk_arena *arena,
                         struct stk__loss_scale *out, struct stk_error *err)
{
    const struct stk__call *call;
    int which;
    if (value->kind == STK__INT || value->kind == STK__REAL)
        return read_number(value, out, err);
    int rc = stk__declared_call(value, &stk__loss_scales, "a loss scale is a number or", &call,
                                &which, err);
    if (rc)
        return rc;
    return which == DYNAMIC ? read_dynamic(call, arena, out, err)
                            : read_fixed(call, arena, out, err);
}

float stk__loss_scale_inverse(const struct stk__loss_scale *scale)
{
    return (float)(1 / (double)scale->scale);
}

static void grow(struct stk__loss_scale *scale)
{
    float larger = (float)(scale->scale * scale->growth);
    if (isfinite(larger) || scale->form == STK__SCALE_KERAS3)
        scale->scale = larger;
    scale->good_steps = 0;
}

static void shrink(struct stk__loss_scale *scale)
{
    scale->scale = (float)(scale->scale * scale->backoff);
    if (scale->form == STK__SCALE_KERAS2 && scale->scale < 1)
        scale->scale = 1;
    scale->good_steps = 0;
}

bool stk__loss_scale_update(struct stk__loss_scale *scale, bool is_finite)
{
    if (scale->is_dynamic && !is_finite)
        shrink(scale);
    else if (scale->is_dynamic && ++scale->good_steps >= scale->growth_steps)
        grow(scale);
    return is_finite;
}
