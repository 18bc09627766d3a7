/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_arrays.c: files of arrays, which say themselves what they hold: npy, npz and HDF5. */
#include "api/inspect.h"

#include <string.h>

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

static int describe_npz(struct stk__inspection *in, struct stk_error *err)
{
    (void)err;
    return propose(in, "npz", "npz");
}

const struct stk__inspector stk__inspect_npz = { recognises_npz, describe_npz };

/* The signature may follow a block of the user's, of 512 bytes or a power of two more. */
static bool recognises_hdf5(const struct stk__inspection *in)
{
    static const char magic[] = "\x89HDF\r\n\x1a\n";
    bool found = begins_with(in, magic, 8);
    for (size_t at = 512; !found && at + 8 <= in->n_head; at *= 2)
        found = !memcmp(in->head + at, magic, 8);
    return found;
}

static int describe_hdf5(struct stk__inspection *in, struct stk_error *err)
{
    (void)err;
    return propose(in, "HDF5", "hdf5");
}

const struct stk__inspector stk__inspect_hdf5 = { recognises_hdf5, describe_hdf5 };
