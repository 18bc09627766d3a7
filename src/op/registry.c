/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: the namespace of ops, and what is added to it.
 *
 * Who looks for a name takes no lock: an edition of the namespace is constant. Adding ops makes a
 * larger edition and puts it before the last one, which stays for those who are looking into it.
 */
#include "op/registry.h"
#include "op/implied.h"
#include "op/op_names.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const subjects[STK__N_SUBJECTS] = {
    [STK__ABOUT_NOTHING] = "plug-ins",
    [STK__ABOUT_SOURCES] = "sources",
    [STK__ABOUT_ORDER] = "order and choice",
    [STK__ABOUT_SEVERAL_INPUTS] = "several inputs",
    [STK__ABOUT_BATCHES] = "batches and windows",
    [STK__ABOUT_RUNNING] = "caches and running",
    [STK__ABOUT_DECODING] = "decoding, parsing, encoding",
    [STK__ABOUT_FIELDS] = "fields and expressions",
    [STK__ABOUT_TEXT] = "text",
    [STK__ABOUT_IMAGE_SHAPE] = "images: size and shape",
    [STK__ABOUT_IMAGE_VALUES] = "images: values and augmentation",
};

struct edition {
    struct stk__namespace names;
    struct edition *before;
    const struct stk_decl *decl[];
};

static _Atomic(struct edition *) latest; /* store: release, with `adding` held; load: acquire */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct stk_decl *const *)a)->name,
                  (*(const struct stk_decl *const *)b)->name);
}

const struct stk__namespace *stk__ops_namespace(void)
{
    const struct edition *edition = atomic_load_explicit(&latest, memory_order_acquire);
    return edition ? &edition->names : &stk__built_in_ops;
}

const struct stk__op *stk__op_find(const char *name)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), name);
    return decl ? stk__op_of(decl) : NULL;
}

const char *stk__op_said(const struct stk__op *op)
{
    for (int i = 0; i < stk__built_in_ops.n_decls; i++) {
        const struct stk__op *other = stk__op_of(stk__built_in_ops.decl[i]);
        if (stk__op_begins_with(other) == op)
            return other->decl.name;
    }
    return op->decl.name;
}

const char *stk__op_subject(const struct stk__op *op, int *place)
{
    *place = (op->subject ? (int)op->subject : STK__N_SUBJECTS) - 1;
    return subjects[op->subject];
}

/* With `adding` held. */
static int add(const struct stk__op *const *op, int n, struct stk_error *err)
{
    const struct stk__namespace *old = stk__ops_namespace();
    for (int i = 0; i < n; i++) {
        bool is_known = stk__namespace_find(old, op[i]->decl.name) != NULL;
        for (int k = 0; k < i; k++)
            is_known |= !strcmp(op[k]->decl.name, op[i]->decl.name);
        if (is_known)
            return stk_fail(err, STK_NAME, "an op named %.64s exists already", op[i]->decl.name);
    }
    size_t count = (size_t)(old->n_decls + n);
    struct edition *edition = malloc(sizeof *edition + count * sizeof *edition->decl);
    if (!edition)
        return stk__out_of_memory(err);
    memcpy(edition->decl, old->decl, (size_t)old->n_decls * sizeof *edition->decl);
    for (int i = 0; i < n; i++)
        edition->decl[old->n_decls + i] = &op[i]->decl;
    qsort(edition->decl, count, sizeof *edition->decl, by_name);
    edition->names = (struct stk__namespace){ old->name, edition->decl, (int)count };
    edition->before = atomic_load_explicit(&latest, memory_order_relaxed);
    atomic_store_explicit(&latest, edition, memory_order_release);
    return STK_OK;
}

int stk__ops_add(const struct stk__op *const *op, int n, struct stk_error *err)
{
    pthread_mutex_lock(&adding);
    int rc = add(op, n, err);
    pthread_mutex_unlock(&adding);
    return rc;
}
