/* SPDX-License-Identifier: Apache-2.0 */
/* train_call.h: calls of the training step's namespaces, from text. */
#pragma once
#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stk_arena arena;

static inline int set_up(void **state)
{
    (void)state;
    stk__arena_init(&arena, 4096);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    stk__arena_free(&arena);
    return 0;
}

/* Any value: what is given to v. */
static inline const struct stk_value *value_of(const char *text)
{
    const struct stk_value *value = NULL;
    struct stk_error err = { 0 };
    if (stk__parse(stk__arena_printf(&arena, "v = %s", text), NULL, &arena, &value, &err))
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* What a namespace prints reads as it was, in both forms. */
static inline void check_prints(const char *text, const struct stk__namespace *ns)
{
    for (int form = STK__SHORT; form <= STK__CANONICAL; form++) {
        struct stk__text first = { 0 }, second = { 0 };
        struct stk_error err = { 0 };
        assert_int_equal(
            stk__print_value(value_of(text), ns, (enum stk__print_form)form, &first, &err), STK_OK);
        assert_int_equal(
            stk__print_value(value_of(first.data), ns, (enum stk__print_form)form, &second, &err),
            STK_OK);
        assert_string_equal(first.data, second.data);
        stk__text_free(&first);
        stk__text_free(&second);
    }
}

/* Declarations say what they should: texts, an example in the form "    call", help for each row. */
static inline void check_declarations(const struct stk__namespace *ns)
{
    for (int i = 0; i < ns->n_decls; i++) {
        const struct stk_decl *decl = ns->decl[i];
        assert_true(!i || strcmp(ns->decl[i - 1]->name, decl->name) < 0);
        assert_true(decl->summary[strlen(decl->summary) - 1] == '.');
        assert_true(decl->version >= 1);
        for (const struct stk_param *row = decl->params; row->name; row++)
            assert_true(row->help && *row->help);
        const char *example = strstr(decl->doc, "\n    ");
        assert_non_null(example);
        for (; example; example = strstr(example, "\n    ")) {
            size_t len = strcspn(example += 5, "\n");
            check_prints(stk__arena_text_n(&arena, example, len), ns);
        }
    }
}

#define TRAIN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
