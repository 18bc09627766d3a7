/* SPDX-License-Identifier: Apache-2.0 */
/* json_path.c: paths as a tree. */
#include "base/error.h"
#include "codec/text/json.h"

#include <string.h>

struct part {
    const char *key; /* NULL: an element */
    size_t key_bytes;
    int64_t index;
};

static int refuse(const char *path, const char *at, const char *why, struct stk_error *err)
{
    stk_fail(err, STK_VALUE, "the path '%.200s' is not understood at character %zu: %s", path,
             (size_t)(at - path) + 1, why);
    return -1;
}

/* "[3]" or "['any text']"; the end of it, or NULL. */
static const char *read_bracket(const char *at, struct part *part)
{
    const char quote = at[1];
    *part = (struct part){ 0 };
    if (quote == '\'' || quote == '"') {
        const char *end = strchr(at + 2, quote);
        if (!end || end[1] != ']')
            return NULL;
        part->key = at + 2;
        part->key_bytes = (size_t)(end - part->key);
        return end + 2;
    }
    const char *digit = at + 1;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (part->index > INT32_MAX)
            return NULL;
        part->index = 10 * part->index + (*digit - '0');
    }
    return digit > at + 1 && *digit == ']' ? digit + 1 : NULL;
}

static const char *read_name(const char *at, struct part *part)
{
    size_t n = strcspn(at, ".[]'\"");
    *part = (struct part){ .key = at, .key_bytes = n };
    return n ? at + n : NULL;
}

static struct stk__json_node *find_part(struct stk__json_node *node, const struct part *part)
{
    for (struct stk__json_node *child = node->child; child; child = child->next) {
        if (!child->key != !part->key)
            continue;
        if (part->key ? child->key_bytes == part->key_bytes &&
                            memcmp(child->key, part->key, part->key_bytes) == 0
                      : child->index == part->index)
            return child;
    }
    return NULL;
}

static struct stk__json_node *add_part(struct stk__json_node *node, const struct part *part,
                                       struct stk_arena *arena, struct stk_error *err)
{
    struct stk__json_node *child = find_part(node, part);
    if (child)
        return child;
    child = stk_arena_alloc(arena, sizeof *child);
    if (!child) {
        stk__out_of_memory(err);
        return NULL;
    }
    *child = (struct stk__json_node){ .key = part->key,
                                      .key_bytes = part->key_bytes,
                                      .index = part->index,
                                      .want = -1,
                                      .next = node->child };
    node->child = child;
    return child;
}

int stk__json_tree_add(struct stk__json_tree *tree, const char *path, struct stk_arena *arena,
                       struct stk_error *err)
{
    struct stk__json_node *node = &tree->root;
    const char *text = stk_arena_text(arena, path), *at = text;
    if (!text) {
        stk__out_of_memory(err);
        return -1;
    }
    bool has_root = at[0] == '$' && (!at[1] || at[1] == '.' || at[1] == '[');
    at += has_root;
    bool is_first = !has_root;
    for (int n = 0; *at || is_first; n++, is_first = false) {
        struct part part;
        const char *start = at;
        if (*at == '[')
            at = read_bracket(at, &part);
        else if (is_first || *at == '.')
            at = read_name(at + !is_first, &part);
        else
            return refuse(text, at, "'.' or '[' is wanted here", err);
        if (!at)
            return refuse(
                text, start,
                *start == '[' ? "[3] or ['name'] is wanted here" : "a name is wanted here", err);
        if (n == STK__JSON_MAX_PARTS)
            return refuse(text, start, "it has too many parts", err);
        if (!(node = add_part(node, &part, arena, err)))
            return -1;
    }
    if (node->want < 0)
        node->want = tree->n_wants++;
    return node->want;
}
