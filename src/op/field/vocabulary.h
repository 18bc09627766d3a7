/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.h: terms and their numbers: texts, or integers by the bytes of an int64.
 *
 * Terms are numbered in the order they are given in: a list in the chain, a file with a term per
 * line, or what stats wrote, where texts are sorted by how often they are there and classes by
 * their number. */
#pragma once
#include "lang/value.h"

struct stk__vocabulary {
    struct stk_span *term; /* [n] */
    struct stk__vocabulary_slot *slot;
    size_t n, n_slots; /* a power of 2 */
    bool has_integers;
};

/* The terms for a field: texts if it is of bytes, else integers. Everything is in the arena. */
int stk__vocabulary_read(const struct stk_value *given, const struct stk_field *field,
                         struct stk_arena *arena, struct stk__vocabulary *out,
                         struct stk_error *err);

/* The number of a term, or -1. */
int64_t stk__vocabulary_find(const struct stk__vocabulary *vocabulary, const void *data,
                             size_t bytes);
