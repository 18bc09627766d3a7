/* SPDX-License-Identifier: Apache-2.0 */
/* op.h: what a plug-in may use to add row ops. It is a shared object, linked with nothing, that
 * stk_plugin_load takes: what it calls of the library is handed to it.
 *
 * An op's file holds a struct for its parameters, rows that describe them, infer, which states what
 * comes out, run, which makes it, and a struct stk_op of these: docs/plugins.md has one.
 *
 * Lifetimes:  params   filled by the parser, in the dataset's arena, constant
 *             state    made by open() when the dataset is built, constant, shared by all iterators
 *             thread   made by thread_open() per worker
 *
 * If infer accepted, running fails only on bad data, I/O or memory. Ops never print, exit or block,
 * and hold no random state. What is `inside`, and greater flags than these, are the library's own.
 */
#ifndef STOKER_OP_H
#define STOKER_OP_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif
enum { STK_OP_ABI = 2, STK_MAX_FIELDS = 32, STK_MAX_INPUTS = 16 };

struct stk_arena;  /* memory that lives as long as a dataset */
struct stk_buffer; /* ref-counted bytes */
struct stk__namespace;

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
};

enum stk_row_flags {
    STK_REQUIRED = 1 << 0,
    STK_TAKES_NONE = 1 << 1, /* the word none */
    STK_TAKES_AUTO = 1 << 2, /* the word auto */
    STK_VARIADIC = 1 << 3,   /* the last row that may be positional: takes all that are left */
    STK_TUNABLE = 1 << 4,    /* a knob: changes speed or memory, never what is delivered */
};

#define STK_NONE INT64_MIN
#define STK_AUTO (INT64_MIN + 1)
struct stk_numbers {
    const double *item;
    int n, choice; /* index into the row's choices, or -1 when numbers were given */
};
struct stk_texts {
    const char *const *item;
    int n;
    bool is_word; /* one, written without quotes */
};
struct stk_pairs {
    const char *const *name, *const *value;
    int n;
};

struct stk_param {
    const char *name, *help;
    const char *const *choices;         /* NULL-terminated labels: CHOICE, NUMBERS */
    const struct stk__namespace *calls; /* NULL in plug-ins */
    uint32_t offset;
    uint8_t type, flags;
    bool takes_classes; /* false in plug-ins */
    union {
        int64_t i;
        double r;
        const char *s;
    } def, lo, hi; /* bounds are inclusive: INT, REAL; of the number of items: NUMBERS, TEXTS */
};

/* A row over a member of another C type has no matching _Generic arm and does not compile. */
/* clang-format off */
#define STK_ROW(T, f, ctype, kind, fl, text, ...)                                                  \
    { .name = #f, .help = (text), .type = (kind), .flags = (fl), __VA_ARGS__,                      \
      .offset = (uint32_t)(offsetof(struct T, f) +                                                 \
                           0 * sizeof(_Generic(((struct T *)0)->f, ctype : 1))) }
#define STK_INT_ROW(T, f, d, l, h, fl, text)                                                       \
    STK_ROW(T, f, int64_t, STK_ROW_INT, fl, text, .def.i = (d), .lo.i = (l), .hi.i = (h))
#define STK_REAL_ROW(T, f, d, l, h, fl, text)                                                      \
    STK_ROW(T, f, double, STK_ROW_REAL, fl, text, .def.r = (d), .lo.r = (l), .hi.r = (h))
#define STK_BOOL_ROW(T, f, d, fl, text)                                                            \
    STK_ROW(T, f, bool, STK_ROW_BOOL, fl, text, .def.i = (d))
#define STK_TEXT_ROW(T, f, d, fl, text)                                                            \
    STK_ROW(T, f, const char *, STK_ROW_TEXT, fl, text, .def.s = (d))
#define STK_CHOICE_ROW(T, f, list, d, fl, text)                                                    \
    STK_ROW(T, f, int, STK_ROW_CHOICE, fl, text, .choices = (list), .def.i = (d))
