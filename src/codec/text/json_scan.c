/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c: one pass over a text. */
#include "codec/text/json.h"
#include "codec/text/json_string.h"

#include <string.h>

struct scan {
    const uint8_t *at, *end;
    const char *fault; /* what is wrong at `at` */
    struct stk__json_piece *found;
};

static bool fail(struct scan *s, const char *what)
{
    s->fault = s->at < s->end ? what : "the text ends too early";
    return false;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool is_at(const struct scan *s, uint8_t c)
{
    return s->at < s->end && *s->at == c;
}

/* ---- what has no parts ---- */

static bool skip_string(struct scan *s)
{
    if (!is_at(s, '"'))
        return fail(s, "a string in quotes is wanted");
    s->at++;
    return stk__json_string_end(&s->at, s->end, &s->fault);
}

static bool skip_digits(struct scan *s)
{
    const uint8_t *start = s->at;
    while (s->at < s->end && (unsigned)*s->at - '0' < 10)
        s->at++;
    return s->at > start || fail(s, "a digit is wanted");
}

static bool skip_word(struct scan *s, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return fail(s, "a value is wanted");
    s->at += len;
    return true;
}

static bool skip_number(struct scan *s)
{
    s->at += is_at(s, '-');
    if (is_at(s, 'I'))
        return skip_word(s, "Infinity");
    if (is_at(s, '0'))
        s->at++;
    else if (!skip_digits(s))
        return false;
    if (is_at(s, '.')) {
        s->at++;
        if (!skip_digits(s))
            return false;
    }
    if (!is_at(s, 'e') && !is_at(s, 'E'))
        return true;
    s->at++;
    s->at += is_at(s, '+') || is_at(s, '-');
    return skip_digits(s);
}

static bool skip_scalar(struct scan *s)
{
    switch (s->at < s->end ? *s->at : 0) {
    case '"':
        return skip_string(s);
    case 't':
        return skip_word(s, "true");
    case 'f':
        return skip_word(s, "false");
    case 'n':
        return skip_word(s, "null");
    case 'N':
        return skip_word(s, "NaN");
    case '-':
    case 'I':
        return skip_number(s);
    default:
        return s->at < s->end && *s->at >= '0' && *s->at <= '9' ? skip_number(s)
                                                                : fail(s, "a value is wanted");
    }
}

/* ---- what no path leads to ---- */

static bool skip_colon(struct scan *s)
{
    skip_space(s);
    if (!is_at(s, ':'))
        return fail(s, "a ':' is wanted behind a key");
    s->at++;
    return true;
}

static bool skip_key(struct scan *s)
{
    skip_space(s);
    return skip_string(s) && skip_colon(s);
}

/* The brackets that are open: a bit for each, set for braces. */
struct brackets {
    uint64_t is_object[STK__JSON_MAX_DEPTH / 64];
    int depth;
};

static bool is_in_object(const struct brackets *b)
{
    return b->is_object[(b->depth - 1) / 64] >> (b->depth - 1) % 64 & 1;
}

static bool open_bracket(struct scan *s, struct brackets *b, int most)
{
    if (b->depth >= most)
        return fail(s, "brackets are nested too deeply");
    uint64_t *word = &b->is_object[b->depth / 64], bit = UINT64_C(1) << b->depth % 64;
    *word = *s->at == '{' ? *word | bit : *word & ~bit;
    b->depth++;
    s->at++;
    skip_space(s);
    return true;
}

/* Behind a value: to the next one, or out of the brackets that end here. */
static bool leave_value(struct scan *s, struct brackets *b, bool *is_next)
{
    *is_next = false;
    while (b->depth && !*is_next) {
        bool is_object = is_in_object(b);
        skip_space(s);
        if (is_at(s, ',')) {
            s->at++;
            *is_next = true;
            return !is_object || skip_key(s);
        }
        if (!is_at(s, is_object ? '}' : ']'))
            return fail(s, is_object ? "a ',' or '}' is wanted" : "a ',' or ']' is wanted");
        s->at++;
        b->depth--;
    }
    return true;
}

static bool skip_value(struct scan *s, int depth)
{
    struct brackets b;
    bool is_next = true;
    b.depth = 0;
    while (is_next) {
        skip_space(s);
        if (is_at(s, '{') || is_at(s, '[')) {
            uint8_t close = *s->at == '{' ? '}' : ']';
            if (!open_bracket(s, &b, STK__JSON_MAX_DEPTH - depth))
                return false;
            if (!is_at(s, close)) {
                if (close == '}' && !skip_key(s))
                    return false;
                continue;
            }
            s->at++;
            b.depth--;
        } else if (!skip_scalar(s)) {
            return false;
        }
        if (!leave_value(s, &b, &is_next))
            return false;
    }
    return true;
}

/* ---- what is wanted ---- */

static bool scan_value(struct scan *s, const struct stk__json_node *node, int depth);

/* An object that turns up again under the same key replaces all of the one before. */
static void forget(struct scan *s, const struct stk__json_node *node)
{
    for (const struct stk__json_node *child = node->child; child; child = child->next) {
        if (child->want >= 0)
            s->found[child->want] = (struct stk__json_piece){ 0 };
        forget(s, child);
    }
}

static const struct stk__json_node *find_member(const struct stk__json_node *node,
                                                struct stk__json_piece key)
{
    const struct stk__json_piece plain = stk__json_plain(key);
    for (const struct stk__json_node *child = node->child; child; child = child->next) {
        if (!child->key)
            continue;
        if (plain.data ? plain.bytes == child->key_bytes &&
                             memcmp(plain.data, child->key, plain.bytes) == 0
                       : stk__json_string_is(key, child->key, child->key_bytes))
            return child;
    }
    return NULL;
}

static const struct stk__json_node *find_element(const struct stk__json_node *node, int64_t index)
{
    for (const struct stk__json_node *child = node->child; child; child = child->next)
        if (!child->key && child->index == index)
            return child;
    return NULL;
}

/* A key and its colon; *child is what is wanted of the member, or NULL. */
static bool scan_key(struct scan *s, const struct stk__json_node *node,
                     const struct stk__json_node **child)
{
    skip_space(s);
    const uint8_t *start = s->at;
    if (!skip_string(s))
        return false;
    *child = find_member(node, (struct stk__json_piece){ start, (size_t)(s->at - start) });
    return skip_colon(s);
}

static bool scan_parts(struct scan *s, const struct stk__json_node *node, int depth)
{
    bool is_object = *s->at == '{', is_empty;
    const uint8_t close = is_object ? '}' : ']';
    if (depth >= STK__JSON_MAX_DEPTH)
        return fail(s, "brackets are nested too deeply");
    s->at++;
    skip_space(s);
    is_empty = is_at(s, close);
    for (int64_t index = 0; !is_empty; index++) {
        const struct stk__json_node *child = is_object ? NULL : find_element(node, index);
        if (is_object && !scan_key(s, node, &child))
            return false;
        if (!(child ? scan_value(s, child, depth + 1) : skip_value(s, depth + 1)))
            return false;
        skip_space(s);
        if (is_at(s, close))
            break;
        if (!is_at(s, ','))
            return fail(s, is_object ? "a ',' or '}' is wanted" : "a ',' or ']' is wanted");
        s->at++;
    }
    s->at++;
    return true;
}

static bool scan_value(struct scan *s, const struct stk__json_node *node, int depth)
{
    skip_space(s);
    const uint8_t *start = s->at;
    forget(s, node);
    bool has_parts = node->child && (is_at(s, '{') || is_at(s, '['));
    if (!(has_parts ? scan_parts(s, node, depth) : skip_value(s, depth)))
        return false;
    if (node->want >= 0)
        s->found[node->want] = (struct stk__json_piece){ start, (size_t)(s->at - start) };
    return true;
}

bool stk__json_scan(const struct stk__json_tree *tree, struct stk__json_piece text,
                    struct stk__json_piece *found, struct stk__json_fault *fault)
{
    struct scan s = { .at = text.data, .end = text.data + text.bytes, .found = found };
    for (int i = 0; i < tree->n_wants; i++)
        found[i] = (struct stk__json_piece){ 0 };
    bool is_good = scan_value(&s, &tree->root, 0);
    if (is_good) {
        skip_space(&s);
        is_good = s.at == s.end || fail(&s, "something follows the value");
    }
    if (!is_good)
        *fault = (struct stk__json_fault){ s.fault, (size_t)(s.at - text.data) };
    return is_good;
}

/* ---- values of an array, members of an object ---- */

bool stk__json_next(struct stk__json_piece *at, struct stk__json_piece *value)
{
    struct scan s = { .at = at->data + 1, .end = at->data + at->bytes };
    skip_space(&s);
    bool has_value = s.at < s.end && *s.at != ']';
    if (has_value) {
        value->data = s.at;
        has_value = skip_value(&s, 0);
        value->bytes = (size_t)(s.at - value->data);
        skip_space(&s);
    }
    *at = (struct stk__json_piece){ s.at, (size_t)(s.end - s.at) };
    return has_value;
}

bool stk__json_member(struct stk__json_piece *at, struct stk__json_piece *key,
                      struct stk__json_piece *value)
{
    struct scan s = { .at = at->data + 1, .end = at->data + at->bytes };
    skip_space(&s);
    bool has_member = s.at < s.end && *s.at != '}';
    if (has_member) {
        key->data = s.at;
        skip_string(&s);
        key->bytes = (size_t)(s.at - key->data);
        skip_colon(&s);
        skip_space(&s);
        value->data = s.at;
        has_member = skip_value(&s, 0);
        value->bytes = (size_t)(s.at - value->data);
        skip_space(&s);
    }
    *at = (struct stk__json_piece){ s.at, (size_t)(s.end - s.at) };
    return has_member;
}
