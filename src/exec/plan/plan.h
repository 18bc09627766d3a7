/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: how a graph will be run: a tree of stages that ends in the batcher. Immutable.
 *
 *     positions ─▶ serial ─▶ ┐
 *                            segment ─▶ batcher ─▶ consumer
 *     stream ─▶ serial ────▶ ┘
 *
 *  segment    any worker; a program over positions it counts itself, or over positions or rows
 *             that arrive
 *  serial     one worker at a time; take, buffer shuffle, inner batch, zip and concatenate of
 *             streams
 *  mixing     one worker at a time; an op that chooses which input the next row comes from
 *  positions  a serial source of positions of an indexed subtree, for serial ops on addresses
 *  choosing   the same, of several inputs that an op chooses from
 *  nesting    the same, of chains that are opened for each element
 *  caching    one worker at a time; a cache of rows that come in order
 *  stream     a serial source of rows
 *  weaving    one worker at a time; rows of chains that are opened as elements come, taken in turn.
 *             Such a chain is a plan of its own, and runs as often as chains are open
 *  given      in such a chain: the element that it is opened for
 *
 * Repetition. Every source runs passes inside passes: the iterator's epochs, then each `repeat`
 * above it that is not a function of positions. The mark that ends a pass carries the outermost
 * level that ended with it; a stage reacts to marks of its own depth or further out and swallows
 * the rest, so `repeat` needs no stage.
 */
#pragma once
#include "exec/exec.h"
#include "exec/stage/stage_type.h"
#include "graph/program.h"
#include "op/group/grouping.h"

enum { STK__MAX_LEVELS = 8, STK__MAX_ORIGINS = 256 };

struct stk__stage_plan {
    const struct stk__stage_type *kind;
    const struct stk__node *node; /* what its output is */
    int n_inputs, input[STK_MAX_INPUTS];
    struct stk__program *program; /* segments */
    const struct stk_type *type;  /* of the output; no fields when only addresses travel */
    bool has_trace;               /* its rows are batches, and somebody asks for theirs */
    /* the last batch of the chain, before other ops: bad rows end here */
    bool is_judge;
    bool is_source;       /* makes rows or positions itself */
    bool takes_positions; /* segment: positions arrive from its input */
    uint64_t first;       /* position the first pass begins with: indexed sources */
    uint64_t count;       /* positions of one pass: indexed sources; UINT64_MAX: no end */
    int64_t in_count[STK_MAX_INPUTS]; /* choosing: positions of each input; below 0: no end */
    const struct stk__nest_map *nest; /* nesting */
    /* caching, and a segment that can leave rows out which are there: what is kept of each pass of
     * this depth */
    struct stk__kept *kept;
    int kept_depth;
    int first_origin;           /* caching: of the sources before it */
    struct stk__plan *inner;    /* weaving: of the chains; owned */
    int64_t n_chains;           /* weaving: that are open at most */
    bool is_endless;            /* weaving: there is no last element */
    bool reads_ahead;           /* weaving: of chains whose turn it is not */
    bool may_block;             /* waits for something else than storage */
    struct stk__opened *opened; /* stream that is opened for elements: its files */
    int name_field;             /* and the field of the element that names them */
    int origin;                 /* sources: number in the addresses of their rows */
    int depth;                  /* repetition levels around it, minus one */
    /* The first of those that shows: in paths of rows, and in what the stage draws by. What is
     * before a cache sees the first pass of those around it. */
    int first_level, drawn_level;
    /* passes per level, outermost first; UINT64_MAX: no end */
    uint64_t level_count[STK__MAX_LEVELS];
    int ticket_rows;
    size_t unit_bytes;            /* of one output chunk */
    size_t held_rows, held_bytes; /* serial state that keeps rows */
    size_t kept_bytes;            /* the most that one may keep which keeps what it has seen */
};

struct stk__origin {
    const struct stk__program *program; /* indexed: how positions lead to a source */
    const struct stk__node *source;     /* stream */
    struct stk__opened *opened;         /* stream that is opened for elements */
};

/* An op above the last batch that lets batches pass or not: take, skip, shard. */
struct stk__gate_plan {
    const struct stk__node *node;
    int depth;
};

enum { STK__MAX_GATES = 16 };

/* What a worker's scratch begins with. */
enum { STK__SCRATCH_BLOCK = 1 << 16 };

/* What a thread takes that nobody counts: its stack, and what malloc keeps for it. */
enum { STK__THREAD_BYTES = 128 << 10 };

struct stk__plan {
    atomic_int refs;
    struct stk_arena arena;
    struct stk_dataset *graph;
    bool is_inner; /* of a chain that is opened for elements; a pass for each, and no batcher */
    struct stk__options given, options; /* with auto where nothing was said; and without */
    struct stk__stage_plan stage[STK__MAX_STAGES];
    int n_stages, last; /* last: the stage that feeds the batcher */
    const struct stk__plan
        *root; /* of an inner one: whose origins addresses mean; it outlives this */
    struct stk__origin origin[STK__MAX_ORIGINS];
    int n_origins;
    bool has_keys;
    /* the batcher */
    const struct stk__node *batch; /* NULL: elements are delivered one by one */
    int64_t batch_rows;
    bool drops_remainder;
    struct stk__gather gather[STK_MAX_FIELDS]; /* how its rows become one */
    bool is_bounded;                           /* one of them may refuse a row */
    int depth;
    struct stk__gate_plan gate[STK__MAX_GATES]; /* from the batch up */
    int n_gates;
    bool is_direct;
    const char *why_staged; /* when it is not direct */
    size_t batch_bytes, minimum_bytes;
    size_t index_bytes; /* of the dataset: part of a budget of its own, else the process has them */
    size_t scratch_bytes;                    /* of one ticket, as far as ops can tell */
    struct stk__kept *kept[STK__MAX_CACHES]; /* of all caches */
    int n_kept;
    size_t cache_bytes;  /* what they may keep: leftovers */
    bool has_own_budget; /* the option memory is set */
    int window, ring;
    size_t ring_bytes; /* of all rings */
    int max_window;    /* how far the window may grow while the run is on */
    /* given as options or by prefetch: they stay as they are */
    bool is_window_given, is_workers_given;
    int64_t
        wanted_workers; /* more than options.workers where the budget has no room for their threads */
    int restart_level; /* when a pass of this level ends, no stage holds anything; see bookmark.h */
};

/* The least that the option memory may be. */
size_t stk__plan_least(const struct stk__plan *plan);

/* Scratch of a ticket, as far as ops can tell. */
size_t stk__stage_scratch(const struct stk__stage_plan *stage);

/* enum stk__chunk_parts of a stage's output chunks. */
int stk__stage_parts(const struct stk__plan *plan, const struct stk__stage_plan *stage);

/* The same of batches that are delivered. */
int stk__batch_parts(const struct stk__plan *plan);

/* "train/cat/7.jpg": the source element behind an address. */
void stk__plan_describe(const struct stk__plan *plan, struct stk__address address, char *text,
                        size_t size);