#define STK_NUMBERS_ROW(T, f, list, l, h, fl, text)                                                \
    STK_ROW(T, f, struct stk_numbers, STK_ROW_NUMBERS, fl, text, .choices = (list),                \
            .lo.i = (l), .hi.i = (h))
#define STK_TEXTS_ROW(T, f, l, h, fl, text)                                                        \
    STK_ROW(T, f, struct stk_texts, STK_ROW_TEXTS, fl, text, .lo.i = (l), .hi.i = (h))
#define STK_PAIRS_ROW(T, f, fl, text)                                                              \
    STK_ROW(T, f, struct stk_pairs, STK_ROW_PAIRS, fl, text, .choices = NULL)
#define STK_ROWS_END { .name = NULL }
/* clang-format on */

/* What can be called in a chain. */
struct stk_decl {
    const char *name;
    int version;                    /* rises when the same call starts to yield different data */
    const char *summary, *doc;      /* one sentence; paragraphs with at least one `example` line */
    const struct stk_param *params; /* ends with a NULL name */
    size_t params_size;
};

/* ---- types and data ---- */
enum stk_field_flags {
    STK_FIELD_PATH = 1 << 0,   /* bytes that name a file */
    STK_FIELD_TEXT = 1 << 1,   /* bytes that are text */
    STK_FIELD_PACKED = 1 << 2, /* many in one: texts or lists of a batch, or a list of texts */
    STK_FIELD_255 = 1 << 3,    /* floats from 0 to 255; ops that write other values clear it */
    STK_FIELD_LISTS = 1 << 4,  /* packed, and each of the many is a list again */
};

struct stk_field {
    const char *name;
    /* bytes: dtype u8, rank 0; lists of texts of one length have rank 1 and shape[0] (-1: in each
     * batch), arrays of texts their rank and shape. ragged: those of one list, shape[0] = -1 */
    uint8_t kind, dtype, rank, flags;
    int64_t shape[STK_MAX_RANK]; /* -1: differs between rows (shaped, ragged) */
};

struct stk_type {
    int n_fields;
    struct stk_field field[STK_MAX_FIELDS];
};

/* Bytes of one row of a fixed field; the index of a field by name, or -1. */
STK_API size_t stk_field_bytes(const struct stk_field *field);
STK_API int stk_type_find(const struct stk_type *type, const char *name);

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

enum { STK_LIVE = 0, STK_DEAD = 1, STK_BAD = 2 }; /* values of a mask */

/* ---- inference ---- */
struct stk_infer {
    const void *params;
    int n_inputs;
    const struct stk_type *in[STK_MAX_INPUTS];
    int64_t in_count[STK_MAX_INPUTS]; /* elements, STK_INFINITE_COUNT, STK_UNKNOWN_COUNT */
    /* to fill in: */
    struct stk_type *out;
    int from[STK_MAX_FIELDS]; /* out field f is this one of the input, untouched; -1: written */
    int64_t count;            /* preset to that of the input; ops that mark rows dead: unknown */
    uint32_t reads;           /* the fields of the input it looks at, a bit each; preset to all */
    bool never_fails;         /* no row can become bad here */
    bool is_optional;         /* rows become bad only for what is in the fields it makes */
    size_t scratch_bytes;     /* estimate per row, for the budget */
    void *state;              /* what open made; infer may make or replace it (from the arena) */
    struct stk_arena *arena;  /* the dataset's: for names and shapes that must outlive infer */
    struct stk__infer_inside *inside;
};

STK_API void *stk_arena_alloc(struct stk_arena *arena, size_t bytes); /* NULL when out of memory */
STK_API char *stk_arena_text(struct stk_arena *arena, const char *text);

