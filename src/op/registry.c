/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c: op_list.def as a sorted namespace, and what is added to it.
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

#define SUBJECT(text)
#define OP(name) extern const struct stk__op stk__op_##name;
#include "op/op_list.def"
#undef OP

static const struct stk__op *const built_in[] = {
#define OP(name) &stk__op_##name,
#include "op/op_list.def"
#undef OP
#undef SUBJECT
};

/* Subjects, each before its ops. */
static const struct listed {
    const char *subject;
    const struct stk__op *op;
} listed[] = {
#define SUBJECT(text) { text, NULL },
#define OP(name) { NULL, &stk__op_##name },
#include "op/op_list.def"
#undef OP
#undef SUBJECT
};

enum { N_BUILT_IN = sizeof built_in / sizeof *built_in };

struct edition {
    struct stk__namespace names;
    struct edition *before;
    const struct stk_decl *decl[];
};

static const struct stk_decl *first_decls[N_BUILT_IN];
static const struct stk__namespace first = { "pipeline", first_decls, N_BUILT_IN };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(struct edition *) latest; /* store: release, with `adding` held; load: acquire */
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct stk_decl *const *)a)->name,
                  (*(const struct stk_decl *const *)b)->name);
}

static void fill(void)
{
    for (int i = 0; i < N_BUILT_IN; i++)
        first_decls[i] = &built_in[i]->decl;
    qsort(first_decls, N_BUILT_IN, sizeof *first_decls, by_name);
}

const struct stk__namespace *stk__ops_namespace(void)
{
    pthread_once(&once, fill);
    const struct edition *edition = atomic_load_explicit(&latest, memory_order_acquire);
    return edition ? &edition->names : &first;
}

const struct stk__op *stk__op_find(const char *name)
{
    const struct stk_decl *decl = stk__namespace_find(stk__ops_namespace(), name);
    return decl ? stk__op_of(decl) : NULL;
}

const char *stk__op_said(const struct stk__op *op)
{
    for (int i = 0; i < N_BUILT_IN; i++)
        if (stk__op_begins_with(built_in[i]) == op)
            return built_in[i]->decl.name;
    return op->decl.name;
}

const char *stk__op_subject(const struct stk__op *op, int *place)
{
    const char *subject = NULL;
    *place = -1;
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        if (listed[i].op == op)
            return subject;
        *place += listed[i].subject != NULL;
        subject = listed[i].subject ? listed[i].subject : subject;
    }
    ++*place;
    return "plug-ins";
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
