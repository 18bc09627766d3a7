/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_arrays.c: files of arrays, which say themselves what they hold: npy, npz and HDF5. */
#define _GNU_SOURCE
#include "base/error.h"
#include "codec/array/hdf5_library.h"
#include "codec/array/zip_directory.h"
#include "look/inspect_members.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool begins_with(const struct stk__inspection *in, const char *magic, size_t n)
{
    return in->n_head >= n && !memcmp(in->head, magic, n);
}

static int propose(struct stk__inspection *in, const char *format, const char *source)
{
    in->format = format;
    in->source = source;
    stk__text_add(&in->rest, ")");
    return STK_OK;
}

/* Describes the arrays that were listed; where there are none, the preview says why. */
static int propose_members(struct stk__inspection *in, const char *format, const char *source,
                           const struct stk__members *members, struct stk_error *err)
{
    if (!members->names.n)
        return propose(in, format, source);
    in->format = format;
    in->source = source;
    return stk__inspect_members(in, members, err);
}

/* ---- npy and npz ---- */

static bool recognises_npy(const struct stk__inspection *in)
{
    return begins_with(in, "\x93NUMPY", 6);
}

static int describe_npy(struct stk__inspection *in, struct stk_error *err)
{
    (void)err;
    return propose(in, "npy", "npy");
}

const struct stk__inspector stk__inspect_npy = { recognises_npy, describe_npy };

/* A zip file whose first member is an array. */
static bool recognises_npz(const struct stk__inspection *in)
{
    enum { NAME_BYTES = 26, NAME = 30 };
    if (!begins_with(in, "PK\3\4", 4) || in->n_head < NAME)
        return false;
    size_t n = in->head[NAME_BYTES] | (size_t)in->head[NAME_BYTES + 1] << 8;
    return n > 4 && n <= in->n_head - NAME && !memcmp(in->head + NAME + n - 4, ".npy", 4);
}

static int read_part(int fd, uint64_t offset, uint64_t bytes, uint8_t **out)
{
    if (bytes > STK__INSPECTED_BYTES)
        return STK_DATA;
    *out = malloc((size_t)bytes + 1);
    if (!*out)
        return STK_MEMORY;
    return pread(fd, *out, (size_t)bytes, (off_t)offset) == (ssize_t)bytes ? STK_OK : STK_IO;
}

/* Adds the member at *at, if it is an array. */
static int list_member(const uint8_t *directory, size_t bytes, size_t *at, struct stk__paths *names)
{
    struct stk__zip_member m;
    int code = stk__zip_next(directory, bytes, at, &m, NULL);
    if (code || m.name_len <= 4 || memcmp(m.name + m.name_len - 4, ".npy", 4))
        return code;
    return stk__paths_add(names, m.name, m.name_len - 4);
}

static int list_npz(const struct stk__inspection *in, int fd, struct stk__paths *names)
{
    struct stk__zip_directory found = { 0 };
    uint64_t n = in->file_bytes < STK__ZIP_TAIL ? in->file_bytes : STK__ZIP_TAIL;
    uint8_t *tail = NULL, *directory = NULL;
    size_t at = 0;
    int code = read_part(fd, in->file_bytes - n, n, &tail);
    if (!code)
        code = stk__zip_find(tail, (size_t)n, in->file_bytes, &found, NULL);
    if (!code)
        code = read_part(fd, found.offset, found.bytes, &directory);
    for (uint64_t i = 0; !code && i < found.n_members; i++)
        code = list_member(directory, (size_t)found.bytes, &at, names);
    free(tail);
    free(directory);
    return code;
}

static int describe_npz(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__members members = { .noun = "arrays", .look_options = "" };
    int fd = in->compression == STK__COMPRESSION_NONE ? open(in->path, O_RDONLY | O_CLOEXEC) : -1;
    int code = fd >= 0 ? list_npz(in, fd, &members.names) : STK_OK;
    if (fd >= 0)
        close(fd);
    code = code == STK_MEMORY ? stk__out_of_memory(err)
                              : propose_members(in, "npz", "npz", &members, err);
    stk__paths_free(&members.names);
    return code;
}

const struct stk__inspector stk__inspect_npz = { recognises_npz, describe_npz };

/* ---- HDF5 ---- */

/* The signature may follow a block of the user's, of 512 bytes or a power of two more. */
static bool recognises_hdf5(const struct stk__inspection *in)
{
    static const char magic[] = "\x89HDF\r\n\x1a\n";
    bool found = begins_with(in, magic, 8);
    for (size_t at = 512; !found && at + 8 <= in->n_head; at *= 2)
        found = !memcmp(in->head + at, magic, 8);
    return found;
}

static int add_name(void *ctx, const char *name)
{
    return stk__paths_add(ctx, name, strlen(name));
}

static void add_filters(const struct stk__hdf5_filters *filters, struct stk__text *out)
{
    static const char *const words[] = { [STK__HDF5_DEFLATE] = "gzip",
                                         [STK__HDF5_SHUFFLE] = "shuffle",
                                         [STK__HDF5_FLETCHER32] = "fletcher32",
                                         [STK__HDF5_LZF] = "lzf" };
    for (int i = 0; i < filters->n; i++)
        stk__text_add(out, ", %s", words[filters->item[i].kind]);
}

/* Chunks decide what reading in shuffled order costs. */
static void add_storage(void *ctx, const char *name, struct stk__text *out)
{
    struct stk__hdf5_info info = { 0 };
    struct stk_error err;
    stk__hdf5_id dataset = 0;
    int code = stk__hdf5_open_dataset(*(const stk__hdf5_id *)ctx, name, 0, &dataset, &err);
    if (!code)
        code = stk__hdf5_describe(dataset, &info, &err);
    stk__hdf5_close(dataset);
    if (!code && info.layout == STK__HDF5_OPAQUE)
        stk__text_add(out, "read by libhdf5 alone");
    if (code || info.layout != STK__HDF5_CHUNKED)
        return;
    for (int a = 0; a < info.grid.rank; a++)
        stk__text_add(out, "%s%" PRId64, a ? ", " : "chunks of [", info.grid.chunk[a]);
    stk__text_add(out, "]");
    add_filters(&info.filters, out);
}

static int describe_hdf5(struct stk__inspection *in, struct stk_error *err)
{
    stk__hdf5_id file = 0;
    struct stk__members members = {
        .noun = "datasets", .look_options = ", hold=0", .add_storage = add_storage, .ctx = &file
    };
    int code = STK_OK;
    if (in->compression == STK__COMPRESSION_NONE && !stk__hdf5_open(in->path, &file, err))
        code = stk__hdf5_list(file, add_name, &members.names, err);
    code = code == STK_MEMORY ? stk__out_of_memory(err)
                              : propose_members(in, "HDF5", "hdf5", &members, err);
    stk__hdf5_close(file);
    stk__paths_free(&members.names);
    return code;
}

const struct stk__inspector stk__inspect_hdf5 = { recognises_hdf5, describe_hdf5 };