/* Writes a message and returns code. The caller of infer and open adds op name and place. */
STK_API int stk_fail(struct stk_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies in[0] to out, every field untouched. */
STK_API void stk_infer_pass(struct stk_infer *inf);

/* The field an op works on: `name` if given, else the only one `fits` accepts (-1 and a message
 * that lists the candidates when there is none or more than one). */
STK_API int stk_infer_pick(const struct stk_infer *inf, const char *name,
                           bool (*fits)(const struct stk_field *field), const char *what,
                           struct stk_error *err);

/* Has `read` put in before the op, for a field with paths: return its code, infer is asked again. */
STK_API int stk_infer_read(struct stk_infer *inf, int field, struct stk_error *err);

/* ---- running ---- */
/* One run over n rows. Rows whose mask is not STK_LIVE are left alone. */
struct stk_rows {
    const void *params, *state;
    void *thread;
    const struct stk_type *in_type, *out_type;
    int n;
    const struct stk_column *in; /* all fields of the input */
    /* [out_type->n_fields]; only those with from[f] < 0 are to be written. Fixed columns have memory;
     * others have span and dims, their bytes come from stk_rows_alloc or stay in the input's span. */
    struct stk_column *out;
    uint8_t *mask;
    int n_warned; /* for the op to set: rows it made although something is wrong with their data */
    struct stk__rows_inside *inside;
};

/* Memory until the end of this run, aligned to 64 bytes with 64 readable ones behind, or NULL. */
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

/* ---- the declaration ---- */
enum stk_op_flags {
    STK_OP_RANDOM = 1 << 0, /* draws random numbers */
    STK_OP_HEAVY = 1 << 1,  /* takes long: rows are handed out one by one */
    STK_OP_FILTER = 1 << 2, /* may mark rows dead */
};

struct stk_op {
    struct stk_decl decl;
    uint32_t flags;
    const char *exclusive; /* lock group of a library that admits one thread at a time, or NULL */
    int (*open)(const void *params, struct stk_arena *arena, void **state, struct stk_error *err);
    void (*close)(void *state);
    size_t (*held_bytes)(const void *opened); /* of open, outside of the arena, or NULL */
    int (*infer)(struct stk_infer *inf, struct stk_error *err);
    struct stk_row_table row;
};

/* clang-format off */
/* ---- plug-ins ---- */
/* The functions above, as they are handed to plug-ins. */
#define STK_HOST_FUNCTIONS(X)                                                                      \
    X(dtype_bytes, ) X(field_bytes, ) X(type_find, ) X(arena_alloc, ) X(arena_text, )              \
    X(fail, __attribute__((format(printf, 3, 4)))) X(infer_pass, ) X(infer_pick, ) X(infer_read, )                 \
    X(rows_alloc, ) X(rows_fail, __attribute__((format(printf, 4, 5)))) X(rows_random, )           \
    X(rows_is_cancelled, )
#define STK_HOST_MEMBER(name, attribute) __typeof__(stk_##name) *name attribute;
struct stk_host {
    STK_HOST_FUNCTIONS(STK_HOST_MEMBER)
};

/* What a plug-in exports as `stk_plugin`. The sizes tell headers apart that have one version. */
struct stk_plugin {
    int abi, n_ops; /* STK_OP_ABI */
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
    const struct stk_plugin stk_plugin = {                                                         \
        STK_OP_ABI, sizeof stk_plugin_ops / sizeof *stk_plugin_ops, stk_plugin_ops, &stk_host,     \
        sizeof(struct stk_op), sizeof(struct stk_infer), sizeof(struct stk_rows),                  \
    };
#define stk_dtype_bytes stk_host->dtype_bytes
#define stk_field_bytes stk_host->field_bytes
#define stk_type_find stk_host->type_find
#define stk_arena_alloc stk_host->arena_alloc
#define stk_arena_text stk_host->arena_text
#define stk_fail stk_host->fail
#define stk_infer_pass stk_host->infer_pass
#define stk_infer_pick stk_host->infer_pick
#define stk_infer_read stk_host->infer_read
#define stk_rows_alloc stk_host->rows_alloc
#define stk_rows_fail stk_host->rows_fail
#define stk_rows_random stk_host->rows_random
#define stk_rows_is_cancelled stk_host->rows_is_cancelled
#endif
#ifdef __cplusplus
}
#endif
#endif
