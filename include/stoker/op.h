/* SPDX-License-Identifier: Apache-2.0 */
/* op.h: what an op is. One const declaration per op; everything else is derived from it.
 *
 * An op's file holds a struct for its parameters, rows that describe them, and one `struct
 * stk_op`:
 *
 *     struct scale { double factor, offset; const char *field; };
 *     static const struct stk_param rows[] = {
 *         STK_REAL_ROW(scale, factor, 1, -DBL_MAX, DBL_MAX, STK_REQUIRED, "multiplier"),
 *         …, STK_ROWS_END };
 *     const struct stk_op stk__op_scale = {
 *         .decl = { "scale", 1, "Multiply and add.", …, rows, sizeof(struct scale) },
 *         .infer = infer, .row = { .run = run } };
 *
 * Lifetimes:  params   filled by the parser, in the dataset's arena, constant
 *             state    made by open() when the dataset is built, constant, shared by all iterators
 *             thread   made by thread_open() per worker, row ops only
 *             run      made by begin() per iterator, serial ops and stream sources only
 *
 * If infer accepted, running fails only on bad data, I/O or memory. Ops never print, exit, or
 * block (unless flagged), hold no random state, and see neither graph nor executor.
 */
#ifndef STOKER_OP_H
#define STOKER_OP_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STK_OP_ABI = 1, STK_MAX_FIELDS = 32, STK_MAX_INPUTS = 16 };

/* ---- parameters ---- */

enum stk_row_type {
    STK_ROW_INT,     /* int64_t; STK_NONE and STK_AUTO when the row takes those words */
    STK_ROW_REAL,    /* double; NaN for none */
    STK_ROW_BOOL,    /* bool */
    STK_ROW_TEXT,    /* const char *; a string or a bare word; NULL for none */
    STK_ROW_CHOICE,  /* int: index into choices */
    STK_ROW_NUMBERS, /* struct stk_numbers: a list of numbers, one number, or one of the choices */
    STK_ROW_TEXTS,   /* struct stk_texts: a list of strings or one string */
    STK_ROW_PAIRS,   /* struct stk_pairs: a map from names to names */
    STK_ROW_VALUE,   /* const struct stk_value *: the value as parsed; the op reads it itself */
    STK_ROW_CHAINS,  /* struct stk_chains: nested chains, which become further inputs of the op */
};

enum stk_row_flags {
    STK_REQUIRED = 1 << 0,
    STK_TAKES_NONE = 1 << 1, /* the word none */
    STK_TAKES_AUTO = 1 << 2, /* the word auto */
    STK_VARIADIC = 1 << 3,   /* gathers all remaining positional arguments; the last row that may */
    STK_TUNABLE = 1 << 4,    /* a knob: changes speed or memory, never what is delivered */
    STK_MAKES =
        1 << 5, /* row ops: its entries are fields that they make, each without the others */
    STK_RENAMES = 1 << 6, /* row ops: its entries are fields, each with its name afterwards */
    /* TEXTS: in the chain of interleave a bare word is a field of the element, not a text */
    STK_TAKES_FIELD = 1 << 7,
};

#define STK_NONE INT64_MIN
#define STK_AUTO (INT64_MIN + 1)

struct stk_value;      /* lang: a parsed value */
struct stk__namespace; /* lang: what can be called where a value is wanted */

struct stk_numbers {
    const double *item;
    int n;
    int choice; /* index into the row's choices, or -1 when numbers were given */
};
struct stk_texts {
    const char *const *item;
    int n;
    /* one, written without quotes. When a source is opened: these are the files of one element, or
     * of those that are known (maybe none), which will be read from front to back */
    bool is_word;
};
struct stk_pairs {
    const char *const *name, *const *value;
    int n;
};
struct stk_chains {
    const struct stk_value *const *item;
    int n;
};

struct stk_param {
    const char *name, *help;
    const char *const *choices;         /* NULL-terminated labels: CHOICE, NUMBERS */
    const struct stk__namespace *calls; /* VALUE: what may be called in it, or NULL */
    uint32_t offset;
    uint8_t type, flags;
    bool takes_classes; /* TEXTS: a chain may stand for the class names of its labels */
    union {
        int64_t i;
        double r;
        const char *s;
    } def, lo, hi; /* bounds are inclusive: INT, REAL; of the number of items: NUMBERS, TEXTS */
};

