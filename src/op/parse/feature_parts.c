/* SPDX-License-Identifier: Apache-2.0 */
/* feature_parts.c: fields that are made of several features: values with a partition that says where
 * rows are, and values with their indices. */
#include "base/error.h"
#include "base/rows/blob.h"
#include "op/parse/features.h"
#include "op/text/text_op.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of another feature that belongs to a spec. */
static int read_ints(const struct stk__feature_row *at, const char *key, struct stk__piece feature,
                     int64_t **data, size_t *n)
{
    const struct stk__feature_spec spec = { .key_text = key, .kind = STK__FEATURE_INTS };
    void *values;
    int code = stk__feature_values(at, &spec, feature, &values, n);
    *data = values;
    return code;
}

/* ---- partitions ---- */

/* A partition of so many entries. */
struct partition {
    const int64_t *item;
    size_t n;
    int64_t n_entries;
};

static const char *const partition_names[] = {
    [STK__ROW_SPLITS] = "row_splits",     [STK__ROW_LENGTHS] = "row_lengths",
    [STK__ROW_STARTS] = "row_starts",     [STK__ROW_LIMITS] = "row_limits",
    [STK__VALUE_ROWIDS] = "value_rowids",
};

static int64_t count_rows(const struct partition *p, int kind)
{
    int64_t n = (int64_t)p->n;
    if (kind == STK__ROW_SPLITS)
        return n ? n - 1 : 0;
    if (kind != STK__VALUE_ROWIDS || !n)
        return n;
    int64_t last = p->item[n - 1];
    return last < 0 || last >= p->n_entries + STK__MOST_EMPTY_ROWS ? -1 : last + 1;
}

static void splits_of_lengths(const struct partition *p, int64_t *splits)
{
    splits[0] = 0;
    for (size_t i = 0; i < p->n; i++) {
        int64_t length = p->item[i], left = p->n_entries - splits[i];
        splits[i + 1] = length >= 0 && length <= left ? splits[i] + length : -1;
        if (splits[i + 1] < 0) { /* and so are those behind it */
            memset(&splits[i + 1], 0xff, (p->n - i) * sizeof *splits);
            return;
        }
    }
}

/* Where each row begins; numbers that fall give splits that fall. */
static void splits_of_rowids(const struct partition *p, int64_t n_rows, int64_t *splits)
{
    int64_t row = 0;
    bool is_good = (int64_t)p->n == p->n_entries;
    for (size_t i = 0; i < p->n && is_good; i++) {
        is_good = p->item[i] >= (i ? p->item[i - 1] : 0) && p->item[i] < n_rows;
        while (is_good && row <= p->item[i])
            splits[row++] = (int64_t)i;
    }
    splits[n_rows] = is_good ? p->n_entries : -1;
}

static void write_splits(const struct partition *p, int kind, int64_t n_rows, int64_t *splits)
{
    size_t bytes = p->n * sizeof *splits;
    if (kind == STK__ROW_LENGTHS) {
        splits_of_lengths(p, splits);
    } else if (kind == STK__VALUE_ROWIDS) {
        splits_of_rowids(p, n_rows, splits);
    } else if (kind == STK__ROW_LIMITS) {
        splits[0] = 0;
        memcpy(splits + 1, p->item, bytes);
    } else {
        splits[0] = 0;
        memcpy(splits, p->item, bytes);
        if (kind == STK__ROW_STARTS)
            splits[n_rows] = p->n ? p->n_entries : 0;
    }
}

static bool are_splits(const int64_t *splits, int64_t n_rows, int64_t n_entries)
{
    if (splits[n_rows] != n_entries || splits[0] != 0)
        return false;
    for (int64_t i = 0; i < n_rows; i++)
        if (splits[i] > splits[i + 1])
            return false;
    return true;
}

static void fail_partition(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                           const struct partition *p)
{
    stk_rows_fail(at->rows, at->row, STK_DATA,
                  "Key: %.64s.  The %zu numbers of '%.64s' are no %s of %lld %s", spec->key_text,
                  p->n, spec->partition_text, partition_names[spec->partition],
                  (long long)p->n_entries, spec->n_values > 1 ? "rows" : "values");
}

