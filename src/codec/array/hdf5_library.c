/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_library.c: files and datasets: opening, listing, describing. */
#include "codec/array/hdf5_library.h"

#include "codec/array/hdf5_visit.h"

#include <inttypes.h>
#include <string.h>

enum { FILTER_LZF = 32000, MOST_FILTER_VALUES = 16 };

void stk__hdf5_close(stk__hdf5_id id)
{
    struct stk__hdf5_visit visit;
    if (!id)
        return;
    stk__hdf5_enter(&visit);
    stk__hdf5_drop(id);
    stk__hdf5_leave(&visit);
}

int stk__hdf5_open(const char *path, stk__hdf5_id *file, struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    int code = STK_OK;
    stk__hdf5_enter(&visit);
    htri_t is_hdf5 = H5Fis_hdf5(path);
    hid_t id = is_hdf5 > 0 ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    if (is_hdf5 == 0)
        code = stk_fail(err, STK_DATA, "this is no HDF5 file");
    else if (id < 0)
        code = stk__hdf5_fail(err, "the HDF5 file cannot be opened");
    *file = id < 0 ? 0 : id;
    stk__hdf5_leave(&visit);
    return code;
}

/* ---- listing ---- */

struct listing {
    int (*found)(void *ctx, const char *name);
    void *ctx;
    int code;
};

static herr_t visit_object(hid_t file, const char *name, const H5O_info_t *info, void *ctx)
{
    struct listing *listing = ctx;
    (void)file;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    listing->code = listing->found(listing->ctx, name);
    return listing->code != STK_OK;
}

int stk__hdf5_list(stk__hdf5_id file, int (*found)(void *ctx, const char *name), void *ctx,
                   struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    struct listing listing = { .found = found, .ctx = ctx };
    stk__hdf5_enter(&visit);
    herr_t failed = H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &listing);
    int code = failed < 0 ? stk__hdf5_fail(err, "the datasets cannot be listed") : listing.code;
    stk__hdf5_leave(&visit);
    return code;
}

int stk__hdf5_open_dataset(stk__hdf5_id file, const char *name, size_t cache_bytes,
                           stk__hdf5_id *dataset, struct stk_error *err)
{
    const size_t usual_slots = 521; /* as the library has it */
    struct stk__hdf5_visit visit;
    stk__hdf5_enter(&visit);
    hid_t how = H5Pcreate(H5P_DATASET_ACCESS), id = -1;
    if (how >= 0 && H5Pset_chunk_cache(how, cache_bytes ? usual_slots : 1, cache_bytes, 1) >= 0)
        id = H5Dopen2(file, name, how);
    int code = id < 0 ? stk__hdf5_fail(err, "the dataset cannot be opened") : STK_OK;
    *dataset = id < 0 ? 0 : id;
    stk__hdf5_drop(how);
    stk__hdf5_leave(&visit);
    return code;
}

/* ---- describing ---- */

static int read_space(hid_t dataset, struct stk__hdf5_info *out, struct stk_error *err)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space), code = STK_OK;
    out->is_empty = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL;
    if (rank > STK__GRID_MAX_RANK)
        code = stk_fail(err, STK_TYPE, "it has %d dimensions; %d are possible", rank,
                        STK__GRID_MAX_RANK);
    else if (rank < 0 || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        code = stk__hdf5_fail(err, "its shape cannot be read");
    out->grid.rank = rank;
    for (int a = 0; a < rank && !code; a++) {
        if (dims[a] > INT64_MAX / 2)
            code = stk_fail(err, STK_DATA, "a dimension of it is too large");
        out->grid.dims[a] = (int64_t)dims[a];
    }
    stk__hdf5_drop(space);
    return code;
}

/* One filter; *is_ours false if only the library can undo it. */
static int read_filter(hid_t list, unsigned i, struct stk__hdf5_info *out, bool *is_ours,
                       struct stk_error *err)
{
    unsigned flags, values[MOST_FILTER_VALUES] = { 0 };
    size_t n_values = MOST_FILTER_VALUES;
    char name[80] = "";
    H5Z_filter_t id = H5Pget_filter2(list, i, &flags, &n_values, values, sizeof name, name, NULL);
    uint8_t kind = STK__HDF5_DEFLATE;
    if (id < 0)
        return stk__hdf5_fail(err, "its filters cannot be read");
    if (id == H5Z_FILTER_SHUFFLE)
        kind = STK__HDF5_SHUFFLE;
    else if (id == H5Z_FILTER_FLETCHER32)
        kind = STK__HDF5_FLETCHER32;
    else if (id == FILTER_LZF)
        kind = STK__HDF5_LZF;
    else if (id != H5Z_FILTER_DEFLATE) {
        *is_ours = false;
        if (H5Zfilter_avail(id) <= 0)
            return stk_fail(err, STK_DATA,
                            "it is stored with filter %d (%.60s), which is not installed; "
                            "h5repack with -f GZIP=4 makes it readable",
                            id, name[0] ? name : "of no name");
        return STK_OK;
    }
    if (out->filters.n == STK__HDF5_MAX_FILTERS) {
        *is_ours = false;
        return STK_OK;
    }
    out->filters.item[out->filters.n].kind = kind;
    out->filters.item[out->filters.n++].item_bytes = values[0] ? values[0] : 1;
    return STK_OK;
}

