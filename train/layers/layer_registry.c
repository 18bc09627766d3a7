/* SPDX-License-Identifier: Apache-2.0 */
/* layer_registry.c: layer_list.def as a sorted namespace. */
#include "train/model/layer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LAYER(name) extern const struct stk__layer stk__layer_##name;
#include "train/layers/layer_list.def"
#undef LAYER

static const struct stk_decl *decls[] = {
#define LAYER(name) &stk__layer_##name.decl,
#include "train/layers/layer_list.def"
#undef LAYER
};

enum { N_LAYERS = sizeof decls / sizeof *decls };

static const struct stk__namespace names = { "model", decls, N_LAYERS };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct stk_decl *const *)a)->name,
                  (*(const struct stk_decl *const *)b)->name);
}

static void sort(void)
{
    qsort(decls, N_LAYERS, sizeof *decls, by_name);
}

const struct stk__namespace *stk__layers(void)
{
    pthread_once(&once, sort);
    return &names;
}
