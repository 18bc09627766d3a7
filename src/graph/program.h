/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: evaluating rows of a subtree by their positions, or the ops above a cut on rows
 * that arrived.
 *
 * A program is a subtree of the graph. Its leaves are sources, or the one place where it was cut
 * and rows come in as a chunk. Evaluating n rows walks down with an array of positions, which
 * order ops rewrite, and comes up with columns, which row ops replace:
 *
 *        positions  5 6 7 ──▶ shuffle ──▶ 81 3 40 ──▶ files       path
 *        columns    image ◀── resize ◀── decode ◀── (read) ◀──────┘
 *
 * A column that ends up in the output unchanged after some op made it is written to its final
 * place by that op (pnode->dest), so a batch slot may be the destination of a source. `read` is
 * a gap, and so is a source whose rows lie in files: what they want is asked for first
 * (stk__eval_wanted) and handed in as `fetched` when the rest is run.
 *
 * Evaluation allocates from the worker's scratch only and is pure: the same positions give the
 * same rows.
 */
#pragma once
#include "base/meter.h"
#include "base/rows/chunk.h"
#include "graph/graph.h"
#include "io/data_file.h"
#include "io/read/fetched.h"
#include "op/cache/cache.h"

enum stk__role {
    STK__ROLE_SOURCE,
    STK__ROLE_CUT, /* rows of the input chunk */
    /* nothing to do here: prefetch, and serial ops that already chose the positions */
    STK__ROLE_PASS,
    STK__ROLE_ORDER,
    STK__ROLE_ROW,
    STK__ROLE_READ,
    STK__ROLE_ZIP,
    STK__ROLE_CONCAT,
    STK__ROLE_NEST,    /* from places of a nest to positions of its leaf; see nest.h */
    STK__ROLE_ELEMENT, /* what it stands for, with a key of its own */
    STK__ROLE_CACHE,   /* rows that are kept, or made as in the first epoch */
};

struct stk__pnode {
    enum stk__role role;
    int number; /* in program->node, inputs before what they go into */
    const struct stk__node *node;
    struct stk__pnode *input[STK_MAX_INPUTS];
    int64_t in_count[STK_MAX_INPUTS];
    int dest[STK_MAX_FIELDS]; /* output field this node's field ends up as, untouched; -1: none */
    int thread_slot;          /* row ops with thread state; else -1 */
    int read_slot;            /* reads and located sources; else -1 */
    int n_places;             /* located sources: of a row; reads: 1 */
    uint64_t seed;            /* of the run, mixed with the op's ordinal */
    bool is_guarded;          /* a row op of a plug-in */
    bool is_filter;
    const struct stk__node
        *judge;             /* reads: the op right behind, which can tell by a file's first bytes */
    bool is_part;           /* below a concatenation or a cache: it gets some of the rows */
    struct stk__kept *kept; /* caches: what is kept; NULL: nothing is */
};

enum { STK__MAX_READS = 8, STK__MAX_CACHES = 16 };

struct stk__program {
    struct stk__pnode *root;
    const struct stk_type *type; /* of the output */
    const struct stk__node *cut; /* NULL: evaluated from positions */
    struct stk__pnode **node;
    int n_nodes;
    struct stk__pnode **thread_node;
    int n_thread_slots;
    struct stk__pnode *read[STK__MAX_READS];
    int n_reads;
    bool has_keys, has_filter, is_heavy;
    const struct stk__nest_map *nest; /* of the one nest in it, or NULL */
    const char *exclusive; /* lock group of an op in it that is most of its work, or NULL */
    size_t scratch_bytes;  /* per row, estimated */
    /* of a row's places, about; 0: no source is located */
    size_t located_bytes;
    struct stk__kept *kept[STK__MAX_CACHES]; /* of its caches */
    int n_kept;
    int rank, world;
    uint64_t seed;
};

struct stk__program_options {
    uint64_t seed;
    int rank, world;
    bool has_keys;
    bool has_caches; /* caches keep what they get */
};

/* Compiles the subtree at root; `cut` (may be NULL) is where rows come in. Lives in the arena. */
int stk__program_new(const struct stk__node *root, const struct stk__node *cut,
                     const struct stk__program_options *options, struct stk_arena *arena,
                     struct stk__program **out, struct stk_error *err);

/* True if field f of its rows is made by the node, and not handed on. */
bool stk__pnode_makes(const struct stk__pnode *p, int f);

/* What one worker keeps for one program. */
struct stk__eval_thread {
    void **slot; /* [n_thread_slots]; opened at first use */
    bool *is_open;
};
int stk__eval_thread_init(struct stk__eval_thread *thread, const struct stk__program *program);
void stk__eval_thread_free(struct stk__eval_thread *thread, const struct stk__program *program);

/* What a read wants: paths of files, or places in the files of a located source. */
struct stk__wanted {
    const struct stk_span *path; /* [n], unset where a row is bad or dead; or NULL */
    const struct stk__file_place
        *place; /* [n * n_places], STK__NOWHERE for rows of another source */
};

struct stk__eval {
    const struct stk__program *program;
    struct stk__eval_thread *thread;
    struct stk_arena *scratch;
    const atomic_bool *cancelled;   /* of the run, or NULL */
    struct stk__meter *meter;       /* [n_nodes] of this thread, or NULL: nobody counts */
    struct stk__stopwatch *watch;   /* of this thread, where there are meters */
    const struct stk__leave *leave; /* for caches to keep more; NULL: they keep nothing */
    int n;
    /* where rows come from: positions… */
    const uint64_t *position; /* [n] */
    const uint64_t *path;     /* [n] */
    /* …or rows of a chunk, for cut programs */
    struct stk__chunk *in;
    int in_from;
    const struct stk__fetched *fetched[STK__MAX_READS]; /* [n * n_places] per read */
    const uint64_t *nest_path; /* below a nest: the rows' paths in its chain */
    const int *fetched_row; /* inside a concatenation: which of the n rows these are; else NULL */
    /* where they go */
    struct stk__chunk *out; /* columns and keys are written; the mask too when a row is not live */
    int out_from;
    /* results */
    int n_bad, n_dead;
    int n_live; /* rows that no filter has dropped so far */
    bool is_timed;
    int n_hits, n_misses;      /* rows that caches had, or had not */
    struct stk__fault *faults; /* rows counted from 0; the caller takes them */
};

/* Evaluates everything. 0 or STK_MEMORY. Addresses of `out` are the caller's business. */
int stk__eval_run(struct stk__eval *eval);

/* What read number `slot` wants for the rows; from scratch. */
int stk__eval_wanted(struct stk__eval *eval, int slot, struct stk__wanted *wanted);

/* The leaf source and index behind a position, following the first input of a zip. */
const struct stk__node *stk__eval_locate(const struct stk__program *program, uint64_t position,
                                         uint64_t path, uint64_t *index);
