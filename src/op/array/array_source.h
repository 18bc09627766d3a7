/* SPDX-License-Identifier: Apache-2.0 */
/* array_source.h: a source whose fields are arrays in files: npy, npz, hdf5.
 *
 * A field is one array in every file; the files are read one after the other. An element is a box
 * of the array: one index of the first dimension, or a patch of the leading ones. However an array
 * is stored, it is a grid of chunks (see codec/array/grid.h), and an element is pasted together from those
 * it touches; an array that lies in one piece has chunks of one index of the first dimension.
 */
#pragma once
#include "codec/array/grid.h"
#include "codec/array/hdf5_index.h"
#include "codec/array/hdf5_library.h"
#include "io/data_file.h"
#include "op/array/chunk_cache.h"
#include "op/declaration.h"

enum stk__array_way {
    STK__ARRAY_PLAIN,   /* one chunk behind the other in the file, unfiltered */
    STK__ARRAY_CHUNKED, /* a table says where each chunk is */
    STK__ARRAY_HELD,    /* in memory: one chunk */
    /* from here on: by libhdf5 */
    STK__ARRAY_ASKED,   /* as chunked, but it finds and reads the chunks */
    STK__ARRAY_LENT,    /* it reads the values of a chunk, which are kept for others */
    STK__ARRAY_FOREIGN, /* it reads the values of an element */
};

enum { STK__ARRAY_MOST_PLACES = 1024, STK__ARRAY_MOST_BYTES = 1 << 30 }; /* of an element */

/* One field in one file. */
struct stk__array {
    char *name; /* what the file calls it; NULL: nothing */
    enum stk__array_way way;
    struct stk__raw raw;
    struct stk__grid grid;
    uint64_t offset;               /* plain */
    struct stk__hdf5_chunk *chunk; /* chunked: of all chunks; bytes 0: what it claims cannot be */
    struct stk__hdf5_filters filters;
    uint8_t *held;        /* held */
    uint64_t *text_start; /* held texts of any length: [elements + 1] in `held`; or NULL */
    uint8_t *fill;        /* one item, where chunks may be absent */
    stk__hdf5_id dataset; /* where libhdf5 reads; 0: none */
    struct stk__hdf5_info *info;
    size_t library_bytes; /* that libhdf5 may keep of it */
};

struct stk__array_source {
    struct stk__data_files *files;
    int n_fields;
    char *name[STK_MAX_FIELDS];
    int n_arrays, place[STK_MAX_FIELDS]; /* of each file, and which of them a field is */
    struct stk__array *array;            /* [files->n * n_arrays] */
    uint64_t *first;                     /* [files->n + 1]: the first element of each file */
    int n_slots[STK_MAX_FIELDS], first_slot[STK_MAX_FIELDS], n_places;
    struct stk__chunk_cache *cache; /* of chunks that more than one element needs */
    int patch_rank; /* leading dimensions that patches are cut from; 0: elements are rows */
    int64_t patch[STK_MAX_RANK], stride[STK_MAX_RANK];
    const char **path; /* [files->n] of one that only tells what is in them; else NULL */
};

/* Fills in the arrays of one file; for the first one after stk__array_source_name. */
typedef int (*stk__read_arrays_fn)(void *context, struct stk__array_source *source, size_t file,
                                   struct stk_error *err);

/* Makes a source, an op's state, with the files that the arguments stand for, and checks that the
 * fields of each have as many elements, and the files the same types and shapes. Where a field of
 * elements names the files, it is made of the first of them and only tells what is in it: a run of
 * array_stream.c makes its own. */
int stk__array_source_open(const struct stk_texts *patterns, stk__read_arrays_fn read,
                           void *context, void **state, struct stk_error *err);
void stk__array_source_free(void *source);
size_t stk__array_source_bytes(const void *source);

/* The names of the fields, copied, and room for their arrays. */
int stk__array_source_name(struct stk__array_source *source, const char *const *name, int n,
                           struct stk_error *err);

static inline struct stk__array *stk__array_at(const struct stk__array_source *source, size_t file,
                                               int field)
{
    return &source->array[file * (size_t)source->n_arrays + (size_t)source->place[field]];
}

/* Reads bytes of a file while the source is made. The message has the file's name. */
int stk__array_source_read(const struct stk__array_source *source, size_t file, uint64_t offset,
                           size_t bytes, uint8_t *dst, struct stk_error *err);

/* "[3, 224, 224]", for messages. */
const char *stk__array_shape_text(int rank, const int64_t *shape, char *text, size_t size);

/* The box of an element. */
void stk__array_box(const struct stk__array_source *source, const struct stk__array *array,
                    uint64_t element, struct stk__chunk_box *out);

/* Bytes of an element as the file has them, without filters. */
uint64_t stk__array_element_bytes(const struct stk__array_source *source,
                                  const struct stk__array *array);

/* Where a chunk is stored. */
struct stk__hdf5_chunk stk__array_stored(const struct stk__array *array, const int64_t *chunk);

/* The file of an element; *index becomes its number there. */
size_t stk__array_file(const struct stk__array_source *source, uint64_t *index);

/* Most bytes that a chunk can be stored in. */
size_t stk__array_most_stored(const struct stk__array *array);

/* Entries of the op's tables. */
int stk__array_source_narrow(const void *state, uint32_t fields, struct stk_arena *arena,
                             void **new_state);
int stk__array_source_infer(struct stk_infer *inf, struct stk_error *err);
int64_t stk__array_source_count(const void *state);
int stk__array_source_n_places(const void *state);
void stk__array_source_locate(const void *state, int n, const uint64_t *index,
                              struct stk__file_place *out);
struct stk__data_files *stk__array_source_files(const void *state);
const uint64_t *stk__array_source_first_rows(const void *state, size_t *n_files);
int stk__array_source_rows(struct stk_rows *rows, const uint64_t *index);

/* The chunks that a source keeps, if it is one of arrays that has some; or NULL. */
struct stk__chunk_cache *stk__array_source_chunks(const struct stk__op *op, const void *state);
void stk__array_source_describe(const void *state, uint64_t index, char *text, size_t size);

/* From front to back, for an element that names the file (array_stream.c). An op's begin passes its
 * parameters with stk__array_source_paths for their files, and what opens a source of them. */
struct stk_texts stk__array_source_paths(const void *state);
typedef int (*stk__open_arrays_fn)(const void *params, struct stk_arena *arena, void **state,
                                   struct stk_error *err);
int stk__array_stream_begin(const struct stk__source_start *begin, const char *op,
                            stk__open_arrays_fn open, const void *params, void **run,
                            struct stk_error *err);
int stk__array_stream_rewind(void *run, struct stk_error *err);
int stk__array_stream_next(void *run, struct stk__chunk *out, struct stk_error *err);
void stk__array_stream_end(void *run);

/* clang-format off */
#define STK__ARRAY_SOURCE                                                                          \
    .count = stk__array_source_count, .n_places = stk__array_source_n_places,                      \
    .locate = stk__array_source_locate, .files = stk__array_source_files,                          \
    .first_rows = stk__array_source_first_rows, .rows = stk__array_source_rows,                    \
    .describe = stk__array_source_describe, .rewind = stk__array_stream_rewind,                    \
    .next = stk__array_stream_next, .end = stk__array_stream_end
/* clang-format on */
