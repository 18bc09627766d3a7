/* SPDX-License-Identifier: Apache-2.0 */
/* project.c: fields that nobody uses are not made: not parsed, not decoded, not read.
 *
 * From the end of the chain down, every op says which fields it looks at. What no op looks at and
 * the chain does not deliver is left out where it is made: an op that makes nothing else goes
 * altogether, one that makes several fields by name (STK__MAKES) makes the others. Nobody learns
 * then whether such a field could have been made, so an error in it does not count; docs/errors.md
 * promises that for what reads, decodes and parses. Other ops go only if they cannot fail.
 *
 *     image_folder('train').decode().select(label)            what is used:  label
 *     ╰─ path, label ─╯╰─ read, decode: image ─╯                             label, not image
 */
#include "base/error.h"
#include "rewrite/attempt.h"
#include "rewrite/rewrites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char rule[] = "project";

static const uint32_t all_fields = UINT32_MAX;

static uint32_t bit(int field)
{
    return UINT32_C(1) << field;
}

/* ---- what is used ---- */

static const struct stk_param *param_flagged(const struct stk__node *node, int flags)
{
    const struct stk_param *row = node->op->decl.params;
    while (row && row->name && !(row->flags & flags))
        row++;
    return row && row->name ? row : NULL;
}

static bool may_go(const struct stk__node *node)
{
    return node->never_fails || node->is_optional;
}

/* A row op that makes fields, none of which is used. */
static bool is_useless(const struct stk__node *node, uint32_t used)
{
    bool makes = false;
    if (!stk__node_is_row_op(node) || node->is_filter || node->n_inputs != 1)
        return false;
    for (int f = 0; f < node->type.n_fields; f++) {
        if (node->from[f] < 0 && used & bit(f))
            return false;
        makes |= node->from[f] < 0;
    }
    return makes;
}

/* Ops that choose and order rows, or join them to batches, and look at no field. */
static bool only_moves_rows(const struct stk__node *node)
{
    const uint32_t movers = STK__OP_ADDRESSES | STK__OP_REPEAT | STK__OP_BATCH | STK__OP_PREFETCH |
                            STK__OP_NESTS | STK__OP_ELEMENT;
    return node->n_inputs == 1 && (node->is_order || node->op->flags & movers);
}

static uint32_t used_below(const struct stk__node *node, uint32_t used)
{
    uint32_t below = 0;
    if (only_moves_rows(node))
        return used;
    if (!stk__node_is_row_op(node) || node->n_inputs != 1)
        return all_fields;
    for (int f = 0; f < node->type.n_fields; f++)
        if (used & bit(f) && node->from[f] >= 0)
            below |= bit(node->from[f]);
    return is_useless(node, used) && may_go(node) ? below : below | node->reads;
}

/* Fields of each node that are used, by its number. */
static void find_used(const struct stk_dataset *graph, uint32_t *used)
{
    used[graph->root->id] = all_fields;
    for (int i = graph->n_used; i-- > 0;)
        for (int k = 0; k < graph->node[i]->n_inputs; k++)
            used[graph->node[i]->input[k]->id] = used_below(graph->node[i], used[i]);
}

/* ---- fewer entries ---- */

struct names {
    char text[200];
    int n;
};

static void add_name(struct names *names, const char *name)
{
    size_t len = strlen(names->text);
    snprintf(names->text + len, sizeof names->text - len, "%s'%s'", names->n++ ? ", " : "", name);
}

static bool is_used(const struct stk__node *node, uint32_t used, const char *name)
{
    int f = stk_type_find(&node->type, name);
    return f < 0 || used & bit(f);
}

static int drop_texts(struct stk_texts *texts, const bool *keeps, struct stk_arena *arena)
{
    const char **item = stk_arena_alloc(arena, sizeof *item * (size_t)texts->n);
    int n = 0;
    for (int i = 0; item && i < texts->n; i++)
        if (keeps[i])
            item[n++] = texts->item[i];
    *texts = (struct stk_texts){ .item = item, .n = n };
    return item ? STK_OK : STK_MEMORY;
}

