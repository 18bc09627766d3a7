/* SPDX-License-Identifier: Apache-2.0 */
/* declaration.h: what an op of the library is. One const declaration per op; everything else is
 * derived from it.
 *
 * Row ops are what stoker/op.h says, and may say more here. Others have one of the tables below
 * (order, serial, choice, source), or are carried out by the executor, as their flags say.
 *
 * Lifetimes beside those of op.h:  run   made by begin() per iterator, serial ops and stream sources
 *                                        only
 *
 * Ops never block, unless flagged, and see neither graph nor executor.
 */
#pragma once
#include "base/rows/chunk.h"
#include "lang/param_rows.h"

struct stk__data_files; /* io: files that are read at random */
struct stk__file_place;

/* ---- what is inside of the structs of op.h ---- */

enum stk__op_class { STK__INDEXED, STK__ADDRESSED, STK__STREAM };

struct stk__arg;

/* An op that another one has put in before it. */
struct stk__implied {
    const struct stk__op *op; /* NULL: none */
    int input; /* it comes before this input, or as one more where there are only so many */
    bool shares_params; /* it gets the parameters of the other one that have its names and types; */
    int n_args;         /* otherwise these */
    const struct stk__arg *arg;
};

struct stk__infer_inside {
    int rank, world; /* of the run's options; world 0 (a dataset alone) counts as one shard */
    enum stk__op_class in_class;        /* of the first input */
    const char *stream_op, *stream_why; /* the op that made it no indexed one, and why; or NULL */
    /* to fill in */
    struct stk__implied implied; /* the op that is to be put in before this one (implied.h) */
    bool keeps_all;              /* with this input it is as if it had no flag STK_OP_FILTER */
    bool is_heavy;               /* with this state it is as if it had the flag STK_OP_HEAVY */
    bool wants_keys; /* row ops: rows have keys though the op is not flagged STK_OP_RANDOM */
    bool is_random;  /* with this state it is as if it had that flag; sets wants_keys too */
    int n_waiting;   /* rows that can wait for others to carry them out, at a time */
    /* unbatch: elements come in runs of so many, none of which is cut; 0: nobody knows. in_run: of the
     * first input */
    int64_t run, in_run;
};

struct stk__rows_inside {
    const struct stk__key *key;     /* ops flagged STK_OP_RANDOM, sources too */
    uint64_t seed;                  /* of the run, mixed with the op's ordinal */
    uint64_t run_seed;              /* of the run alone */
    const char *name;               /* of the op, for messages */
    const char *blamed;             /* the op that messages name, if not this one */
    const struct stk_span *fetched; /* located sources: [n * n_places]; unset where mask is bad */
    struct stk_arena *scratch;      /* memory until the end of this run */
    struct stk__fault **faults;     /* of bad rows; the caller's */
    int n_outside;                  /* rows that were said to be bad and are none of these n */
    const void *cancelled;          /* for stk_rows_is_cancelled */
    /* a bit per fixed column of out that no other op looks at: it is in its batch already */
    uint32_t finals;
};

/* ---- the tables ---- */

/* Order over indexed inputs: which positions of the input the output's positions are. */
struct stk__order_run {
    const void *params, *state;
    const int64_t *in_count;
    int n_inputs;
    uint64_t seed;   /* of the run, mixed with the op's ordinal */
    int rank, world; /* as in stk_infer */
};
struct stk__order_table {
    int (*count)(const struct stk_infer *inf, int64_t *out, struct stk_error *err);
    /* Rewrites n output positions (and their repetition paths) to input positions in place. Ops
     * with more inputs set input[i]; NULL table entry `at` with more inputs: every input at the
     * same position. */
    void (*at)(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input);
};

/* A serial stage is a pump in the manner of zlib: step eats rows and fills `out` until one of
 * the two is exhausted and keeps its place; flush is called again until it says true. Rows may
 * have no columns at all (addresses only). A bad row is a row for ops that keep rows; ops that
 * combine rows pass it on. */
