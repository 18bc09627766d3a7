/* SPDX-License-Identifier: Apache-2.0 */
/* block_reader.h: files one after the other, in blocks out of which rows are cut without copying.
 *
 * A row is a span that holds a reference to its block. What a block ends in is copied to the front
 * of the next one:
 *
 *     block  |one\ntwo\nthr|           next  |three\nfour\n…
 *                      ^row ^filled          ^row  (copied)
 */
#pragma once
#include "base/memory/buffer.h"
#include "io/byte_stream.h"
#include "io/paths.h"

enum { STK__BLOCK_BYTES = 256 << 10 };

/* What rows are, and how their files are read. */
struct stk__block_options {
    const char *noun; /* as messages name a row: "line" */
    int origin;       /* what the first row of a file is called: 1 */
    enum stk__compression compression;
    size_t most_bytes;                               /* of a row; more than a block */
    bool (*is_plain)(const uint8_t *head, size_t n); /* as in stk__byte_stream_options */
};

/* What a dataset knows of the files; shared by all readers. */
struct stk__block_files {
    struct stk__paths paths;
    struct stk__block_options options;
    atomic_bool is_input_taken; /* standard input can be read once; pairs with itself */
    /* The ordinal of each file's first row once a reader has come so far, else -1; only for
     * messages. */
    atomic_llong *first; /* pairs with itself: relaxed, a memo */
};

/* The files of arguments (stk__glob_all). All must be there and readable. Returns new. */
int stk__block_files_open(const struct stk_texts *patterns,
                          const struct stk__block_options *options, struct stk__block_files **out,
                          struct stk_error *err);
void stk__block_files_free(struct stk__block_files *files); /* NULL is fine */

/* Bytes that the list takes. */
size_t stk__block_files_bytes(const struct stk__block_files *files);

/* Sets *is_stream if one of the files is compressed, or not on storage, so that it can only be read
 * from front to back. */
int stk__block_files_are_stream(const struct stk__block_files *files, bool *is_stream,
                                struct stk_error *err);

/* True if all of them are on storage, so that they can be read any number of times. */
bool stk__block_files_are_lasting(const struct stk__block_files *files);

/* "words.txt, line 12" for the row of this number. Later files are named once they have been
 * opened; until then the file before. */
void stk__block_files_describe(const struct stk__block_files *files, uint64_t row, char *text,
                               size_t size);

struct stk__block_reader {
    struct stk__block_files *files;
    struct stk__pool *pool;
    struct stk_buffer *block;
    size_t row, filled;              /* in the block: where the next row begins, end of the data */
    size_t file;                     /* number of the file that is open or comes next */
    struct stk__byte_stream *stream; /* NULL: none is open */
    bool is_ended;                   /* it has no more bytes */
    uint64_t total;                  /* bytes handed over since the first file */
    int64_t file_row, ordinal;       /* rows before the next one: in the file, in all */
};

/* Before the first file. Borrows the files; blocks come from the pool. */
void stk__block_reader_begin(struct stk__block_reader *reader, struct stk__block_files *files,
                             struct stk__pool *pool);
void stk__block_reader_end(struct stk__block_reader *reader);

/* Back to before the first file. */
void stk__block_reader_rewind(struct stk__block_reader *reader);

/* Opens the next file; STK_END when there is none. */
int stk__block_reader_open(struct stk__block_reader *reader, struct stk_error *err);

/* Puts bytes behind the unfinished row, in another block if need be, or sets is_ended. STK_AGAIN:
 * none came yet. Fails if the row is too long. */
int stk__block_reader_fill(struct stk__block_reader *reader, struct stk_error *err);

/* Leaves the file. */
void stk__block_reader_close(struct stk__block_reader *reader);

/* The next row: `bytes` of the block, after which the one behind it begins `skip` bytes on. The
 * caller takes the reference that the span needs. */
static inline struct stk_span stk__block_reader_cut(struct stk__block_reader *reader, size_t bytes,
                                                    size_t skip)
{
    struct stk_span span = { reader->block->data + reader->row, bytes, reader->block };
    reader->row += skip;
    reader->file_row++;
    reader->ordinal++;
    return span;
}

/* True if more data may be long in coming: better hand on what there is. */
bool stk__block_reader_may_wait(const struct stk__block_reader *reader);

/* Where the next row begins in its file, before it was compressed. */
uint64_t stk__block_reader_offset(const struct stk__block_reader *reader);

/* The bytes at hand, which begin with the next row. */
static inline uint8_t *stk__block_reader_data(const struct stk__block_reader *reader)
{
    return reader->block ? reader->block->data + reader->row : NULL;
}

static inline size_t stk__block_reader_left(const struct stk__block_reader *reader)
{
    return reader->filled - reader->row;
}

/* The path of the open file. */
const char *stk__block_reader_path(const struct stk__block_reader *reader);
