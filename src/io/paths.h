/* SPDX-License-Identifier: Apache-2.0 */
/* paths.h: a list of paths that may be a million long: one block of text and an offset per path. */
#pragma once
#include <stddef.h>
#include <stoker/op.h>

struct stk__paths {
    char *text; /* NUL-terminated paths; stk__paths_add may move it */
    size_t text_len, text_cap;
    size_t *start; /* [n] offsets into text */
    size_t n, cap;
};

static inline const char *stk__paths_at(const struct stk__paths *paths, size_t i)
{
    return paths->text + paths->start[i];
}

/* Appends a copy. STK_OK or STK_MEMORY. `text` must not point into the list itself. */
int stk__paths_add(struct stk__paths *paths, const char *text, size_t len);

/* Sorts by bytes; a path that occurs twice is kept once. STK_OK or STK_MEMORY. */
int stk__paths_sort(struct stk__paths *paths);

/* The position of a path in a sorted list, or -1. */
int64_t stk__paths_find(const struct stk__paths *paths, const char *text);

/* Gives back what growing left over, which sorting does too; and bytes it has. */
void stk__paths_fit(struct stk__paths *paths);
size_t stk__paths_bytes(const struct stk__paths *paths);

/* Forgets all paths and keeps the memory; free gives it back. */
void stk__paths_clear(struct stk__paths *paths);
void stk__paths_free(struct stk__paths *paths);
