/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tfrecord.c: any bytes as a TFRecord file: scanned and read at random, and read as a stream,
 * which must find the same records as long as no length is beyond the file. */
#define _GNU_SOURCE
#include "base/chunk.h"
#include "codec/tfrecord.h"
#include "op/tfrecord_scan.h"
#include "op/tfrecord_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

/* Every record lies in the file, behind the one before it; together they are all of it. */
static void scan(const char *path, const uint8_t *data, size_t size)
{
    struct stk__data_files *files = stk__data_files_new();
    struct stk__record_index *index = stk__record_index_new();
    struct stk_error err;
    check(files && index && !stk__data_files_add(files, path, &err));
    int code = stk__tfrecord_scan(NULL, files, 0, index, &err);
    uint64_t at = 0;
    for (uint64_t i = 0; !code && i < stk__record_index_count(index); i++) {
        struct stk_place place;
        uint64_t length;
        stk__record_index_at(index, i, &place);
        check(place.offset == at && place.bytes <= size - at);
        at += place.bytes;
        if (!stk__tfrecord_open(data + place.offset, place.bytes, true, &length, &err))
            check(length + STK__TFRECORD_FRAME == place.bytes);
    }
    check(code || at == size);
    stk__record_index_free(index);
    stk__data_files_free(files);
}

static void stream(const char *path)
{
    struct stk__paths paths = { 0 };
    atomic_llong first = -1;
    const struct stk__record_pipe pipe = { .paths = &paths, .verifies = true, .first = &first };
    struct stk_type type = { .n_fields = 1, .field = { { .name = "r", .kind = STK_BYTES } } };
    struct stk_chunk *chunk = stk__chunk_new(&type, 16, 0);
    struct stk_error err;
    void *run;
    check(chunk && !stk__paths_add(&paths, path, strlen(path)));
    check(!stk__record_pipe_begin(&pipe, &run, &err));
    int code;
    do {
        code = stk__record_pipe_next(run, chunk, &err);
        stk__chunk_clear(chunk);
    } while (!code);
    stk__record_pipe_end(run);
    stk__chunk_free(chunk);
    stk__paths_free(&paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    scan(path, data, size);
    stream(path);
    close(fd);
    return 0;
}
