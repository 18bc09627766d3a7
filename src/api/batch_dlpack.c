/* SPDX-License-Identifier: Apache-2.0 */
/* batch_dlpack.c: fields of a batch as DLPack tensors. The layout is that of DLPack 0.8's
 * DLManagedTensor. */
#include "base/error.h"
#include "base/type.h"

#include <stdlib.h>
#include <string.h>

struct dl_device {
    int32_t device_type, device_id;
};

struct dl_data_type {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_data_type dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct dl_managed_tensor {
    struct dl_tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct dl_managed_tensor *self);
};

enum { DL_CPU = 1, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

/* The tensor and what it points to, in one allocation. */
struct export
{
    struct dl_managed_tensor tensor;
    struct stk_batch *batch;
    int64_t shape[STK_MAX_RANK], strides[STK_MAX_RANK];
};

static void delete_export(struct dl_managed_tensor *self)
{
    struct export *export = self->manager_ctx;
    stk_batch_unref(export->batch);
    free(export);
}

static uint8_t type_code(int dtype)
{
    char kind = stk__dtype_kind(dtype);
    if (dtype == STK_BF16)
        return DL_BFLOAT;
    return kind == 'f' ? DL_FLOAT : kind == 'u' ? DL_UINT : kind == 'b' ? DL_BOOL : DL_INT;
}

int stk_batch_dlpack(struct stk_batch *batch, const char *field, void **out, struct stk_error *err)
{
    struct stk_view view;
    int rc = stk_batch_view(batch, field, &view, err);
    if (rc)
        return rc;
    if (view.kind != STK_FIXED)
        return stk_fail(err, STK_TYPE, "field '%s' is not one array: its rows differ in length",
                        field);
    struct export *export = calloc(1, sizeof *export);
    if (!export)
        return stk__out_of_memory(err);
    size_t bytes = stk_dtype_bytes(view.dtype);
    memcpy(export->shape, view.shape, sizeof export->shape);
    for (int d = 0; d < view.rank; d++)
        export->strides[d] = view.strides[d] / (int64_t)bytes;
    export->batch = stk_batch_ref(batch);
    export->tensor = (struct dl_managed_tensor){
        .dl_tensor = { .data = view.data,
                       .device = { DL_CPU, 0 },
                       .ndim = view.rank,
                       .dtype = { type_code(view.dtype), (uint8_t)(8 * bytes), 1 },
                       .shape = export->shape,
                       .strides = export->strides },
        .manager_ctx = export,
        .deleter = delete_export
    };
    *out = &export->tensor;
    return STK_OK;
}
