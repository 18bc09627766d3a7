/* SPDX-License-Identifier: Apache-2.0 */
/* fit_fold.c: the last multiplication of a pipeline becomes part of the step. */
#include "train/fit/fit_inside.h"

#include <string.h>

/* Calls behind which the images are as before. */
static bool passes_on(const struct stk__call *call)
{
    return !strcmp(call->name, "batch") || !strcmp(call->name, "prefetch");
}

/* scale(factor), perhaps with field=NAME: the factor, or 0. */
static double factor_of(const struct stk__call *call, const char *image)
{
    double factor = 0;
    if (strcmp(call->name, "scale") != 0)
        return 0;
    for (int i = 0; i < call->n_args; i++) {
        const struct stk__arg *arg = &call->arg[i];
        const struct stk_value *v = arg->value;
        bool is_text = v->kind == STK__WORD || v->kind == STK__STRING;
        if (!i && (!arg->name || !strcmp(arg->name, "factor")) && v->kind == STK__REAL)
            factor = v->real;
        else if (!(i && arg->name && !strcmp(arg->name, "field") && is_text &&
                   !strcmp(v->text, image)))
            return 0;
    }
    return factor;
}

/* The place of such a call at the end of a chain, or -1. */
static int find_scale(const struct stk_value *chain, const char *image, double *factor)
{
    if (!chain || chain->kind != STK__CHAIN)
        return -1;
    int at = chain->n_calls - 1;
    while (at > 0 && passes_on(&chain->call[at]))
        at--;
    bool is_batched = at + 1 < chain->n_calls;
    *factor = at > 0 && is_batched ? factor_of(&chain->call[at], image) : 0;
    return *factor != 0 ? at : -1;
}

/* The chain without that call, if its images are bytes; *out is NULL if they are not. */
static int open_without(const struct stk_value *chain, int at, const char *image,
                        struct stk_arena *arena, struct stk_dataset **out, struct stk_error *err)
{
    struct stk__call *call = stk_arena_alloc(arena, sizeof *call * (size_t)chain->n_calls);
    struct stk_value shorter = *chain;
    struct stk__text text = { 0 };
    struct stk_field_info field = { 0 };
    struct stk_error unseen;
    if (!call)
        return stk__out_of_memory(err);
    for (int i = 0, n = 0; i < chain->n_calls; i++)
        if (i != at)
            call[n++] = chain->call[i];
    shorter.n_calls--;
    shorter.call = call;
    int rc = stk__print_value(&shorter, NULL, STK__SHORT, &text, err);
    if (!rc && (text.failed || stk_dataset_new(text.data, NULL, out, &unseen)))
        *out = NULL; /* whatever it is, the chain as it was written is good */
    stk__text_free(&text);
    bool is_bytes = false;
    for (int i = 0; *out && i < stk_dataset_n_fields(*out); i++)
        is_bytes |= !stk_dataset_field(*out, i, &field) && !strcmp(field.name, image) &&
                    field.dtype == STK_U8;
    if (*out && !is_bytes) {
        stk_dataset_unref(*out);
        *out = NULL;
    }
    return rc;
}

static int fold(struct stk_fit *fit, const struct stk_value *chain, int which,
                struct stk_error *err)
{
    struct stk_dataset **data = which ? &fit->valid : &fit->train, *bytes = NULL;
    double factor;
    int at = *data ? find_scale(chain, fit->image[which], &factor) : -1;
    if (at < 0 || (fit->factor != 0 && factor != fit->factor))
        return STK_OK;
    int rc = open_without(chain, at, fit->image[which], &fit->arena, &bytes, err);
    if (rc || !bytes)
        return rc;
    stk_dataset_unref(*data);
    *data = bytes;
    fit->factor = factor;
    return STK_OK;
}

int stk__fit_fold(struct stk_fit *fit, struct stk_error *err)
{
    int rc = fold(fit, fit->recipe.train, 0, err);
    if (!rc)
        rc = fold(fit, fit->recipe.valid, 1, err);
    return rc || !fit->factor ? rc : stk__fit_check_data(fit, err);
}