struct stk__serial_start {
    const void *params, *state;
    uint64_t seed; /* of the run, mixed with the op's ordinal */
    struct stk__chunk *(*chunk_new)(void *ctx,
                                    int cap); /* of the input's type, charged; NULL: no memory */
    void (*chunk_free)(void *ctx, struct stk__chunk *chunk);
    /* Ops that keep what they have seen: says that the run keeps so many bytes more, which in all
     * may be kept_bytes. */
    void (*charge)(void *ctx, size_t bytes);
    size_t kept_bytes;
    size_t held_rows; /* what the table's held_rows said, or all that may come if that is less */
    struct stk__pool *pool; /* buffers that count as the run's; NULL: it moves no data */
    void *ctx;              /* lives as long as the run */
    int rank, world;        /* of the run's options */
};
struct stk__serial_table {
    int (*begin)(const struct stk__serial_start *begin, void **run, struct stk_error *err);
    void (*end)(void *run);
    void (*next_epoch)(void *run, uint64_t path); /* before the first row of every epoch */
    int (*step)(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out);
    bool (*flush)(void *run, struct stk__chunk *out); /* may be NULL: nothing is held back */
    /* May be NULL. The epoch's last row was eaten, and the next one may fill while this one drains:
     * until next_epoch is called step only eats, rows of the next epoch, and flush empties what
     * is left of this one. */
    void (*turn)(void *run);
    bool (*is_closed)(const void *run); /* true: needs no more rows of this epoch; may be NULL */
    uint64_t (*held_rows)(const void *state); /* rows kept at most, for the budget; may be NULL */
    bool keeps_more; /* keeps what it has seen, as much as kept_bytes allows */
    bool
        is_whole; /* what flush gives is true only at an end: where a stream breaks it is dropped */
};

/* Choices that were looked at beforehand. */
struct stk__known_choices {
    const uint8_t *number; /* [n] */
    int64_t n;
    bool is_endless;         /* they come again and again */
    const int64_t *in_count; /* [n_inputs] */
    int n_inputs;
    bool counts_differ; /* between ranks */
};

/* Ops with several inputs that say from which of them the next row comes (sample_from). In a pass
 * `wanted` names an input, again and again the same until `take` got a row of it or `ended` was
 * told that it has none left; -1: the pass is over. With STK__OP_ADDRESSES it needs no data: over
 * indexed inputs it runs ahead of them and positions are all that it moves. */
struct stk__choice_table {
    int (*begin)(const struct stk__serial_start *begin, void **run, struct stk_error *err);
    void (*end)(void *run);
    void (*next_epoch)(void *run, uint64_t path); /* before the first row of every epoch */
    int (*wanted)(void *run);
    /* True: the row is the next one of the output. False: it was only looked at, or `out`, which
     * has room for a row, got another one for it. Without data `in` and `out` are NULL. */
    bool (*take)(void *run, int input, const struct stk__chunk *in, int row,
                 struct stk__chunk *out);
    void (*ended)(void *run, int input);
    /* Where the choices are whole numbers in a field of input 0, which counts the others from 0: the
     * field; how many of the numbers can matter if inputs are so long (below 0: any of them); and a
     * state for order.at, which then carries the op out over indexed inputs, or NULL for no. */
    int (*number_field)(const void *state);
    int64_t (*n_needed)(const void *params, int n_inputs, const int64_t *in_count);
    int (*tabulate)(const void *params, const struct stk__known_choices *choices,
                    struct stk_arena *arena, void **state, struct stk_error *err);
};

/* What a pass over a stream is begun with. */
struct stk__source_start {
    const void *params, *state;
    struct stk__pool *pool; /* buffers that count as the run's */
};

struct stk__source_table {
    int64_t (*count)(const void *state); /* indexed */
    /* Sources with both ways of reading: true if this one is a stream. */
    bool (*is_stream)(const void *state);
    /* Located sources: rows lie in files. The executor reads the places of a row (n_places of
     * them, the same number for all; 0: there is nothing to read) ahead, and hands the bytes to
     * `rows` as `fetched`; a span that is put out may point into them with their owner. */
    int (*n_places)(const void *state);
    void (*locate)(const void *state, int n, const uint64_t *index, struct stk__file_place *out);
    struct stk__data_files *(*files)(const void *state);
    /* Indexed sources with a row that has STK__TAKES_FIELD: the number of each file's first row, and
     * behind them the count of all. */
    const uint64_t *(*first_rows)(const void *state, size_t *n_files);
    /* Writes rows `index[0..n)` to the columns; fixed columns have memory, others have span
     * arrays whose bytes may belong to the state (owner NULL, valid while the dataset lives).
     * Marks rows through mask. */
    int (*rows)(struct stk_rows *rows, const uint64_t *index);
    /* stream: begin → next… → STK_END; rewind starts again. next appends rows to `out` and stops
     * when it is full; where it has searched for long it may return without a row, and is called
     * again. A return other than STK_OK and STK_END breaks the stream. */
    int (*begin)(const struct stk__source_start *begin, void **run, struct stk_error *err);
    int (*rewind)(void *run, struct stk_error *err);
    int (*next)(void *run, struct stk__chunk *out, struct stk_error *err);
    void (*end)(void *run);
    /* Streams: true if it can be read any number of times, as files on storage can and pipes cannot.
     * NULL: nobody knows. */
    bool (*is_lasting)(const void *state);
    /* "train/cat/7.jpg" or "words.txt, line 12" for messages; index is what the row's address
     * holds. */
    void (*describe)(const void *state, uint64_t index, char *text, size_t size);
    const char *(*class_name)(const void *state, const char *field, int64_t value);
    /* What a user should know of what was found, for `plan`: "3 files left out". NULL: nothing. */
    const char *(*remark)(const void *state);
};

