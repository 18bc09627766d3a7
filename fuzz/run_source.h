/* SPDX-License-Identifier: Apache-2.0 */
/* run_source.h: for fuzzers: any bytes as the file of a source, read to the end with bad rows left
 * out, through the public functions. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stoker/stoker.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void must(int is_so)
{
    if (!is_so)
        abort();
}

static inline void read_batches(struct stk_dataset *data)
{
    struct stk_options *options = stk_options_new();
    struct stk_iterator *it = NULL;
    struct stk_batch *batch;
    struct stk_error err;
    must(options && !stk_options_set(options, "workers", "0", &err) &&
         !stk_options_set(options, "window", "1", &err) && /* a small run is made sooner */
         !stk_options_set(options, "io_depth", "1", &err) &&
         !stk_options_set(options, "on_error", "skip", &err));
    if (!stk_iterator_new(data, options, &it, &err))
        while (!stk_iterator_next(it, &batch, &err))
            stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_options_free(options);
}

static inline void read_chain(const char *format, const char *path)
{
    char chain[256];
    struct stk_dataset *data;
    struct stk_error err;
    snprintf(chain, sizeof chain, format, path);
    if (stk_dataset_new(chain, NULL, &data, &err))
        return;
    read_batches(data);
    stk_dataset_unref(data);
}

/* The chain has one %s for the path. */
static inline void run_source(const char *chain, const uint8_t *bytes, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_chain(chain, path);
    close(fd);
}

/* The same through a pipe, if the bytes fit into one. */
static inline void run_piped(const char *chain, const uint8_t *bytes, size_t size)
{
    char path[64];
    int ends[2];
    if (size > 32768 || pipe(ends))
        return;
    must(write(ends[1], bytes, size) == (ssize_t)size);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    read_chain(chain, path);
    close(ends[0]);
}