static int read_filters(hid_t list, struct stk__hdf5_info *out, bool *is_ours,
                        struct stk_error *err)
{
    int n = H5Pget_nfilters(list), code = STK_OK;
    *is_ours = true;
    for (int i = 0; i < n && !code; i++)
        code = read_filter(list, (unsigned)i, out, is_ours, err);
    return code;
}

/* Chunks over the edge may be stored without filters; then the library reads. */
static bool are_edges_usual(hid_t list)
{
    unsigned options = 0;
    return H5Pget_chunk_opts(list, &options) >= 0 && !options;
}

static int read_chunking(hid_t list, struct stk__hdf5_info *out, struct stk_error *err)
{
    bool is_ours;
    hsize_t chunk[H5S_MAX_RANK];
    if (H5Pget_chunk(list, H5S_MAX_RANK, chunk) != out->grid.rank)
        return stk__hdf5_fail(err, "its chunks cannot be read");
    for (int a = 0; a < out->grid.rank; a++)
        out->grid.chunk[a] = (int64_t)chunk[a];
    out->is_chunked = true;
    int code = read_filters(list, out, &is_ours, err);
    if (!code && is_ours && are_edges_usual(list))
        out->layout = STK__HDF5_CHUNKED;
    return code;
}

/* Without chunks: one index of the first dimension at a time. */
static void set_rows(struct stk__grid *grid)
{
    for (int a = 0; a < grid->rank; a++)
        grid->chunk[a] = a && grid->dims[a] ? grid->dims[a] : 1;
}

static int read_layout(hid_t dataset, hid_t list, struct stk__hdf5_info *out, struct stk_error *err)
{
    H5D_layout_t layout = H5Pget_layout(list);
    out->layout = STK__HDF5_OPAQUE;
    set_rows(&out->grid);
    size_t n_sources = 0;
    if (layout == H5D_CHUNKED)
        return read_chunking(list, out, err);
    if (layout == H5D_VIRTUAL && H5Pget_virtual_count(list, &n_sources) >= 0)
        out->n_sources = n_sources < INT_MAX ? (int)n_sources : INT_MAX;
    bool is_piece = layout == H5D_CONTIGUOUS && H5Dget_storage_size(dataset) > 0;
    haddr_t offset = is_piece ? H5Dget_offset(dataset) : HADDR_UNDEF;
    if (offset != HADDR_UNDEF && H5Pget_external_count(list) == 0) {
        out->layout = STK__HDF5_CONTIGUOUS;
        out->offset = offset;
    }
    H5Eclear2(H5E_DEFAULT);
    return STK_OK;
}

static void read_place(hid_t dataset, struct stk__hdf5_info *out)
{
    H5O_info_t info;
    hsize_t base = 0;
    hid_t file = H5Iget_file_id(dataset), list = file < 0 ? -1 : H5Fget_create_plist(file);
    if (list >= 0 && H5Pget_userblock(list, &base) >= 0 && H5Oget_info1(dataset, &info) >= 0) {
        out->base = base;
        out->header = info.addr;
    }
    stk__hdf5_drop(list);
    stk__hdf5_drop(file);
    H5Eclear2(H5E_DEFAULT);
}

static int describe(hid_t dataset, struct stk__hdf5_info *out, struct stk_error *err)
{
    hid_t type = H5Dget_type(dataset), list = H5Dget_create_plist(dataset);
    int code = type < 0 || list < 0 ? stk__hdf5_fail(err, "it cannot be described") : STK_OK;
    if (!code)
        code = read_space(dataset, out, err);
    if (!code)
        code = stk__hdf5_type(type, out, err);
    out->grid.item_bytes = out->raw.item_bytes;
    if (!code)
        code = read_layout(dataset, list, out, err);
    if (!code)
        read_place(dataset, out);
    if (out->is_converted || out->is_text_list)
        out->layout = STK__HDF5_OPAQUE;
    stk__hdf5_drop(type);
    stk__hdf5_drop(list);
    return code;
}

int stk__hdf5_describe(stk__hdf5_id dataset, struct stk__hdf5_info *out, struct stk_error *err)
{
    struct stk__hdf5_visit visit;
    *out = (struct stk__hdf5_info){ 0 };
    stk__hdf5_enter(&visit);
    int code = describe(dataset, out, err);
    stk__hdf5_leave(&visit);
    return code;
}