/* A list of lists. */
static int put_rows(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                    const void *values, const struct partition *p, struct stk_column *out)
{
    size_t unit = spec->n_values * stk_dtype_bytes(spec->field.dtype);
    size_t bytes = (size_t)p->n_entries * unit;
    int64_t n_rows = count_rows(p, spec->partition);
    if (n_rows < 0) {
        fail_partition(at, spec, p);
        return STK_OK;
    }
    uint8_t *memory = stk_rows_alloc(at->rows, stk__blob_room(n_rows, bytes));
    if (!memory)
        return STK_MEMORY;
    struct stk__blob rows = stk__blob_begin(memory, n_rows);
    write_splits(p, spec->partition, n_rows, rows.splits);
    if (!are_splits(rows.splits, n_rows, p->n_entries))
        fail_partition(at, spec, p);
    else if (bytes)
        memcpy(rows.data, values, bytes);
    out->span[at->row] =
        (struct stk_span){ .data = memory, .bytes = stk__blob_room(n_rows, bytes) };
    return STK_OK;
}

static int put_partitioned(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                           const struct stk__piece *found, struct stk_column *out)
{
    void *values = NULL;
    int64_t *item = NULL;
    size_t n, n_items;
    int code = stk__feature_values(at, spec, found[spec->key], &values, &n);
    if (!code && values)
        code = read_ints(at, spec->partition_text, found[spec->partition_key], &item, &n_items);
    if (code || !item)
        return code;
    if (n % spec->n_values) {
        stk_rows_fail(at->rows, at->row, STK_DATA,
                      "Key: %.64s.  Number of values is not a multiple of uniform_row_length. Saw "
                      "%zu values in rows of %zu",
                      spec->key_text, n, spec->n_values);
        return STK_OK;
    }
    const struct partition p = { item, n_items, (int64_t)(n / spec->n_values) };
    return put_rows(at, spec, values, &p, out);
}

/* ---- sparse features ---- */

/* Where a value is in the array, and in the record. */
struct place {
    int64_t index, at;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The indices along one dimension, added to places. False: the row is bad. */
static bool add_indices(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                        int d, const int64_t *index, struct place *place, size_t n)
{
    const struct stk__sparse *sparse = spec->sparse;
    for (size_t i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= sparse->size[d]) {
            stk_rows_fail(at->rows, at->row, STK_DATA,
                          "Key: %.64s.  Index %lld is outside of the size, %lld",
                          sparse->index_text[d], (long long)index[i], (long long)sparse->size[d]);
            return false;
        }
        place[i].index = place[i].index * sparse->size[d] + index[i];
    }
    return true;
}

static bool is_sorted(const struct place *place, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (place[i].index < place[i - 1].index)
            return false;
    return true;
}

/* Places of n values, in order unless they are to stay; *place NULL: the row is bad. */
static int read_places(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                       const struct stk__piece *found, size_t n, struct place **place)
{
    const struct stk__sparse *sparse = spec->sparse;
    struct place *made = stk_rows_alloc(at->rows, (n + 1) * sizeof *made);
    *place = NULL;
    if (!made)
        return STK_MEMORY;
    for (size_t i = 0; i < n; i++)
        made[i] = (struct place){ 0, (int64_t)i };
    for (int d = 0; d < sparse->rank; d++) {
        int64_t *index;
        size_t n_indices;
        const char *key = sparse->index_text[d];
        int code = read_ints(at, key, found[sparse->index_key[d]], &index, &n_indices);
        if (code || !index)
            return code;
        if (n_indices != n)
            stk_rows_fail(at->rows, at->row, STK_DATA,
                          "Key: %.64s.  Saw %zu indices for %zu values of '%.64s'", key, n_indices,
                          n, spec->key_text);
        if (n_indices != n || !add_indices(at, spec, d, index, made, n))
            return STK_OK;
    }
    if (!(sparse->already_sorted && sparse->part != STK__DENSE) && !is_sorted(made, n))
        qsort(made, n, sizeof *made, compare_places);
    *place = made;
    return STK_OK;
}

