/* SPDX-License-Identifier: Apache-2.0 */
/* byte_stream.h: the bytes of a file from front to back, unpacked if it is compressed. A file may
 * be a named pipe, and "-" is standard input.
 *
 *     code = stk__byte_stream_open(&(struct stk__byte_stream_options){ .path = path }, &s, err);
 *     while (!(code = stk__byte_stream_read(s, buffer, sizeof buffer, &got, err)))
 *         …                                      code is then STK_END, STK_AGAIN or an error
 *     stk__byte_stream_close(s);
 *
 * Memory does not depend on the data. A stream belongs to one thread at a time.
 */
#pragma once
#include "io/decompress.h"

struct stk__byte_stream;

/* What is there while compressed data is read: bytes of the file, and about what an inflater has. malloc has
 * neither. */
enum { STK__PACKED_BYTES = 128 << 10, STK__UNPACKING_BYTES = STK__PACKED_BYTES + (88 << 10) };

struct stk__byte_stream_options {
    const char *path; /* kept, not copied */
    enum stk__compression compression;
    /* With AUTO, where the first bytes look compressed: true if they are the caller's own format
     * all the same. n is STK__SNIFF_BYTES, or less if that is the whole file. May be NULL. */
    bool (*is_plain)(const uint8_t *head, size_t n);
};

/* A named pipe need not have a writer yet. */
int stk__byte_stream_open(const struct stk__byte_stream_options *options,
                          struct stk__byte_stream **out, struct stk_error *err);
void stk__byte_stream_close(struct stk__byte_stream *stream); /* NULL is fine */

/* At least one byte, at most n (not 0), as soon as there are any. STK_END: there are no more, and
 * what was compressed was whole. STK_AGAIN, never for files on storage: none came within a few
 * milliseconds; a source then returns without rows, so that its run can be cancelled. Messages name
 * file and byte. */
int stk__byte_stream_read(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got,
                          struct stk_error *err);

/* Bytes handed out, and bytes of the file that were used up for them: how far to look in a
 * compressed file. Both are the same where nothing is compressed. */
uint64_t stk__byte_stream_offset(const struct stk__byte_stream *stream);
uint64_t stk__byte_stream_file_offset(const struct stk__byte_stream *stream);

/* NONE, GZIP, ZLIB or ZSTD once something was read; before perhaps AUTO. */
enum stk__compression stk__byte_stream_compression(const struct stk__byte_stream *stream);

/* True unless the file is on storage. */
bool stk__byte_stream_may_wait(const struct stk__byte_stream *stream);

/* True if the path is that of standard input. */
bool stk__is_standard_input(const char *path);

/* True if the path is that of a regular file, which can be read more than once; or of nothing. */
bool stk__is_on_storage(const char *path);

/* The path in quotes, or "standard input". */
const char *stk__byte_stream_name(const char *path, char *text, size_t size);