/* ---- parts of images, and what is done to values as they are written ---- */

/* Part of an image. */
struct stk__image_region {
    int32_t top, left, height, width;
};

/* Which part of its image ({ height, width }) a row wants; `rows` are those of the op that has this
 * function, of which it may read params, state, seed and key. Fails with the cause. */
typedef int (*stk__choose_fn)(const struct stk_rows *rows, int row, const int32_t size[2],
                              struct stk__image_region *out, struct stk_error *err);

/* How many times smaller a row makes its image ({ height, width }), along the side where it is less;
 * `rows` as above. */
typedef double (*stk__shrink_fn)(const struct stk_rows *rows, int row, const int32_t size[2]);

/* What a row op looks at of the images of one field, said so that another op can ask for it: the op
 * that makes them need not make the rest. */
struct stk__image_part {
    int field;
    stk__choose_fn choose;
    stk__shrink_fn shrink;      /* or NULL; the op takes images that are smaller already */
    const void *params, *state; /* of the op that says this, */
    const char *name;           /* which has this name */
    uint32_t ordinal;           /* and is the ordinal-th in the chain (set by the pass) */
    void *state_for_parts;      /* of that op if it gets such parts for images */
};

/* What a row op does to the values of one field and to nothing else, said so that the op before it
 * can do it to pixels as it writes them. */
enum stk__finish_kind {
    /* value * mul[c] + add[c], channels last, in float32 with a rounding after each of the two */
    STK__FINISH_AFFINE,
    STK__FINISH_CAST,   /* another dtype, as cast converts */
    STK__FINISH_CROP,   /* a part inside the image */
    STK__FINISH_FLIP,   /* mirrored, or by chance */
    STK__FINISH_PLANES, /* [height, width, channels] becomes [channels, height, width] */
};

struct stk__op_finish {
    enum stk__finish_kind kind;
    int field;
    int channels; /* affine; 1: the same for all */
    const float *mul, *add;
    int dtype;                   /* cast */
    struct stk__image_part crop; /* crop, which never fails */
    int64_t height, width;       /* on images at least as large */
    bool flips_x, flips_y;       /* flip */
    double probability;          /* drawn with the first random word of the row */
    uint64_t user_seed;          /* under this seed of the op, */
    uint32_t ordinal;            /* which is the ordinal-th in the chain (set by the pass) */
};

/* ---- the declaration ---- */

/* Besides those of stoker/op.h, of which RANDOM means that rows need keys and HEAVY that a row is worth
 * a ticket. */
enum stk__op_flags {
    STK__OP_ROOT = 1 << 3,  /* begins a chain; no receiver */
    STK__OP_FETCH = 1 << 4, /* carried out by the executor's I/O: `read` */
    /* makes one element of many; carried out by the executor, which its state tells how */
    STK__OP_BATCH = 1 << 5,
    STK__OP_PREFETCH = 1 << 6, /* carried out by the executor */
    STK__OP_REPEAT = 1 << 7,   /* a new pass over its input; order table when indexed */
    /* more inputs than one: ALL at the same position (zip) or one after the other */
    STK__OP_MULTI = 1 << 8,
    /* serial, and works on addresses alone: keeps an indexed input addressed */
    STK__OP_ADDRESSES = 1 << 9,
    STK__OP_SHUFFLES = 1 << 10, /* another order in every pass */
    STK__OP_FORGIVES = 1 << 13, /* row: bad rows may end here, so nobody judges them before */
    STK__OP_BLOCKS = 1 << 12,   /* a source that may wait for something else than storage */
    /* serial: makes elements of each of its own; rows that were batches are none any more */
    STK__OP_EXPANDS = 1 << 16,
    STK__OP_GROUPS = 1 << 17, /* batch: not of one run of so many rows after the other */
    STK__OP_MERGES = 1 << 22, /* serial: makes few elements of many; bad ones pass beside them */
    STK__OP_STABLE = 1 << 11, /* needs an input whose order is always the same: split */
    /* opens its chain for each element of what comes before; carried out by the executor, which its
     * state, a stk__nesting, tells how */
    STK__OP_NESTS = 1 << 18,
    STK__OP_ELEMENT = 1 << 19, /* the element that such a chain is opened for */
    /* keeps rows; carried out by the executor, its state is a stk__cache */
    STK__OP_CACHE = 1 << 20,
    /* labels that it computes are of the same classes under the same numbers */
    STK__OP_KEEPS_CLASSES = 1 << 21,
};

