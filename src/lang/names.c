/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: finding declarations, and the name that a misspelt one was meant to be. */
#include "base/error.h"
#include "lang/lang.h"

#include <string.h>

enum { LONGEST = 63 }; /* longer names are never near anything */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, replacements and swaps of neighbours from a to b, in any case. */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int rows[3][LONGEST + 1];
    for (int j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n_a; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            bool is_swap = i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]);
            if (is_swap && above_that[j - 2] + 1 < row[j])
                row[j] = above_that[j - 2] + 1;
        }
    }
    return rows[n_a % 3][n_b];
}

struct nearest {
    const char *name, *found;
    int len, distance; /* what has to be beaten */
};

static struct nearest nearest_to(const char *name)
{
    size_t len = strlen(name);
    if (len > LONGEST)
        len = 0;
    return (struct nearest){ .name = name, .len = (int)len, .distance = ((int)len + 1) / 3 + 1 };
}

static void consider(struct nearest *nearest, const char *name)
{
    size_t len = strlen(name);
    if (!nearest->len || len > LONGEST)
        return;
    int distance = edit_distance(nearest->name, nearest->len, name, (int)len);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->found = name;
    }
}

const char *stk__nearest_name(const char *name, const char *const *names)
{
    struct nearest nearest = nearest_to(name);
    for (; *names; names++)
        consider(&nearest, *names);
    return nearest.found;
}

const struct stk_decl *stk__namespace_find(const struct stk__namespace *ns, const char *name)
{
    for (int i = 0; i < ns->n_decls; i++)
        if (!strcmp(ns->decl[i]->name, name))
            return ns->decl[i];
    return NULL;
}

/* All that can be called, where these are few enough for a message: layers, optimizers, losses. */
static void add_known(const struct stk__namespace *ns, const char *before, struct stk_error *err)
{
    enum { FEW = 30 };
    for (int i = 0; i < ns->n_decls && ns->n_decls <= FEW; i++) {
        stk__error_suffix(err, i ? ", " : before);
        stk__error_suffix(err, ns->decl[i]->name);
    }
}

int stk__unknown_call(const struct stk__namespace *ns, const struct stk__call *call,
                      struct stk_error *err)
{
    struct nearest nearest = nearest_to(call->name);
    for (int i = 0; i < ns->n_decls; i++)
        consider(&nearest, ns->decl[i]->name);
    const char *found = nearest.found;
    int rc = stk__fail_at(err, STK_NAME, call->at, call->len,
                          "there is no %s call named %.64s%s%s%s", ns->name, call->name,
                          found ? "; did you mean " : "", found ? found : "", found ? "?" : "");
    if (err)
        add_known(ns, found ? " There are " : "; there are ", err);
    return rc;
}
