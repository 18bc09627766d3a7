/* SPDX-License-Identifier: Apache-2.0 */
/* lang_fixture.h: an arena, an object, and short ways to parse, print and bind. */
#pragma once
#include "lang/objects.h"
#include "lang_decls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stk_arena arena;
static struct stk_objects *objects;

static inline int set_up(void **state)
{
    static const float data[6];
    const struct stk_array array = { .data = data, .dtype = STK_F32, .rank = 2, .shape = { 2, 3 } };
    (void)state;
    stk__arena_init(&arena, 4096);
    objects = stk_objects_new();
    return stk_objects_add_array(objects, "pixels", &array, NULL);
}

static inline int tear_down(void **state)
{
    (void)state;
    stk_objects_free(objects);
    stk__arena_free(&arena);
    return 0;
}

static inline const struct stk_value *parse(const char *text)
{
    const struct stk_value *value = NULL;
    struct stk_error err = { 0 };
    if (stk__parse(text, objects, &arena, &value, &err))
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* A value that may be anything, through an assignment. */
static inline const struct stk_value *parse_value(const char *text)
{
    return parse(stk__arena_printf(&arena, "v = %s", text));
}

static inline const char *print(const struct stk_value *value, const struct stk__namespace *ns,
                                enum stk__print_form form)
{
    struct stk__text out = { 0 };
    struct stk_error err = { 0 };
    if (stk__print_value(value, ns, form, &out, &err))
        fail_msg("%s", err.text);
    char *copy = stk_arena_text(&arena, out.data ? out.data : "");
    stk__text_free(&out);
    return copy;
}

/* Binds the last call of a chain. */
static inline int bind(const char *text, void *params, struct stk_error *err)
{
    const struct stk_value *chain = parse(text);
    const struct stk__call *call = &chain->call[chain->n_calls - 1];
    const struct stk_decl *decl = stk__namespace_find(&lang_namespace, call->name);
    return decl ? stk__call_bind(call, decl, &arena, params, err)
                : stk__unknown_call(&lang_namespace, call, err);
}

static inline void bind_ok(const char *text, void *params)
{
    struct stk_error err = { 0 };
    if (bind(text, params, &err))
        fail_msg("%s: %s", text, err.text);
}

#define LANG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
