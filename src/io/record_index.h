/* SPDX-License-Identifier: Apache-2.0 */
/* record_index.h: where the records of a file begin, and the sidecar file that remembers it.
 *
 * Record i goes from its offset to that of the next; the last one ends at `end`. In memory and in
 * the sidecar an offset takes four bytes: blocks of 64 records have a base, and records a distance
 * from it. Where records are so large that a block spans 4 GB, all offsets are kept in full.
 *
 * A sidecar is believed if its checksum is right and format, parameters, size and time of the file
 * are the ones it was made for. It is written under another name and then renamed, so it is whole
 * or not there; nobody needs it, and failing to write one is no error.
 */
#pragma once
#include "io/data_file.h"

struct stk__record_index;

/* Returns new, empty; NULL when out of memory. */
struct stk__record_index *stk__record_index_new(void);
void stk__record_index_free(struct stk__record_index *index); /* NULL is fine */

/* Offsets ascend. STK_OK or STK_MEMORY. */
int stk__record_index_add(struct stk__record_index *index, uint64_t offset);
int stk__record_index_close(struct stk__record_index *index, uint64_t end);

/* No sidecar is to be written: it would not say all that the scan found. */
void stk__record_index_keep_private(struct stk__record_index *index);
bool stk__record_index_is_private(const struct stk__record_index *index);

size_t stk__record_index_bytes(const struct stk__record_index *index);
uint64_t stk__record_index_count(const struct stk__record_index *index);

/* Offset and bytes of a record; `file` is left alone. */
void stk__record_index_at(const struct stk__record_index *index, uint64_t record,
                          struct stk__file_place *place);

/* Of which file, read how, and where sidecars are: beside the file (NULL) or in a directory. */
struct stk__sidecar {
    const struct stk__data_file *file;
    const char *format; /* at most 15 letters */
    uint64_t parameters;
    const char *directory;
};

/* Returns new, or NULL if there is none to be believed. */
struct stk__record_index *stk__sidecar_load(const struct stk__sidecar *sidecar);

/* False if it could not be written. */
bool stk__sidecar_save(const struct stk__sidecar *sidecar, const struct stk__record_index *index);
