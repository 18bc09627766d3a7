/* SPDX-License-Identifier: Apache-2.0 */
/* npy_array.c: arrays in NumPy's format as arrays of a source. */
#include "op/array/npy_array.h"

#include "base/error.h"
#include "codec/array/npy_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int read_part(const struct stk__array_source *source, const struct stk__npy_part *part,
                     size_t bytes, uint8_t *dst, struct stk_error *err)
{
    if (!part->memory)
        return stk__array_source_read(source, part->file, part->offset, bytes, dst, err);
    memcpy(dst, part->memory, bytes);
    return STK_OK;
}

/* Reads and parses the header; the messages are the causes alone. */
static int read_header(const struct stk__array_source *source, const struct stk__npy_part *part,
                       struct stk__npy *npy, size_t *header_bytes, struct stk_error *err)
{
    uint8_t prefix[STK__NPY_PREFIX] = { 0 };
    size_t n = part->bytes < sizeof prefix ? (size_t)part->bytes : sizeof prefix;
    int code = read_part(source, part, n, prefix, err);
    if (!code)
        code = stk__npy_header_bytes(prefix, n, header_bytes, err);
    if (code)
        return code;
    if (*header_bytes > part->bytes)
        return stk_fail(err, STK_DATA, "the file ends within the header");
    uint8_t *header = malloc(*header_bytes);
    if (!header)
        return stk__out_of_memory(err);
    code = read_part(source, part, *header_bytes, header, err);
    if (!code)
        code = stk__npy_parse(header, *header_bytes, npy, err);
    free(header);
    return code;
}

static int check(const struct stk__npy *npy, uint64_t bytes, struct stk_error *err)
{
    char text[200];
    if (npy->is_fortran)
        return stk_fail(err, STK_TYPE,
                        "the array is stored in Fortran order; save "
                        "numpy.ascontiguousarray(array) instead");
    if (npy->bytes > bytes)
        return stk_fail(
            err, STK_DATA,
            "the file was cut off: the array %s takes %" PRIu64 " bytes, %" PRIu64 " are there",
            stk__array_shape_text(npy->rank, npy->shape, text, sizeof text), npy->bytes, bytes);
    return STK_OK;
}

/* In memory the array is one chunk; in a file each row is one. */
static void set_grid(const struct stk__npy *npy, bool is_held, struct stk__grid *grid)
{
    grid->rank = npy->rank;
    grid->item_bytes = npy->raw.item_bytes;
    for (int a = 0; a < npy->rank; a++) {
        grid->dims[a] = npy->shape[a];
        grid->chunk[a] = npy->shape[a] ? npy->shape[a] : 1;
    }
    if (!is_held)
        grid->chunk[0] = 1;
}

int stk__npy_array(const struct stk__array_source *source, const struct stk__npy_part *part,
                   struct stk__array *out, struct stk_error *err)
{
    struct stk__npy npy;
    size_t header_bytes;
    int code = read_header(source, part, &npy, &header_bytes, err);
    if (!code)
        code = check(&npy, part->bytes - header_bytes, err);
    if (code) {
        const char *path = source->files->item[part->file].path;
        if (code != STK_IO && code != STK_MEMORY)
            stk__error_prefix(err, out->name ? "'%s', '%s': " : "'%s': ", path, out->name);
        return code;
    }
    out->way = part->memory ? STK__ARRAY_HELD : STK__ARRAY_PLAIN;
    out->raw = npy.raw;
    out->offset = part->offset + header_bytes;
    out->held = part->memory;
    if (out->held)
        memmove(out->held, out->held + header_bytes, (size_t)npy.bytes);
    set_grid(&npy, part->memory != NULL, &out->grid);
    return STK_OK;
}
