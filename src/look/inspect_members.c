/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_members.c: the arrays of a file, how many elements each has, and a chain for those that
 * have as many as most. */
#include "look/inspect_members.h"
#include "base/controls.h"

#include "base/error.h"
#include "base/json_out.h"
#include "base/type.h"
#include "graph/graph.h"
#include "lang/quote.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT, JSON, MOST_LOOKED_AT = 64 };

/* The arrays that are looked at: elements of each; -1: it cannot be read. */
struct table {
    int64_t count[MOST_LOOKED_AT];
    int n;
};

static int try_chain(const struct stk__inspection *in, const char *rest, struct stk_dataset **out,
                     struct stk_error *err)
{
    struct stk__text chain = { 0 };
    stk__text_add(&chain, "%s(", in->source);
    stk__quote(&chain, in->path);
    stk__text_add(&chain, "%s", rest);
    int code = chain.failed ? stk__out_of_memory(err) : stk_dataset_new(chain.data, NULL, out, err);
    stk__text_free(&chain);
    return code;
}

/* A field for an array of the same name, or of another name if that is given. */
static void add_pair(struct stk__text *out, const char *field, const char *name)
{
    stk__quote_name(out, field);
    stk__text_add(out, ": ");
    stk__quote(out, name);
}

/* What is wrong with one array: the message without the names before it. */
static const char *cause_of(const struct stk_error *err, const char *name)
{
    const char *at = err->text;
    size_t len = strlen(name);
    while ((at = strchr(at, '\'')) &&
           (strncmp(at + 1, name, len) || strncmp(at + 1 + len, "': ", 3)))
        at++;
    return at ? at + len + 4 : err->text;
}

static void add_good(struct stk__inspection *in, const struct stk__members *members,
                     const char *name, const struct stk_dataset *dataset)
{
    struct stk__text type = { 0 }, storage = { 0 };
    struct stk__text *text = &in->facts[TEXT], *json = &in->facts[JSON];
    int64_t count = stk_dataset_count(dataset);
    stk__field_text(&dataset->root->type.field[0], &type);
    if (members->add_storage)
        members->add_storage(members->ctx, name, &storage);
    stk__text_add(text, "%" PRId64 " of %s%s%s\n", count, type.data ? type.data : "",
                  storage.len ? ", " : "", storage.len ? storage.data : "");
    stk__json_whole(json, "elements", count);
    stk__json_string(json, "type", type.data ? type.data : "");
    stk__json_bytes(json, "storage", storage.data ? storage.data : "", storage.len);
    json->failed |= type.failed || storage.failed;
    stk__text_free(&type);
    stk__text_free(&storage);
}

static void add_fault(struct stk__inspection *in, const char *cause)
{
    stk__text_add(&in->facts[TEXT], "refused: %s\n", cause);
    stk__json_string(&in->facts[JSON], "fault", cause);
}

static int look_at(struct stk__inspection *in, const struct stk__members *members, int i,
                   int64_t *count, struct stk_error *err)
{
    const char *name = stk__paths_at(&members->names, (size_t)i);
    struct stk_dataset *dataset = NULL;
    struct stk__text rest = { 0 };
    stk__text_add(&rest, ", {");
    add_pair(&rest, "x", name);
    stk__text_add(&rest, "}%s)", members->look_options);
    int code = rest.failed ? stk__out_of_memory(err) : try_chain(in, rest.data, &dataset, err);
    stk__text_free(&rest);
    if (code == STK_MEMORY)
        return code;
    stk__text_add(&in->facts[TEXT], "    ");
    stk__text_add_shown(&in->facts[TEXT], name, 12);
    stk__text_add(&in->facts[TEXT], " ");
    stk__json_open(&in->facts[JSON], NULL, '{');
    stk__json_string(&in->facts[JSON], "name", name);
    *count = code ? -1 : stk_dataset_count(dataset);
    if (code)
        add_fault(in, cause_of(err, name));
    else
        add_good(in, members, name, dataset);
    stk__json_close(&in->facts[JSON], '}');
    stk_dataset_unref(dataset);
    return STK_OK;
}

/* The count that most arrays have; of several such, that of the first array. */
static int64_t commonest(const struct table *table)
{
    int64_t best = -1;
    int most = 0;
    for (int i = 0; i < table->n; i++) {
        int same = 0;
        for (int k = 0; k < table->n; k++)
            same += table->count[k] == table->count[i];
        if (table->count[i] >= 0 && same > most) {
            most = same;
            best = table->count[i];
        }
    }
    return best;
}

/* Appends ", {a: 'a', b: 'b'})" for the arrays with this many elements. */
static void add_group(const struct stk__members *members, const struct table *table, int64_t count,
                      struct stk__text *out)
{
    int n = 0;
    stk__text_add(out, ", {");
    for (int i = 0; i < table->n && n < STK_MAX_FIELDS; i++) {
        const char *name = stk__paths_at(&members->names, (size_t)i);
        if (table->count[i] != count)
            continue;
        stk__text_add(out, "%s", n++ ? ", " : "");
        add_pair(out, name, name);
    }
    stk__text_add(out, "})");
}

/* The groups that the chain leaves out, each with a chain of its own. */
static void note_others(struct stk__inspection *in, const struct stk__members *members,
                        struct table *table, int64_t taken)
{
    for (int i = 0; i < table->n; i++) {
        int64_t count = table->count[i];
        struct stk__text rest = { 0 };
        if (count < 0 || count == taken)
            continue;
        add_group(members, table, count, &rest);
        stk__inspect_note(in, "%" PRId64 " elements have %s('…'%s", count, in->source,
                          rest.data ? rest.data : "");
        in->rest.failed |= rest.failed;
        stk__text_free(&rest);
        for (int k = i; k < table->n; k++)
            if (table->count[k] == count)
                table->count[k] = -1;
    }
}

/* Everything at once where that works, else what belongs together. */
static int propose(struct stk__inspection *in, const struct stk__members *members,
                   struct table *table, struct stk_error *err)
{
    struct stk_dataset *all = NULL;
    int64_t count = commonest(table);
    int code = try_chain(in, ")", &all, err);
    stk_dataset_unref(all);
    if (code == STK_MEMORY)
        return code;
    if (!code || count < 0) {
        stk__text_add(&in->rest, ")");
        return STK_OK;
    }
    add_group(members, table, count, &in->rest);
    note_others(in, members, table, count);
    return STK_OK;
}

int stk__inspect_members(struct stk__inspection *in, const struct stk__members *members,
                         struct stk_error *err)
{
    struct table table = { 0 };
    size_t n = members->names.n;
    int code = STK_OK;
    stk__text_add(&in->facts[TEXT], "  %-12s %zu\n", members->noun, n);
    stk__json_open(&in->facts[JSON], members->noun, '[');
    for (; !code && (size_t)table.n < n && table.n < MOST_LOOKED_AT; table.n++)
        code = look_at(in, members, table.n, &table.count[table.n], err);
    stk__json_close(&in->facts[JSON], ']');
    if (n > MOST_LOOKED_AT)
        stk__inspect_note(in, "only the first %d of %zu %s were looked at", MOST_LOOKED_AT, n,
                          members->noun);
    return code ? code : propose(in, members, &table, err);
}
