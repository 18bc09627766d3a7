/* SPDX-License-Identifier: Apache-2.0 */
/* row_function.h: for tests: functions of the caller over the numbers of range. */
#pragma once
#include <stdatomic.h>
#include <stdio.h>
#include <stoker/stoker.h>

/* `twice` makes { y: 2 x, text: "x" }, fails for x == bad and returns a text that is too long for
 * its bytes for x == wrong; `even` is a condition. */
struct row_function {
    int64_t bad, wrong, number;
    int code; /* with which it fails */
    char text[32];
    atomic_int n_entered, n_calls, n_released;
    int64_t seed; /* of the next call of `drawn`, which makes { y: seed } */
};

static inline void function_seed(void *run, const uint32_t word[8])
{
    struct row_function *f = run;
    f->seed = 0;
    for (int i = 0; i < 8; i++)
        f->seed = f->seed * 31 + (int64_t)(word[i] >> 8);
}

static inline int function_drawn(void *run, const struct stk_cell *in, struct stk_cell *out,
                                 struct stk_error *err)
{
    struct row_function *f = run;
    (void)in, (void)err;
    f->number = f->seed;
    f->seed = -1;
    out[0] = (struct stk_cell){ .data = &f->number, .bytes = 8 };
    return STK_OK;
}

static inline int function_enter(void *context, int n_fields, const struct stk_field_info *field,
                                 void **run, struct stk_error *err)
{
    struct row_function *f = context;
    f->n_entered++;
    *run = f;
    if (n_fields == 1 && field[0].dtype == STK_I64 && !field[0].rank)
        return STK_OK;
    snprintf(err->text, sizeof err->text, "no numbers");
    return err->code = STK_STATE;
}

static inline int function_twice(void *run, const struct stk_cell *in, struct stk_cell *out,
                                 struct stk_error *err)
{
    struct row_function *f = run;
    int64_t x = *(const int64_t *)in[0].data;
    f->n_calls++;
    if (x == f->bad) {
        snprintf(err->text, sizeof err->text, "%lld will not do", (long long)x);
        return err->code = f->code;
    }
    f->number = 2 * x;
    int len = snprintf(f->text, sizeof f->text, "%lld", (long long)x);
    out[0] = (struct stk_cell){ .data = &f->number, .bytes = x == f->wrong ? 4 : 8 };
    out[1] = (struct stk_cell){ .data = f->text, .bytes = (size_t)len };
    return STK_OK;
}

static inline int function_even(void *run, const struct stk_cell *in, struct stk_cell *out,
                                struct stk_error *err)
{
    struct row_function *f = run;
    (void)out, (void)err;
    f->n_calls++;
    return *(const int64_t *)in[0].data % 2 ? STK_END : STK_OK;
}

static inline void function_release(void *context)
{
    ((struct row_function *)context)->n_released++;
}

/* Binds @twice, @even and @drawn to one function struct. */
static inline int function_bind(struct stk_objects *objects, struct row_function *f,
                                struct stk_error *err)
{
    static const struct stk_field_info fields[] = { { "y", STK_FIXED, STK_I64, 0, { 0 } },
                                                    { "text", STK_BYTES, STK_U8, 0, { 0 } } };
    const struct stk_function twice = { .n_fields = 2,
                                        .field = fields,
                                        .enter = function_enter,
                                        .call = function_twice,
                                        .release = function_release,
                                        .context = f };
    const struct stk_function even = {
        .enter = function_enter, .call = function_even, .release = function_release, .context = f
    };
    const struct stk_function drawn = { .n_fields = 1,
                                        .field = fields,
                                        .enter = function_enter,
                                        .call = function_drawn,
                                        .context = f,
                                        .seed = function_seed,
                                        .is_random = true };
    int rc = stk_objects_add_function(objects, "twice", &twice, err);
    if (!rc)
        rc = stk_objects_add_function(objects, "even", &even, err);
    return rc ? rc : stk_objects_add_function(objects, "drawn", &drawn, err);
}
