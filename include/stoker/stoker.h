/* SPDX-License-Identifier: Apache-2.0 */
/* stoker.h: the public interface. Text in, batches out.
 *
 *     struct stk_error err;
 *     struct stk_dataset *data;
 *     struct stk_iterator *it;
 *     struct stk_batch *batch;
 *     if (stk_dataset_new("image_folder('train').decode().resize(224, 224).batch(32)", NULL, &data,
 *                         &err))
 *         return report(&err);
 *     stk_iterator_new(data, NULL, &it, &err);
 *     while (stk_iterator_next(it, &batch, &err) == STK_OK) {
 *         struct stk_view image;
 *         stk_batch_view(batch, "image", &image, &err);
 *         train(image.data, image.shape);
 *         stk_batch_unref(batch);
 *     }
 *     stk_iterator_free(it);
 *     stk_dataset_unref(data);
 *
 * Functions return 0 (STK_OK) or a code of the list below and write the reason into the caller's
 * `stk_error`, which may be NULL. Ownership is said in three words: *takes* (the callee frees it
 * later), *borrows* (only for the call), *returns new* (the caller frees it). Handles are
 * opaque. A dataset is immutable and may be used from any thread; an iterator has one consumer
 * at a time, but stk_iterator_cancel may come from anywhere; batches may be released on any
 * thread.
 */
#ifndef STOKER_STOKER_H
#define STOKER_STOKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined _WIN32
#define STK_API
#else
#define STK_API __attribute__((visibility("default")))
#endif

/* Every result code, with the name people see. */
#define STK_STATUS_LIST(X)                                                                         \
    X(OK, "ok")                                                                                    \
    X(END, "end of data")                                                                          \
    X(SYNTAX, "syntax error")                                                                      \
    X(NAME, "unknown name")                                                                        \
    X(TYPE, "type mismatch")                                                                       \
    X(VALUE, "bad value")                                                                          \
    X(IO, "input/output error")                                                                    \
    X(DATA, "bad data")                                                                            \
    X(MEMORY, "out of memory")                                                                     \
    X(BUDGET, "memory budget too small")                                                           \
    X(CANCELLED, "cancelled")                                                                      \
    X(STATE, "wrong state")                                                                        \
    X(AGAIN, "not ready yet")

enum stk_status {
#define STK_STATUS_ENUM(name, text) STK_##name,
    STK_STATUS_LIST(STK_STATUS_ENUM)
#undef STK_STATUS_ENUM
};

enum { STK_ERROR_TEXT = 512, STK_MAX_RANK = 8 };

/* What went wrong. `at` and `len` are the place in the chain's text, in bytes; len is 0 if there
 * is none. */
struct stk_error {
    int code;
    uint32_t at, len;
    char text[STK_ERROR_TEXT];
};

/* Name, bytes per value, and what kind of number it is: bool, unsigned, signed, float. */
#define STK_DTYPE_LIST(X)                                                                          \
    X(BOOL, "bool", 1, 'b')                                                                        \
    X(U8, "uint8", 1, 'u')                                                                         \
    X(I8, "int8", 1, 'i')                                                                          \
    X(U16, "uint16", 2, 'u')                                                                       \
    X(I16, "int16", 2, 'i')                                                                        \
    X(U32, "uint32", 4, 'u')                                                                       \
    X(I32, "int32", 4, 'i')                                                                        \
    X(U64, "uint64", 8, 'u')                                                                       \
    X(I64, "int64", 8, 'i')                                                                        \
    X(F16, "float16", 2, 'f')                                                                      \
    X(BF16, "bfloat16", 2, 'f')                                                                    \
    X(F32, "float32", 4, 'f')                                                                      \
    X(F64, "float64", 8, 'f')

enum stk_dtype {
#define STK_DTYPE_ENUM(name, text, bytes, kind) STK_##name,
    STK_DTYPE_LIST(STK_DTYPE_ENUM)
#undef STK_DTYPE_ENUM
        STK_N_DTYPES
};

/* How the values of one field lie. */
enum stk_kind {
    STK_FIXED,  /* every element has the same shape */
    STK_SHAPED, /* the rank is known, some dimensions differ between elements */
    STK_BYTES,  /* a string of bytes per element */
    STK_RAGGED, /* a list per element; lists differ in length */
};

/* Where bytes live. Everything today is one of the first three; a device path adds kinds, not
 * functions. */
enum stk_memory { STK_HEAP, STK_MAPPED, STK_FOREIGN, STK_MEMFD, STK_PINNED, STK_DEVICE };

enum { STK_UNKNOWN_COUNT = -2, STK_INFINITE_COUNT = -1 };