/* The field's C type is checked at compile time: a row over a field of another type has no matching
 * _Generic arm and does not compile. */
/* clang-format off */
#define STK_ROW_FIELD(T, f, ctype)                                                                 \
    .name = #f, .offset = (uint32_t)(offsetof(struct T, f) +                                       \
                                     0 * sizeof(_Generic(((struct T *)0)->f, ctype : 1)))
#define STK_INT_ROW(T, f, d, l, h, fl, text)                                                       \
    { STK_ROW_FIELD(T, f, int64_t), .type = STK_ROW_INT, .flags = (fl), .def.i = (d),              \
      .lo.i = (l), .hi.i = (h), .help = (text) }
#define STK_REAL_ROW(T, f, d, l, h, fl, text)                                                      \
    { STK_ROW_FIELD(T, f, double), .type = STK_ROW_REAL, .flags = (fl), .def.r = (d),              \
      .lo.r = (l), .hi.r = (h), .help = (text) }
#define STK_BOOL_ROW(T, f, d, fl, text)                                                            \
    { STK_ROW_FIELD(T, f, bool), .type = STK_ROW_BOOL, .flags = (fl), .def.i = (d), .help = (text) }
#define STK_TEXT_ROW(T, f, d, fl, text)                                                            \
    { STK_ROW_FIELD(T, f, const char *), .type = STK_ROW_TEXT, .flags = (fl), .def.s = (d),        \
      .help = (text) }
#define STK_CHOICE_ROW(T, f, list, d, fl, text)                                                    \
    { STK_ROW_FIELD(T, f, int), .type = STK_ROW_CHOICE, .flags = (fl), .choices = (list),          \
      .def.i = (d), .help = (text) }
#define STK_NUMBERS_ROW(T, f, list, l, h, fl, text)                                                \
    { STK_ROW_FIELD(T, f, struct stk_numbers), .type = STK_ROW_NUMBERS, .flags = (fl),             \
      .choices = (list), .lo.i = (l), .hi.i = (h), .help = (text) }
#define STK_TEXTS_ROW(T, f, l, h, fl, text)                                                        \
    { STK_ROW_FIELD(T, f, struct stk_texts), .type = STK_ROW_TEXTS, .flags = (fl), .lo.i = (l),    \
      .hi.i = (h), .help = (text) }
#define STK_CLASSES_ROW(T, f, text)                                                                \
    { STK_ROW_FIELD(T, f, struct stk_texts), .type = STK_ROW_TEXTS, .flags = STK_TAKES_NONE,       \
      .takes_classes = true, .lo.i = 1, .hi.i = INT32_MAX, .help = (text) }
#define STK_PAIRS_ROW(T, f, fl, text)                                                              \
    { STK_ROW_FIELD(T, f, struct stk_pairs), .type = STK_ROW_PAIRS, .flags = (fl), .help = (text) }
#define STK_VALUE_ROW(T, f, fl, text)                                                              \
    { STK_ROW_FIELD(T, f, const struct stk_value *), .type = STK_ROW_VALUE, .flags = (fl),         \
      .help = (text) }
#define STK_CALLS_ROW(T, f, list, fl, text)                                                        \
    { STK_ROW_FIELD(T, f, const struct stk_value *), .type = STK_ROW_VALUE, .flags = (fl),         \
      .calls = (list), .help = (text) }
#define STK_CHAINS_ROW(T, f, fl, text)                                                             \
    { STK_ROW_FIELD(T, f, struct stk_chains), .type = STK_ROW_CHAINS, .flags = (fl),               \
      .help = (text) }
#define STK_ROWS_END { .name = NULL }
/* clang-format on */

/* What the language needs to know of anything that can be called in a chain. */
struct stk_decl {
    const char *name;
    int version;                    /* rises when the same call starts to yield different data */
    const char *summary, *doc;      /* one sentence; paragraphs with at least one `example` line */
    const struct stk_param *params; /* ends with a NULL name */
    size_t params_size;
};

/* ---- types ---- */

