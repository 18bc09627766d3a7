/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c: loading ops from a shared object. A file that was taken stays loaded: chains point into
 * it. */
#define _GNU_SOURCE
#include "base/error.h"
#include "op/plugin_op.h"
#include "op/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, attribute) .name = stk_##name,
static const struct stk_host host = { STK_HOST_FUNCTIONS(FUNCTION) };

static int check_version(const struct stk_plugin *plugin, struct stk_error *err)
{
    if (plugin->abi != STK_OP_ABI)
        return stk_fail(err, STK_STATE,
                        "it was built for version %d of stoker/op.h, and this is version %d; "
                        "build it again",
                        plugin->abi, STK_OP_ABI);
    if (plugin->op_bytes != sizeof(struct stk_op) ||
        plugin->infer_bytes != sizeof(struct stk_infer) ||
        plugin->rows_bytes != sizeof(struct stk_rows))
        return stk_fail(err, STK_STATE,
                        "it was built with another stoker/op.h than this library; build it again");
    if (plugin->n_ops < 1 || !plugin->op)
        return stk_fail(err, STK_VALUE, "it has no ops");
    return STK_OK;
}

/* True if its ops are in use already. */
static bool is_loaded(const struct stk_plugin *plugin)
{
    const struct stk__op *known = stk__op_find(plugin->op[0]->decl.name);
    return known && known->plugin == plugin->op[0];
}

/* Ops that were added stay for ever. */
static int register_ops(const struct stk_plugin *plugin, struct stk_error *err)
{
    size_t n = (size_t)plugin->n_ops;
    struct stk__op *op = calloc(n, sizeof *op);
    const struct stk__op **listed = calloc(n, sizeof *listed);
    int rc = op && listed ? STK_OK : stk__out_of_memory(err);
    for (size_t i = 0; i < n && !rc; i++) {
        op[i] = stk__plugin_op(plugin->op[i]);
        listed[i] = &op[i];
    }
    if (!rc)
        rc = stk__ops_add(listed, plugin->n_ops, err);
    free(listed);
    if (rc)
        free(op);
    return rc; /* NOLINT(clang-analyzer-unix.Malloc): the ops that were listed are in `op` */
}

/* *is_kept: the file must stay. */
static int add_ops(const struct stk_plugin *plugin, bool *is_kept, struct stk_error *err)
{
    int rc = check_version(plugin, err);
    for (int i = 0; i < plugin->n_ops && !rc; i++)
        rc = stk__plugin_op_check(plugin->op[i], err);
    if (rc || is_loaded(plugin))
        return rc;
    if (plugin->host && *plugin->host && *plugin->host != &host)
        return stk_fail(err, STK_STATE, "another copy of the library in this process has it");
    if (plugin->host)
        *plugin->host = &host;
    rc = register_ops(plugin, err);
    *is_kept = !rc;
    if (rc && plugin->host)
        *plugin->host = NULL;
    return rc;
}

static int add_file(const char *path, struct stk_error *err)
{
    bool is_kept = false;
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file)
        return stk_fail(err, STK_IO, "cannot be loaded: %s", dlerror());
    const struct stk_plugin *plugin = dlsym(file, "stk_plugin");
    int rc = plugin ? add_ops(plugin, &is_kept, err)
                    : stk_fail(err, STK_TYPE,
                               "is no plug-in: it has no symbol stk_plugin (STK_PLUGIN_OPS in "
                               "stoker/op.h makes one)");
    if (!is_kept)
        dlclose(file);
    return rc;
}

int stk_plugin_load(const char *path, struct stk_error *err)
{
    const char *here = strchr(path, '/') ? "" : "./"; /* else it would be looked for elsewhere */
    size_t bytes = strlen(here) + strlen(path) + 1;
    char *place = malloc(bytes);
    if (!place)
        return stk__out_of_memory(err);
    snprintf(place, bytes, "%s%s", here, path);
    int rc = add_file(place, err);
    if (rc)
        stk__error_prefix(err, "plug-in %.200s: ", path);
    free(place);
    return rc;
}
