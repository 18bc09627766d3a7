/* SPDX-License-Identifier: Apache-2.0 */
/* named_files.c: see named_files.h. */
#include "graph/named_files.h"

#include "io/directory.h"
#include "io/glob.h"

#include <string.h>

static bool is_any(const char *name)
{
    (void)name;
    return true;
}

static int visit_text(const char *text, void (*visit)(void *, const char *), void *context)
{
    struct stk__paths paths = { 0 };
    struct stk_error unseen;
    int rc = stk__is_directory(text) ? stk__directory_walk(text, is_any, &paths, NULL, &unseen)
                                     : stk__glob(text, &paths, &unseen);
    if (rc != STK_MEMORY && stk__paths_sort(&paths))
        rc = STK_MEMORY;
    for (size_t i = 0; rc != STK_MEMORY && i < paths.n; i++)
        visit(context, stk__paths_at(&paths, i));
    stk__paths_free(&paths);
    return rc == STK_MEMORY ? rc : STK_OK;
}

int stk__named_files(const struct stk_value *value, void (*visit)(void *, const char *),
                     void *context)
{
    int rc = STK_OK;
    bool is_text = value->kind == STK__STRING || value->kind == STK__WORD;
    bool has_items = value->kind == STK__LIST || value->kind == STK__MAP;
    if (is_text && strlen(value->text) == value->text_len && value->text_len < STK__PATH_BYTES)
        rc = visit_text(value->text, visit, context);
    for (int i = 0; has_items && i < value->n_items && !rc; i++)
        rc = stk__named_files(value->item[i], visit, context);
    for (int c = 0; value->kind == STK__CHAIN && c < value->n_calls && !rc; c++)
        for (int i = 0; i < value->call[c].n_args && !rc; i++)
            rc = stk__named_files(value->call[c].arg[i].value, visit, context);
    return rc;
}