struct stk_dataset;
struct stk_iterator;
struct stk_batch;
struct stk_options;
struct stk_objects;

/* ---- version and machine ---- */

/* "0.1.0". */
STK_API const char *stk_version(void);

/* The text of a result code, e.g. "bad data". */
STK_API const char *stk_status_text(int code);

/* "float32", or NULL for a number that is no dtype. */
STK_API const char *stk_dtype_name(int dtype);

/* Bytes of one value. */
STK_API size_t stk_dtype_bytes(int dtype);

/* Limits the kernels to an instruction set: "scalar", "avx2", "avx512" or "auto". Process-wide;
 * call it before the first iterator. Asking for more than the machine has is an error. */
STK_API int stk_cpu_limit(const char *level, struct stk_error *err);

/* What this machine offers and what is used, as JSON. Returns new; free with stk_text_free. */
STK_API char *stk_devices_json(void);

/* Every declared op with parameters, defaults, bounds and texts, as JSON. Returns new. */
STK_API char *stk_ops_json(void);

STK_API void stk_text_free(char *text);

/* ---- options ---- */

/* Run options, as name and text: workers, window, io_depth, memory, seed, epoch, epochs, on_error,
 * max_errors, rank, world, trace. docs/options.md is generated from the same list. Returns new. */
STK_API struct stk_options *stk_options_new(void);
STK_API int stk_options_set(struct stk_options *options, const char *name, const char *value,
                            struct stk_error *err);
STK_API void stk_options_free(struct stk_options *options);

/* ---- objects without text: arrays, streams and functions that a chain names as @name ---- */

STK_API struct stk_objects *stk_objects_new(void);

/* Binds @name to memory of the caller: `n` elements of `shape` and `dtype`, row-major, which
 * must stay valid until `release(context)` is called (release may be NULL). Borrows name. */
struct stk_array {
    const void *data;
    int dtype, rank; /* rank counts the leading dimension */
    int64_t shape[STK_MAX_RANK];
    void (*release)(void *context);
    void *context;
    /* STK_FIXED; or STK_BYTES (of uint8, rank 1) and STK_RAGGED: element i is then values splits[i]
     * up to splits[i + 1] of data, and the shape behind the leading dimension is that of a value. */
    int kind;
    const int64_t *splits;
};
STK_API int stk_objects_add_array(struct stk_objects *objects, const char *name,
                                  const struct stk_array *array, struct stk_error *err);

/* One field of one element. Shape counts for fields whose dimensions differ between elements:
 * all of them for a shaped field, the length first for a ragged one. */
struct stk_cell {
    const void *data;
    size_t bytes;
    int64_t shape[STK_MAX_RANK];
    /* of lists of texts (STK_BYTES of rank 1): text i is from splits[i] to splits[i + 1] of data;
     * shape[0] is how many there are */
    const int64_t *splits;
};

/* Elements that the caller makes, one after the other: the chain generator(@name) reads them.
 * Every pass over the data is one open … close. Calls come from worker threads, one at a time
 * within a pass; passes of two iterators may overlap. */
struct stk_stream {
    int n_fields;
    const struct stk_field_info *field; /* copied, names too */
    int (*open)(void *context, void **pass, struct stk_error *err);
    /* Fills in one cell per field, valid until the next call. STK_OK; STK_END; or another code
     * and a message, which breaks the stream and so ends the run. */
    int (*next)(void *pass, struct stk_cell *cell, struct stk_error *err);
    void (*close)(void *pass);
    void (*release)(void *context); /* when nobody can call any more; may be NULL */
    void *context;
};
STK_API int stk_objects_add_stream(struct stk_objects *objects, const char *name,
                                   const struct stk_stream *stream, struct stk_error *err);

/* A function of the caller: map_function(@name) makes elements with it, filter_function(@name) asks
 * it which to keep. Elements come in runs: enter, a call for each, leave, all of them on one worker
 * thread. Runs may overlap. Behind batch an element is a batch. */
