/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory that is freed all at once (a dataset), or rewound and used again (a worker's
 * scratch). */
#pragma once
#include <stoker/op.h>

struct stk__pool;

struct stk_arena {
    struct stk__arena_block *first, *current;
    size_t used;        /* of the current block */
    size_t total_bytes; /* of all blocks, for the budget */
    size_t block_bytes;
    struct stk__gauge *gauge; /* where its blocks are counted, or NULL; see gauge.h */
    struct stk_arena *next_gauged;
};

/* block_bytes: size of the first block; later ones grow. */
void stk__arena_init(struct stk_arena *arena, size_t block_bytes);
void stk__arena_free(struct stk_arena *arena);

/* 64-byte aligned, with 64 readable bytes behind; not cleared. */
void *stk__arena_take(struct stk_arena *arena, size_t bytes);

/* stk_arena_alloc (op.h) is the same, cleared. */

char *stk__arena_text_n(struct stk_arena *arena, const char *text, size_t len);
char *stk__arena_printf(struct stk_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns new: a buffer that has the large block in which this piece lies, most of it and at its beginning. NULL: there
 * is no such block, or no memory. All that may follow is a reset, which would give such a block back. */
struct stk_buffer *stk__arena_hand_over(struct stk_arena *arena, struct stk_span piece,
                                        struct stk__pool *pool);

/* Nothing of it is in use: blocks that it has are kept for the next time. */
bool stk__arena_is_empty(const struct stk_arena *arena);

/* Everything is free again. What was spread over several blocks will find one that holds it all,
 * so a worker's scratch settles on a single block of the size its elements take; more than 4 MiB
 * are given back. */
void stk__arena_reset(struct stk_arena *arena);

/* A place to go back to; everything taken since is free again, blocks are kept. */
struct stk__arena_mark {
    struct stk__arena_block *block;
    size_t used;
};

struct stk__arena_mark stk__arena_mark(const struct stk_arena *arena);
void stk__arena_rewind(struct stk_arena *arena, struct stk__arena_mark mark);