static int drop_pairs(struct stk_pairs *pairs, const bool *keeps, struct stk_arena *arena)
{
    const char **name = stk_arena_alloc(arena, 2 * sizeof *name * (size_t)pairs->n);
    const char **value = name + pairs->n;
    int n = 0;
    for (int i = 0; name && i < pairs->n; i++) {
        if (!keeps[i])
            continue;
        name[n] = pairs->name[i];
        value[n++] = pairs->value[i];
    }
    *pairs = (struct stk_pairs){ name, value, n };
    return name ? STK_OK : STK_MEMORY;
}

static int drop_items(const struct stk_value **map, const bool *keeps, struct stk_arena *arena)
{
    const struct stk_value *from = *map;
    struct stk_value *to = stk_arena_alloc(arena, sizeof *to);
    const struct stk_value **item =
        stk_arena_alloc(arena, 2 * sizeof *item * (size_t)from->n_items);
    if (!to || !item)
        return STK_MEMORY;
    const struct stk_value **key = item + from->n_items;
    *to = *from;
    to->n_items = 0;
    for (int i = 0; i < from->n_items; i++) {
        if (!keeps[i])
            continue;
        item[to->n_items] = from->item[i];
        key[to->n_items++] = from->key[i];
    }
    to->item = item;
    to->key = key;
    *map = to;
    return STK_OK;
}

/* The name that entry i of a parameter gives a field, or NULL after the last. */
static const char *entry_name(const struct stk_param *row, const void *field, int i)
{
    if (row->type == STK_ROW_TEXTS) {
        const struct stk_texts *texts = field;
        return i < texts->n ? texts->item[i] : NULL;
    }
    if (row->type == STK_ROW_PAIRS) {
        const struct stk_pairs *pairs = field;
        bool renames = row->flags & STK__RENAMES;
        return i < pairs->n ? (renames ? pairs->value[i] : pairs->name[i]) : NULL;
    }
    const struct stk_value *map = *(const struct stk_value *const *)field;
    return map && map->kind == STK__MAP && i < map->n_items ? map->key[i]->text : NULL;
}

static int drop_entries(const struct stk_param *row, void *field, const bool *keeps,
                        struct stk_arena *arena)
{
    if (row->type == STK_ROW_TEXTS)
        return drop_texts(field, keeps, arena);
    return row->type == STK_ROW_PAIRS ? drop_pairs(field, keeps, arena)
                                      : drop_items(field, keeps, arena);
}

/* How many entries of a parameter are kept: those of fields that are used; `dropped` has the
 * names of the others. */
static int choose_entries(const struct stk__node *node, const struct stk_param *row, uint32_t used,
                          bool keeps[STK_MAX_FIELDS], struct names *dropped)
{
    const void *field = (const char *)node->params + row->offset;
    int n_kept = 0;
    const char *name;
    for (int i = 0; i < STK_MAX_FIELDS && (name = entry_name(row, field, i)); i++) {
        keeps[i] = is_used(node, used, name);
        n_kept += keeps[i];
        if (!keeps[i])
            add_name(dropped, name);
    }
    return n_kept;
}

/* Parameters of a node without the entries of fields that nobody uses. NULL: none can go. */
static int narrow(struct stk_dataset *graph, const struct stk__node *node, uint32_t used,
                  void **new_params, struct names *dropped)
{
    size_t bytes = node->op->decl.params_size;
    char *params = stk_arena_alloc(&graph->arena, bytes + 1);
    if (!params)
        return STK_MEMORY;
    memcpy(params, node->params, bytes);
    int rc = STK_OK;
    for (const struct stk_param *row = node->op->decl.params; row->name && !rc; row++) {
        bool keeps[STK_MAX_FIELDS] = { false };
        struct names gone = { .n = 0 };
        if (!(row->flags & (STK__MAKES | STK__RENAMES)) ||
            !choose_entries(node, row, used, keeps, &gone) || !gone.n)
            continue;
        rc = drop_entries(row, params + row->offset, keeps, &graph->arena);
        *dropped = gone;
        *new_params = params;
    }
    return rc;
}

/* ---- changes ---- */

static struct names made_fields(const struct stk__node *node)
{
    struct names names = { .n = 0 };
    for (int f = 0; f < node->type.n_fields; f++)
        if (node->from[f] < 0)
            add_name(&names, node->type.field[f].name);
    return names;
}

/* All names it gives are of fields that nobody uses. */
static bool renames_nothing(const struct stk__node *node, uint32_t used)
{
    const struct stk_param *row = param_flagged(node, STK__RENAMES);
    bool keeps[STK_MAX_FIELDS];
    struct names gone = { .n = 0 };
    return row && !choose_entries(node, row, used, keeps, &gone);
}