struct stk_function {
    int n_fields;                       /* of what it makes; 0: it is a condition */
    const struct stk_field_info *field; /* copied, names too */
    /* What the elements of this run have is valid until leave. May be NULL, as may be leave: *run is
     * then the context. */
    int (*enter)(void *context, int n_fields, const struct stk_field_info *field, void **run,
                 struct stk_error *err);
    /* One element: a cell per field of it; fills in one per field of the result, valid until the
     * next call. STK_OK; STK_END, by which a condition drops the element; or another code and a
     * message: the element is bad. STK_STATE and STK_MEMORY end the run of the chain. */
    int (*call)(void *run, const struct stk_cell *in, struct stk_cell *out, struct stk_error *err);
    void (*leave)(void *run);
    void (*release)(void *context); /* when nobody can call any more; may be NULL */
    void *context;
    /* A call is much work, or waits for somebody else to do it: elements are handed to workers one
     * by one, and calls overlap. */
    bool is_heavy;
    /* Calls that wait for others at a time, at most; 0: they compute. There are as many workers,
     * where their number is auto. */
    int n_waiting;
    /* For a function that draws random numbers, else NULL: comes before each call with words that are
     * the element's own. They differ between epochs and seeds, and are the same for any number of
     * workers, shards and wherever a run was resumed. */
    void (*seed)(void *run, const uint32_t word[8]);
    /* It counts as a random op: what it makes of an element differs from epoch to epoch, so that
     * cache(auto) comes before it. */
    bool is_random;
    /* What messages call the op, where programs write it in another way: "map". A literal, or NULL
     * for the op's own name. */
    const char *said;
};
STK_API int stk_objects_add_function(struct stk_objects *objects, const char *name,
                                     const struct stk_function *function, struct stk_error *err);
STK_API void stk_objects_free(struct stk_objects *objects);

/* ---- datasets ---- */

/* Parses and checks a chain (or a recipe whose last line is one). `objects` may be NULL; borrows
 * it, but keeps what it uses. Returns new. */
STK_API int stk_dataset_new(const char *text, const struct stk_objects *objects,
                            struct stk_dataset **out, struct stk_error *err);
STK_API struct stk_dataset *stk_dataset_ref(struct stk_dataset *dataset);
STK_API void stk_dataset_unref(struct stk_dataset *dataset);

/* A new dataset with calls appended: stk_dataset_then(d, "shuffle().batch(32)", NULL, …). It
 * shares what the first one has opened: files are not looked for again. `objects` are those that
 * the new calls name, or NULL. Returns new. */
STK_API int stk_dataset_then(struct stk_dataset *dataset, const char *calls,
                             const struct stk_objects *objects, struct stk_dataset **out,
                             struct stk_error *err);

/* The chain as text: short, or canonical (every parameter and op version). Returns new. */
STK_API char *stk_dataset_text(const struct stk_dataset *dataset, bool canonical);

/* Elements in one epoch, STK_INFINITE_COUNT or STK_UNKNOWN_COUNT. */
STK_API int64_t stk_dataset_count(const struct stk_dataset *dataset);

/* One field of what iterating yields. A dimension of -1 differs between elements or batches. */
struct stk_field_info {
    const char *name; /* borrowed from the dataset */
    int kind, dtype, rank;
    int64_t shape[STK_MAX_RANK];
};
STK_API int stk_dataset_n_fields(const struct stk_dataset *dataset);
STK_API int stk_dataset_field(const struct stk_dataset *dataset, int index,
                              struct stk_field_info *out);

/* Names of the values of an integer field, e.g. the class names of image_folder: the i-th name,
 * or NULL when there is none. Borrowed from the dataset. */
STK_API const char *stk_dataset_class_name(const struct stk_dataset *dataset, const char *field,
                                           int64_t value);

/* Element (or batch, if the chain ends in one) number `index` of the options' first epoch, as
 * iterating would deliver it. For chains whose elements can be made from their positions; others
 * get an error that says why. Returns new. */
STK_API int stk_dataset_at(struct stk_dataset *dataset, const struct stk_options *options,
                           int64_t index, struct stk_batch **out, struct stk_error *err);

/* What was made of the chain before it runs, and why: a line with the chain as it will run, then one
 * for each rewrite, and one for each that would have helped but was not possible. Returns new, NULL
 * when out of memory. */
STK_API char *stk_dataset_explain(const struct stk_dataset *dataset);

/* How the chain will run with these options (NULL: defaults): a tree for people or JSON, which has
 * the rewrites too. Returns new. */
STK_API int stk_dataset_plan(const struct stk_dataset *dataset, const struct stk_options *options,
                             bool json, char **out, struct stk_error *err);

/* ---- iterators ---- */

/* Starts reading. Borrows options, keeps the dataset alive. Returns new. */
STK_API int stk_iterator_new(struct stk_dataset *dataset, const struct stk_options *options,
                             struct stk_iterator **out, struct stk_error *err);

/* The next batch (or element, if the chain has no batch), in order. STK_END after the last one,
 * for ever; an error likewise. Returns new; release it with stk_batch_unref. */
STK_API int stk_iterator_next(struct stk_iterator *it, struct stk_batch **out,
                              struct stk_error *err);

/* The same, but gives up with STK_AGAIN when nothing is ready after that many milliseconds: for
 * callers that must look after something else (signals) while they wait. Negative: waits for
 * ever. */