enum stk_field_flags {
    STK_FIELD_PATH = 1 << 0, /* bytes that name a file: `read` is put in where content is wanted */
    STK_FIELD_TEXT = 1 << 1, /* bytes that are text */
    /* many in one: texts or lists of a batch, or a list of texts */
    STK_FIELD_PACKED = 1 << 2,
    /* floats that run from 0 to 255 since they were uint8; ops that write other values clear it */
    STK_FIELD_255 = 1 << 3,
    /* packed, and each of the many is a list again: lists of texts, or of lists, of a batch */
    STK_FIELD_LISTS = 1 << 4,
};

struct stk_field {
    const char *name;
    /* bytes: dtype u8, rank 0; lists of texts that are equally long have rank 1, shape[0] is how
     * long (-1: in each batch), and arrays of texts their rank and shape. ragged: rank and shape of
     * one value list, shape[0] = -1 */
    uint8_t kind, dtype, rank, flags;
    int64_t shape[STK_MAX_RANK]; /* -1: differs between rows (shaped, ragged) */
};

struct stk_type {
    int n_fields;
    struct stk_field field[STK_MAX_FIELDS];
};

/* Bytes of one row of a fixed field. */
STK_API size_t stk_field_bytes(const struct stk_field *field);

/* Index of a field by name, or -1. */
STK_API int stk_type_find(const struct stk_type *type, const char *name);

/* ---- data ---- */

struct stk_buffer; /* ref-counted bytes */

/* Bytes of one row that is not fixed. owner NULL: scratch of this run; else this span holds a
 * reference. */
struct stk_span {
    uint8_t *data;
    size_t bytes;
    struct stk_buffer *owner;
};

/* One field of many rows. Fixed: row i at data + i * stride. Otherwise span[i], and for shaped
 * fields dims + i * rank. Data is 64-byte aligned at row 0 and may be read (not written) 64
 * bytes past its end. */
struct stk_column {
    uint8_t *data;
    size_t stride;
    struct stk_span *span;
    int32_t *dims;
    int rank;
};

struct stk_key {
    uint64_t hi, lo;
};

/* where: the origin (source or indexed subtree of the plan) in the top 8 bits, position there
 * below. path: hash of the repetition counters the row was made under. */
struct stk_address {
    uint64_t where, path;
};

enum { STK_LIVE = 0, STK_DEAD = 1, STK_BAD = 2 }; /* values of a mask */

struct stk_fault; /* why a row is bad; belongs to the executor */

/* A run of rows by column. */
struct stk_chunk {
    const struct stk_type *type;
    int cap, n;
    int n_bad;                   /* rows whose mask is STK_BAD */
    struct stk_address *address; /* [cap] */
    struct stk_key *key;         /* [cap], or NULL where nothing downstream draws random numbers */
    uint8_t *mask;               /* [cap] */
    struct stk_span *trace; /* [cap], or NULL where no row is a batch: the addresses of its rows */
    struct stk_column *column; /* [type->n_fields] */
    struct stk_fault *faults;  /* of bad rows */
};

/* Copies n rows, with keys, addresses, masks and faults, taking new references where spans have
 * owners. Between two chunks of one type; does not change n of either. */
STK_API void stk_chunk_copy(struct stk_chunk *dst, int at, const struct stk_chunk *src, int from,
                            int n);

/* Drops the references of n rows, which are then unset. */
STK_API void stk_chunk_drop(struct stk_chunk *chunk, int from, int n);

/* ---- inference ---- */

enum stk_class { STK_INDEXED, STK_ADDRESSED, STK_STREAM };