static int leave_out(struct stk_dataset *graph, struct stk__node *node, bool *is_done,
                     struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct names names = made_fields(node);
    struct stk__call_text call = stk__call_text(node);
    int rc = stk__tree_keep(graph, &kept, err);
    if (rc)
        return rc;
    *stk__node_link(graph, node) = node->input[0];
    rc = stk__tree_settle(graph, &kept, is_done, err);
    return rc || !*is_done
               ? rc
               : stk__rewrite_tell(graph, rule, true, err, "%s is left out: nobody uses %s",
                                   call.text, names.n ? names.text : "what it names");
}

static int make_less(struct stk_dataset *graph, struct stk__node *node, uint32_t used,
                     bool *is_done, struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct names dropped = { .n = 0 };
    void *params = NULL;
    if (narrow(graph, node, used, &params, &dropped))
        return stk__out_of_memory(err);
    int rc = params ? stk__tree_keep(graph, &kept, err) : STK_OK;
    if (rc || !params)
        return rc;
    node->params = params;
    rc = stk__tree_settle(graph, &kept, is_done, err);
    return rc || !*is_done
               ? rc
               : stk__rewrite_tell(graph, rule, true, err, "%s does without %s: nobody uses it",
                                   node->op->decl.name, dropped.text);
}

/* A source that makes the fields that are used; one that nobody uses any of keeps its first. */
static int read_less(struct stk_dataset *graph, struct stk__node *node, uint32_t used,
                     bool *is_done, struct stk_error *err)
{
    struct stk__kept_tree kept;
    struct names dropped = { .n = 0 };
    void *state = NULL;
    int n = node->type.n_fields;
    used &= n < STK_MAX_FIELDS ? bit(n) - 1 : all_fields;
    used = used ? used : 1;
    for (int f = 0; f < n; f++)
        if (!(used & bit(f)))
            add_name(&dropped, node->type.field[f].name);
    if (dropped.n && node->op->narrow(node->state, used, &graph->arena, &state))
        return stk__out_of_memory(err);
    int rc = state ? stk__tree_keep(graph, &kept, err) : STK_OK;
    if (rc || !state)
        return rc;
    node->narrowed = state;
    rc = stk__tree_settle(graph, &kept, is_done, err);
    return rc || !*is_done
               ? rc
               : stk__rewrite_tell(graph, rule, true, err, "%s does without %s: nobody uses it",
                                   node->op->decl.name, dropped.text);
}

/* The first change from the end of the chain down that holds. */
static int change_one(struct stk_dataset *graph, const uint32_t *used, bool *is_done,
                      struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = graph->n_used; i-- > 0 && !rc && !*is_done;) {
        struct stk__node *node = graph->node[i];
        if (node->op->narrow && !node->is_opened)
            rc = read_less(graph, node, used[i], is_done, err);
        if (!stk__node_is_row_op(node))
            continue;
        if ((is_useless(node, used[i]) && may_go(node)) || renames_nothing(node, used[i]))
            rc = leave_out(graph, node, is_done, err);
        else if (param_flagged(node, STK__MAKES | STK__RENAMES))
            rc = make_less(graph, node, used[i], is_done, err);
    }
    return rc;
}

static int tell_why_not(struct stk_dataset *graph, const uint32_t *used, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < graph->n_used && !rc; i++) {
        const struct stk__node *node = graph->node[i];
        if (is_useless(node, used[i]) && !may_go(node))
            rc = stk__rewrite_tell(graph, rule, false, err,
                                   "%s is run although nobody uses %s: it can make elements bad",
                                   stk__call_text(node).text, made_fields(node).text);
    }
    return rc;
}

int stk__rewrite_project(struct stk_dataset *graph, struct stk_error *err)
{
    uint32_t *used = malloc(sizeof *used * (size_t)graph->n_nodes);
    int rc = used ? STK_OK : stk__out_of_memory(err);
    for (bool is_done = true; !rc && is_done;) {
        is_done = false;
        find_used(graph, used);
        rc = change_one(graph, used, &is_done, err);
    }
    if (!rc)
        rc = tell_why_not(graph, used, err);
    free(used);
    return rc;
}
