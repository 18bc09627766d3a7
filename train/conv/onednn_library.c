/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_library.c: see onednn_library.h. */
#include "train/conv/onednn_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct stk__onednn_library lib; /* engine is NULL: there is no library */

static bool set_function(void *file, const char *name, void *out, size_t size)
{
    void *found = dlsym(file, name);
    memcpy(out, &found, size);
    return found != NULL;
}

/* One that shares work by threads we cannot limit is no use. */
static bool has_our_threads(void *file)
{
    unsigned runtime = lib.dnnl_version()->cpu_runtime;
    if (runtime == DNNL_RUNTIME_SEQ)
        return true;
    return runtime == DNNL_RUNTIME_OMP &&
           set_function(file, "omp_get_max_threads", &lib.omp_get_max_threads, sizeof(void *)) &&
           set_function(file, "omp_set_num_threads", &lib.omp_set_num_threads, sizeof(void *));
}

static void load(void)
{
    void *file = dlopen(STK__ONEDNN_NAME, RTLD_NOW | RTLD_LOCAL);
    bool ok = file != NULL;
#define FIND(name) ok = ok && set_function(file, #name, &lib.name, sizeof lib.name);
    STK__ONEDNN_FUNCTIONS(FIND)
    ok = ok && lib.dnnl_version()->major == DNNL_VERSION_MAJOR && has_our_threads(file) &&
         !lib.dnnl_primitive_attr_create(&lib.attributes) &&
         !lib.dnnl_primitive_attr_set_scratchpad_mode(lib.attributes, dnnl_scratchpad_mode_user);
    if (!ok || lib.dnnl_engine_create(&lib.engine, dnnl_cpu, 0))
        lib.engine = NULL;
}

const struct stk__onednn_library *stk__onednn_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return lib.engine ? &lib : NULL;
}

int stk__onednn_begin_alone(const struct stk__onednn_library *l)
{
    int before = l->omp_get_max_threads ? l->omp_get_max_threads() : 1;
    if (before != 1)
        l->omp_set_num_threads(1);
    return before;
}

void stk__onednn_end_alone(const struct stk__onednn_library *l, int before)
{
    if (before != 1)
        l->omp_set_num_threads(before);
}
