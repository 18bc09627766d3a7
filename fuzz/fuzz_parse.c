/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_parse.c: what the parser accepts prints, parses again and prints the same, in both forms,
 * against a namespace that has every type of parameter row. */
#include "../tests/support/lang_decls.h"

#include <stdlib.h>
#include <string.h>

/* Returns new; NULL if the text is refused. */
static char *reprint(const char *text, const struct stk_objects *objects,
                     const struct stk__namespace *ns, enum stk__print_form form)
{
    struct stk_arena arena;
    struct stk_error err = { 0 };
    struct stk__text out = { 0 };
    const struct stk_value *value;
    stk__arena_init(&arena, 4096);
    int status = stk__parse(text, objects, &arena, &value, &err);
    if (!status)
        status = stk__print_value(value, ns, form, &out, &err);
    if (status && (status != err.code || !err.text[0] || err.at > strlen(text)))
        abort();
    stk__arena_free(&arena);
    char *printed = stk__text_take(&out);
    if (!status)
        return printed;
    free(printed);
    return NULL;
}

/* A value that is not a chain is only allowed in an assignment. */
static char *reprint_value(const char *text, const struct stk_objects *objects,
                           const struct stk__namespace *ns, enum stk__print_form form)
{
    size_t len = strlen(text);
    char *recipe = malloc(len + 3);
    if (!recipe)
        return NULL;
    memcpy(recipe, "v=", 2);
    memcpy(recipe + 2, text, len + 1);
    char *printed = reprint(recipe, objects, ns, form);
    free(recipe);
    return printed;
}

static void check(const char *text, const struct stk_objects *objects,
                  const struct stk__namespace *ns)
{
    char *brief = reprint(text, objects, ns, STK__SHORT);
    char *full = reprint(text, objects, ns, STK__CANONICAL);
    if (!brief != !full)
        abort();
    if (brief && strlen(brief) < 1 << 19 && strlen(full) < 1 << 19) {
        char *again[] = { reprint_value(brief, objects, ns, STK__SHORT),
                          reprint_value(full, objects, ns, STK__SHORT),
                          reprint_value(brief, objects, ns, STK__CANONICAL),
                          reprint_value(full, objects, ns, STK__CANONICAL) };
        for (int i = 0; i < 4; i++) {
            if (!again[i] || strcmp(again[i], i < 2 ? brief : full) != 0)
                abort();
            free(again[i]);
        }
    }
    free(brief);
    free(full);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const int8_t rows[] = { 1, 2 };
    const struct stk_array array = { .data = rows, .dtype = STK_I8, .rank = 1, .shape = { 2 } };
    struct stk_objects *objects = stk_objects_new();
    char *text = malloc(n_bytes + 1);
    if (objects && text && stk_objects_add_array(objects, "x", &array, NULL) == STK_OK) {
        memcpy(text, bytes, n_bytes);
        text[n_bytes] = 0;
        check(text, objects, &lang_namespace);
        check(text, objects, NULL);
    }
    free(text);
    stk_objects_free(objects);
    return 0;
}