enum stk__op_mode { STK__MODE_EITHER, STK__MODE_ORDER, STK__MODE_SERIAL };

/* What lists of ops are ordered by; the texts are in registry.c. */
enum stk__subject {
    STK__ABOUT_NOTHING, /* plug-ins */
    STK__ABOUT_SOURCES,
    STK__ABOUT_ORDER,
    STK__ABOUT_SEVERAL_INPUTS,
    STK__ABOUT_BATCHES,
    STK__ABOUT_RUNNING,
    STK__ABOUT_DECODING,
    STK__ABOUT_FIELDS,
    STK__ABOUT_TEXT,
    STK__ABOUT_IMAGE_SHAPE,
    STK__ABOUT_IMAGE_VALUES,
    STK__N_SUBJECTS,
};

struct stk__op {
    struct stk_decl decl;
    enum stk__subject subject;
    uint32_t flags;
    const struct stk_op *plugin; /* what it was made of, or NULL: the library's own */
    /* Ops with both tables: order where the inputs are indexed, else serial; `mode` decides
     * otherwise. */
    enum stk__op_mode (*mode)(const void *params);
    /* Order ops that must look at one field of every row when the dataset is built (split by a
     * field): its name or NULL, and what to do with a hash of each row's value. */
    const char *(*scan_field)(const void *params);
    int (*scan)(const void *params, struct stk_arena *arena, const uint64_t *hash, int64_t n,
                void **state, struct stk_error *err);
    /* Ops that are two in one, or stand beside a source: the other one, which is always there. */
    struct stk__implied implies;
    const char *exclusive; /* lock group of a library that admits one thread at a time, or NULL */
    int (*open)(const void *params, struct stk_arena *arena, void **state, struct stk_error *err);
    void (*close)(void *state);
    /* Bytes that what `open` made keeps outside of the arena: lists of files, indices, arrays.
     * NULL: nothing to speak of. */
    size_t (*held_bytes)(const void *opened);
    int (*infer)(struct stk_infer *inf, struct stk_error *err);
    /* Row ops that do such a thing say so (false: not with these parameters or types); row ops
     * that can do it too take it: a new state, or NULL if they cannot. */
    bool (*finish)(const void *params, const void *state, struct stk__op_finish *out);
    int (*take_finish)(const void *params, const void *state, struct stk_arena *arena,
                       const struct stk__op_finish *finish, void **new_state);
    /* Row ops that look at a part of each image say at which (choose NULL: at all of it), and how
     * much of its detail they keep; row ops that make images can make that alone: a new state, or
     * NULL if they cannot. */
    int (*part)(const void *params, const void *state, struct stk_arena *arena,
                struct stk__image_part *out);
    int (*take_part)(const void *params, const void *state, struct stk_arena *arena,
                     const struct stk__image_part *part, void **new_state);
    /* Sources that can do without some of their fields: a state that makes these (a bit each, at
     * least one), from the arena, and borrows what the given one has; NULL if they cannot. */
    int (*narrow)(const void *state, uint32_t fields, struct stk_arena *arena, void **new_state);
    /* True if with these parameters an input of so many elements comes out as it went in. */
    bool (*passes_all)(const void *params, int64_t in_count);
    /* Row ops that can do what another call of the same op, with the parameters `upper`, does to
     * their results: parameters for both together on `in`, or NULL if they cannot. */
    int (*join)(const void *params, const void *state, const struct stk_type *in, const void *upper,
                struct stk_arena *arena, void **new_params);
    struct stk_row_table row;
    struct stk__order_table order;
    struct stk__serial_table serial;
    struct stk__choice_table choice;
    struct stk__source_table source;
    /* Row ops that have read what they replace, of the library itself: false if they fail whatever follows these
     * first bytes, and then get no more of a large file. */
    bool (*may_begin)(const void *params, const uint8_t *head, size_t n);
};
