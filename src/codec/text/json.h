/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: chosen values out of JSON texts.
 *
 * The wanted paths of all fields form a tree. A text is scanned once from front to back: what no
 * path leads to is checked and passed over, of the rest it is noted where each wanted value lies.
 * Values are converted afterwards, so the last of several equal keys wins.
 *
 *     paths  user.name, user.id, tags[0]       text   {"user": {"id": 7, …}, "x": …}
 *     tree   root ─┬─ user ─┬─ name  (0)       found                  ^ (1)
 *                  │        └─ id    (1)
 *                  └─ tags ─── [0]   (2)
 *
 * A text is JSON as RFC 8259 has it, in UTF-8, and NaN, Infinity and -Infinity as Python writes
 * them. Brackets nest at most STK__JSON_MAX_DEPTH deep.
 */
#pragma once
#include "base/memory/arena.h"

#include <stdbool.h>

enum { STK__JSON_MAX_DEPTH = 1024, STK__JSON_MAX_PARTS = 32 };

struct stk__json_node {
    const char *key; /* of a member; NULL: an element */
    size_t key_bytes;
    int64_t index; /* of an element */
    int want;      /* the number of the value that is wanted here, or -1 */
    struct stk__json_node *child, *next;
};

/* Begin with { .root.want = -1 }. */
struct stk__json_tree {
    struct stk__json_node root;
    int n_wants;
};

/* Adds a path: names with dots between, [3] for an element, ['any text'] for a name with other
 * characters, and $ for the text itself, with which a path may begin. The number of its value, the
 * same for the same path; or -1 with a message. */
int stk__json_tree_add(struct stk__json_tree *tree, const char *path, struct stk_arena *arena,
                       struct stk_error *err);

/* Part of a text. */
struct stk__json_piece {
    const uint8_t *data; /* NULL: not there */
    size_t bytes;
};

struct stk__json_fault {
    const char *what;
    size_t at; /* byte of the text */
};

/* Scans a text; found[n_wants] gets the values. False: it is not JSON. */
bool stk__json_scan(const struct stk__json_tree *tree, struct stk__json_piece text,
                    struct stk__json_piece *found, struct stk__json_fault *fault);

enum stk__json_kind {
    STK__JSON_NULL,
    STK__JSON_BOOL,
    STK__JSON_NUMBER,
    STK__JSON_STRING,
    STK__JSON_ARRAY,
    STK__JSON_OBJECT,
};

/* What a value that was found is. */
enum stk__json_kind stk__json_kind(struct stk__json_piece value);

/* "a number" and so on. */
const char *stk__json_kind_name(enum stk__json_kind kind);

/* The content of a string without escapes, where it lies; data is NULL if it has any. */
struct stk__json_piece stk__json_plain(struct stk__json_piece string);

/* The content of a string, unescaped, into room for as many bytes as the piece has. False: there is
 * half a surrogate pair at fault->at of the piece. */
bool stk__json_unescape(struct stk__json_piece string, uint8_t *dst, size_t *bytes,
                        struct stk__json_fault *fault);

/* Numbers; false if the value is no number of that type. `end` is that of the text that holds the
 * number. */
bool stk__json_i64(struct stk__json_piece number, const uint8_t *end, int64_t *out);
bool stk__json_f64(struct stk__json_piece number, const uint8_t *end, double *out);
bool stk__json_f32(struct stk__json_piece number, const uint8_t *end, float *out);

/* The values of an array one by one, in the text of which all was found to be right: *at begins as
 * the array and loses what was read. False: that was the last. */
bool stk__json_next(struct stk__json_piece *at, struct stk__json_piece *value);

/* The same for the members of an object; the key is a string with its quotes. */
bool stk__json_member(struct stk__json_piece *at, struct stk__json_piece *key,
                      struct stk__json_piece *value);
