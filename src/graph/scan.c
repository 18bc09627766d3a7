/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c: evaluates one field of all rows in blocks. */
#include "graph/scan.h"

#include "base/error.h"
#include "base/hash.h"
#include "graph/program.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 };

static int scan_block(const struct stk__program *program, struct stk__eval_thread *thread,
                      struct stk_arena *scratch, struct stk__chunk *chunk, uint64_t first)
{
    uint64_t position[BLOCK], path[BLOCK] = { 0 };
    for (int i = 0; i < chunk->n; i++)
        position[i] = first + (uint64_t)i;
    struct stk__eval eval = { .program = program,
                              .thread = thread,
                              .scratch = scratch,
                              .n = chunk->n,
                              .position = position,
                              .path = path,
                              .out = chunk };
    int rc = stk__eval_run(&eval);
    if (!rc && eval.n_bad)
        rc = STK_DATA;
    stk__faults_free(eval.faults);
    return rc;
}

/* The program that yields the field: ops above it that do not touch it are left out. */
static const struct stk__node *lowest_with(const struct stk__node *node, int *field)
{
    while (node->n_inputs == 1 && (node->op->row.run || node->op->flags & STK__OP_CACHE) &&
           node->from[*field] >= 0) {
        *field = node->from[*field];
        node = node->input[0];
    }
    return node;
}

static int scan_all(struct stk__program *program, int64_t n, stk__visit_fn visit, void *ctx)
{
    struct stk_arena scratch;
    struct stk__eval_thread thread = { 0 };
    struct stk__chunk *chunk = stk__chunk_new(program->type, BLOCK, false);
    struct stk__pool *pool = stk__pool_new();
    stk__arena_init(&scratch, 1 << 16);
    int rc = chunk && pool ? stk__eval_thread_init(&thread, program) : STK_MEMORY;
    for (int64_t at = 0; !rc && at < n; at += BLOCK) {
        chunk->n = n - at < BLOCK ? (int)(n - at) : BLOCK;
        rc = scan_block(program, &thread, &scratch, chunk, (uint64_t)at);
        if (!rc)
            rc = visit(ctx, chunk, at);
        stk__chunk_drop(chunk, 0, chunk->n);
        stk__arena_reset(&scratch);
    }
    stk__eval_thread_free(&thread, program);
    stk__chunk_free(chunk);
    stk__pool_unref(pool);
    stk__arena_free(&scratch);
    return rc;
}

int stk__scan_rows(struct stk_dataset *graph, const struct stk__node *node, const char *field,
                   const struct stk__scan *scan, struct stk_error *err)
{
    struct stk__program *program;
    int64_t n = scan->n ? scan->n : node->count;
    struct stk__program_options options = { .world = 1, .has_keys = stk__subtree_wants_keys(node) };
    int rc = stk__program_new(node, NULL, &options, &graph->arena, &program, err);
    if (rc)
        return rc;
    if (program->n_reads)
        return stk_fail(err, STK_TYPE,
                        "field '%s' is known only after reading files; put it before that", field);
    if (stk__subtree_is_random(node))
        return stk_fail(err, STK_TYPE,
                        "field '%s' is random, so it differs between epochs; put it before that",
                        field);
    rc = scan_all(program, n, scan->visit, scan->ctx);
    if (rc)
        stk_fail(err, rc, "field '%s' could not be evaluated for every row%s", field,
                 rc == STK_MEMORY ? ": out of memory" : "");
    return rc;
}

/* ---- hashes of values ---- */

struct hashes {
    uint64_t *hash;
    int field;
};

static int hash_rows(void *ctx, const struct stk__chunk *chunk, int64_t first)
{
    const struct hashes *hashes = ctx;
    const struct stk_column *c = &chunk->column[hashes->field];
    for (int i = 0; i < chunk->n; i++) {
        const void *data = c->span ? c->span[i].data : c->data + (size_t)i * c->stride;
        hashes->hash[first + i] = stk__hash_bytes(0, data, c->span ? c->span[i].bytes : c->stride);
    }
    return STK_OK;
}

int stk__scan_node(struct stk_dataset *graph, struct stk__node *node, const char *field,
                   struct stk_error *err)
{
    const struct stk__node *input = node->input[0];
    int f = stk_type_find(&input->type, field);
    if (f < 0)
        return stk_fail(err, STK_NAME, "there is no field '%s'", field);
    if (input->class != STK__INDEXED || input->count < 0)
        return stk_fail(err, STK_TYPE,
                        "must look at '%s' of all elements beforehand, which needs an indexed, "
                        "finite input",
                        field);
    input = lowest_with(input, &f);
    uint64_t *hash = malloc(sizeof *hash * (size_t)(input->count + 1));
    if (!hash)
        return stk__out_of_memory(err);
    const struct stk__scan scan = { hash_rows, &(struct hashes){ hash, f }, 0 };
    int rc = stk__scan_rows(graph, input, field, &scan, err);
    if (!rc)
        rc = node->op->scan(node->params, &graph->arena, hash, input->count, &node->state, err);
    free(hash);
    return rc;
}
