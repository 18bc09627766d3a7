/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: storing a dataset: what the files of packing share.
 *
 *     pack_plan.c      what will be stored, and under which names
 *     pack_manifest.c  what has been stored: the manifest, and the same while it is being made
 *     pack_replaced.c  files of an earlier pack that force gives up, removed at the end
 *     pack_writer.c    threads that compress blocks and write files
 *     pack.c           from the iterator to the writer
 *
 * WHAT SURVIVES A CRASH. A shard is written to a temporary file and synced; then its line goes to the
 * journal, which is synced; then it gets its name. So a file under a final name that the journal does
 * not list is somebody else's, and a line whose file is not there (or has other bytes) is void. When
 * all shards are there the manifest is written, whole or not at all, and the journal removed.
 *
 * WHO GETS WHICH ELEMENT. Elements have numbers: those of the first pass, then those of the second, in
 * the order of the chain, bad ones counted. If their number is known, shard s of n gets the s-th of n
 * equal ranges, and a rerun makes only the ranges that are missing. Else element i goes to shard i mod
 * n.
 */
#pragma once
#include "api/api.h"
#include "codec/record/deflate.h"
#include "codec/record/record_out.h"
#include "graph/graph.h"
#include "io/file_out.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- the plan ---- */

/* One run over the data. */
struct stk__pack_pass {
    struct stk_dataset *dataset; /* owned */
    int64_t epoch, variant;
    uint64_t first; /* number of its first element */
    int64_t count;  /* or STK_UNKNOWN_COUNT */
};

struct stk__pack_shard {
    char *path;          /* owned */
    uint64_t first, end; /* the range of elements, if they are divided by ranges */
    bool is_done;        /* complete under its name; the writer's while it runs */
    uint64_t n_elements, bytes;
    uint32_t crc;
    /* the caller's thread */
    struct stk__pack_block *block; /* being filled */
    uint64_t n_submitted;          /* blocks */
    /* the writer's threads: whoever has block n_written */
    uint64_t n_written; /* guarded by the writer's lock */
    struct stk__file_out file;
    struct stk__deflate_sum sum;
};

struct stk__pack {
    const struct stk_pack_options *wanted; /* borrowed */
    struct stk__options options;
    const struct stk__record_format *format;
    enum stk__stream_form form;
    struct stk_arena arena; /* the names in type and layout */
    struct stk_type type;   /* of an element, as it is stored */
    struct stk__record_layout layout;
    bool is_batched;  /* the chain delivers batches, which are taken apart */
    bool has_variant; /* the last field is the pass */
    bool is_ranged;   /* elements are divided by ranges */
    bool is_bound;    /* the chain names objects of the caller: nobody knows if they are the same */
    struct stk__pack_pass *pass;
    int n_passes;
    uint64_t n_elements; /* of all passes, if ranged */
    struct stk__pack_shard *shard;
    int64_t n_shards;
    size_t block_bytes;
    char *head; /* of the manifest */
    char *manifest_path, *journal_path;
    int journal; /* descriptor, locked; -1: none */
};

/* Checks everything that can be checked before reading. stk__pack_free is due either way. */
int stk__pack_plan(struct stk__pack *pack, struct stk_dataset *dataset, struct stk_error *err);
void stk__pack_free(struct stk__pack *pack);

/* The name of a shard from a template; the first fault of the template if there is one. */
int stk__pack_name(const char *out, int64_t shard, int64_t n_shards, struct stk__text *name,
                   struct stk_error *err);

/* ---- the manifest ---- */

/* Makes the manifest's head, which says what decides the bytes. */
int stk__pack_head(struct stk__pack *pack, const struct stk_dataset *dataset,
                   struct stk_error *err);

/* Locks the journal and finds out which shards are done; refuses if what is there is of another
 * chain. */
int stk__pack_open_journal(struct stk__pack *pack, struct stk_error *err);

/* Takes over what the text of a manifest or journal lists, if it is of this pack; else *is_other, and
 * a refusal if there are shards of it. */
int stk__pack_adopt(struct stk__pack *pack, const char *path, const char *text, bool *is_other,
                    struct stk_error *err);

/* A shard is synced and about to get its name. One thread at a time. */
int stk__pack_note_shard(struct stk__pack *pack, int64_t shard, struct stk_error *err);

/* Writes the manifest and removes the journal. */
int stk__pack_write_manifest(struct stk__pack *pack, struct stk_error *err);

/* The whole of a text file; *out is NULL if it is not there. Returns new. */
int stk__pack_read_text(const char *path, char **out, struct stk_error *err);

/* Keeps the shards that a manifest or journal of another pack lists, until they are removed: when the
 * manifest of the pack that replaces it is there. */
int stk__pack_remember(const struct stk__pack *pack, const char *text, struct stk_error *err);
int stk__pack_remove_replaced(const struct stk__pack *pack, struct stk_error *err);

/* A pack that begins: without force it is refused where one that was to replace another was given up, because
 * completing it would remove what that other one left. */
int stk__pack_check_replaced(const struct stk__pack *pack, struct stk_error *err);

/* Refuses a pack by force into files that its own chain reads. */
int stk__pack_check_sources(const struct stk__pack *pack, const struct stk_value *chain,
                            struct stk_error *err);

/* Lets the journal go; one without a shard is removed. */
void stk__pack_close_journal(struct stk__pack *pack);

/* ---- the writer ---- */

struct stk__pack_writer;

/* Starts the threads. Borrows pack. Returns new. */
int stk__pack_writer_new(struct stk__pack *pack, struct stk__pack_writer **out,
                         struct stk_error *err);

/* Appends an element to a shard, or ends the shard. Called by one thread. */
int stk__pack_writer_add(struct stk__pack_writer *writer, int64_t shard,
                         const struct stk__record_value *value, uint64_t number,
                         struct stk_error *err);
int stk__pack_writer_end(struct stk__pack_writer *writer, int64_t shard, struct stk_error *err);

/* What has been written so far. */
void stk__pack_writer_count(struct stk__pack_writer *writer, struct stk_pack_progress *out);

/* Waits until everything is written, or with `is_cancelled` throws it away. Frees; returns the first
 * failure. NULL is fine. */
int stk__pack_writer_finish(struct stk__pack_writer *writer, bool is_cancelled,
                            struct stk_error *err);