STK_API int stk_iterator_poll(struct stk_iterator *it, int64_t milliseconds, struct stk_batch **out,
                              struct stk_error *err);

/* Gives back the batch that next or poll last returned, untouched: it comes again with the next call,
 * and a state taken meanwhile is that before it. For callers that are interrupted when they have
 * it. Takes the batch if it succeeds. */
STK_API int stk_iterator_unread(struct stk_iterator *it, struct stk_batch *batch,
                                struct stk_error *err);

/* Makes a blocked and every later next return STK_CANCELLED. Any thread. */
STK_API void stk_iterator_cancel(struct stk_iterator *it);

/* Stops the workers and frees; batches that are still held stay valid. */
STK_API void stk_iterator_free(struct stk_iterator *it);

struct stk_stats {
    uint64_t elements, batches, epochs; /* delivered so far */
    uint64_t errors;                    /* rows judged bad so far */
    uint64_t bytes_read;                /* by I/O requests */
    uint64_t tickets, direct_tickets;
    uint64_t budget_bytes, used_bytes, peak_bytes;
    int workers;
    uint64_t cache_hits, cache_misses; /* rows that caches had, or had not */
    /* what they keep, of this dataset and those it is built on; bytes in memory, or on disk */
    uint64_t cache_rows, cache_bytes, cache_disk_bytes;
    char cache_trouble[160];    /* why no more is written to disk, or empty */
    uint64_t cache_limit_bytes; /* of the budget that they may take */
    bool is_cache_full;         /* there was no room for what last came to one */
    uint64_t
        warnings; /* rows made although something is wrong with their data, as in libjpeg's warnings */
};
STK_API void stk_iterator_stats(struct stk_iterator *it, struct stk_stats *out);

/* The i-th error that was skipped or replaced, oldest first; the last 64 are kept. */
STK_API int stk_iterator_error(struct stk_iterator *it, uint64_t index, struct stk_error *out);

/* ---- batches ---- */

STK_API struct stk_batch *stk_batch_ref(struct stk_batch *batch);
STK_API void stk_batch_unref(struct stk_batch *batch);

/* Rows in this batch; 1 for an element of a chain without batch. */
STK_API int64_t stk_batch_n_rows(const struct stk_batch *batch);
STK_API int stk_batch_n_fields(const struct stk_batch *batch);

/* A field as memory, valid while the batch is held. Strides are in bytes. For bytes and ragged
 * fields `splits` has n + 1 offsets into data (bytes) or into its first dimension (ragged
 * values), and shape is that of the values. */
struct stk_view {
    const char *name;
    int kind, dtype, rank, memory;
    int64_t shape[STK_MAX_RANK], strides[STK_MAX_RANK];
    void *data;
    const int64_t *splits;
    int64_t n_splits;
    /* Where rows are lists of texts, or of lists: row i has entries row_splits[i] up to
     * row_splits[i + 1], and each of them is what splits say. NULL: every entry is a row. */
    const int64_t *row_splits;
    int64_t n_row_splits;
    int64_t row_length; /* entries of every row of texts where that is always the same, else -1 */
    /* Arrays of texts: the shape of one of them, whose texts lie one behind the other; else 0 */
    int row_rank;
    int64_t row_shape[STK_MAX_RANK];
};
STK_API int stk_batch_view(const struct stk_batch *batch, const char *field, struct stk_view *out,
                           struct stk_error *err);
STK_API int stk_batch_view_at(const struct stk_batch *batch, int index, struct stk_view *out);

/* Where a row came from, for people: "train/cat/7.jpg" or "words.txt, line 12". Returns new. */
STK_API char *stk_batch_origin(const struct stk_batch *batch, int64_t row);

/* The place in the data at which this batch ends, in numbers. */
struct stk_position {
    uint64_t epoch;  /* of the iterator */
    uint64_t batch;  /* ordinal of this batch in the epoch */
    uint64_t rows;   /* rows judged in the epoch up to the end of this batch, bad ones too */
    uint64_t errors; /* bad rows since the iterator began */
    uint64_t hash;   /* of the canonical chain and the seed */
};
STK_API void stk_batch_position(const struct stk_batch *batch, struct stk_position *out);

/* A DLPack tensor (a DLManagedTensor of dlpack.h) over a fixed field, holding its own reference
 * to the batch. Returns new: its deleter frees it. */
STK_API int stk_batch_dlpack(struct stk_batch *batch, const char *field, void **out,
                             struct stk_error *err);

#ifdef __cplusplus
}
#endif

#include <stoker/checkpoint.h>
#include <stoker/memory.h>
#include <stoker/metrics.h>
#include <stoker/profile.h>
#include <stoker/tools.h>
#include <stoker/train.h>
#include <stoker/tuning.h>
#endif
