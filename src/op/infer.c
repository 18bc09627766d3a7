/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c: what ops use to state their output type. */
#include "base/error.h"
#include "base/type.h"

#include <string.h>

void stk_infer_pass(struct stk_infer *inf)
{
    *inf->out = *inf->in[0];
    for (int f = 0; f < inf->out->n_fields; f++)
        inf->from[f] = f;
}

static int no_candidate(const struct stk_infer *inf, const char *what, int n_found,
                        struct stk_error *err)
{
    struct stk__text type = { 0 };
    stk__type_text(inf->in[0], &type);
    if (n_found)
        stk_fail(err, STK_TYPE,
                 "needs %s, and more than one field is such; name it with field=: it gets %s", what,
                 type.data ? type.data : "");
    else
        stk_fail(err, STK_TYPE, "needs %s, but gets %s", what, type.data ? type.data : "");
    stk__text_free(&type);
    return -1;
}

static int named_field(const struct stk_infer *inf, const char *name,
                       bool (*fits)(const struct stk_field *), const char *what,
                       struct stk_error *err)
{
    const struct stk_type *in = inf->in[0];
    int f = stk_type_find(in, name);
    struct stk__text text = { 0 };
    if (f >= 0 && fits(&in->field[f]))
        return f;
    if (f < 0) {
        stk__type_text(in, &text);
        stk_fail(err, STK_NAME, "there is no field '%s' in %s", name, text.data ? text.data : "");
    } else {
        stk__field_text(&in->field[f], &text);
        stk_fail(err, STK_TYPE, "field '%s' is %s, but %s is needed", name,
                 text.data ? text.data : "", what);
    }
    stk__text_free(&text);
    return -1;
}

int stk_infer_pick(const struct stk_infer *inf, const char *name,
                   bool (*fits)(const struct stk_field *), const char *what, struct stk_error *err)
{
    if (name)
        return named_field(inf, name, fits, what, err);
    int found = -1, n_found = 0;
    for (int f = 0; f < inf->in[0]->n_fields; f++) {
        if (!fits(&inf->in[0]->field[f]))
            continue;
        found = f;
        n_found++;
    }
    return n_found == 1 ? found : no_candidate(inf, what, n_found, err);
}
