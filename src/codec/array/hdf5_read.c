/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_read.c: values through libhdf5, where it has to be. */
#include "codec/array/hdf5_visit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int stk__hdf5_fill(stk__hdf5_id dataset, const struct stk__hdf5_info *info, uint8_t *fill,
                   struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    H5D_fill_value_t state;
    memset(fill, 0, info->raw.item_bytes);
    stk__hdf5_enter(&visit);
    hid_t list = H5Dget_create_plist(dataset), type = stk__hdf5_memory_type(dataset, info);
    int code = STK_OK;
    if (list < 0 || type < 0 || H5Pfill_value_defined(list, &state) < 0 ||
        (state != H5D_FILL_VALUE_UNDEFINED && H5Pget_fill_value(list, type, fill) < 0))
        code = stk__hdf5_fail(err, "its fill value cannot be read");
    stk__hdf5_drop(list);
    stk__hdf5_drop(type);
    stk__hdf5_leave(&visit);
    return code;
}

/* Selects a box of a dataset's space, and the front of one in memory; < 0 on failure. Both
 * spaces are new. */
static int select_box(hid_t dataset, int rank, const struct stk__chunk_box *box,
                      const int64_t *room, hid_t *file_space, hid_t *memory_space)
{
    hsize_t from[STK__GRID_MAX_RANK], count[STK__GRID_MAX_RANK], shape[STK__GRID_MAX_RANK];
    const hsize_t front[STK__GRID_MAX_RANK] = { 0 };
    for (int a = 0; a < rank; a++) {
        from[a] = (hsize_t)box->start[a];
        count[a] = (hsize_t)box->size[a];
        shape[a] = room ? (hsize_t)room[a] : count[a];
    }
    *file_space = H5Dget_space(dataset);
    *memory_space = H5Screate_simple(rank, shape, NULL);
    if (*file_space < 0 || *memory_space < 0 ||
        H5Sselect_hyperslab(*memory_space, H5S_SELECT_SET, front, NULL, count, NULL) < 0)
        return -1;
    return H5Sselect_hyperslab(*file_space, H5S_SELECT_SET, from, NULL, count, NULL);
}

int stk__hdf5_read(stk__hdf5_id dataset, const struct stk__hdf5_info *info,
                   const struct stk__chunk_box *box, const int64_t *room, uint8_t *dst,
                   struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    hid_t in_file = -1, in_memory = -1;
    stk__hdf5_enter(&visit);
    hid_t type = stk__hdf5_memory_type(dataset, info);
    int code = STK_OK;
    if (type < 0 || select_box(dataset, info->grid.rank, box, room, &in_file, &in_memory) < 0 ||
        H5Dread(dataset, type, in_memory, in_file, H5P_DEFAULT, dst) < 0)
        code = stk__hdf5_fail(err, "its values cannot be read");
    stk__hdf5_drop(type);
    stk__hdf5_drop(in_file);
    stk__hdf5_drop(in_memory);
    stk__hdf5_leave(&visit);
    return code;
}

/* Hands on n texts and frees them. A text that was never written is empty. */
static int hand_on(char **text, int64_t n, int (*add)(void *ctx, const char *text, size_t len),
                   void *ctx)
{
    int code = STK_OK;
    for (int64_t i = 0; i < n; i++) {
        if (add && !code)
            code = add(ctx, text[i] ? text[i] : "", text[i] ? strlen(text[i]) : 0);
        H5free_memory(text[i]);
    }
    return code;
}

int stk__hdf5_read_texts(stk__hdf5_id dataset, int64_t start, int64_t n,
                         int (*add)(void *ctx, const char *text, size_t len), void *ctx,
                         struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    hid_t in_file = -1, in_memory = -1;
    const struct stk__chunk_box box = { .start = { start }, .size = { n } };
    char **text = calloc((size_t)n, sizeof *text);
    if (!text)
        return stk_fail(err, STK_MEMORY, "out of memory");
    stk__hdf5_enter(&visit);
    hid_t type = H5Dget_type(dataset);
    int code = STK_OK;
    if (type < 0 || select_box(dataset, 1, &box, NULL, &in_file, &in_memory) < 0 ||
        H5Dread(dataset, type, in_memory, in_file, H5P_DEFAULT, text) < 0)
        code = stk__hdf5_fail(err, "its texts cannot be read");
    int given = hand_on(text, n, code ? NULL : add, ctx);
    stk__hdf5_drop(type);
    stk__hdf5_drop(in_file);
    stk__hdf5_drop(in_memory);
    stk__hdf5_leave(&visit);
    free(text);
    return code ? code : given;
}

int stk__hdf5_read_chunk(stk__hdf5_id dataset, const struct stk__grid *grid, const int64_t *chunk,
                         struct stk__hdf5_raw *raw, struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    hsize_t start[STK__GRID_MAX_RANK], stored = 0;
    for (int a = 0; a < grid->rank; a++)
        start[a] = (hsize_t)(chunk[a] * grid->chunk[a]);
    stk__hdf5_enter(&visit);
    int code = STK_OK;
    if (H5Dget_chunk_storage_size(dataset, start, &stored) < 0)
        stored = 0; /* what the library says of a chunk that was never written */
    if (stored > raw->room)
        code = stk_fail(err, STK_DATA, "a chunk claims %" PRIu64 " bytes; it can have %zu",
                        (uint64_t)stored, raw->room);
    else if (stored && H5Dread_chunk(dataset, H5P_DEFAULT, start, &raw->left_out, raw->data) < 0)
        code = stk__hdf5_fail(err, "a chunk cannot be read");
    raw->bytes = (size_t)stored;
    stk__hdf5_leave(&visit);
    return code;
}
