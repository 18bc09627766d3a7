/* SPDX-License-Identifier: Apache-2.0 */
/* tools.h: plug-ins; storing data, looking into it and summing it up. Part of stoker.h. */
#ifndef STOKER_TOOLS_H
#define STOKER_TOOLS_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- plug-ins ---- */

/* Adds the ops of a plug-in (op.h says what that is) for the life of the process: chains may call
 * them from then on, and stk_ops_json lists them. Nothing is added if something is wrong with one
 * of them. Loading a file again does nothing. Any thread. */
STK_API int stk_plugin_load(const char *path, struct stk_error *err);

/* Tries an op on the examples of its text: each runs, gives the same with one thread and with
 * several, and every parameter is set to its bounds in turn, which must work or be refused. *out
 * says what was done, or what went wrong where the result is not STK_OK. Returns new, freed with
 * stk_text_free. */
STK_API int stk_op_check(const char *name, char **out, struct stk_error *err);

/* ---- ending ---- */

/* For a program that is about to end: cancels all runs of the process, those inside of other calls
 * (stk_pack, stk_dataset_statistics) and later ones too. A large picture is not decoded to its end.
 * Any thread, but no signal handler. */
STK_API void stk_cancel_all(void);

/* ---- packing ---- */

struct stk_pack_progress {
    uint64_t elements, bytes; /* written so far, by this call */
    uint64_t errors;          /* bad elements that were left out or replaced */
    int64_t total;            /* elements that this call will write, or STK_UNKNOWN_COUNT */
    int64_t shards, shards_done;
};

/* How a dataset is stored; docs/packing.md explains each of them. Members that are 0 or NULL have
 * their default, except `out` and `shards`. */
struct stk_pack_options {
    const char *out;         /* names of the files: "train-{shard:05d}-of-{shards:05d}.tfrecord" */
    int64_t shards;          /* how many files */
    const char *format;      /* "tfrecord" or "tar"; default: as `out` ends, else tfrecord */
    const char *compression; /* "none", "gzip", "zlib"; NULL: as the files are named */
    int64_t variants;        /* 0: one pass over the data; k: k passes, as if they were k epochs */
    bool keep_original;      /* before them a pass without the random ops */
    bool force; /* replaces another pack: files it lists go when this one is complete */
    /* Called by the caller's thread some times a second; true: stop, with STK_CANCELLED. */
    bool (*progress)(void *context, const struct stk_pack_progress *progress);
    void *context;
};

struct stk_pack_result {
    uint64_t elements, bytes; /* in all files */
    uint64_t errors;          /* bad elements of this call */
    int64_t written, kept;    /* files: made by this call, and found complete */
    char *manifest;           /* its name. New: free with stk_text_free */
};

/* Stores every element of a dataset in record files that other programs read, and beside them a
 * manifest: one JSON file with the chain, the fields, and count and checksum of each file. A file
 * gets its name when it is complete, the manifest comes last. A directory that is missing is made,
 * if the one above it is there. A call that was ended in any way can be made again: it keeps the
 * files that are complete. Their bytes depend on the dataset and these options, never on threads.
 * Borrows everything. */
STK_API int stk_pack(struct stk_dataset *dataset, const struct stk_options *options,
                     const struct stk_pack_options *pack, struct stk_pack_result *out,
                     struct stk_error *err);

/* ---- files ---- */

/* What is in a file or a directory, told from its content: format, counts, sizes, fields with their
 * first values, and the chain that reads it; tables for people, or JSON (docs/inspect.md). Of large
 * files only the beginning is looked at, and the result says so. STK_DATA for what stoker cannot
 * read. Returns new; free with stk_text_free. */
STK_API int stk_inspect(const char *path, bool json, char **out, struct stk_error *err);

/* ---- statistics ---- */

struct stk_statistics_options {
    int64_t batches; /* looks at so many only; 0: at all */
    /* Called by the caller's thread some times a second; true: stop, with STK_CANCELLED. May be
     * NULL. */
    bool (*progress)(void *context, uint64_t elements, uint64_t batches);
    void *context;
};

struct stk_statistics {
    uint64_t elements, batches;
    uint64_t errors;   /* bad elements that were left out or replaced */
    char *text, *json; /* tables for people, and the same as JSON. New: stk_text_free both */
};

/* Goes over a dataset and says what there is in its fields: range, mean and deviation of each
 * channel, missing values, histograms, classes with weights, the most frequent texts, lengths of
 * texts and lists; docs/stats.md explains them. The result does not depend on the number of
 * workers. `wanted` may be NULL. */
STK_API int stk_dataset_statistics(struct stk_dataset *dataset, const struct stk_options *options,
                                   const struct stk_statistics_options *wanted,
                                   struct stk_statistics *out, struct stk_error *err);

#ifdef __cplusplus
}
#endif
#endif