static int put_indices(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                       const struct place *place, size_t n, struct stk_column *out)
{
    const struct stk__sparse *sparse = spec->sparse;
    size_t rank = (size_t)sparse->rank;
    int64_t *data = stk_rows_alloc(at->rows, (n * rank + 1) * sizeof *data);
    if (!data)
        return STK_MEMORY;
    for (size_t i = 0; i < n; i++) {
        int64_t index = place[i].index;
        for (size_t d = rank; d-- > 0; index /= sparse->size[d])
            data[i * rank + d] = index % sparse->size[d];
    }
    out->span[at->row] =
        (struct stk_span){ .data = (uint8_t *)data, .bytes = n * rank * sizeof *data };
    return STK_OK;
}

/* Values in the order of their places, numbers or texts. */
static int put_values(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      const struct place *place, size_t n, const void *values,
                      struct stk_column *out)
{
    bool is_bytes = spec->kind == STK__FEATURE_BYTES;
    size_t unit = is_bytes ? sizeof(struct stk_span) : stk_dtype_bytes(spec->field.dtype);
    uint8_t *data = stk_rows_alloc(at->rows, (n + 1) * unit);
    if (!data)
        return STK_MEMORY;
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * unit, (const uint8_t *)values + (size_t)place[i].at * unit, unit);
    if (!is_bytes)
        out->span[at->row] = (struct stk_span){ .data = data, .bytes = n * unit };
    else if (!stk__texts_pack(at->rows, (const struct stk_span *)(const void *)data, n,
                              &out->span[at->row]))
        return STK_MEMORY;
    return STK_OK;
}

/* The whole array. */
static int put_dense(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                     const struct place *place, size_t n, const void *values,
                     struct stk_column *out)
{
    bool is_bytes = spec->kind == STK__FEATURE_BYTES;
    size_t unit = is_bytes ? sizeof(struct stk_span) : stk_dtype_bytes(spec->field.dtype);
    uint8_t *data = is_bytes ? stk_rows_alloc(at->rows, spec->n_values * unit)
                             : out->data + (size_t)at->row * out->stride;
    if (!data)
        return STK_MEMORY;
    memset(data, 0, spec->n_values * unit);
    for (size_t i = 0; i < n; i++) {
        if (i && place[i].index == place[i - 1].index) {
            stk_rows_fail(at->rows, at->row, STK_DATA,
                          "Key: %.64s.  indices[%lld] is repeated: an array has one value there",
                          spec->sparse->index_text[0], (long long)place[i].at);
            return STK_OK;
        }
        memcpy(data + (size_t)place[i].index * unit,
               (const uint8_t *)values + (size_t)place[i].at * unit, unit);
    }
    if (is_bytes && !stk__texts_pack(at->rows, (const struct stk_span *)(const void *)data,
                                     spec->n_values, &out->span[at->row]))
        return STK_MEMORY;
    return STK_OK;
}

static int put_sparse(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      const struct stk__piece *found, struct stk_column *out)
{
    void *values;
    struct place *place = NULL;
    size_t n;
    int code = stk__feature_values(at, spec, found[spec->key], &values, &n);
    if (!code && values)
        code = read_places(at, spec, found, n, &place);
    if (code || !place)
        return code;
    if (spec->sparse->part == STK__SPARSE_INDICES)
        return put_indices(at, spec, place, n, out);
    return spec->sparse->part == STK__DENSE ? put_dense(at, spec, place, n, values, out)
                                            : put_values(at, spec, place, n, values, out);
}

int stk__feature_parts_put(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                           const struct stk__piece *found, struct stk_column *out)
{
    return spec->sparse ? put_sparse(at, spec, found, out) : put_partitioned(at, spec, found, out);
}