struct stk_infer {
    const void *params;
    int n_inputs;
    const struct stk_type *in[STK_MAX_INPUTS];
    int64_t in_count[STK_MAX_INPUTS]; /* elements, STK_INFINITE_COUNT, STK_UNKNOWN_COUNT */
    int rank, world; /* of the run's options; world 0 (a dataset alone) counts as one shard */
    /* to fill in */
    struct stk_type *out;
    /* row ops, zip: out field f is this field of the input (zip: of all inputs' fields counted
     * through), untouched; -1: the op writes it */
    int from[STK_MAX_FIELDS];
    /* preset to that of the first input; row ops that mark rows dead: unknown */
    int64_t count;
    /* preset to -1; set it (and return STK_OK) to have `read` put in before this op on that field
     * of the input */
    int read_field;
    /* preset to NULL; set it (and return STK_OK) to have `map` put in before this op with that
     * expression; infer is then asked again */
    const char *map_before;
    /* preset to NULL; set it (and return STK_OK) to have `ensure_shape` put in before this op, on the
     * field of that name of the input `shaped_input`, to give it this kind and shape; infer is then
     * asked again */
    const struct stk_field *shaped;
    int shaped_input;
    /* row ops: the fields of the input it looks at, a bit each; preset to all */
    uint32_t reads;
    bool never_fails; /* row ops: no row can become bad here */
    bool keeps_all;   /* with this input it is as if it had no flag STK_OP_FILTER */
    /* row ops: rows become bad here only for what is in the fields it makes, so that nobody needs
     * to know where these are not used: what reads, decodes, parses and changes images */
    bool is_optional;
    size_t scratch_bytes; /* estimate per row, for the budget */
    bool is_heavy;        /* with this state it is as if it had the flag STK_OP_HEAVY */
    int n_waiting;        /* rows that can wait for others to carry them out, at a time */
    bool wants_keys;      /* row ops: rows have keys though the op is not flagged STK_OP_RANDOM */
    bool is_random;       /* with this state it is as if it had that flag; sets wants_keys too */
    void *state;          /* what open made; infer may make or replace it (from the arena) */
    struct stk_arena *arena; /* the dataset's: for names and shapes that must outlive infer */
    enum stk_class in_class; /* of the first input */
    /* unbatch: elements come in runs of so many, none of which is cut; 0: nobody knows. in_run: of the
     * first input */
    int64_t run, in_run;
    const char *stream_op, *stream_why; /* the op that made it no indexed one, and why; or NULL */
};

struct stk_arena;
STK_API void *stk_arena_alloc(struct stk_arena *arena, size_t bytes); /* NULL when out of memory */
STK_API char *stk_arena_text(struct stk_arena *arena, const char *text);

