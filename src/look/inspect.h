/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h: what is found out about one file. A format is a row: how to recognise it, and how to
 * describe it; fields and first elements come from running the chain that it proposes. */
#pragma once
#include "base/text.h"
#include "io/decompress.h"

struct stk__inspection {
    const char *path;
    uint64_t file_bytes;
    uint8_t *head; /* the first bytes, unpacked; 64 zeros behind them */
    size_t n_head;
    bool is_whole; /* there are no more */
    enum stk__compression compression;
    const char *format;
    bool is_damaged;
    const char *source;       /* the call that reads it: "tfrecord" */
    struct stk__text pattern; /* what it reads; empty: the path */
    bool is_unseen;           /* it would look at too much for a preview */
    struct stk__text rest;    /* of the chain, behind the path: ").decode()" */
    size_t sample_bytes;      /* the first elements are whole in so many bytes; 0: read the file */
    struct stk__text facts[2], notes[2]; /* as text and as JSON */
    struct stk__text fields[2];
};

enum { STK__INSPECTED_BYTES = 1 << 26, STK__PREVIEWED = 3 };

struct stk__inspector {
    bool (*recognises)(const struct stk__inspection *in);
    int (*describe)(struct stk__inspection *in, struct stk_error *err);
};

extern const struct stk__inspector stk__inspect_csv, stk__inspect_hdf5, stk__inspect_image,
    stk__inspect_jsonl, stk__inspect_npy, stk__inspect_npz, stk__inspect_tar, stk__inspect_text,
    stk__inspect_tfrecord;

/* A directory; it has no head. */
int stk__inspect_directory(struct stk__inspection *in, struct stk_error *err);

/* The files below a directory, of which those of the most frequent kind are what the chain reads. */
int stk__inspect_files(struct stk__inspection *in, const char *dir, struct stk_error *err);

/* One file with its fields, for somebody who looks at several; to be cleared also where it fails. */
int stk__inspect_file(struct stk__inspection *in, struct stk_error *err);
void stk__inspection_clear(struct stk__inspection *in);

/* The ending of a name as it is written, with its dot; "" if there is none. */
const char *stk__ending_of(const char *path);

/* A directory that `cache` keeps elements in: of one chain, or of several, each in one of its own. */
bool stk__is_cache_directory(const char *path);
int stk__inspect_cache(struct stk__inspection *in, struct stk_error *err);

/* The chain that would read a file. Returns new; release it with stk_text_free. */
int stk__inspect_chain(const char *path, char **chain, struct stk_error *err);

/* One thing that was found: "records" 12, or "sizes" "12 to 90 bytes". */
void stk__inspect_count(struct stk__inspection *in, const char *name, uint64_t n);
void stk__inspect_say(struct stk__inspection *in, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A sentence. */
void stk__inspect_note(struct stk__inspection *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Names of classes that pack left in the manifest of the file, if there are any. */
int stk__inspect_classes(struct stk__inspection *in, struct stk_error *err);

/* Of items whose sizes vary. */
struct stk__sizes {
    uint64_t n, total, least, most;
};
void stk__sizes_add(struct stk__sizes *sizes, uint64_t bytes);

/* "sizes: 12 to 90 bytes, 34.5 on average", and how many there are: of the whole file where only a
 * part of it was looked at, about. */
void stk__inspect_sizes(struct stk__inspection *in, const char *noun,
                        const struct stk__sizes *sizes, uint64_t seen_bytes);

/* Runs the proposed chain for its fields and first elements. */
int stk__inspect_preview(struct stk__inspection *in, struct stk_error *err);

void stk__inspect_text_out(const struct stk__inspection *in, struct stk__text *out);
void stk__inspect_json_out(const struct stk__inspection *in, struct stk__text *out);