/* Writes a message and returns code. The caller of infer and open adds op name and place. */
STK_API int stk_fail(struct stk_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Helpers for infer. Copies in[0] to out, every field untouched. */
STK_API void stk_infer_pass(struct stk_infer *inf);

/* The field an op works on: `name` if given, else the only one `fits` accepts (-1 and a message
 * that lists the candidates when there is none or more than one). */
STK_API int stk_infer_pick(const struct stk_infer *inf, const char *name,
                           bool (*fits)(const struct stk_field *), const char *what,
                           struct stk_error *err);

/* ---- the four tables ---- */

/* One run of a row op over n rows. Rows whose mask is not STK_LIVE are left alone. */
struct stk_rows {
    const void *params, *state;
    void *thread;
    const struct stk_type *in_type, *out_type;
    int n;
    const struct stk_column *in; /* all fields of the input */
    /* [out_type->n_fields]; only those with from[f] < 0 are to be written. Fixed columns have their
     * memory; span and dims arrays exist, rows' bytes come from stk_rows_alloc or stay where an input
     * span points. */
    struct stk_column *out;
    uint8_t *mask;
    const struct stk_key *key;      /* ops flagged STK_OP_RANDOM, sources too */
    uint64_t seed;                  /* of the run, mixed with the op's ordinal */
    uint64_t run_seed;              /* of the run alone */
    const char *name;               /* of the op, for messages */
    const char *blamed;             /* the op that messages name, if not this one */
    const struct stk_span *fetched; /* located sources: [n * n_places]; unset where mask is bad */
    struct stk_arena *scratch;      /* memory until the end of this run */
    struct stk_fault **faults;      /* of bad rows; the caller's */
    int n_outside;                  /* rows that were said to be bad and are none of these n */
    int n_warned; /* for the op to set: rows it made although something is wrong with their data */
    const void *cancelled; /* for stk_rows_is_cancelled */
    uint32_t finals;       /* a bit per fixed column of out that no other op looks at: it is in
                                     * its batch already */
};

/* Memory until the end of this run, 64-byte aligned with 64 readable bytes behind; NULL when
 * there is none. */
STK_API void *stk_rows_alloc(struct stk_rows *rows, size_t bytes);

/* Marks a row bad. The message is the cause alone; op, file and element are added. */
STK_API void stk_rows_fail(struct stk_rows *rows, int row, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The i-th four random words of a row for an op with the user's seed: pure in all arguments. */
STK_API void stk_rows_random(const struct stk_rows *rows, int row, uint64_t user_seed,
                             uint32_t index, uint32_t words[4]);

/* True once nobody wants these rows any more: what takes long may leave the rest of them alone. */
STK_API bool stk_rows_is_cancelled(const struct stk_rows *rows);

struct stk_row_table {
    int (*thread_open)(const void *params, const void *state, void **thread, struct stk_error *err);
    void (*thread_close)(void *thread);
    int (*run)(struct stk_rows *rows); /* 0, or STK_MEMORY; everything else marks rows */
};

/* Order over indexed inputs: which positions of the input the output's positions are. */
struct stk_order_run {
    const void *params, *state;
    const int64_t *in_count;
    int n_inputs;
    uint64_t seed;   /* of the run, mixed with the op's ordinal */
    int rank, world; /* as in stk_infer */
};
struct stk_order_table {
    int (*count)(const struct stk_infer *inf, int64_t *out, struct stk_error *err);
    /* Rewrites n output positions (and their repetition paths) to input positions in place. Ops
     * with more inputs set input[i]; NULL table entry `at` with more inputs: every input at the
     * same position. */
    void (*at)(const struct stk_order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input);
};

/* A serial stage is a pump in the manner of zlib: step eats rows and fills `out` until one of
 * the two is exhausted and keeps its place; flush is called again until it says true. Rows may
 * have no columns at all (addresses only). A bad row is a row for ops that keep rows; ops that
 * combine rows pass it on. */
struct stk__pool; /* base: buffers that are used again */

struct stk_serial_begin {
    const void *params, *state;
    uint64_t seed; /* of the run, mixed with the op's ordinal */
    struct stk_chunk *(*chunk_new)(void *ctx,
                                   int cap); /* of the input's type, charged; NULL: no memory */
    void (*chunk_free)(void *ctx, struct stk_chunk *chunk);
    /* Ops that keep what they have seen: says that the run keeps so many bytes more, which in all
     * may be kept_bytes. */
    void (*charge)(void *ctx, size_t bytes);
    size_t kept_bytes;
    size_t held_rows; /* what the table's held_rows said, or all that may come if that is less */
    struct stk__pool *pool; /* buffers that count as the run's; NULL: it moves no data */
    void *ctx;              /* lives as long as the run */
    int rank, world;        /* of the run's options */
};
struct stk_serial_table {
    int (*begin)(const struct stk_serial_begin *begin, void **run, struct stk_error *err);
    void (*end)(void *run);
    void (*next_epoch)(void *run, uint64_t path); /* before the first row of every epoch */
    int (*step)(void *run, struct stk_chunk *in, int from, int n, struct stk_chunk *out);
    bool (*flush)(void *run, struct stk_chunk *out); /* may be NULL: nothing is held back */
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
struct stk_choices {
    const uint8_t *number; /* [n] */
    int64_t n;
    bool is_endless;         /* they come again and again */
    const int64_t *in_count; /* [n_inputs] */
    int n_inputs;
    bool counts_differ; /* between ranks */
};

/* Ops with several inputs that say from which of them the next row comes (sample_from). In a pass
 * `wanted` names an input, again and again the same until `take` got a row of it or `ended` was
 * told that it has none left; -1: the pass is over. With STK_OP_ADDRESSES it needs no data: over
 * indexed inputs it runs ahead of them and positions are all that it moves. */
struct stk_choice_table {
    int (*begin)(const struct stk_serial_begin *begin, void **run, struct stk_error *err);
    void (*end)(void *run);
    void (*next_epoch)(void *run, uint64_t path); /* before the first row of every epoch */
    int (*wanted)(void *run);
    /* True: the row is the next one of the output. False: it was only looked at, or `out`, which
     * has room for a row, got another one for it. Without data `in` and `out` are NULL. */
    bool (*take)(void *run, int input, const struct stk_chunk *in, int row, struct stk_chunk *out);
    void (*ended)(void *run, int input);
    /* Where the choices are whole numbers in a field of input 0, which counts the others from 0: the
     * field; how many of the numbers can matter if inputs are so long (below 0: any of them); and a
     * state for order.at, which then carries the op out over indexed inputs, or NULL for no. */
    int (*number_field)(const void *state);
    int64_t (*n_needed)(const void *params, int n_inputs, const int64_t *in_count);
    int (*tabulate)(const void *params, const struct stk_choices *choices, struct stk_arena *arena,
                    void **state, struct stk_error *err);
};

/* Where in a file something lies. */
struct stk_place {
    uint64_t offset, bytes;
    uint32_t file; /* among those of the source */
};

struct stk__data_files; /* io: files that are read at random */

/* What a pass over a stream is begun with. */
struct stk_source_begin {
    const void *params, *state;
    struct stk__pool *pool; /* buffers that count as the run's */
};

struct stk_source_table {
    int64_t (*count)(const void *state); /* indexed */
    /* Sources with both ways of reading: true if this one is a stream. */
    bool (*is_stream)(const void *state);
    /* Located sources: rows lie in files. The executor reads the places of a row (n_places of
     * them, the same number for all; 0: there is nothing to read) ahead, and hands the bytes to
     * `rows` as `fetched`; a span that is put out may point into them with their owner. */
    int (*n_places)(const void *state);
    void (*locate)(const void *state, int n, const uint64_t *index, struct stk_place *out);
    struct stk__data_files *(*files)(const void *state);
    /* Indexed sources with a row that has STK_TAKES_FIELD: the number of each file's first row, and
     * behind them the count of all. */
    const uint64_t *(*first_rows)(const void *state, size_t *n_files);
    /* Writes rows `index[0..n)` to the columns; fixed columns have memory, others have span
     * arrays whose bytes may belong to the state (owner NULL, valid while the dataset lives).
     * Marks rows through mask. */
    int (*rows)(struct stk_rows *rows, const uint64_t *index);
    /* stream: begin → next… → STK_END; rewind starts again. next appends rows to `out` and stops
     * when it is full; where it has searched for long it may return without a row, and is called
     * again. A return other than STK_OK and STK_END breaks the stream. */
    int (*begin)(const struct stk_source_begin *begin, void **run, struct stk_error *err);
    int (*rewind)(void *run, struct stk_error *err);
    int (*next)(void *run, struct stk_chunk *out, struct stk_error *err);
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

/* ---- the declaration ---- */

enum stk_op_flags {
    STK_OP_RANDOM = 1 << 0, /* draws random numbers: rows need keys */
    STK_OP_HEAVY = 1 << 1,  /* worth a ticket per row */
    STK_OP_FILTER = 1 << 2, /* may mark rows dead */
    STK_OP_ROOT = 1 << 3,   /* begins a chain; no receiver */
    STK_OP_FETCH = 1 << 4,  /* carried out by the executor's I/O: `read` */
    /* makes one element of many; carried out by the executor, which its state tells how */
    STK_OP_BATCH = 1 << 5,
    STK_OP_PREFETCH = 1 << 6, /* carried out by the executor */
    STK_OP_REPEAT = 1 << 7,   /* a new pass over its input; order table when indexed */
    /* more inputs than one: ALL at the same position (zip) or one after the other */
    STK_OP_MULTI = 1 << 8,
    /* serial, and works on addresses alone: keeps an indexed input addressed */
    STK_OP_ADDRESSES = 1 << 9,
    STK_OP_SHUFFLES = 1 << 10, /* another order in every pass */
    STK_OP_FORGIVES = 1 << 13, /* row: bad rows may end here, so nobody judges them before */
    STK_OP_BLOCKS = 1 << 12,   /* a source that may wait for something else than storage */
    /* serial: makes elements of each of its own; rows that were batches are none any more */
    STK_OP_EXPANDS = 1 << 16,
    STK_OP_GROUPS = 1 << 17, /* batch: not of one run of so many rows after the other */
    STK_OP_MERGES = 1 << 22, /* serial: makes few elements of many; bad ones pass beside them */
    STK_OP_STABLE = 1 << 11, /* needs an input whose order is always the same: split */
    /* opens its chain for each element of what comes before; carried out by the executor, which its
     * state, a stk__nesting, tells how */
    STK_OP_NESTS = 1 << 18,
    STK_OP_ELEMENT = 1 << 19, /* the element that such a chain is opened for */
    /* keeps rows; carried out by the executor, its state is a stk__cache */
    STK_OP_CACHE = 1 << 20,
    /* labels that it computes are of the same classes under the same numbers */
    STK_OP_KEEPS_CLASSES = 1 << 21,
};

/* Part of an image. */
struct stk_region {
    int32_t top, left, height, width;
};

/* Which part of its image ({ height, width }) a row wants; `rows` are those of the op that has this
 * function, of which it may read params, state, seed and key. Fails with the cause. */
typedef int (*stk_choose_fn)(const struct stk_rows *rows, int row, const int32_t size[2],
                             struct stk_region *out, struct stk_error *err);

/* How many times smaller a row makes its image ({ height, width }), along the side where it is less;
 * `rows` as above. */
typedef double (*stk_shrink_fn)(const struct stk_rows *rows, int row, const int32_t size[2]);

/* What a row op looks at of the images of one field, said so that another op can ask for it: the op
 * that makes them need not make the rest. */
struct stk_part {
    int field;
    stk_choose_fn choose;
    stk_shrink_fn shrink;       /* or NULL; the op takes images that are smaller already */
    const void *params, *state; /* of the op that says this, */
    const char *name;           /* which has this name */
    uint32_t ordinal;           /* and is the ordinal-th in the chain (set by the pass) */
    void *state_for_parts;      /* of that op if it gets such parts for images */
};

/* What a row op does to the values of one field and to nothing else, said so that the op before it
 * can do it to pixels as it writes them. */
enum stk_finish_kind {
    /* value * mul[c] + add[c], channels last, in float32 with a rounding after each of the two */
    STK_FINISH_AFFINE,
    STK_FINISH_CAST,   /* another dtype, as cast converts */
    STK_FINISH_CROP,   /* a part inside the image */
    STK_FINISH_FLIP,   /* mirrored, or by chance */
    STK_FINISH_PLANES, /* [height, width, channels] becomes [channels, height, width] */
};

struct stk_finish {
    enum stk_finish_kind kind;
    int field;
    int channels; /* affine; 1: the same for all */
    const float *mul, *add;
    int dtype;             /* cast */
    struct stk_part crop;  /* crop, which never fails */
    int64_t height, width; /* on images at least as large */
    bool flips_x, flips_y; /* flip */
    double probability;    /* drawn with the first random word of the row */
    uint64_t user_seed;    /* under this seed of the op, */
    uint32_t ordinal;      /* which is the ordinal-th in the chain (set by the pass) */
};

enum stk_mode { STK_MODE_EITHER, STK_MODE_ORDER, STK_MODE_SERIAL };

struct stk_op {
    struct stk_decl decl;
    uint32_t flags;
    /* Ops with both tables: order where the inputs are indexed, else serial; `mode` decides
     * otherwise. */
    enum stk_mode (*mode)(const void *params);
    /* Order ops that must look at one field of every row when the dataset is built (split by a
     * field): its name or NULL, and what to do with a hash of each row's value. */
    const char *(*scan_field)(const void *params);
    int (*scan)(const void *params, struct stk_arena *arena, const uint64_t *hash, int64_t n,
                void **state, struct stk_error *err);
    /* Ops that are two in one: the op that is put in before them, which gets their parameters of
     * the same names and types; a source where they begin a chain (STK_OP_ROOT). Else NULL. */
    const struct stk_op *begins_with;
    /* Ops that stand beside a source (enumerate): its name. It is put in as a second input, gets
     * the op's parameters of the same names and types, and is joined as zip joins; else NULL. */
    const char *beside;
    const char *exclusive; /* lock group of a library that admits one thread at a time, or NULL */
    int (*open)(const void *params, struct stk_arena *arena, void **state, struct stk_error *err);
    void (*close)(void *state);
    /* Bytes that what `open` made keeps outside of the arena: lists of files, indices, arrays.
     * NULL: nothing to speak of. */
    size_t (*held_bytes)(const void *opened);
    int (*infer)(struct stk_infer *inf, struct stk_error *err);
    /* Row ops that do such a thing say so (false: not with these parameters or types); row ops
     * that can do it too take it: a new state, or NULL if they cannot. */
    bool (*finish)(const void *params, const void *state, struct stk_finish *out);
    int (*take_finish)(const void *params, const void *state, struct stk_arena *arena,
                       const struct stk_finish *finish, void **new_state);
    /* Row ops that look at a part of each image say at which (choose NULL: at all of it), and how
     * much of its detail they keep; row ops that make images can make that alone: a new state, or
     * NULL if they cannot. */
    int (*part)(const void *params, const void *state, struct stk_arena *arena,
                struct stk_part *out);
    int (*take_part)(const void *params, const void *state, struct stk_arena *arena,
                     const struct stk_part *part, void **new_state);
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
    struct stk_order_table order;
    struct stk_serial_table serial;
    struct stk_choice_table choice;
    struct stk_source_table source;
    /* Row ops that have read what they replace, of the library itself: false if they fail whatever follows these
     * first bytes, and then get no more of a large file. */
    bool (*may_begin)(const void *params, const uint8_t *head, size_t n);
};

/* ---- plug-ins: row ops in a shared object of their own ----
 *
 *     #define STK_PLUGIN
 *     #include <stoker/op.h>
 *     …
 *     STK_PLUGIN_OPS(&threshold, &sharpen)
 *
 * stk_plugin_load (stoker.h) takes such a file. It is linked with nothing: what it calls of the
 * library is handed to it, so it works in every program that has the library inside. */

/* The functions above, for plug-ins. */
struct stk_host {
    size_t (*dtype_bytes)(int dtype);
    size_t (*field_bytes)(const struct stk_field *field);
    int (*type_find)(const struct stk_type *type, const char *name);
    void *(*arena_alloc)(struct stk_arena *arena, size_t bytes);
    char *(*arena_text)(struct stk_arena *arena, const char *text);
    int (*fail)(struct stk_error *err, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    void (*infer_pass)(struct stk_infer *inf);
    int (*infer_pick)(const struct stk_infer *inf, const char *name,
                      bool (*fits)(const struct stk_field *), const char *what,
                      struct stk_error *err);
    void *(*rows_alloc)(struct stk_rows *rows, size_t bytes);
    void (*rows_fail)(struct stk_rows *rows, int row, int code, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
    void (*rows_random)(const struct stk_rows *rows, int row, uint64_t user_seed, uint32_t index,
                        uint32_t words[4]);
    bool (*rows_is_cancelled)(const struct stk_rows *rows);
};

/* What a plug-in exports as `stk_plugin`. The sizes tell headers apart that have one version. */
struct stk_plugin {
    int abi; /* STK_OP_ABI */
    int n_ops;
    const struct stk_op *const *op;
    const struct stk_host **host; /* where to put it */
    size_t op_bytes, infer_bytes, rows_bytes;
};

#ifdef STK_PLUGIN
extern const struct stk_host *stk_host __attribute__((visibility("hidden")));
extern STK_API const struct stk_plugin stk_plugin;
#define STK_PLUGIN_OPS(...)                                                                        \
    const struct stk_host *stk_host;                                                               \
    static const struct stk_op *const stk_plugin_ops[] = { __VA_ARGS__ };                          \
    const struct stk_plugin stk_plugin = { STK_OP_ABI,                                             \
                                           sizeof stk_plugin_ops / sizeof *stk_plugin_ops,         \
                                           stk_plugin_ops,                                         \
                                           &stk_host,                                              \
                                           sizeof(struct stk_op),                                  \
                                           sizeof(struct stk_infer),                               \
                                           sizeof(struct stk_rows) };
#define stk_dtype_bytes stk_host->dtype_bytes
#define stk_field_bytes stk_host->field_bytes
#define stk_type_find stk_host->type_find
#define stk_arena_alloc stk_host->arena_alloc
#define stk_arena_text stk_host->arena_text
#define stk_fail stk_host->fail
#define stk_infer_pass stk_host->infer_pass
#define stk_infer_pick stk_host->infer_pick
#define stk_rows_alloc stk_host->rows_alloc
#define stk_rows_fail stk_host->rows_fail
#define stk_rows_random stk_host->rows_random
#define stk_rows_is_cancelled stk_host->rows_is_cancelled
#endif

#ifdef __cplusplus
}
#endif
#endif
